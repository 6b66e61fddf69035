"""What a run left behind, read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ngs.errors import DataError
from ngs.tasks.report.report import Shares
from ngs.tasks.run_folder import ENVIRONMENT, METRICS, RESULT, load_config, read_facts, read_rows
from ngs.tasks.trainable import MetricsView, Trainable


@dataclass(frozen=True)
class Result:
    """The end of a finished run."""

    data: str
    digest: str
    chosen_step: int
    training_seconds: float
    tolerance: float
    """of answers, on import; 0 where they are compared as they are"""
    validation: Shares
    test: Shares
    peak_memory_mb: float | None

    @classmethod
    def read(cls, path: Path, view: MetricsView) -> Result:
        facts = read_facts(path)
        try:
            return cls(
                facts["data"],
                facts["digest"],
                int(facts["chosen_step"]),
                float(facts["training_seconds"]),
                float(facts.get("tolerance", 0.0)),
                Shares.of(facts["validation"], view),
                Shares.of(facts["test"], view),
                None if (memory := facts.get("peak_memory_mb")) is None else float(memory),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise DataError(f"{path} is no result of this version of NGS ({reason}); train again") from None


@dataclass(frozen=True)
class Run:
    """The folder of a run, read."""

    folder: Path
    task: Trainable
    config: Any
    """the settings of the task"""
    environment: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    result: Result | None
    """None where it did not come to its end"""

    @property
    def seconds(self) -> float:
        recorded = max((float(row["seconds"]) for row in self.rows), default=0.0)
        return recorded if self.result is None else self.result.training_seconds

    @property
    def steps(self) -> int:
        """That were done."""
        return max((row["step"] for row in self.rows), default=0)


def read_run(folder: Path, task: Trainable | None = None) -> Run:
    """The run in `folder`; a DataError where there is none. `task`: its own, where it is not installed."""
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder; give the folder of a run, as `ngs train` makes it")
    found, config = load_config(folder, task)
    environment = read_facts(folder / ENVIRONMENT) if (folder / ENVIRONMENT).exists() else {}
    if not isinstance(environment, dict):
        raise DataError(f"{folder / ENVIRONMENT} does not describe the environment of a run; train again")
    rows = read_rows(folder / METRICS) if (folder / METRICS).exists() else []
    for line, row in enumerate(rows, 1):
        if not _is_record(row):
            raise DataError(f"{folder / METRICS}, line {line} is no record of a run; train again")
    result = Result.read(folder / RESULT, found.metrics) if (folder / RESULT).exists() else None
    return Run(folder, found, config, environment, rows, result)


def _is_record(row: Any) -> bool:
    return (
        isinstance(row, dict)
        and isinstance(row.get("step"), int)
        and isinstance(row.get("seconds"), int | float)
        and ("loss" not in row or isinstance(row.get("lesson"), str))
    )
