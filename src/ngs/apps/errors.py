"""How a command fails: the message of an error on standard error, and exit code 1."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
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


def one_by_one(images: Iterable[Path], work: Callable[[Path], Mapping[str, Any]], as_json: bool) -> None:
    """Work on each picture; where one fails, the others may be sound. The facts are printed if wanted."""
    found: list[dict[str, Any]] = []
    for path in images:
        try:
            found.append({"image": str(path), **work(path)})
        except NGSError as error:
            typer.echo(f"ngs: {error}", err=True)
            found.append({"image": str(path), "error": str(error)})
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    if any("error" in each for each in found):
        raise typer.Exit(1)
