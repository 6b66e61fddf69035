"""All experiments, in the order of the page: those of the paper first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ngs.errors import NGSError
from ngs.experiments.catalogue import cost
from ngs.tasks.finding import every
from ngs.tasks.results.experiment import Experiment
from ngs.tasks.trainable import Source

_TASKS = tuple(every())
_ALL = [*(each for task in _TASKS for each in task.experiments()), cost.EXPERIMENT]
EXPERIMENTS: Mapping[str, Experiment] = {
    each.name: each for each in sorted(_ALL, key=lambda each: not each.in_paper)
}
SOURCES: Sequence[Source] = tuple(source for task in _TASKS for source in task.experiment_data)
"""The data of all tasks that experiments are done with."""


def experiment(name: str) -> Experiment:
    """By its name."""
    if name not in EXPERIMENTS:
        raise NGSError(f"there is no experiment {name!r}; choose from {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
