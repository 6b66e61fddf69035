"""Handwritten formulas for `ngs data`: packed, counted, and told about."""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path
from random import Random

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from ngs.apps.plain_text import plain_console, tell
from ngs.tasks.faults import listed
from ngs.tasks.hwf import archive, packed
from ngs.tasks.hwf.dataset import HandwrittenFormulas
from ngs.tasks.hwf.inspection import Inspection, inspect
from ngs.tasks.hwf.splitting import leak_free

SHOWN = 20
"""Sources that a message names; the rest are counted, and --json names all."""


def bring_in(source: Path, path: Path, name: str, *, skip_faulty: bool, rebuild: Random | None) -> None:
    """Pack what `source` holds into the file `path`; with `rebuild`, without leaks."""
    reading = _read(source, skip_faulty)
    data = leak_free(reading.data, rebuild) if rebuild else reading.data
    data = dataclasses.replace(data, name=name)
    packed.write(path, data)
    console = plain_console()
    tell(console, f"{path}: {_summary(data)}, {path.stat().st_size / 1e6:.0f} MB")
    _print_left_out(console, reading)
    _print_findings(console, inspect(data))
    tell(console, f"train with it: ngs train hwf --data {shlex.quote(str(path))}")


def show(source: Path, *, as_json: bool) -> None:
    """What `source` holds: formulas and images by length and symbol, leaks, contradictions."""
    reading = _read(source, skip_faulty=True)
    found = inspect(reading.data)
    if as_json:
        left_out = [str(problem) for problem in reading.left_out]
        typer.echo(json.dumps({**dataclasses.asdict(found), "faulty": left_out}, indent=2))
        return
    console = plain_console()
    tell(console, f"{found.name}: {_summary(reading.data)}, {found.contents:,} of them distinct")
    console.print(_length_table(found))
    console.print(_symbol_table(found))
    _print_left_out(console, reading)
    _print_findings(console, found)


def _read(source: Path, skip_faulty: bool) -> archive.Reading:
    """What is in an archive, a folder or a packed file."""
    if not archive.is_archive(source):
        return archive.Reading(packed.read(source), ())
    console = plain_console(stderr=True)
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
        tell(console, f"formulas left out as faulty: {formulas}\n{listed(reading.left_out)}")


def _print_findings(console: Console, found: Inspection) -> None:
    """Leaks and contradictions, or that there are none."""
    if found.leaked:
        tell(
            console,
            f"LEAK: {len(found.leaked):,} of {found.test_images:,} test images occur in training, pixel by "
            f"pixel, in {found.leaked_formulas:,} of {found.test_formulas:,} test formulas; "
            f"`ngs data import --leak-free` deals the images out anew",
        )
    else:
        tell(console, "no test image occurs in training")
    for contradiction in found.contradictions:
        others, agreeing = contradiction.contradicting, contradiction.agreeing
        more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
        tell(
            console,
            f"LABELS: {', '.join(others[:SHOWN])}{more}: pixel by pixel what is called "
            f"{contradiction.symbol} elsewhere, {len(agreeing)} times (as {agreeing[0]})",
        )
