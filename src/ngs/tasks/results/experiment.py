"""An experiment as data: which jobs fill which places of a table or lines of a figure, and how to show it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ngs.errors import DataError
from ngs.tasks.results.job import Job, Trained, address
from ngs.tasks.results.outcome import Outcome
from ngs.tasks.results.tables import Section
from ngs.tasks.settings import RunSettings
from ngs.tasks.trainable import Source


@dataclass(frozen=True)
class Means:
    """The data, seeds and device of experiments."""

    data: Mapping[Source, str] = field(default_factory=dict)  # paths of sources that are not the default
    seeds: int = 3
    device: str = "cpu"

    def path(self, source: Source) -> str:
        return self.data.get(source, source.path)

    def check(self, sources: Sequence[Source]) -> None:
        missing = [self.path(source) for source in sources if not Path(self.path(source)).exists()]
        if missing:
            options = ", ".join(f"--{source.option}" for source in sources)
            raise DataError(
                f"{', '.join(missing)}: there is no such file; make it with `ngs data import`, say where it "
                f"is ({options}), or try --quick, which needs none"
            )


@dataclass(frozen=True)
class Cell:
    """One place in a table, or one line of a figure."""

    row: str
    column: str
    jobs: tuple[Job, ...]  # one for each seed
    instead: tuple[Job, ...] = ()  # marked stand-ins until the others are done


@dataclass(frozen=True)
class Experiment:
    """An experiment as data. Its question and findings are beside its record, in NAME.md."""

    name: str
    title: str
    needs: tuple[Source, ...]
    full: Callable[[Means], Sequence[Cell]]  # as in the paper
    quick: Callable[[Means], Sequence[Cell]]  # on embedded data, in minutes on two cores
    show: Callable[[Outcome], Section]
    in_paper: bool = True  # the paper's come first

    def cells(self, means: Means, *, quick: bool) -> tuple[Cell, ...]:
        if quick:
            return tuple(self.quick(means))
        means.check(self.needs)
        return tuple(self.full(means))


Rows = Mapping[str, Mapping[str, Any]]  # settings by row or column

FRACTIONS: Rows = {f"{percent}%": {"fraction": percent / 100} for percent in (25, 50, 75, 100)}
WHOLE: Rows = {"100%": {}}
TEST_GROWTH = 1.25
"""Curves are also tested at steps that grow by this factor: most is learned in the first few."""


def grid(task: str, rows: Rows, columns: Rows, config: Callable[..., RunSettings], number: int) -> list[Cell]:
    """A cell for every row and column, each with `number` seeds of the settings of both."""
    return [
        Cell(row, column, seeds(task, config(**how, **what), number))
        for row, how in rows.items()
        for column, what in columns.items()
    ]


def seeds(task: str, config: RunSettings, number: int) -> tuple[Trained, ...]:
    """The same run with seeds from 0."""
    return tuple(Trained(task, replace(config, seed=seed)) for seed in range(number))


def addresses_of(cells: Sequence[Cell]) -> set[str]:
    """The addresses of all jobs that can fill cells."""
    return {address(job) for cell in cells for job in (*cell.jobs, *cell.instead)}


def jobs_of(cells: Sequence[Cell], *, instead: bool = False) -> Iterator[Job]:
    """The jobs of cells, or those that stand in for them."""
    return (job for cell in cells for job in (cell.instead if instead else cell.jobs))
