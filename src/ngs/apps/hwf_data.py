"""Handwritten formulas for `ngs data`: packed, counted, and told about."""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path
from random import Random

import typer
from rich.console import Console

from ngs.apps.counts import count_table, images_counted, some
from ngs.apps.plain_text import plain_console, tell
from ngs.tasks.hwf import archive, packed
from ngs.tasks.hwf.dataset import HandwrittenFormulas
from ngs.tasks.hwf.inspection import Inspection, inspect
from ngs.tasks.hwf.splitting import leak_free

SYMBOL_COUNTS = ("train symbols", "test symbols", "train images", "test images", "distinct", "leaked")
"""Above what is counted of a symbol."""


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
    lengths = {str(count.length): (count.train, count.test) for count in found.lengths}
    everything = (found.train_formulas, found.test_formulas)
    console.print(count_table("formulas by length", ("train", "test"), lengths, everything))
    symbols = {symbol: counts for symbol, *counts in map(dataclasses.astuple, found.symbols)}
    totals = dict(zip(SYMBOL_COUNTS, map(sum, zip(*symbols.values(), strict=True)), strict=True))
    totals["distinct"] = found.contents  # an image with two labels is counted under both
    console.print(count_table("images by symbol", SYMBOL_COUNTS, symbols, list(totals.values())))
    _print_left_out(console, reading)
    _print_findings(console, found)


def _read(source: Path, skip_faulty: bool) -> archive.Reading:
    """What is in an archive, a folder or a packed file."""
    if not archive.is_archive(source):
        return archive.Reading(packed.read(source), ())
    with images_counted() as progress:
        return archive.read(source, skip_faulty=skip_faulty, progress=progress)


def _summary(data: HandwrittenFormulas) -> str:
    train, test, images = len(data.train), len(data.test), len(data.images)
    return f"{train:,} formulas to learn from, {test:,} to be tested on, {images:,} images"


def _print_left_out(console: Console, reading: archive.Reading) -> None:
    if reading.left_out:
        formulas = len({problem.place for problem in reading.left_out})
        tell(console, f"formulas left out as faulty: {formulas}\n{archive.listed(reading.left_out)}")


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
        agreeing = contradiction.agreeing
        tell(
            console,
            f"LABELS: {some(contradiction.contradicting)}: pixel by pixel what is called "
            f"{contradiction.symbol} elsewhere, {len(agreeing)} times (as {agreeing[0]})",
        )
