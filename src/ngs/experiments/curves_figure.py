"""The learning curves of several runs in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from ngs.errors import DataError, NGSError
from ngs.experiments.counted import COUNTED
from ngs.experiments.record import METRICS, read_rows
from ngs.experiments.run import load_config


def curve(folder: Path) -> tuple[list[int], list[float]]:
    """Steps and the share of right test answers there, of a run with --test-curve."""
    share = COUNTED[load_config(folder).task].answers
    rows = [row for row in read_rows(folder / METRICS) if "test" in row]
    if not rows:
        raise DataError(f"{folder} has no test curve; train it with --test-curve")
    return [row["step"] for row in rows], [row["test"][share] for row in rows]


def draw_curves(folders: Sequence[Path], path: Path) -> None:
    """Write the figure, a line for each run, named after its folder."""
    if path.suffix not in (".svg", ".png"):
        raise NGSError(f"the figure is to be {path}; give a name that ends with .svg or .png")
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="steps", ylabel="right test answers", ylim=(0, 1))
    for folder in folders:
        steps, shares = curve(folder)
        axes.plot(steps, shares, marker=".", label=folder.name)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    # Without the date, and with numbers that do not change: the same runs make the same file.
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
