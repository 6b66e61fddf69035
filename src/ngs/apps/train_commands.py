"""`ngs train`, `evaluate`, `report`, `compare`: from a configuration to a run, and what runs are worth."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from ngs.apps.options import with_options
from ngs.apps.printing import plain_console, print_json, tell
from ngs.errors import NGSError
from ngs.experiments import comparison
from ngs.experiments import run as runs
from ngs.experiments.config import Config, TrainCLEVR, TrainHWF, TrainScenes
from ngs.experiments.folder import BEST, CHECKPOINT, CONFIG, load_config, remove
from ngs.experiments.report.page import write_report
from ngs.experiments.results.tables import in_percent
from ngs.experiments.seen_questions import Cause, PixelAnswers, ask_about_pictures
from ngs.processes import destroy_process_group

QUESTIONS = 10
"""About each picture, where no other number is given."""

train_app = typer.Typer(help="Train a network: from answers alone, or to see.", no_args_is_help=True)


def _train(
    config: Config,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; by default runs/TASK-METHOD-SEED.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Go on with the interrupted run in this folder; its own settings count."),
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Throw away a run that is in the folder already.")] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads; by default all cores.")] = None,
) -> None:
    if threads is not None:
        torch.set_num_threads(threads)
    # Of several processes that a launcher started, the first speaks for all.
    console = plain_console(quiet=os.environ.get("RANK", "0") != "0")
    if resume is not None:
        config, folder = _resumed(config, resume, out is not None or overwrite), resume
        if not (folder / CHECKPOINT).exists():
            tell(console, "there is no checkpoint yet: from the beginning")
    else:
        folder = Path("runs") / f"{config.task}-{config.method}-{config.seed}" if out is None else out
        if overwrite:
            remove(folder)
    try:
        events = runs.train(
            config,
            folder,
            resume=resume is not None,
            command=["ngs", *sys.argv[1:]],
            remark=lambda text: tell(console, text),
        )
        title = f"{config.method} on {config.data}, into {folder}"
        result = _follow(events, console, title, VIEWS[config.task], config.preparation)
    except KeyboardInterrupt:
        begun = (folder / CONFIG).exists()
        again = (
            f"go on with: ngs train {config.task} --resume {folder}" if begun else "nothing was written yet"
        )
        tell(console, f"stopped; {again}")
        raise typer.Exit(130) from None
    _print_scores(console, config.task, result["test"], result["data"])
    tell(
        console,
        f"{result['training_seconds']:.1f} s of training; the network of step {result['chosen_step']}, "
        f"chosen on the validation part, is in {folder / BEST}\nsee the whole story: ngs report {folder}",
    )
    destroy_process_group()


ABOUT: Mapping[type[Config], str] = {
    TrainHWF: """Learn to read handwritten formulas.

    The network sees images of symbols and is told what each formula comes to, never what the symbols are
    (except with the methods that need labels: supervised, --pretrain). Without --data it learns from
    synthetic handwriting that is made on the spot.
    """,
    TrainCLEVR: """Learn to turn questions about scenes into programs.

    The network sees the words of a question and the modules that a dictionary finds in it, and is told the
    answer, never the program (except with the method supervised). Without --data it learns from questions
    about synthetic scenes that are made on the spot.
    """,
    TrainScenes: """Learn to see the scene in a picture: its objects, what they are like and where they stand.

    The network sees pictures of which all is known. Without --data they are rendered on the spot; with
    --data it learns from rendered pictures first, and then from the imported ones among them. Let it see
    with `ngs see`, and answer questions with `ngs ask --image`.
    """,
}
"""What `ngs train` says of each task."""

for configuration, about in ABOUT.items():
    train_app.command(configuration.task, help=about)(with_options(_train, configuration))


def _resumed(given: Config, folder: Path, more_given: bool) -> Config:
    """The configuration of the run to go on with, which is to be given alone."""
    if more_given or given != type(given)():
        raise NGSError("--resume goes on with the run's own settings; give it alone, or with --threads")
    config = load_config(folder)
    if config.task != given.task:
        raise NGSError(
            f"{folder} is a run of {config.task}; go on with: ngs train {config.task} --resume {folder}"
        )
    return config


def _follow(
    events: Iterator[runs.Progress], console: Console, title: str, view: View, preparation: str
) -> dict[str, Any]:
    """Show a run as it goes: a bar that moves, and a line for each validation; the result at the end."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    row: dict[str, Any] = {}
    lesson = ""
    with bar:
        task = bar.add_task(preparation, total=None, speed="")
        for event in events:
            if not row:
                tell(bar.console, title)  # now that nothing was refused
            row = dict(event.row)
            lesson = row.get("lesson", lesson)
            bar.update(task, total=event.steps, completed=event.step)
            if "loss" in row:
                speed = f"{event.step / row['seconds']:.1f} steps/s" if row["seconds"] else ""
                bar.update(task, description=f"{row['lesson']}, loss {row['loss']:.3f}", speed=speed)
            elif "chosen_step" not in row:
                done = f"{lesson}, step {row['step']:>5}   {row['seconds']:7.1f} s"
                tell(bar.console, f"{done}   validation: {view.line(row['validation'])}")
    return row


