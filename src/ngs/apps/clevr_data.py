"""Questions about scenes for `ngs data`: packed, counted, and told about."""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ngs.apps.counts import count_table, some
from ngs.apps.plain_text import plain_console, tell
from ngs.errors import DataError
from ngs.tasks.clevr import official, packed
from ngs.tasks.clevr.dataset import VisualQuestions
from ngs.tasks.clevr.dictionary import modules_of
from ngs.tasks.clevr.inspection import Inspection, PartInspection, inspect
from ngs.tasks.clevr.source import read_official

EVERY = 1000
"""Elements read between two signs of progress."""


def is_ours(source: Path) -> bool:
    """Whether `source` holds questions about scenes, packed or as published."""
    if official.is_zipped(source):
        raise DataError(f"{source} is an archive of questions about scenes; unpack it and give the folder")
    return official.is_official(source) or packed.is_packed(source)


def bring_in(source: Path, path: Path, name: str, *, skip_faulty: bool) -> None:
    """Pack what `source` holds into the file `path`."""
    reading = _read(source, skip_faulty)
    data = dataclasses.replace(reading.data, name=name)
    packed.write(path, data)
    console = plain_console()
    tell(console, f"{path}: {_summary(data)}, {path.stat().st_size / 1e6:.0f} MB")
    _print_left_out(console, reading)
    _print_findings(console, inspect(data, modules_of))
    tell(console, f"train with it: ngs train clevr --data {shlex.quote(str(path))}")


def show(source: Path, *, as_json: bool) -> None:
    """What `source` holds, and what the dictionary and the programs make of it."""
    reading = _read(source, skip_faulty=True)
    found = inspect(reading.data, modules_of)
    if as_json:
        typer.echo(json.dumps({**dataclasses.asdict(found), "faulty": reading.left_out}, indent=2))
        return
    console = plain_console()
    tell(console, f"{found.name}: {_summary(reading.data)}, {len(found.vocabulary)} words")
    for title, counts in (
        ("questions by kind", found.kinds),
        ("questions by program length", found.lengths),
        ("questions by answer", found.answers),
        ("scenes by objects", found.objects),
    ):
        rows = {count.of: (count.train, count.validation) for count in counts}
        totals = [sum(column) for column in zip(*rows.values(), strict=True)] or [0, 0]
        console.print(count_table(title, ("train", "validation"), rows, totals))
    _print_left_out(console, reading)
    _print_findings(console, found)


def _read(source: Path, skip_faulty: bool) -> official.Reading:
    """What is in a folder of official files or a packed file."""
    if packed.is_packed(source):
        return official.Reading(packed.read(source), (), ())
    console = plain_console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("reading")

        def progress(file: Path, index: int) -> None:
            if index % EVERY == 0:
                bar.update(task, description=f"reading {file.name}: {index:,}")

        return read_official(source, skip_faulty=skip_faulty, progress=progress)


def _summary(data: VisualQuestions) -> str:
    train, validation, scenes = len(data.train), len(data.validation), len(data.scenes)
    return f"{train:,} questions to learn from, {validation:,} to be tested on, {scenes:,} scenes"


def _print_left_out(console: Console, reading: official.Reading) -> None:
    if reading.left_out:
        tell(console, f"left out as faulty: {len(reading.left_out)}\n{official.listed(reading.left_out)}")


def _print_findings(console: Console, found: Inspection) -> None:
    """What the dictionary and the programs make of the questions, part by part; repetitions; new words."""
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
        tell(console, official.listed(part.not_understood))
    for right, others, what in (
        (part.same_modules, part.other_modules, "are made of the dictionary's modules"),
        (part.right_answers, part.wrong_answers, "give the recorded answer"),
    ):
        but = f"; not those of questions {some(others)}" if others else ""
        tell(console, f"{name}: {right:,} of {right + len(others):,} programs {what}{but}")
    if part.with_answer < part.questions:
        tell(
            console,
            f"{name}: {part.questions - part.with_answer:,} questions have no answer: nothing can be learned "
            f"from them",
        )
