"""The results of experiments, each a page of its own."""

import threading
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path
from fastapi.responses import HTMLResponse
from markdown_it import MarkdownIt
from markupsafe import Markup

from ngs.apps.serve.guard import ALONE
from ngs.apps.serve.playground import Playground
from ngs.errors import NGSError
from ngs.experiments.catalogue.page import EXPERIMENTS, findings
from ngs.tasks.playground.messages import Message, part
from ngs.tasks.report.sections import render
from ngs.tasks.results.outcome import read_outcome
from ngs.tasks.results.tables import provenance

_DRAWING = threading.Lock()  # figures are made one at a time: matplotlib does not promise more

Name = Annotated[str, Path(max_length=255, description="Of the experiment.", examples=["cost"])]


class ResultLine(Message):
    """What is known of an experiment."""

    name: str = part("As `ngs reproduce` calls it.", "cost")
    title: str = part("What it is.")
    done: int = part("Runs that are done.")
    wanted: int = part("Runs that there should be.")


def results_router(playground: Playground) -> APIRouter:
    """Everything under /api/results."""
    router = APIRouter(prefix="/api/results", tags=["runs"])

    @router.get("", summary="What is known of the experiments of `ngs reproduce`")
    def results() -> list[ResultLine]:
        with playground.server.jobs:
            return [line for line, _ in results_in(playground.results)]

    @router.get(
        "/{name}",
        summary="The tables of an experiment, and what they say",
        response_class=HTMLResponse,
        responses={404: {"description": "There is no such result."}},
    )
    def result(name: Name) -> HTMLResponse:
        with playground.server.jobs:
            for line, page in results_in(playground.results):
                if line.name == name:
                    return HTMLResponse(page, headers=ALONE)
        raise HTTPException(404, f"there is no result {name}; choose one of those that /api/results lists")

    return router


def results_in(folder: FilePath) -> Iterator[tuple[ResultLine, str]]:
    """The experiments with a record in the folder, in the order of the catalogue, and the page of each."""
    for name in EXPERIMENTS:
        path = folder / f"{name}.json"
        try:
            changed = path.stat().st_mtime_ns
        except OSError:
            continue
        with _DRAWING:
            yield _shown(name, path, changed)


@lru_cache(maxsize=64)
def _shown(name: str, path: FilePath, changed: int) -> tuple[ResultLine, str]:
    """`changed` is when, so that a record is shown again when there is more of it."""
    experiment = EXPERIMENTS[name]
    try:
        outcome = read_outcome(path)
        text = f"{experiment.show(outcome).text}\n\n{provenance(outcome)}"
        done = sum(len(place.runs) for place in outcome.places if not place.instead)
        wanted = sum(place.wanted for place in outcome.places)
    except (NGSError, LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        # A record by hand, or of another version: it must not hide the others.
        text = f"{path.name} cannot be shown ({error}); make it again with `ngs reproduce {name}`"
        done = wanted = 0
    page = render(
        "apps/serve/result.html",
        title=experiment.title,
        about=as_html(findings(path.with_suffix(".md"))),
        text=as_html(text),
        style=Markup(files("ngs.experiments.report").joinpath("page.css").read_text(encoding="utf-8")),
    )
    return ResultLine(name=name, title=experiment.title, done=done, wanted=wanted), page


def as_html(text: str) -> Markup:
    """Markdown without HTML of its own, pictures and links: they lead to files that are not here.

    >>> as_html("**a** [b](c.md) <i>")
    Markup('<p><strong>a</strong> b &lt;i&gt;</p>\\n')
    """
    return Markup(_MARKDOWN.render(text))


_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
for _part, _html in {
    **dict.fromkeys(("image", "link_open", "link_close"), ""),
    "table_open": '<div class="wide"><table class="numbers">',
    "table_close": "</table></div>",
}.items():
    _MARKDOWN.add_render_rule(_part, lambda *_, html=_html: html)
