"""How a command fails: the message of an error on standard error, and exit code 1."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

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
