"""`ngs data` with handwritten formulas: packed, counted, and told about."""

import dataclasses
from pathlib import Path
from random import Random
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ngs.console.data_reports import count_table, reading_images, some, tell_packed
from ngs.console.printing import plain_console, print_json, tell
from ngs.tasks.faults import listed
from ngs.tasks.hwf import archive, packed
from ngs.tasks.hwf.dataset import HandwrittenFormulas
from ngs.tasks.hwf.inspection import Inspection, inspect
from ngs.tasks.hwf.splitting import leak_free
from ngs.tasks.importing import AsJSON, Name, Out, Overwrite, SkipFaulty, Source, to_be_packed


def bring_in(
    source: Annotated[
        Path, typer.Argument(help="The archive (HWF.zip), the folder with its content, or a packed file.")
    ],
    out: Out = None,
    name: Name = None,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--leak-free/--as-published",
            help="Write the formulas again, so that no test image occurs in training.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Deals out the images of a leak-free split.")] = 0,
    skip_faulty: SkipFaulty = False,
    overwrite: Overwrite = False,
) -> None:
    """Check handwritten formulas, and pack them into one file that loads at once."""
    path, name = to_be_packed(source, out, name, overwrite, f"-leak-free-{seed}" if rebuild else "")
    reading = _read(source, skip_faulty)
    data = leak_free(reading.data, Random(seed)) if rebuild else reading.data
    data = dataclasses.replace(data, name=name)
    packed.write(path, data)
    tell_packed(path, _summary(data), "hwf", lambda console: _print_findings(console, reading, inspect(data)))


def show(source: Source, as_json: AsJSON = False) -> None:
    """Count formulas and images by length and symbol, and find leaks and contradictions."""
    reading = _read(source, skip_faulty=True)
    found = inspect(reading.data)
    if as_json:
        left_out = [str(problem) for problem in reading.left_out]
        print_json({**dataclasses.asdict(found), "faulty": left_out})
        return
    console = plain_console()
    tell(console, f"{found.name}: {_summary(reading.data)}, {found.contents:,} of them distinct")
    lengths = [(count.length, (count.train, count.test)) for count in found.lengths]
    totals = found.train_formulas, found.test_formulas
    console.print(count_table("formulas by length", ("train", "test"), lengths, totals))
    console.print(_symbol_table(found))
    _print_findings(console, reading, found)


def _read(source: Path, skip_faulty: bool) -> archive.Reading:
    if not archive.is_archive(source):
        return archive.Reading(packed.read(source), ())
    with reading_images() as progress:
        return archive.read(source, skip_faulty=skip_faulty, progress=progress)


def _summary(data: HandwrittenFormulas) -> str:
    train, test, images = len(data.train), len(data.test), len(data.images)
    return f"{train:,} formulas to learn from, {test:,} to be tested on, {images:,} images"


def _symbol_table(found: Inspection) -> Table:
    headers = ("train symbols", "test symbols", "train images", "test images", "distinct", "leaked")
    rows = [dataclasses.astuple(count) for count in found.symbols]
    totals = [sum(column) for column in list(zip(*rows, strict=True))[1:]]
    totals[headers.index("distinct")] = found.contents  # an image with two labels is counted under both
    return count_table("images by symbol", headers, [(row[0], row[1:]) for row in rows], totals)


def _print_findings(console: Console, reading: archive.Reading, found: Inspection) -> None:
    if reading.left_out:
        formulas = len({problem.place for problem in reading.left_out})
        tell(console, f"formulas left out as faulty: {formulas}\n{listed(reading.left_out)}")
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
