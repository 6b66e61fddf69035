"""Runs side by side: the same configuration with several seeds is one row, with mean and spread."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ngs.errors import DataError, NGSError
from ngs.experiments.report.outcome import Result, Run, read_run
from ngs.tasks.results.curves import curves_figure, save, together
from ngs.tasks.results.outcome import Spread
from ngs.tasks.run_folder import ENVIRONMENT
from ngs.tasks.trainable import Trainable

TOLD_ELSEWHERE = ("data", "method", "seed", "test_curve", "test_growth")
"""Settings that a group shows elsewhere, or that change no result."""


@dataclass(frozen=True)
class Group:
    """Runs that differ only in their seed."""

    task: str
    settings: dict[str, Any]  # method, and settings that differ between groups
    data: str
    seeds: tuple[int, ...]
    test: dict[str, Spread]  # shares of the test part that every run knows
    seconds: Spread  # of training, without validation
    seconds_to: Spread | None  # until the goal; None unless all test curves reach it
    hardware: tuple[str, ...]
    commits: tuple[str, ...]


def compare(folders: Sequence[Path], goal: float = 0.985, task: Trainable | None = None) -> list[Group]:
    """Groups of finished runs, in the order of their first runs."""
    groups = seeds_together(folders, task)
    return [
        _group(runs, _shared([settings for other, settings in groups if other == name]), goal)
        for (name, _), runs in groups.items()
    ]


def seeds_together(
    folders: Sequence[Path], task: Trainable | None = None
) -> dict[tuple[str, Any], list[Run]]:
    """Runs by task and settings other than the seed, in the order given."""
    groups: dict[tuple[str, Any], list[Run]] = {}
    for folder in folders:
        run = read_run(folder, task)
        config = replace(run.config, seed=0, test_curve=False, test_growth=0)  # the same experiment
        groups.setdefault((run.task.name, config), []).append(run)
    return groups


def curve(run: Run) -> dict[int, float]:
    """The share of right test answers by step."""
    share = run.task.metrics.answers
    found = {row["step"]: row["test"][share] for row in run.rows if "test" in row}
    if not found:
        raise DataError(f"{run.folder} has no test curve; train it with --test-curve")
    return found


def draw_curves(folders: Sequence[Path], path: Path, task: Trainable | None = None) -> None:
    """Write the figure: a line for each configuration, with its seeds together.

    A line ends with its shortest run. Its name is that of its first folder without the seed, or the whole
    path if two have the same name.
    """
    if path.suffix not in (".svg", ".png"):
        raise NGSError(f"the figure is to be {path}; give a name that ends with .svg or .png")
    groups = list(seeds_together(folders, task).values())
    short = [runs[0].folder.name.removesuffix(f"-{runs[0].config.seed}") for runs in groups]
    curves = {
        name if short.count(name) == 1 else str(runs[0].folder): together([curve(run) for run in runs])
        for name, runs in zip(short, groups, strict=True)
    }
    save(curves_figure(curves, "right test answers"), path)


def _shared(settings: Sequence[Any]) -> set[str]:
    facts = [each.as_facts() for each in settings]
    return {name for name in facts[0] if all(each[name] == facts[0][name] for each in facts)}


def _group(runs: Sequence[Run], shared: set[str], goal: float) -> Group:
    config, task = runs[0].config, runs[0].task
    results = list(map(_result, runs))
    if len({result.digest for result in results}) > 1:
        raise DataError(
            f"{runs[0].folder} and others of its settings were trained on different data; compare them apart"
        )
    seeds = tuple(run.config.seed for run in runs)
    if len(set(seeds)) < len(seeds):
        raise DataError(
            f"{', '.join(str(run.folder) for run in runs)}: two of these runs have the same settings and "
            f"seed, which is one experiment twice; give one of them"
        )
    for run in runs:
        if not run.environment:
            raise DataError(f"{run.folder} has no {ENVIRONMENT}, which says where it ran; restore it")
    elsewhere = {*shared, *TOLD_ELSEWHERE}
    settings = {name: value for name, value in config.given.items() if name not in elsewhere}
    tested = {name: [result.test.by_name[name] for result in results] for name in task.metrics.shares}
    return Group(
        task=task.name,
        settings={"method": config.method, **settings},
        data=results[0].data,
        seeds=seeds,
        test={name: spread for name, shares in tested.items() if (spread := _spread(shares)) is not None},
        seconds=Spread.of([result.training_seconds for result in results]),
        seconds_to=_spread([_seconds_to(run, goal) for run in runs]),
        hardware=tuple(sorted({str(run.environment.get("device")) for run in runs})),
        commits=tuple(sorted({str(run.environment.get("commit")) for run in runs})),
    )


def _spread(values: Sequence[float | None]) -> Spread | None:
    """None unless every run has a value."""
    known = [value for value in values if value is not None]
    return Spread.of(known) if len(known) == len(values) else None


def _result(run: Run) -> Result:
    if run.result is None:
        raise DataError(
            f"{run.folder} is not finished; go on with: ngs train {run.task.called} --resume {run.folder}"
        )
    return run.result


def _seconds_to(run: Run, goal: float) -> float | None:
    share, tested = run.task.metrics.answers, (row for row in run.rows if "test" in row)
    return next((row["seconds"] for row in tested if row["test"][share] >= goal), None)
