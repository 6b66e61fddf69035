"""What `ngs data` tells alike of every kind of data: how far it is, tables of counts, and long lists cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from ngs.apps.plain_text import plain_console

SHOWN = 20
"""Sources, questions and words that a message names; the rest are counted, and --json names all."""


@contextmanager
def images_counted() -> Iterator[Callable[[int, int], None]]:
    """Show how many images are read of how many: call what this gives with both."""
    console = plain_console(stderr=True)
    columns = (TextColumn("reading images"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("images", total=None)
        yield lambda done, images: bar.update(task, completed=done, total=images)


def count_table(
    title: str, headings: Sequence[str], rows: Mapping[str, Sequence[int]], totals: Sequence[int] = ()
) -> Table:
    """`title` ends in what the rows are named by."""
    table = Table(title.rpartition(" ")[2], title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="right")
    for name, counts in rows.items():
        table.add_row(name, *(f"{count:,}" for count in counts))
    if totals:
        table.add_section()
        table.add_row("all", *(f"{count:,}" for count in totals))
    return table


def some(things: Sequence[object]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(things) - SHOWN:,} more" if len(things) > SHOWN else ""
    return f"{', '.join(map(str, things[:SHOWN]))}{more}"
