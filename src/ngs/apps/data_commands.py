"""`ngs data`: bring a published data set in, and look at what it holds."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from pathlib import Path
from random import Random
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from ngs.apps.errors import reporting_errors
from ngs.errors import DataError
from ngs.tasks.hwf import archive, packed
from ngs.tasks.hwf.dataset import HandwrittenFormulas
from ngs.tasks.hwf.inspection import Inspection, inspect
from ngs.tasks.hwf.splitting import leak_free

data_app = typer.Typer(
    help="Bring handwritten formulas in, and look at what they hold.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

SHOWN = 20
"""Sources that a message names; the rest are counted, and --json names all."""


@data_app.command("import")
@reporting_errors
def import_(
    source: Annotated[
        Path, typer.Argument(help="The archive (HWF.zip), the folder with its content, or a packed file.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="The packed file; by default data/NAME.ngs.", show_default=False)
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What results call the data set; by default as the source is called.")
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--leak-free/--as-published",
            help="Write the formulas again, so that no test image occurs in training.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Deals out the images of a leak-free split.")] = 0,
    skip_faulty: Annotated[
        bool, typer.Option("--skip-faulty", help="Leave faulty formulas out instead of refusing all.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the packed file.")] = False,
) -> None:
    """Check an archive of handwritten formulas, and pack it into one file that loads at once."""
    suffix = f"-leak-free-{seed}" if rebuild else ""
    name = name or f"{archive.title(source)}{suffix}"
    path = out or Path("data") / re.sub(r"[^\w.-]+", "-", f"{name}.ngs")
    _check_free(path, overwrite)
    reading = _read(source, skip_faulty)
    data = leak_free(reading.data, Random(seed)) if rebuild else reading.data
    data = dataclasses.replace(data, name=name)
    packed.write(path, data)
    console = Console()
    _tell(console, f"{path}: {_summary(data)}, {path.stat().st_size / 1e6:.0f} MB")
    _print_left_out(console, reading)
    _print_findings(console, inspect(data))
    _tell(console, f"train with it: ngs train hwf --data {shlex.quote(str(path))}")


@data_app.command("inspect")
@reporting_errors
def inspect_(
    source: Annotated[
        Path, typer.Argument(help="A packed file, an archive, or the folder with its content.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every source named.")] = False,
) -> None:
    """Count formulas and images by length and symbol; find test images that occur in training."""
    reading = _read(source, skip_faulty=True)
    found = inspect(reading.data)
    if as_json:
        left_out = [str(problem) for problem in reading.left_out]
        typer.echo(json.dumps({**dataclasses.asdict(found), "faulty": left_out}, indent=2))
        return
    console = Console()
    _tell(console, f"{found.name}: {_summary(reading.data)}, {found.contents:,} of them distinct")
    console.print(_length_table(found))
    console.print(_symbol_table(found))
    _print_left_out(console, reading)
    _print_findings(console, found)


def _check_free(path: Path, overwrite: bool) -> None:
    if path.is_dir():
        raise DataError(f"{path} is a folder; give --out a file name")
    if path.exists() and not overwrite:
        raise DataError(f"{path} exists; give another --out, or replace it with --overwrite")


def _read(source: Path, skip_faulty: bool) -> archive.Reading:
    """What is in an archive, a folder or a packed file."""
    if not archive.is_archive(source):
        return archive.Reading(packed.read(source), ())
    console = Console(stderr=True)
    columns = (TextColumn("reading images"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("images", total=None)
        return archive.read(
            source,
            skip_faulty=skip_faulty,
            progress=lambda done, images: bar.update(task, completed=done, total=images),
        )


def _summary(data: HandwrittenFormulas) -> str:
    train, test, images = len(data.train), len(data.test), len(data.images)
    return f"{train:,} formulas to learn from, {test:,} to be tested on, {images:,} images"


def _length_table(found: Inspection) -> Table:
    table = Table("length", title="formulas by length", title_justify="left")
    for part in ("train", "test"):
        table.add_column(part, justify="right")
    for count in found.lengths:
        table.add_row(str(count.length), f"{count.train:,}", f"{count.test:,}")
    table.add_section()
    table.add_row("all", f"{found.train_formulas:,}", f"{found.test_formulas:,}")
    return table


def _symbol_table(found: Inspection) -> Table:
    table = Table("symbol", title="images by symbol", title_justify="left")
    counts = {
        "train symbols": [count.train_written for count in found.symbols],
        "test symbols": [count.test_written for count in found.symbols],
        "train images": [count.train_images for count in found.symbols],
        "test images": [count.test_images for count in found.symbols],
        "distinct": [count.contents for count in found.symbols],
        "leaked": [count.leaked for count in found.symbols],
    }
    for header in counts:
        table.add_column(header, justify="right")
    for count, *row in zip(found.symbols, *counts.values(), strict=True):
        table.add_row(count.symbol, *(f"{number:,}" for number in row))
    table.add_section()
    totals = {header: sum(column) for header, column in counts.items()}
    totals["distinct"] = found.contents  # an image with two labels is counted under both
    table.add_row("all", *(f"{number:,}" for number in totals.values()))
    return table


def _print_left_out(console: Console, reading: archive.Reading) -> None:
    if reading.left_out:
        formulas = len({problem.place for problem in reading.left_out})
        _tell(console, f"formulas left out as faulty: {formulas}\n{archive.listed(reading.left_out)}")


def _print_findings(console: Console, found: Inspection) -> None:
    """Leaks and contradictions, or that there are none."""
    if found.leaked:
        _tell(
            console,
            f"LEAK: {len(found.leaked):,} of {found.test_images:,} test images occur in training, pixel by "
            f"pixel, in {found.leaked_formulas:,} of {found.test_formulas:,} test formulas; "
            f"`ngs data import --leak-free` deals the images out anew",
        )
    else:
        _tell(console, "no test image occurs in training")
    for contradiction in found.contradictions:
        others, agreeing = contradiction.contradicting, contradiction.agreeing
        more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
        _tell(
            console,
            f"LABELS: {', '.join(others[:SHOWN])}{more}: pixel by pixel what is called "
            f"{contradiction.symbol} elsewhere, {len(agreeing)} times (as {agreeing[0]})",
        )


def _tell(console: Console, text: str) -> None:
    """Print as it is: file names may hold brackets, which are no markup, and must not be broken."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)
