"""The report of a run: one HTML page without other files, for light and dark screens of any width.

It shows what the run wrote. Mistakes and corrections are read anew from its networks on the CPU, and judged
by the labels, which learning from answers never saw.
"""

import shlex
from collections.abc import Collection, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ngs.experiments.report.curves import COLOURS, POINTS, charts
from ngs.experiments.report.outcome import Run, read_run
from ngs.learning.whole_file import replacing
from ngs.tasks.report.report import TEST, VALIDATION, Report, Shares
from ngs.tasks.report.sections import Section, render
from ngs.tasks.run_folder import BEST, REPORT, check_there
from ngs.tasks.trainable import Trainable


def write_report(folder: Path, *, out: Path | None = None, task: Trainable | None = None) -> Path:
    """Write the report of a run, by default as report.html in its folder; return its path."""
    run, shown = read_run(folder, task), None
    if (folder / BEST).exists():
        check_there(folder, run.config)
        shown = run.task.report().read(run.task, folder, run.config)
    text = page(run, shown)
    path = folder / REPORT if out is None else out
    with replacing(path) as stage:
        stage.write_text(text, encoding="utf-8")
    return path


def page(run: Run, shown: Any) -> str:
    """The whole document; `shown` is the task's reading of its data, None without a network."""
    parts = {}
    now = None if shown is None else Shares.of(shown.scores.as_facts(), run.task.metrics)
    if now is not None:
        parts = (
            {TEST: now} if run.result is None else {TEST: run.result.test, VALIDATION: run.result.validation}
        )
    report = run.task.report()(run.task, run.config, shown, parts)
    return render(
        "experiments/report/page.html",
        run=run,
        report=report,
        sections=list(_sections(run, report, now)),
        style=Markup(files("ngs.experiments.report").joinpath("page.css").read_text(encoding="utf-8")),
        command=shlex.join(["ngs", "report", str(run.folder), *run.task.option]),
    )


def _sections(run: Run, report: Report, now: Shares | None) -> Iterator[Section]:
    if now is not None:
        yield report.section("accuracy", "Accuracy", now=now, differs=_differs(report, now))
    drawn = list(charts(run.rows, run.result.chosen_step if run.result else None, report.curves))
    values = {"report": report, "charts": drawn, "colours": COLOURS, "records": len(run.rows), "most": POINTS}
    yield Section("curves", "How it learned", render("experiments/report/curves.html", **values))
    if now is not None:
        yield from report.more()
    again = {"tables": settings_of(run), "commands": commands(run.task, run.config.given)}
    yield Section("setup", "What ran", render("experiments/report/setup.html", **again))


def _differs(report: Report, now: Shares) -> bool:
    """Whether the new reading differs from the record."""
    test = report.test
    return report.is_all and (now.right != test.right or (now.examples == test.examples and now != test))


# What ran


def settings_of(run: Run) -> list[tuple[str, dict[str, str], Collection[str]]]:
    """Configuration and environment; each with the names of settings that are not the default."""
    settings = {key: _told(value) for key, value in vars(run.config).items()}
    return [("configuration", settings, run.config.given), ("environment", dict(_flat(run.environment)), ())]


def _told(value: Any) -> str:
    if value is None or value == ():
        return "–"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _flat(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Packages one by one, and the command as typed."""
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from ((str(key), _told(part)) for key, part in value.items())
        else:
            yield name, shlex.join(map(str, value)) if isinstance(value, list) else _told(value)


def commands(task: Trainable, given: Mapping[str, Any]) -> Iterator[str]:
    """The commands for a run with these settings and for its report."""
    words = ["ngs", "train", task.called]
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(option if value else option.replace("--", "--no-", 1))
        else:
            for each in value if isinstance(value, tuple) else (value,):
                words += [option, str(each)]
    yield shlex.join([*words, "--out", "again"])
    yield shlex.join(["ngs", "report", "again", *task.option])
