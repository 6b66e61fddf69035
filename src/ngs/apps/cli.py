"""The command line `ngs`."""

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from ngs.apps.commands import Commands, given
from ngs.errors import NGSError
from ngs.tasks.trainable import Trainable


class Program(Commands):
    """All commands. An NGSError is told on standard error; bugs keep their traceback."""

    table: ClassVar[Mapping[str, str]] = {
        "train": "ngs.apps.train_commands:train_app",
        "evaluate": "ngs.apps.run_commands:evaluate",
        "predict": "ngs.apps.reading_commands:predict",
        "explain": "ngs.apps.reading_commands:explain",
        "report": "ngs.apps.run_commands:report",
        "compare": "ngs.apps.run_commands:compare",
        "reproduce": "ngs.apps.reproduce_commands:reproduce",
        "results": "ngs.apps.reproduce_commands:results",
        "serve": "ngs.apps.serve.command:serve",
        "data": "ngs.apps.data_commands:data_app",
        "bench": "ngs.apps.bench_command:bench",
    }

    by_task = ("predict", "explain")

    def task_of(self, arguments: Sequence[str]) -> Trainable | None:
        """That of a run, unless its file is given."""
        from ngs.tasks.run_folder import CONFIG, load_config

        paths = given(arguments)
        if not paths or any(each.startswith("--task") for each in arguments):
            return None
        run = next((path for path in paths if os.path.exists(os.path.join(path, CONFIG))), paths[0])
        return load_config(Path(run)).task

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except NGSError as error:
            typer.echo(f"ngs: {error}", err=True)
            raise typer.Exit(1) from None


app = typer.Typer(cls=Program, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ngs {version('ngs')}")
        raise typer.Exit


@app.callback()
def ngs(
    wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Learn what a network should see from what the answer should be."""


def main() -> None:
    app()


if __name__ == "__main__":
    main()
