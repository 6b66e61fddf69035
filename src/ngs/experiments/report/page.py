"""The report of a run: one HTML page that needs nothing else, for a light or a dark screen of any width.

What the run wrote is shown as it stands. The mistakes and the corrections are read anew from its networks,
on the CPU, and judged by the labels, which learning from answers never saw.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from ngs.experiments import clevr, hwf, scenes
from ngs.experiments.counted import COUNTED
from ngs.experiments.folder import BEST, REPORT, check_there
from ngs.experiments.report.curves import COLOURS, POINTS, charts
from ngs.experiments.report.gallery import ReadAgain
from ngs.experiments.report.outcome import Run, read_run
from ngs.experiments.report.setup import setup
from ngs.learning.whole_file import replacing
from ngs.tasks.clevr.report.report import QuestionReport
from ngs.tasks.hwf.report.report import FormulaReport
from ngs.tasks.pictures.report.report import SceneReport
from ngs.tasks.report.report import Report, Told
from ngs.tasks.report.sections import Section, render
from ngs.tasks.report.shares import Shares


class Page(NamedTuple):
    """How a page is made about the runs of a task."""

    report: type[Report]
    read: Callable[[Path, Any], Any]
    """what the networks in a folder with some configuration make of the data, read anew"""


PAGES: Mapping[str, Page] = {
    "hwf": Page(FormulaReport, ReadAgain(FormulaReport, hwf.readings)),
    "clevr": Page(QuestionReport, ReadAgain(QuestionReport, clevr.readings)),
    "scenes": Page(SceneReport, scenes.gallery),
}
"""By the task of a run."""


def write_report(folder: Path, *, out: Path | None = None) -> Path:
    """Write the report of the run in `folder`, by default into it as report.html; return where it is."""
    run, shown = read_run(folder), None
    if (folder / BEST).exists():
        check_there(folder, run.config)
        shown = PAGES[run.config.task].read(folder, run.config)
    text = page(run, shown)
    path = folder / REPORT if out is None else out
    with replacing(path) as stage:
        stage.write_text(text, encoding="utf-8")
    return path


def page(run: Run, shown: Any) -> str:
    """The whole document; `shown` is what the task's networks make of the data, None if there are none."""
    report = PAGES[run.config.task].report(told(run, shown), shown)
    return render(
        "experiments/report/page.html",
        run=run,
        report=report,
        sections=list(_sections(run, report)),
        style=Markup(files("ngs.experiments.report").joinpath("page.css").read_text(encoding="utf-8")),
        command=shlex.join(["ngs", "report", str(run.folder)]),
    )


def told(run: Run, shown: Any) -> Told:
    """What the report of a task is told of a run."""
    result = run.result
    if shown is None:
        return Told(run.config, None)
    now = Shares.of(shown.scores.as_facts(), COUNTED[run.config.task])
    if result is None:
        return Told(run.config, now, now=now)
    return Told(run.config, result.test, result.validation, now, result.tolerance)


def _sections(run: Run, report: Report) -> Iterator[Section]:
    """What counts about the network, how it learned, more about the network, what ran."""
    there = report.shown is not None
    if there:
        yield report.accuracy()
    drawn = list(charts(run.rows, run.result.chosen_step if run.result else None, report.curves))
    values = {"charts": drawn, "colours": COLOURS, "records": len(run.rows), "most": POINTS}
    yield report.section("curves", "How it learned", "experiments/report/curves.html", **values)
    if there:
        yield from report.more()
    yield setup(run)
