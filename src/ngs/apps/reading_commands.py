"""`ngs predict` and `ngs explain` for tasks that have no such commands of their own: by test examples."""

from pathlib import Path
from typing import Annotated

import torch
import typer

from ngs.console.options import RunFolder, TaskOption
from ngs.console.printing import plain_console, print_json, tell
from ngs.console.written_files import write_drawing
from ngs.errors import NGSError
from ngs.explanations.drawing import as_svg
from ngs.explanations.text import as_text, shown
from ngs.tasks.finding import find
from ngs.tasks.report.readings import Misread, Readings
from ngs.tasks.run_folder import BEST, load_config
from ngs.tasks.task import Task

FIRST = 10  # examples that are read where none is chosen


def predict(
    run: RunFolder,
    example: Annotated[
        list[int] | None,
        typer.Option(
            min=1, help=f"Which test example; may be given several times; by default the first {FIRST}."
        ),
    ] = None,
    task: TaskOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a run reads, and which answer that gives.

    By default in test examples. The percentage is p(z|x), the product of the probabilities of the symbols.
    Runs of some tasks read other things, such as pictures: `ngs predict RUN --help` shows what can be given.
    """
    readings = _test_part(run, task)
    numbers = [_number(each, readings) for each in example or range(1, min(FIRST, len(readings)) + 1)]
    found = [(readings.shown(k), readings.log_p([k], readings.reading.symbols[[k]])) for k in numbers]
    if as_json:
        print_json(
            [
                {"example": k + 1, "read": list(each.read), "value": shown(each.value, widest=None)}
                | {"answer": shown(each.answer, widest=None), "probability": log_p.exp().item()}
                | {"right": k not in readings.wrong}
                for k, (each, log_p) in zip(numbers, found, strict=True)
            ]
        )
        return
    for k, (each, log_p) in zip(numbers, found, strict=True):
        verdict = f", wrong: the answer is {shown(each.answer)}" if k in readings.wrong else ""
        tell(plain_console(), f"{each.title}: {_said(each)}  ({log_p.exp().item():.1%}){verdict}")


def explain(
    run: RunFolder,
    example: Annotated[
        int | None, typer.Option(min=1, help="Which test example; by default the first with a wrong answer.")
    ] = None,
    svg: Annotated[Path | None, typer.Option(help="Also draw the correction into this file.")] = None,
    task: TaskOption = None,
) -> None:
    """Find out what was misread where an answer is wrong.

    By default in a test example: what was read and, where its value is not the answer, what one-step
    back-search changes. Runs of some tasks explain other things, such as pictures or questions:
    `ngs explain RUN --help` shows what can be given.
    """
    readings = _test_part(run, task)
    console = plain_console()
    if example is None and not readings.wrong:
        tell(console, f"all {len(readings)} test examples are answered right; choose one with --example")
        return
    k = readings.wrong[0] if example is None else _number(example, readings)
    each = readings.shown(k)
    tell(console, f"{each.title} of the test part, with the answer {shown(each.answer)}")
    tell(console, f"read   {_said(each)}")
    if each.true is not None:
        tell(console, f"truth  {' '.join(map(shown, each.true))}")
    correction = readings.correction(k)
    console.print(f"\none-step back-search towards {shown(each.answer)}", style="bold", highlight=False)
    tell(console, as_text(correction))
    if svg is not None:
        write_drawing(svg, as_svg(correction))
        tell(console, f"\ndrawn in {svg}")


def _said(each: Misread) -> str:
    return f"{' '.join(map(shown, each.read))} = {shown(each.value)}"


def _test_part(run: Path, file: str | None) -> Readings:
    """What the best network of a run reads in the test part."""
    task, settings = load_config(run, None if file is None else find(file))
    if not isinstance(task, Task):
        raise NGSError(
            f"{run} is a run of {task.name}, whose examples are not read one by one; look at it with "
            f"`ngs report {run}`"
        )
    prepared = task.prepare(settings, torch.device("cpu"))
    prepared.check(run)
    return prepared.readings(run, BEST, "test", None)


def _number(example: int, readings: Readings) -> int:
    """From 0."""
    if example > len(readings):
        raise NGSError(f"--example is {example}, and the test part has {len(readings)} examples")
    return example - 1
