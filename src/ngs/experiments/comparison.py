"""Runs side by side: the same configuration with several seeds is one row, with mean and spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from ngs.errors import DataError, NGSError
from ngs.experiments.config import Config, read_facts
from ngs.experiments.counted import COUNTED
from ngs.experiments.folder import ENVIRONMENT, RESULT
from ngs.experiments.record import METRICS, read_rows
from ngs.experiments.results.curves import curves_figure, save, together
from ngs.experiments.run import load_config

TOLD_ELSEWHERE = ("data", "method", "seed", "test_curve")
"""Settings that have a place of their own in a group, or change no result."""


@dataclass(frozen=True)
class Spread:
    """The values of some runs, their mean and sample standard deviation."""

    mean: float
    deviation: float | None
    """None of a single run"""
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(mean(values), stdev(values) if len(values) > 1 else None, tuple(values))


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seed alone."""

    task: str
    settings: dict[str, Any]
    """the method, and what is neither the default nor shared by all groups"""
    data: str
    seeds: tuple[int, ...]
    test: dict[str, Spread]
    """the shares that were right on the test part, answers first; not what some run does not know"""
    seconds: Spread
    """of training, without validation"""
    seconds_to: Spread | None
    """until the test accuracy first reached the goal, where every run has a test curve that did"""
    hardware: tuple[str, ...]
    commits: tuple[str, ...]


def compare(folders: Sequence[Path], goal: float = 0.985) -> list[Group]:
    """The groups of finished runs, in the order their first run was given."""
    groups = seeds_together(folders)
    facts = [config.as_facts() for config in groups]
    return [
        _group(config, runs, _shared([f for f in facts if f["task"] == config.task]), goal)
        for config, runs in groups.items()
    ]


def seeds_together(folders: Sequence[Path]) -> dict[Config, list[Path]]:
    """The runs of each configuration, whatever its seed, in the order they were given."""
    groups: dict[Config, list[Path]] = {}
    for folder in folders:
        if folder.is_file():
            raise DataError(f"{folder} is a file, and how a run went is in its folder; give that")
        config = replace(load_config(folder), seed=0, test_curve=False)  # neither makes it another experiment
        groups.setdefault(config, []).append(folder)
    return groups


def curve(folder: Path) -> dict[int, float]:
    """The share of right test answers by step, of a run with --test-curve."""
    share = COUNTED[load_config(folder).task].answers
    rows = [row for row in read_rows(folder / METRICS) if "test" in row]
    if not rows:
        raise DataError(f"{folder} has no test curve; train it with --test-curve")
    return {row["step"]: row["test"][share] for row in rows}


def draw_curves(folders: Sequence[Path], path: Path) -> None:
    """Write the figure: a line for each configuration, its seeds together.

    A line is named after its first folder, less the seed at its end, and ends where the shortest run does.
    """
    if path.suffix not in (".svg", ".png"):
        raise NGSError(f"the figure is to be {path}; give a name that ends with .svg or .png")
    curves = {
        runs[0].name.removesuffix(f"-{load_config(runs[0]).seed}"): together([curve(run) for run in runs])
        for runs in seeds_together(folders).values()
    }
    save(curves_figure(curves, "right test answers"), path)


def _shared(configurations: Sequence[dict[str, Any]]) -> set[str]:
    first = configurations[0]
    return {name for name in first if all(facts[name] == first[name] for facts in configurations)}


def _group(config: Config, runs: Sequence[Path], shared: set[str], goal: float) -> Group:
    results = [_result(run) for run in runs]
    if len({result["digest"] for result in results}) > 1:
        raise DataError(
            f"{runs[0]} and others of its settings were trained on different data; compare them apart"
        )
    seeds = tuple(load_config(run).seed for run in runs)
    if len(set(seeds)) < len(seeds):
        raise DataError(
            f"{', '.join(map(str, runs))}: two of these runs have the same settings and seed, which is one "
            f"experiment twice; give one of them"
        )
    environments = [read_facts(run / ENVIRONMENT) for run in runs]
    reached = [_seconds_to(run, COUNTED[config.task].answers, goal) for run in runs]
    elsewhere = {*shared, *TOLD_ELSEWHERE}
    settings = {name: value for name, value in config.given.items() if name not in elsewhere}

    def tested(name: str) -> Spread:
        return Spread.of([result["test"][name] for result in results])

    known = [
        name for name in COUNTED[config.task].shares if all(r["test"][name] is not None for r in results)
    ]
    return Group(
        task=config.task,
        settings={"method": config.method, **settings},
        data=results[0]["data"],
        seeds=seeds,
        test={name: tested(name) for name in known},
        seconds=Spread.of([result["training_seconds"] for result in results]),
        seconds_to=Spread.of([s for s in reached if s is not None]) if None not in reached else None,
        hardware=tuple(sorted({str(facts["device"]) for facts in environments})),
        commits=tuple(sorted({str(facts["commit"]) for facts in environments})),
    )


def _result(run: Path) -> Any:
    if not (run / RESULT).exists():
        task = load_config(run).task
        raise DataError(f"{run} is not finished; go on with: ngs train {task} --resume {run}")
    result = read_facts(run / RESULT)
    needed = {"data", "digest", "training_seconds", "test"}
    whole = isinstance(result, dict) and needed <= result.keys() and isinstance(result["test"], dict)
    if not whole or not set(COUNTED[load_config(run).task].shares) <= result["test"].keys():
        raise DataError(f"{run / RESULT} is damaged, or of another version of NGS; train again")
    return result


def _seconds_to(run: Path, share: str, goal: float) -> float | None:
    curve = (row for row in read_rows(run / METRICS) if "test" in row)
    return next((row["seconds"] for row in curve if row["test"][share] >= goal), None)
