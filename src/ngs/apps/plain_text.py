"""Text printed as it is: names of files and data may hold brackets, which are no markup."""

from __future__ import annotations

from rich.console import Console


def plain_console(*, stderr: bool = False, quiet: bool = False, width: int | None = None) -> Console:
    """Where commands print: what is in brackets stays, in tables too."""
    return Console(stderr=stderr, quiet=quiet, width=width, markup=False)


def tell(console: Console, text: str) -> None:
    """A line that is not broken, so that paths in it can be copied."""
    console.print(text, highlight=False, soft_wrap=True)
