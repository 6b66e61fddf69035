"""The report of a run: one HTML page that needs nothing else, for a light or a dark screen of any width.

What the run wrote is shown as it stands. The mistakes and the corrections are read anew from its networks,
on the CPU, and judged by the labels, which learning from answers never saw.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template

from ngs.experiments.report.formula_sections import FormulaPage
from ngs.experiments.report.gallery import Gallery
from ngs.experiments.report.markup import element, joined
from ngs.experiments.report.outcome import Run, read_run
from ngs.experiments.report.question_sections import QuestionPage
from ngs.experiments.report.scene_gallery import SceneGallery
from ngs.experiments.report.scene_sections import ScenePage
from ngs.experiments.report.sections import TaskPage
from ngs.learning.whole_file import replacing
from ngs.tasks.run_folder import BEST, REPORT, check_there
from ngs.tasks.trainable import Trainable

PAGES: Mapping[str, type[TaskPage]] = {"hwf": FormulaPage, "clevr": QuestionPage, "scenes": ScenePage}
"""By the task of a run."""


def write_report(folder: Path, *, out: Path | None = None, task: Trainable | None = None) -> Path:
    """Write the report of the run in `folder`, by default into it as report.html; return where it is."""
    run, shown = read_run(folder, task), None
    if (folder / BEST).exists():
        check_there(folder, run.config)
        shown = PAGES[run.task.name].read(folder, run.task, run.config)
    text = page(run, shown)
    path = folder / REPORT if out is None else out
    with replacing(path) as stage:
        stage.write_text(text, encoding="utf-8")
    return path


def page(run: Run, shown: Gallery | SceneGallery | None) -> str:
    """The whole document; without a gallery where there is no network yet."""
    report = PAGES[run.task.name](run, shown)
    below = list(report.sections())
    contents = [element("a", title, href=f"#{name}") for name, title, _ in below]
    parts = [
        element("header", *report.head(), element("nav", *contents, class_="contents")),
        *(element("section", element("h2", title), *inside, id=name) for name, title, inside in below),
        element("footer", "Made by ", element("code", shlex.join(["ngs", "report", str(run.folder)]))),
    ]
    static = files("ngs.experiments.report").joinpath("data")
    return Template(static.joinpath("report.html").read_text(encoding="utf-8")).substitute(
        title=joined(f"{run.config.method} on {report.data}"),
        style=static.joinpath("report.css").read_text(encoding="utf-8"),
        body="\n".join(parts),
    )
