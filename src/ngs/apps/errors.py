"""How a command fails: the message of an error on standard error, and exit code 1."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import typer

from ngs.errors import NGSError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def reporting_errors(command: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A command that tells its user what went wrong. Errors of our own making keep their traceback."""

    @wraps(command)
    def reporting(*args: Arguments.args, **options: Arguments.kwargs) -> Result:
        try:
            return command(*args, **options)
        except NGSError as error:
            typer.echo(f"ngs: {error}", err=True)
            raise typer.Exit(1) from None

    return reporting


def each_picture(images: Iterable[Path], tell_of: Callable[[Path], dict[str, Any]], *, as_json: bool) -> None:
    """Tell of each picture, and print the facts as JSON if asked; one that cannot be read stops no other."""
    found: list[dict[str, Any]] = []
    for path in images:
        try:
            facts = tell_of(path)
        except NGSError as error:
            typer.echo(f"ngs: {error}", err=True)
            facts = {"error": str(error)}
        found.append({"image": str(path), **facts})
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    if any("error" in each for each in found):
        raise typer.Exit(1)
