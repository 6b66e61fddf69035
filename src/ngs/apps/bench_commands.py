"""`ngs bench`, `ngs bench-training`, `ngs bench-clevr`: how fast it is here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.table import Table

from ngs.apps.errors import reporting_errors
from ngs.apps.plain_text import plain_console
from ngs.errors import NGSError
from ngs.experiments import benchmark
from ngs.experiments.clevr_speed import clevr_speed
from ngs.experiments.step_times import step_times
from ngs.networks.lenet import NETWORKS


@reporting_errors
def bench(
    out: Annotated[Path, typer.Option(help="Folder for results.json and results.md.")] = Path("bench"),
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    rounds: Annotated[int, typer.Option(min=3, help="Timed rounds; the median counts.")] = 21,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads.")] = 2,
) -> None:
    """Time the core against its references in the same run, and say which promises it keeps."""
    torch.set_num_threads(threads)
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise NGSError(f"the device is {device}, and PyTorch finds none here; give --device cpu")
    results = benchmark.run(torch.device(device), rounds)
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    (out / "results.md").write_text(benchmark.as_markdown(results))
    console = plain_console()
    for table in _tables(results):
        console.print(table)
    console.print(f"written to {out / 'results.json'} and {out / 'results.md'}")


def bench_training(
    out: Annotated[Path, typer.Option(help="Folder for training.json.")] = Path("bench"),
    rounds: Annotated[int, typer.Option(min=3, help="Timed steps of each method; the median counts.")] = 30,
    network: Annotated[str, typer.Option(help=f"One of {', '.join(NETWORKS)}.")] = "small",
    batch_size: Annotated[int, typer.Option(min=1, help="Formulas in a step.")] = 64,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads.")] = 2,
) -> None:
    """Time a training step of every method against a supervised one in the same run."""
    torch.set_num_threads(threads)
    results = step_times(rounds, network, batch_size, ["ngs", *sys.argv[1:]])
    out.mkdir(parents=True, exist_ok=True)
    (out / "training.json").write_text(json.dumps(results, indent=2) + "\n")
    table = Table("method", "ms a step", "times supervised")
    for method, seconds in results["seconds"].items():
        table.add_row(method, f"{1000 * seconds:.2f}", f"{results['times_supervised'][method]:.2f}")
    plain_console().print(table)
    plain_console().print(f"written to {out / 'training.json'}")


@reporting_errors
def bench_clevr(
    out: Annotated[Path, typer.Option(help="Folder for clevr.json.")] = Path("bench"),
    data: Annotated[str, typer.Option(help="`embedded`, or a file made by `ngs data import`.")] = "embedded",
    device: Annotated[str, typer.Option(help="cpu or cuda, for executing programs and training.")] = "cpu",
    rounds: Annotated[int, typer.Option(min=3, help="Timed rounds; the median counts.")] = 15,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads.")] = 2,
) -> None:
    """Time what questions about scenes need: executing, understanding, making them, and learning."""
    torch.set_num_threads(threads)
    results = clevr_speed(rounds, data, torch.device(device), ["ngs", *sys.argv[1:]])
    out.mkdir(parents=True, exist_ok=True)
    (out / "clevr.json").write_text(json.dumps(results, indent=2) + "\n")
    promises = Table("promise", "measured", "kept")
    for target in results["targets"]:
        promises.add_row(target["promise"], f"{target['measured']:,.4g}", "yes" if target["kept"] else "no")
    steps = Table("method", "ms a step", "times supervised")
    seconds = results["training_step_seconds"]
    for method, spent in seconds.items():
        steps.add_row(method, f"{1000 * spent:.1f}", f"{spent / seconds['supervised']:.2f}")
    console = plain_console()
    console.print(promises)
    console.print(steps)
    console.print(f"written to {out / 'clevr.json'}")


def _tables(results: benchmark.Results) -> list[Table]:
    tables = []
    for title, header, rows in benchmark.tables(results):
        table = Table(*header, title=title, title_justify="left")
        for row in rows:
            table.add_row(*row)
        tables.append(table)
    return tables
