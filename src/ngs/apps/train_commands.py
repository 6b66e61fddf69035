"""`ngs train`: one command for each installed task, and for the task in any file.

Each field of a task's settings is an option. PyTorch is imported when the training begins.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from typer.core import TyperCommand, TyperGroup

from ngs.apps.commands import command_of, group_of
from ngs.console.options import with_options
from ngs.console.printing import plain_console, tell
from ngs.errors import NGSError
from ngs.tasks.finding import find, names
from ngs.tasks.trainable import Trainable

if TYPE_CHECKING:
    from ngs.tasks.results.job import Progress as Event


class Tasks(TyperGroup):
    """A command for each task."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(names())

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0].startswith("-") and args[0] not in self.get_help_option_names(ctx):
            raise NGSError(f"options come after the task; give: ngs train TASK {' '.join(args)}")
        return super().parse_args(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        try:
            return _command_of(find(cmd_name), cmd_name)
        except NGSError as error:
            if cmd_name not in names():
                raise
            return _refusing(cmd_name, error)  # the list of the others is shown all the same


train_app = group_of(
    Tasks,
    "Train a network: from answers alone, or to see.\n\nTASK is one of those below, a file with an "
    "ngs.Task such as my_task.py, or a module such as my_package.tasks:name.",
    subcommand_metavar="TASK [OPTIONS]",
)


def _refusing(name: str, error: NGSError) -> TyperCommand:
    def refuse() -> None:
        raise error

    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    return TyperCommand(name, callback=refuse, help=str(error), context_settings=anything)


def _command_of(task: Trainable, called: str) -> Any:
    train = with_options(partial(_train, task, called), task.settings)
    return command_of(train, called, cleandoc(task.about))


def _train(
    task: Trainable,
    called: str,
    settings: Any,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; by default runs/TASK-METHOD-SEED.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Go on with the interrupted run in this folder; its own settings count."),
    ] = None,
    changed_task: Annotated[
        bool,
        typer.Option("--changed-task", help="With --resume: go on although its task's file was changed."),
    ] = False,
    overwrite: Annotated[bool, typer.Option(help="Throw away a run that is in the folder already.")] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads; by default all cores.")] = None,
) -> None:
    import torch

    from ngs.experiments.run import training
    from ngs.processes import destroy_process_group
    from ngs.tasks.run_folder import BEST, CHECKPOINT, CONFIG, RESULT

    if threads is not None:
        torch.set_num_threads(threads)
    if changed_task and resume is None:
        raise NGSError("--changed-task is for --resume; give that as well, or leave it out")
    # Of several processes that a launcher started, the first speaks for all.
    console = plain_console(quiet=os.environ.get("RANK", "0") != "0")
    again = f"ngs train {called} --resume"
    if resume is not None:
        settings, folder = _resumed(task, settings, resume, out is not None or overwrite), resume
        if (folder / RESULT).exists():
            tell(console, "this run is finished; to train longer, train anew with more --steps")
        elif not (folder / CHECKPOINT).exists():
            tell(console, "there is no checkpoint yet: from the beginning")
    else:
        folder = Path("runs") / f"{task.name}-{settings.method}-{settings.seed}" if out is None else out
        if not overwrite and (folder / CONFIG).exists():
            finished = (folder / RESULT).exists()
            held = "a finished run" if finished else f"a run; go on with: {again} {folder}"
            raise NGSError(f"{folder} already holds {held}; give --overwrite, or another --out")
    try:
        events = training(
            task,
            settings,
            folder,
            resume=resume is not None,
            changed_task=changed_task,
            overwrite=overwrite,
            command=["ngs", *sys.argv[1:]],
            remark=lambda text: tell(console, text),
        )
        title = f"{settings.method} on {settings.data or task.name}, into {folder}"
        result = _follow(events, console, title, task, settings.preparation)
    except KeyboardInterrupt:
        begun = (folder / CONFIG).exists()
        tell(console, f"stopped; {f'go on with: {again} {folder}' if begun else 'nothing was written yet'}")
        raise typer.Exit(130) from None
    from ngs.apps.run_commands import print_scores

    print_scores(console, task, result["test"], result["data"])
    tell(
        console,
        f"{result['training_seconds']:.1f} s of training; the network of step {result['chosen_step']}, "
        f"chosen on the validation part, is in {folder / BEST}\nsee the whole story: ngs report "
        f"{'' if task.file is None else f'--task {called} '}{folder}",
    )
    destroy_process_group()


def _resumed(task: Trainable, given: Any, folder: Path, more_given: bool) -> Any:
    from ngs.tasks.run_folder import load_config, task_name

    if more_given or given != type(given)():
        raise NGSError("--resume goes on with the run's own settings; give it alone, or with --threads")
    name = task_name(folder)
    if name != task.name:
        shown, called = (name, name) if name in names() else (repr(name), "FILE")
        raise NGSError(f"{folder} is a run of {shown}; go on with: ngs train {called} --resume {folder}")
    return load_config(folder, task).settings


def _follow(
    events: Iterator[Event], console: Console, title: str, task: Trainable, preparation: str
) -> Mapping[str, Any]:
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
        shown = bar.add_task(preparation, total=None, speed="")
        for event in events:
            if not row:
                tell(bar.console, title)  # now that nothing was refused
            row = dict(event.row)
            lesson = row.get("lesson", lesson)
            bar.update(shown, total=event.steps, completed=event.step)
            if "loss" in row:
                speed = f"{event.step / row['seconds']:.1f} steps/s" if row["seconds"] else ""
                bar.update(shown, description=f"{row['lesson']}, loss {row['loss']:.3f}", speed=speed)
            elif "validation" in row and "chosen_step" not in row:
                done = f"{lesson}, step {row['step']:>5}   {row['seconds']:7.1f} s"
                tell(bar.console, f"{done}   validation: {task.metrics.line(row['validation'])}")
    return row
