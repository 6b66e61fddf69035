"""What there is; the runs in a folder, live while they train; their reports."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, HTTPException, Path, Query
from fastapi.responses import HTMLResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent

from ngs.apps.serve.guard import ALONE
from ngs.apps.serve.live_rows import Pace, live_rows
from ngs.apps.serve.playground import Playground
from ngs.apps.serve.run_folders import RunFolder, SkippedFolder, State
from ngs.tasks.playground.messages import Message, part
from ngs.tasks.run_folder import REPORT

FARTHEST = 2**53  # bytes of a file; numbers in a browser are exact up to here

MISSING: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such run, or no report of it."}}

RunId = Annotated[str, Path(max_length=255, description="The name of its folder.", examples=["demo-m-bs"])]


class Status(Message):
    """What there is."""

    views: dict[str, bool] = part(
        "The tabs of the page besides that of the runs, and whether each has the network that it needs.",
        {"draw": True, "ask": False},
    )
    runs: bool = part("Whether there is a folder of runs to show.", True)
    limits: dict[str, int | float] = part("What is refused above.", {"jobs": 4})


class RunLine(Message):
    """A run in the list of runs."""

    id: str = part("The name of its folder.", "demo-m-bs")
    task: str = part("What it learns: the name of its task.", "digit-sums")
    method: str = part("How it learns.", "m-bs")
    steps: int = part("Training steps that were asked for.", 200)
    state: State = part("running: it wrote something within the last minute.")
    accuracy: float | None = part(
        "The share of right answers in the test part; null until it is finished.", 0.99
    )
    report: bool = part("Whether there is a report to look at.")


class RunList(Message):
    """What is in the folder of runs."""

    runs: list[RunLine] = part("The latest first.")
    skipped: list[SkippedFolder] = part("What could not be shown.")


class RunView(Message):
    """What a run wrote."""

    id: str = part("The name of its folder.", "demo-m-bs")
    state: State = part("As in the list.")
    config: dict[str, Any] = part("What was asked for.")
    answers: str = part("What its rows call the share of right answers.", "answers")
    about_answers: str = part("The same in words.", "answers right")
    rows: list[dict[str, Any]] = part(
        "What was measured on the way: of every few steps the loss, of every validation the "
        "shares; at most 2,000 rows, evenly.",
        [{"step": 10, "loss": 0.8, "seconds": 1.7}],
    )
    position: int = part("Of these rows in their file: `after` of the events that follow.")
    result: dict[str, Any] | None = part("How good it is in the end; null before.")


def runs_router(playground: Playground) -> APIRouter:
    """`/status`, and everything under /api/runs."""
    router = APIRouter(prefix="/api", tags=["runs"])

    def found(id: str) -> RunFolder:
        run = playground.runs.named(id)
        if run is None:
            raise HTTPException(404, f"there is no run {id}; choose one of those that /api/runs lists")
        return run

    @router.get("/status", summary="What there is")
    def status() -> Status:
        return Status(
            views={view.tab: view.ready for view in playground.views.values()},
            runs=playground.runs_root.is_dir(),
            limits=asdict(playground.visitors.limits),
        )

    @router.get("/runs", summary="The runs, the latest first")
    def runs() -> RunList:
        listed, skipped = playground.runs.all()
        return RunList(runs=[_line(run) for run in listed], skipped=skipped)

    @router.get("/runs/{id}", summary="A run: its configuration, curves and result", responses=MISSING)
    def view(id: RunId) -> RunView:
        with playground.server.jobs:
            run = found(id)
            state = run.state  # before the rows: a finished run has written all of them
            rows, position = run.rows()
            metrics = run.task.metrics
            return RunView(
                id=id,
                state=state,
                config=run.config,
                answers=metrics.answers,
                about_answers=metrics.shares[metrics.answers],
                rows=rows,
                position=position,
                result=run.result,
            )

    def watched(id: RunId) -> Iterator[RunFolder]:
        """A run that holds one of few places until its events have been sent, or nobody listens."""
        run = found(id)
        with playground.streams:
            yield run

    @router.get(
        "/runs/{id}/events",
        summary="Follow a run",
        description="Server-sent events: `data: row` for each new row, with its position as `id`; "
        "`event: restart` where a resumed run writes its record anew, whose rows follow from the first on; "
        "`event: state` with `{state}` where a run stopped writing, or goes on; "
        "the last one is `event: done` with `{state}`. After a stream without it, ask for the next.",
        response_class=EventSourceResponse,
        responses=MISSING,
    )
    async def events(
        after: Annotated[
            int | None,
            Query(
                ge=0, le=FARTHEST, description="A `position`: rows behind it; without it, rows from now on."
            ),
        ] = None,
        last_event_id: Annotated[
            str | None, Header(description="Where a browser goes on after an interruption.")
        ] = None,
        run: RunFolder = Depends(watched),  # noqa: B008 - how FastAPI is told of what is known here alone
    ) -> AsyncIterator[ServerSentEvent]:
        async for event in live_rows(run, _position(last_event_id, after), Pace()):
            yield event

    @router.get(
        "/runs/{id}/report", summary="The report of a run", response_class=HTMLResponse, responses=MISSING
    )
    def report(id: RunId) -> HTMLResponse:
        run = found(id)
        content = run.report()
        if not content:
            report_of = f"ngs report {playground.runs_root.name}/{id}"
            raise HTTPException(404, f"{id} has no report yet; make it with `{report_of}`")
        return HTMLResponse(content, headers=ALONE)

    return router


def _line(run: RunFolder) -> RunLine:
    return RunLine(
        id=run.id,
        **{name: run.config[name] for name in ("task", "method", "steps")},
        state=run.state,
        accuracy=run.accuracy,
        report=run.file(REPORT) is not None,
    )


def _position(last_event_id: str | None, after: int | None) -> int | None:
    if last_event_id is not None and last_event_id.isascii() and last_event_id.isdigit():
        return min(int(last_event_id[:16]), FARTHEST)
    return after
