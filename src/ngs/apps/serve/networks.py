"""The networks that all visitors share: what a run learned, and what it knew when it had just begun."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from torch import nn

from ngs.errors import NGSError
from ngs.experiments.clevr import load_reader
from ngs.experiments.config import config_of, read_facts
from ngs.experiments.folder import BEST, CONFIG, EARLY, RESULT
from ngs.experiments.hwf import load_network
from ngs.experiments.record import METRICS, read_rows
from ngs.tasks.clevr.reading import QuestionReader

TRAINED, WEAK = "trained", "weak"
"""The names that a request chooses a network by."""
FILES = MappingProxyType({TRAINED: BEST, WEAK: EARLY})


@dataclass(frozen=True, eq=False)
class Shared:
    """A network in eval mode that many threads read at once. It is never changed: who learns has a copy."""

    network: nn.Module
    accuracy: float | None
    """the share of formulas it gave the right answer for, where the run measured it"""


class Networks(Mapping[str, nn.Module | None]):
    """Networks by name, None while there is none."""

    def __init__(self) -> None:
        self._shared: Mapping[str, Shared] = {}

    def __getitem__(self, name: str) -> nn.Module | None:
        if name not in FILES:
            raise KeyError(name)
        return self._shared[name].network if name in self._shared else None

    def __iter__(self) -> Iterator[str]:
        return iter(FILES)

    def __len__(self) -> int:
        return len(FILES)

    def accuracy(self, name: str) -> float | None:
        return self._shared[name].accuracy if name in self._shared else None

    def load(self, run: Path) -> None:
        """Take the networks of a run of `ngs train hwf`; one that was stopped early may have no weak one."""
        shared = {TRAINED: Shared(load_network(run, BEST), _tested(run))}
        if (run / EARLY).exists():
            shared[WEAK] = Shared(load_network(run, EARLY), _first_validated(run))
        self._shared = shared  # at once: other threads see all of a run, or nothing


def _tested(run: Path) -> float | None:
    if not (run / RESULT).exists():
        return None
    return float(read_facts(run / RESULT)["test"]["calculation"])


def _first_validated(run: Path) -> float | None:
    rows = read_rows(run / METRICS) if (run / METRICS).exists() else []
    return next((float(row["validation"]["calculation"]) for row in rows if "validation" in row), None)


def newest_run(root: Path | None, task: str) -> Path | None:
    """The run of a task, of those directly in `root`, that finished last."""
    if root is None or not root.is_dir():
        return None
    finished = [folder for folder in root.iterdir() if (folder / RESULT).is_file() and _task(folder) == task]
    return max(finished, key=lambda folder: (folder / RESULT).stat().st_mtime, default=None)


def _task(run: Path) -> str | None:
    with suppress(NGSError):  # what is no run, or one of another version, is not offered
        return config_of(read_facts(run / CONFIG), run / CONFIG).task
    return None


def question_reader(run: Path | None) -> QuestionReader | None:
    """What a run of `ngs train clevr` learned; None where there is no run."""
    return None if run is None else load_reader(run)
