"""What `ngs serve` serves: the runs of a folder, and what their tasks have to show."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from ngs.apps.serve.run_folders import RunFolders
from ngs.errors import NGSError
from ngs.tasks.playground.limits import Slots
from ngs.tasks.playground.view import Server, View
from ngs.tasks.playground.visitors import Visitors
from ngs.tasks.run_folder import task_name
from ngs.tasks.trainable import Trainable


class Playground:
    """Runs, results (records of `ngs reproduce`), and the views of all tasks: installed ones and `tasks`."""

    def __init__(
        self,
        runs_root: Path = Path("runs"),
        results: Path = Path("docs/results"),
        tasks: Iterable[Trainable] = (),
        visitors: Visitors | None = None,
    ) -> None:
        self.runs_root, self.results = runs_root, results
        self.visitors = Visitors() if visitors is None else visitors
        self.server = Server(runs_root, self.visitors)
        self.streams = Slots(self.visitors.limits.streams, 0.0)  # sent by the one loop, which never waits
        self.runs = RunFolders(runs_root, tasks)
        made = ((name, task.playground(self.server)) for name, task in self.runs.tasks.items())
        self.views: Mapping[str, View] = {name: view for name, view in made if view is not None}

    def load(self, given: Iterable[Path]) -> None:
        """Show the networks of the given runs, and of other tasks those of the runs that finished last."""
        chosen = {self._with_view(run): run for run in given}
        for name, view in self.views.items():
            run = chosen.get(name) or self.runs.newest(name)
            if run is not None:
                view.load(run)

    def _with_view(self, run: Path) -> str:
        name = task_name(run)
        if name not in self.views:
            raise NGSError(
                f"{run} is of the task {name!r}, which has nothing to try on the page; give runs of "
                f"{' or '.join(f'`ngs train {each}`' for each in self.views)}"
            )
        return name

    def prepare(self) -> None:
        """Do in advance, while serving, what visitors would wait for."""
        for view in self.views.values():
            view.prepare()

    def stop(self) -> None:
        for view in self.views.values():
            view.stop()

    def missing(self) -> list[str]:
        """What cannot be shown yet, and how to get it."""
        return [
            f"no run of `ngs train {name}` has finished in {self.runs_root}: {view.otherwise}"
            for name, view in self.views.items()
            if not view.ready
        ]
