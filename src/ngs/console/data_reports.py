"""What `ngs data` tells of a data set, whatever is in it: what was packed, and tables of counts."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn
from rich.table import Table

from ngs.console.printing import plain_console, tell

SHOWN = 20  # things that a message names; the rest are counted, and --json names all


@contextmanager
def shown_reading(*columns: ProgressColumn) -> Iterator[Callable[..., None]]:
    """What is being read, on a terminal; what this gives changes what is shown of it."""
    console = plain_console(stderr=True)
    shown = (TextColumn("{task.description}"), *columns)
    with Progress(*shown, console=console, transient=True, disable=not console.is_terminal) as bar:
        yield partial(bar.update, bar.add_task("reading", total=None))


@contextmanager
def reading_images() -> Iterator[Callable[[int, int], None]]:
    """A bar that is told how many of how many images have been read."""
    with shown_reading(BarColumn(), MofNCompleteColumn()) as show:
        yield lambda done, images: show(description="reading images", completed=done, total=images)


def tell_packed(path: Path, summary: str, task: str, findings: Callable[[Console], None]) -> None:
    console = plain_console()
    tell(console, f"{path}: {summary}, {path.stat().st_size / 1e6:.0f} MB")
    findings(console)
    tell(console, f"train with it: ngs train {task} --data {shlex.quote(str(path))}")


def count_table(
    title: str,
    headers: Sequence[str],
    rows: Iterable[tuple[object, Sequence[int]]],
    totals: Sequence[int] | None = None,
) -> Table:
    """The rows are of what the title's last word says."""
    table = Table(title.rpartition(" ")[2], title=title, title_justify="left")
    for header in headers:
        table.add_column(header, justify="right")
    for name, counts in rows:
        table.add_row(str(name), *(f"{count:,}" for count in counts))
    if totals is not None:
        table.add_section()
        table.add_row("all", *(f"{count:,}" for count in totals))
    return table


def some(things: Sequence[object]) -> str:
    more = f" and {len(things) - SHOWN:,} more" if len(things) > SHOWN else ""
    return f"{', '.join(map(str, things[:SHOWN]))}{more}"
