"""The runs in a folder, live while they train; their reports; and the results of experiments."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Header, HTTPException, Path, Query, Response
from fastapi.responses import HTMLResponse

from ngs.apps.serve.live_rows import EventStream, Pace, live_rows
from ngs.apps.serve.messages import Message, part
from ngs.apps.serve.playground import Playground
from ngs.apps.serve.run_folders import RunFolder, SkippedFolder, State, run_folder, run_folders
from ngs.errors import NGSError
from ngs.experiments.catalogue.index import EXPERIMENTS
from ngs.experiments.catalogue.page import findings
from ngs.tasks.results.outcome import read_outcome
from ngs.tasks.results.tables import provenance

REPORT_HEADERS = {
    # A report has styles and pictures of its own, no scripts, and links to its own sections only.
    "Content-Security-Policy": "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox",
    "Cache-Control": "no-cache",
}
FARTHEST = 2**53
"""Bytes of a file; numbers in a browser are exact up to here."""

MISSING: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such run, or no report of it."}}

_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_DRAWING = threading.Lock()
"""Figures are made one at a time: matplotlib does not promise more."""

RunId = Annotated[str, Path(max_length=255, description="The name of its folder.", examples=["demo-m-bs"])]


class RunLine(Message):
    """A run in the list of runs."""

    id: str = part("The name of its folder.", "demo-m-bs")
    task: str = part("hwf or clevr.", "hwf")
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
    rows: list[dict[str, Any]] = part(
        "What was measured on the way: of every few steps the loss, of every validation the "
        "shares; at most 2,000 rows, evenly.",
        [{"step": 10, "loss": 0.8, "seconds": 1.7}],
    )
    position: int = part("Of these rows in their file: `after` of the events that follow.")
    result: dict[str, Any] | None = part("How good it is in the end; null before.")


class ResultText(Message):
    """What is known of an experiment."""

    name: str = part("As `ngs reproduce` calls it.", "clevr-table")
    title: str = part("What it is.")
    about: str = part("What is asked, and with which settings; Markdown.")
    text: str = part("Tables and what they say; Markdown without pictures.")
    done: int = part("Runs that are done.")
    wanted: int = part("Runs that there should be.")


def runs_router(playground: Playground) -> APIRouter:
    """Everything under /api/runs and /api/results."""
    router = APIRouter(prefix="/api", tags=["runs"])

    def found(id: str) -> RunFolder:
        run = run_folder(playground.runs_root, id)
        if run is None:
            raise HTTPException(404, f"there is no run {id}; choose one of those that /api/runs lists")
        return run

    @router.get("/runs", summary="The runs, the latest first")
    def runs() -> RunList:
        listed, skipped = run_folders(playground.runs_root)
        return RunList(runs=[_line(run) for run in listed], skipped=skipped)

    @router.get("/runs/{id}", summary="A run: its configuration, curves and result", responses=MISSING)
    def view(id: RunId) -> RunView:
        with playground.jobs:
            run = found(id)
            state = run.state  # before the rows: a finished run has written all of them
            rows, position = run.rows()
            return RunView(
                id=id, state=state, config=run.config, rows=rows, position=position, result=run.result
            )

    @router.get(
        "/runs/{id}/events",
        summary="Follow a run",
        description="Server-sent events: `data: row` for each new row, with its position as `id`; "
        "`event: restart` where a resumed run writes its record anew, whose rows follow from the first on; "
        "`event: state` with `{state}` where a run stopped writing, or goes on; "
        "the last one is `event: done` with `{state}`. After a stream without it, ask for the next.",
        response_class=Response,
        responses={**MISSING, 200: {"content": {"text/event-stream": {}}}},
    )
    def events(
        id: RunId,
        after: Annotated[
            int | None,
            Query(
                ge=0, le=FARTHEST, description="A `position`: rows behind it; without it, rows from now on."
            ),
        ] = None,
        last_event_id: Annotated[
            str | None, Header(description="Where a browser goes on after an interruption.")
        ] = None,
    ) -> EventStream:
        rows = live_rows(found(id), _position(last_event_id, after), Pace())
        return EventStream(rows, playground.streams)

    @router.get(
        "/runs/{id}/report", summary="The report of a run", response_class=HTMLResponse, responses=MISSING
    )
    def report(id: RunId) -> HTMLResponse:
        run = found(id)
        content = run.report()
        if not content:
            report_of = f"ngs report {playground.runs_root.name}/{id}"
            raise HTTPException(404, f"{id} has no report yet; make it with `{report_of}`")
        return HTMLResponse(content, headers=REPORT_HEADERS)

    @router.get("/results", summary="What is known of the experiments of `ngs reproduce`")
    def results() -> list[ResultText]:
        with playground.jobs:
            return list(result_texts(playground.results))

    return router


def _line(run: RunFolder) -> RunLine:
    return RunLine(
        id=run.id,
        **{name: run.config[name] for name in ("task", "method", "steps")},
        state=run.state,
        accuracy=run.accuracy,
        report=run.has_report,
    )


def _position(last_event_id: str | None, after: int | None) -> int | None:
    """What a browser saw last, or what the page asked for."""
    if last_event_id is not None and last_event_id.isascii() and last_event_id.isdigit():
        return min(int(last_event_id[:16]), FARTHEST)
    return after


# Results


def result_texts(folder: FilePath) -> Iterator[ResultText]:
    """Of the experiments with a record in the folder, in the order of the catalogue."""
    for name in EXPERIMENTS:
        path = folder / f"{name}.json"
        try:
            changed = path.stat().st_mtime_ns
        except OSError:
            continue
        with _DRAWING:
            yield _shown(name, path, changed)


@lru_cache(maxsize=64)
def _shown(name: str, path: FilePath, changed: int) -> ResultText:
    """`changed` is when, so that a record is shown again when there is more of it."""
    experiment = EXPERIMENTS[name]
    try:
        outcome = read_outcome(path)
        text = f"{_IMAGE.sub('', experiment.show(outcome).text)}\n\n{provenance(outcome)}"
        done = sum(len(place.runs) for place in outcome.places if not place.instead)
        wanted = sum(place.wanted for place in outcome.places)
    except (NGSError, LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        # A record by hand, or of another version: it must not hide the others.
        text = f"{path.name} cannot be shown ({error}); make it again with `ngs reproduce {name}`"
        done = wanted = 0
    return ResultText(
        name=name,
        title=experiment.title,
        about=findings(path.with_suffix(".md")),
        text=re.sub(r"\n{3,}", "\n\n", text).strip(),
        done=done,
        wanted=wanted,
    )
