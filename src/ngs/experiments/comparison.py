"""Runs side by side: the same configuration with several seeds is one row, with mean and spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from ngs.errors import DataError
from ngs.experiments.config import TrainHWF, read_facts
from ngs.experiments.record import METRICS, read_rows
from ngs.experiments.run import ENVIRONMENT, RESULT, load_config

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

    settings: dict[str, Any]
    """the method, and what is neither the default nor shared by all groups"""
    data: str
    seeds: tuple[int, ...]
    calculation: Spread
    formula: Spread
    symbol: Spread
    seconds: Spread
    """of training, without validation"""
    seconds_to: Spread | None
    """until the test accuracy first reached the goal, where every run has a test curve that did"""
    hardware: tuple[str, ...]
    commits: tuple[str, ...]


def compare(folders: Sequence[Path], goal: float = 0.985) -> list[Group]:
    """The groups of finished runs, in the order their first run was given."""
    groups: dict[TrainHWF, list[Path]] = {}
    for folder in folders:
        config = load_config(folder)
        groups.setdefault(_without_seed(config), []).append(folder)
    shared = _shared([config.as_facts() for config in groups])
    return [_group(config, runs, shared, goal) for config, runs in groups.items()]


def _without_seed(config: TrainHWF) -> TrainHWF:
    return replace(config, seed=0, test_curve=False)  # neither makes it another experiment


def _shared(configurations: Sequence[dict[str, Any]]) -> set[str]:
    first = configurations[0]
    return {name for name in first if all(facts[name] == first[name] for facts in configurations)}


def _group(config: TrainHWF, runs: Sequence[Path], shared: set[str], goal: float) -> Group:
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
    reached = [_seconds_to(run, goal) for run in runs]
    default = TrainHWF().as_facts()
    settings = {
        name: value
        for name, value in config.as_facts().items()
        if name not in {*shared, *TOLD_ELSEWHERE} and value != default[name]
    }

    def tested(name: str) -> Spread:
        return Spread.of([result["test"][name] for result in results])

    return Group(
        settings={"method": config.method, **settings},
        data=results[0]["data"],
        seeds=seeds,
        calculation=tested("calculation"),
        formula=tested("formula"),
        symbol=tested("symbol"),
        seconds=Spread.of([result["training_seconds"] for result in results]),
        seconds_to=Spread.of([s for s in reached if s is not None]) if None not in reached else None,
        hardware=tuple(sorted({str(facts["device"]) for facts in environments})),
        commits=tuple(sorted({str(facts["commit"]) for facts in environments})),
    )


def _result(run: Path) -> Any:
    if not (run / RESULT).exists():
        raise DataError(f"{run} is not finished; go on with: ngs train hwf --resume {run}")
    result = read_facts(run / RESULT)
    if not isinstance(result, dict) or not {"data", "digest", "training_seconds", "test"} <= result.keys():
        raise DataError(f"{run / RESULT} is damaged, or of another version of NGS; train again")
    return result


def _seconds_to(run: Path, goal: float) -> float | None:
    curve = (row for row in read_rows(run / METRICS) if "test" in row)
    return next((row["seconds"] for row in curve if row["test"]["calculation"] >= goal), None)
