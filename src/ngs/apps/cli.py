"""The command line `ngs`: its commands, each imported when it is called.

PyTorch and all that trains take seconds to import; `ngs serve` shows its page before that.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from ngs.errors import NGSError

COMMANDS = {
    "tour": "tour.tour",
    "train": "train_commands.train_app",
    "evaluate": "run_commands.evaluate",
    "predict": "reading_commands.predict",
    "see": "seeing_commands.see",
    "ask": "asking_commands.ask",
    "explain": "reading_commands.explain",
    "report": "run_commands.report",
    "compare": "run_commands.compare",
    "weights": "seeing_commands.weights",
    "reproduce": "reproduce_commands.reproduce",
    "results": "reproduce_commands.results",
    "serve": "serve.command.serve",
    "data": "data_commands.data_app",
    "bench": "bench_command.bench",
}
"""By name, where in `ngs.apps` each is."""


class Commands(TyperGroup):
    """Those of the table. An NGSError is told on standard error; bugs keep their traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except NGSError as error:
            typer.echo(f"ngs: {error}", err=True)
            raise typer.Exit(1) from None

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].rpartition(".")
        found = getattr(import_module(f"ngs.apps.{module}"), name)
        if isinstance(found, typer.Typer):
            group = get_group(found)
            group.name = cmd_name
            return group
        alone = typer.Typer(add_completion=False)
        alone.command(cmd_name)(found)
        return get_command(alone)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


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
