"""An experiment as data: which jobs fill which places of a table or lines of a figure, and how to show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ngs.errors import DataError
from ngs.experiments.job import Job, address
from ngs.experiments.results.outcome import Outcome
from ngs.experiments.results.tables import Section


@dataclass(frozen=True)
class Means:
    """What there is to experiment with."""

    hwf: str = "data/HWF.ngs"
    hwf_clean: str = "data/HWF-clean.ngs"
    clevr: str = "data/CLEVR-25k.ngs"
    seeds: int = 3
    device: str = "cpu"
    """on which costs are measured: cpu or cuda"""

    def check(self, *sources: str) -> None:
        """A DataError where one of these files is missing."""
        missing = [source for source in sources if not Path(source).exists()]
        if missing:
            raise DataError(
                f"{', '.join(missing)}: there is no such file; make it with `ngs data import`, say where it "
                f"is (--hwf, --hwf-clean, --clevr), or try --quick, which needs none"
            )


@dataclass(frozen=True)
class Cell:
    """One place in a table, or one line of a figure."""

    row: str
    column: str
    jobs: tuple[Job, ...]
    """one for each seed"""
    instead: tuple[Job, ...] = ()
    """shown, and said so, while there are no others: the same with fewer steps, for instance"""


@dataclass(frozen=True)
class Experiment:
    """A declaration; nothing happens before its jobs are done."""

    name: str
    title: str
    about: str
    """what is asked, and with which settings; Markdown"""
    needs: tuple[str, ...]
    """which of the `Means`"""
    full: Callable[[Means], Sequence[Cell]]
    """as in the paper, or what we would want to know of our own"""
    quick: Callable[[Means], Sequence[Cell]]
    """the same on embedded data, in minutes on two cores"""
    show: Callable[[Outcome], Section]

    def cells(self, means: Means, *, quick: bool) -> tuple[Cell, ...]:
        if quick:
            return tuple(self.quick(means))
        means.check(*(getattr(means, name) for name in self.needs))
        return tuple(self.full(means))


def addresses_of(cells: Sequence[Cell]) -> set[str]:
    """Of all that cells may be filled with: what is wanted, and what is shown for it."""
    return {address(job) for cell in cells for job in (*cell.jobs, *cell.instead)}


def jobs_of(cells: Sequence[Cell], *, instead: bool = False) -> Iterator[Job]:
    """What has to be done; with `instead`, what may be shown for it."""
    for cell in cells:
        yield from cell.instead if instead else cell.jobs
