"""`ngs data`: bring a published data set in, and look at what it holds. What a file is, the tasks know."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from ngs.apps.commands import Commands, given, group_of
from ngs.errors import DataError
from ngs.tasks.finding import every
from ngs.tasks.importing import Source
from ngs.tasks.trainable import Trainable


class DataCommands(Commands):
    """What can be done with data."""

    table: ClassVar[Mapping[str, str]] = {
        "import": "ngs.apps.data_commands:import_",
        "inspect": "ngs.apps.data_commands:inspect_",
    }
    by_task = ("import", "inspect")
    group = "data"

    def task_of(self, arguments: Sequence[str]) -> Trainable | None:
        """That whose data are given; a DataError where none knows them."""
        paths = given(arguments)
        there = [Path(path) for path in paths if os.path.exists(path)]
        for path in there:
            for task in reversed(every()):  # the first of them takes every folder that no other knows
                if task.holds(path, arguments):
                    return task
        if not paths:
            return None
        known = "; ".join(task.sources for task in every() if task.sources)
        what = f"{there[0]}: it holds no data" if there else f"{paths[0]}: there is no such file or folder"
        raise DataError(f"{what}; give {known}; or a packed file")


data_app = group_of(DataCommands, "Bring a data set in, and look at what it holds.")


def import_(source: Source) -> None:
    """Check a published data set, and pack it into one file that loads at once.

    What more can be said depends on the data: `ngs data import SOURCE --help` tells it.
    """


def inspect_(source: Source) -> None:
    """Count what a data set holds, and check it: leaks, labels, modules, answers.

    What more can be said depends on the data: `ngs data inspect SOURCE --help` tells it.
    """