def evaluate(
    run: Annotated[
        Path, typer.Argument(help="Folder of a run, as `ngs train` makes it, or a file of `ngs weights`.")
    ],
    data: Annotated[
        str | None,
        typer.Option(
            help="Test on this data instead: a packed file, or what comes along: `embedded` formulas and "
            "questions, `rendered` pictures."
        ),
    ] = None,
    asking: Annotated[
        Path | None,
        typer.Option(
            help="For a run of `ngs train scenes`: let this run of `ngs train clevr` answer questions about "
            "the test pictures, from what is seen in them."
        ),
    ] = None,
    questions: Annotated[
        int | None,
        typer.Option(min=1, help=f"With --asking: questions about each picture; by default {QUESTIONS}."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Test the network of a run: answers right, and what was read or seen right, by length or kind."""
    if asking is not None:
        _print_pixel_answers(ask_about_pictures(run, asking, questions or QUESTIONS, data), as_json)
        return
    if questions is not None:
        raise NGSError(f"--questions is {questions}, and is for --asking; give that as well, or leave it out")
    name, scores = runs.evaluate_run(run, data)
    if as_json:
        print_json({"data": name, **scores.as_facts()})
    else:
        _print_scores(plain_console(), load_config(run).task, scores.as_facts(), name)


def _print_pixel_answers(found: PixelAnswers, as_json: bool) -> None:
    if as_json:
        print_json(found.as_facts())
        return
    number = len(found.asked)
    title = (
        f"{found.data}, test part: {number} questions about {found.pictures} pictures, answered from pixels"
    )
    table = Table("", "questions", "share", title=title, title_justify="left")
    counts = {"answers right": found.right} | {f"wrong, due to {each}": found.due_to(each) for each in Cause}
    for what, count in counts.items():
        table.add_row(what, str(count), f"{count / max(number, 1):.2%}")
    _print_whole(plain_console(), table)


def _print_scores(console: Console, task: str, scores: Mapping[str, Any], data: str) -> None:
    view = VIEWS[task]
    _print_whole(console, view.table(scores, f"{data}, test part"))
    for line in view.beside(scores):
        tell(console, line)


def report(
    run: Annotated[Path, typer.Argument(help="Folder of a run, as `ngs train` makes it.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the page; by default report.html in the run.")
    ] = None,
) -> None:
    """Write one HTML page about a run: curves, confusions, mistakes, and corrections that were spurious."""
    typer.echo(f"written to {write_report(run, out=out)}")


def compare(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs.")],
    goal: Annotated[
        float,
        typer.Option(help="Also the training time until this test accuracy, for runs with --test-curve."),
    ] = 0.985,
    curves: Annotated[
        Path | None,
        typer.Option(help="Also draw the test accuracy of runs with --test-curve into this SVG or PNG file."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put runs side by side; runs that differ in their seed alone become one row, with mean and spread."""
    groups = comparison.compare(folders, goal)
    if curves is not None:
        comparison.draw_curves(folders, curves)
    if as_json:
        print_json([asdict(group) for group in groups])
        return
    for task in dict.fromkeys(group.task for group in groups):
        _print_comparison([group for group in groups if group.task == task], goal)


def _print_comparison(groups: list[comparison.Group], goal: float) -> None:
    """One table for the runs of one task."""
    title = "test part; mean and standard deviation over the seeds"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("data", no_wrap=True)
    table.add_column("what", min_width=15, overflow="fold")
    timed = any(group.seconds_to is not None for group in groups)  # needs runs with --test-curve
    shown = VIEWS[groups[0].task].compared
    headings = [f"{heading} %" for heading in shown.values()]
    for heading in ("runs", *headings, "training s", *([f"to {goal:.1%}"] * timed)):
        table.add_column(heading, justify="right", no_wrap=True)
    for group in groups:
        others = (f"{name} {value}" for name, value in group.settings.items() if name != "method")
        what = "\n".join([group.settings["method"], *others])
        spreads = [group.seconds, group.seconds_to] if timed else [group.seconds]
        times = ["-" if spread is None else f"{spread.mean:.1f}" for spread in spreads]
        first, *rest = (group.test.get(name) for name in shown)
        means = ("-" if spread is None else f"{100 * spread.mean:.2f}" for spread in rest)
        shares = ["-" if first is None else in_percent(first), *means]
        table.add_row(group.data, what, str(len(group.seeds)), *shares, *times)
    _print_whole(plain_console(), table)


def _print_whole(console: Console, table: Table) -> None:
    """As wide as it is: where it does not fit, its columns would lose digits."""
    needed = console.measure(table, options=console.options.update(max_width=1000)).maximum
    plain_console(width=max(console.width, needed), quiet=console.quiet).print(table)


@dataclass(frozen=True)
class View:
    """How the scores of a task are shown."""

    row: str
    """what a row of the table stands for"""
    rows: str
    """the scores of each such"""
    examples: str
    shares: Mapping[str, str]
    """the name of a share -> the heading of its column"""
    said: Mapping[str, str]
    """the shares that a line of progress tells"""
    compared: Mapping[str, str]
    """the shares that `compare` puts side by side"""
    beside: Callable[[Mapping[str, Any]], Iterable[str]] = lambda scores: ()
    """what is said below the table: numbers that are no shares of its rows"""

    def line(self, scores: Mapping[str, Any]) -> str:
        parts = (
            f"{scores[name]:6.1%} of {what}" for name, what in self.said.items() if scores[name] is not None
        )
        return f"{', '.join(parts)} right"

    def table(self, scores: Mapping[str, Any], title: str) -> Table:
        table = Table(title=title, title_justify="left")
        for heading in (self.row, self.examples, *self.shares.values()):
            table.add_column(heading, justify="right")
        for name, row in {**scores[self.rows], "all": scores}.items():
            shares = (row[share] for share in self.shares)
            table.add_row(name, str(row["examples"]), *("-" if s is None else f"{s:.2%}" for s in shares))
        return table


def _seen(scores: Mapping[str, Any]) -> Iterator[str]:
    """What no share of objects tells: false objects, whole pictures, and distances."""
    if scores["false"] is not None:
        yield f"false objects: {scores['false']:.2%} of what is seen"
    yield f"pictures wholly right: {scores['pictures_right']:.2%} of {scores['pictures']}"
    if scores["position_error"] is not None:
        yield (
            f"distance from where an object stands: {scores['position_error']:.3f} on average, 95% within "
            f"{scores['position_error_95']:.3f} (a small object is 0.7 wide)"
        )


VIEWS: Mapping[str, View] = {
    "hwf": View(
        row="length",
        rows="by_length",
        examples="formulas",
        shares={"calculation": "answers right", "formula": "formulas right", "symbol": "symbols right"},
        said={"calculation": "answers", "symbol": "symbols"},
        compared={"calculation": "answers", "symbol": "symbols"},
    ),
    "clevr": View(
        row="kind",
        rows="by_kind",
        examples="questions",
        shares={"answers": "answers right", "programs": "programs right", "equivalent": "up to equivalence"},
        said={"answers": "answers", "equivalent": "programs, up to equivalence,"},
        compared={"answers": "answers", "programs": "programs", "equivalent": "equivalent"},
    ),
    "scenes": View(
        row="in picture",
        rows="by_objects",
        examples="objects",
        shares={
            **{"objects_right": "all right", "found": "found"},
            **{"size": "size", "color": "color", "material": "material", "shape": "shape"},
            **{"relations": "relations"},
        },
        said={"objects_right": "objects", "relations": "relations"},
        compared={"objects_right": "objects", "found": "found", "relations": "relations"},
        beside=_seen,
    ),
}
"""By task."""
