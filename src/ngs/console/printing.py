"""How commands print: text as it is, since names of files and data may hold brackets, which are no markup."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from ngs.errors import NGSError


def plain_console(*, stderr: bool = False, quiet: bool = False, width: int | None = None) -> Console:
    """Where commands print: what is in brackets stays, in tables too."""
    return Console(stderr=stderr, quiet=quiet, width=width, markup=False)


def tell(console: Console, text: str) -> None:
    """A line that is not broken, so that paths in it can be copied."""
    console.print(text, highlight=False, soft_wrap=True)


def print_whole(console: Console, table: Table) -> None:
    """As wide as it is: where it does not fit, its columns would lose digits."""
    needed = console.measure(table, options=console.options.update(max_width=1000)).maximum
    plain_console(width=max(console.width, needed), quiet=console.quiet).print(table)


def print_json(facts: Any) -> None:
    typer.echo(json.dumps(facts, indent=2))


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
        print_json(found)
    if any("error" in each for each in found):
        raise typer.Exit(1)
