"""The command line: `ngs demo`, `ngs bench`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table

from ngs.apps.demo import run_demo
from ngs.experiments import benchmark
from ngs.search.drawing import as_svg

app = typer.Typer(
    help="Learn what a network should see from what the answer should be.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="Seeds the noise of the misread formula.")] = 0,
    svg: Annotated[Path | None, typer.Option(help="Also draw the correction into this file.")] = None,
) -> None:
    """Read a noisy formula inside a grammar, find out that its answer is wrong, and correct it."""
    correction = run_demo(Console(), seed)
    if svg is not None:
        svg.write_text(as_svg(correction), encoding="utf-8")


@app.command()
def bench(
    out: Annotated[Path, typer.Option(help="Folder for results.json and results.md.")] = Path("bench"),
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    rounds: Annotated[int, typer.Option(min=3, help="Timed rounds; the median counts.")] = 21,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads.")] = 2,
) -> None:
    """Time the core against its references in the same run, and say which promises it keeps."""
    torch.set_num_threads(threads)
    results = benchmark.run(torch.device(device), rounds)
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    (out / "results.md").write_text(benchmark.as_markdown(results))
    console = Console()
    for table in _tables(results):
        console.print(table)
    console.print(f"written to {out / 'results.json'} and {out / 'results.md'}")


def _tables(results: benchmark.Results) -> list[Table]:
    tables = []
    for title, header, rows in benchmark.tables(results):
        table = Table(*header, title=title, title_justify="left")
        for row in rows:
            table.add_row(*row)
        tables.append(table)
    return tables


def main() -> None:
    app()


if __name__ == "__main__":
    main()
