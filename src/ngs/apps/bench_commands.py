"""`ngs bench`, `ngs bench-training`, `ngs bench-clevr`: how fast it is here."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from accelerate import Accelerator
from rich.table import Table

from ngs.apps.options import device_of
from ngs.apps.printing import plain_console
from ngs.experiments import benchmark
from ngs.experiments.environment import environment
from ngs.experiments.results.tables import rows_of
from ngs.experiments.timed_steps import step_times
from ngs.networks.lenet import NETWORKS
from ngs.tasks.hwf.preparation import PreparedFormulas
from ngs.tasks.hwf.settings import TrainHWF

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
    results = benchmark.run(device_of(device), rounds)
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "what": lambda speed: speed["name"],
        "a second": lambda speed: f"{speed['per_second']:,.0f}",
        "ms": lambda speed: f"{1000 * speed['seconds']:.2f}",
        "reference": lambda speed: speed["reference"],
        "its ms": lambda speed: f"{1000 * speed['reference_seconds']:.1f}",
        "times faster": lambda speed: f"{1 / speed['ratio']:.1f}",
    }
    speeds = [[shown(speed) for shown in columns.values()] for speed in results["speeds"]]
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    tables = [
        (f"Speed for a batch of {results['batch']} ({machine})", list(columns), speeds),
        _steps("One training step of LeNet on 448 images", results["training_step_seconds"]),
        _promises(results["targets"]),
    ]
    _tell(out / "results.json", results, tables)
    text = "\n".join(f"### {title}\n\n{rows_of(head, rows)}\n" for title, head, rows in tables)
    (out / "results.md").write_text(text)
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
    measured = step_times(PreparedFormulas(TrainHWF(network=network, batch_size=batch_size), device), rounds)
    settings = {"network": network, "batch_size": batch_size, "rounds": rounds}
    results = {"environment": environment(device, _command()), **settings, **measured}
    _tell(out / "training.json", results, [_steps("Training steps", results["seconds"])])


def bench_clevr(
    out: Out = Path("bench"),
    data: Annotated[str, typer.Option(help="`embedded`, or a file made by `ngs data import`.")] = "embedded",
    device: Annotated[str, typer.Option(help="cpu or cuda, for executing programs and training.")] = "cpu",
    rounds: Annotated[int, typer.Option(min=3, help="Timed rounds; the median counts.")] = 15,
    threads: Threads = 2,
) -> None:
    """Time what questions about scenes need: executing, understanding, making them, and learning."""
    torch.set_num_threads(threads)
    results = benchmark.clevr_speed(rounds, data, device_of(device), _command())
    steps = _steps("Training steps", results["training_step_seconds"])
    _tell(out / "clevr.json", results, [_promises(results["targets"]), steps])


def _command() -> list[str]:
    return ["ngs", *sys.argv[1:]]


ShownTable = tuple[str, list[str], list[list[str]]]
"""title, header, rows"""


def _steps(title: str, seconds: Mapping[str, float]) -> ShownTable:
    """By method or objective, against a supervised step."""
    rows = [[name, f"{1000 * s:.2f}", f"{s / seconds['supervised']:.2f}"] for name, s in seconds.items()]
    return title, ["method", "ms a step", "times supervised"], rows


def _promises(targets: Iterable[benchmark.Promise]) -> ShownTable:
    rows = [[t["promise"], f"{t['measured']:,.3g}", "yes" if t["kept"] else "no"] for t in targets]
    return "Promises", ["promise", "measured", "kept"], rows


def _tell(path: Path, results: benchmark.Results, tables: Iterable[ShownTable]) -> None:
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
