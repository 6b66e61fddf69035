"""`ngs data` with questions about scenes: packed, counted, and told about."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import TimeElapsedColumn

from ngs.console.data_reports import count_table, shown_reading, some, tell_packed
from ngs.console.printing import plain_console, print_json, tell
from ngs.errors import DataError
from ngs.tasks.clevr import official, packed
from ngs.tasks.clevr.dataset import VisualQuestions
from ngs.tasks.clevr.inspection import Inspection, PartInspection, inspect
from ngs.tasks.faults import listed
from ngs.tasks.importing import AsJSON, Name, Out, Overwrite, SkipFaulty, Source, to_be_packed


def bring_in(
    source: Annotated[
        Path, typer.Argument(help="The folder (CLEVR_v1.0) with scenes and questions, or a packed file.")
    ],
    out: Out = None,
    name: Name = None,
    skip_faulty: SkipFaulty = False,
    overwrite: Overwrite = False,
) -> None:
    """Check questions about scenes, and pack them into one file that loads at once."""
    path, name = to_be_packed(source, out, name, overwrite)
    reading = _read(source, skip_faulty)
    data = dataclasses.replace(reading.data, name=name)
    packed.write(path, data)
    found = inspect(data)
    tell_packed(path, _summary(data), "clevr", lambda console: _print_findings(console, reading, found))


def show(source: Source, as_json: AsJSON = False) -> None:
    """Count questions and scenes, and say what the dictionary and the programs make of them."""
    reading = _read(source, skip_faulty=True)
    found = inspect(reading.data)
    if as_json:
        print_json({**dataclasses.asdict(found), "faulty": reading.left_out})
        return
    console = plain_console()
    tell(console, f"{found.name}: {_summary(reading.data)}, {len(found.vocabulary)} words")
    for title, counts in (
        ("questions by kind", found.kinds),
        ("questions by program length", found.lengths),
        ("questions by answer", found.answers),
        ("scenes by objects", found.objects),
    ):
        rows = [(count.of, (count.train, count.validation)) for count in counts]
        totals = [sum(column) for column in zip(*(numbers for _, numbers in rows), strict=True)]
        console.print(count_table(title, ("train", "validation"), rows, totals or (0, 0)))
    _print_findings(console, reading, found)


def _read(source: Path, skip_faulty: bool) -> official.Reading:
    if official.is_zipped(source):
        raise DataError(f"{source} is an archive of questions about scenes; unpack it and give the folder")
    if packed.FORMAT.is_at(source):
        return official.Reading(packed.read(source), ())
    with shown_reading(TimeElapsedColumn()) as bar:

        def progress(file: Path, index: int) -> None:
            if index % 1000 == 0:
                bar(description=f"reading {file.name}: {index:,}")

        return official.read(source, skip_faulty=skip_faulty, progress=progress)


def _summary(data: VisualQuestions) -> str:
    train, validation, scenes = len(data.train), len(data.validation), len(data.scenes)
    return f"{train:,} questions to learn from, {validation:,} to be tested on, {scenes:,} scenes"


def _print_findings(console: Console, reading: official.Reading, found: Inspection) -> None:
    if left_out := reading.left_out:
        tell(console, f"left out as faulty: {len(left_out)}\n{listed(left_out)}")
    for name, part in (("train", found.train), ("validation", found.validation)):
        _print_part(console, name, part)
    if found.repeated:
        tell(
            console,
            f"LEAK: {len(found.repeated):,} of {found.validation.questions:,} validation questions are asked "
            f"in training about an equal scene: {some(found.repeated)}",
        )
    else:
        tell(console, "no validation question is asked in training about an equal scene")
    if found.new_words:
        tell(console, f"words of validation questions that training lacks: {some(list(found.new_words))}")


def _print_part(console: Console, name: str, part: PartInspection) -> None:
    understood = part.questions - len(part.not_understood)
    tell(console, f"{name}: the dictionary understands {understood:,} of {part.questions:,} questions")
    if part.not_understood:
        tell(console, listed(part.not_understood))
    for right, wrong, what in (
        (part.same_modules, part.other_modules, "are made of the dictionary's modules"),
        (part.right_answers, part.wrong_answers, "give the recorded answer"),
    ):
        others = f"; not those of questions {some(wrong)}" if wrong else ""
        tell(console, f"{name}: {right:,} of {right + len(wrong):,} programs {what}{others}")
    if part.with_answer < part.questions:
        tell(
            console,
            f"{name}: {part.questions - part.with_answer:,} questions have no answer: nothing can be learned "
            f"from them",
        )
