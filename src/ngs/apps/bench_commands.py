"""`ngs bench`, `ngs bench-training`, `ngs bench-clevr`: how fast it is here."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import torch
import typer
from accelerate import Accelerator
from rich.table import Table

from ngs.apps.printing import plain_console
from ngs.errors import NGSError
from ngs.experiments import benchmark
from ngs.experiments.clevr_speed import clevr_speed
from ngs.experiments.config import TrainHWF
from ngs.experiments.environment import environment
from ngs.experiments.hwf import HWFCourse
from ngs.experiments.timed_steps import step_times
from ngs.networks.lenet import NETWORKS

Out = Annotated[Path, typer.Option(help="Folder for what was measured.")]
Threads = Annotated[int, typer.Option(min=1, help="CPU threads.")]


def bench(
    out: Out = Path("bench"),
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    rounds: Annotated[int, typer.Option(min=3, help="Timed rounds; the median counts.")] = 21,
    threads: Threads = 2,
) -> None:
    """Time the core against its references in the same run, and say which promises it keeps."""
    torch.set_num_threads(threads)
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise NGSError(f"the device is {device}, and PyTorch finds none here; give --device cpu")
    results = benchmark.run(torch.device(device), rounds)
    _tell(out / "results.json", results, benchmark.tables(results))
    (out / "results.md").write_text(benchmark.as_markdown(results))
    plain_console().print(f"written to {out / 'results.md'}")


def bench_training(
    out: Out = Path("bench"),
    rounds: Annotated[int, typer.Option(min=3, help="Timed steps of each method; the median counts.")] = 30,
    network: Annotated[str, typer.Option(help=f"One of {', '.join(NETWORKS)}.")] = "small",
    batch_size: Annotated[int, typer.Option(min=1, help="Formulas in a step.")] = 64,
    threads: Threads = 2,
) -> None:
    """Time a training step of every method against a supervised one in the same run."""
    torch.set_num_threads(threads)
    device = Accelerator().device
    measured = step_times(HWFCourse(TrainHWF(network=network, batch_size=batch_size), device), rounds)
    settings = {"network": network, "batch_size": batch_size, "rounds": rounds}
    results = {"environment": environment(device, _command()), **settings, **measured}
    _tell(out / "training.json", results, [benchmark.table_of_steps("Training steps", results["seconds"])])


def bench_clevr(
    out: Out = Path("bench"),
    data: Annotated[str, typer.Option(help="`embedded`, or a file made by `ngs data import`.")] = "embedded",
    device: Annotated[str, typer.Option(help="cpu or cuda, for executing programs and training.")] = "cpu",
    rounds: Annotated[int, typer.Option(min=3, help="Timed rounds; the median counts.")] = 15,
    threads: Threads = 2,
) -> None:
    """Time what questions about scenes need: executing, understanding, making them, and learning."""
    torch.set_num_threads(threads)
    results = clevr_speed(rounds, data, torch.device(device), _command())
    steps = benchmark.table_of_steps("Training steps", results["training_step_seconds"])
    _tell(out / "clevr.json", results, [benchmark.table_of_promises(results["targets"]), steps])


def _command() -> list[str]:
    return ["ngs", *sys.argv[1:]]


def _tell(path: Path, results: benchmark.Results, tables: Iterable[benchmark.ShownTable]) -> None:
    """Write the results, and print the tables."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2) + "\n")
    console = plain_console()
    for title, header, rows in tables:
        table = Table(*header, title=title, title_justify="left")
        for row in rows:
            table.add_row(*row)
        console.print(table)
    console.print(f"written to {path}")
