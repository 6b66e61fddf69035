"""The learning curves of several runs in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ngs.errors import DataError, NGSError
from ngs.experiments.comparison import seeds_together
from ngs.experiments.counted import COUNTED
from ngs.experiments.record import METRICS, read_rows
from ngs.experiments.results.curves import curves_figure, together
from ngs.experiments.run import load_config

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def curve(folder: Path) -> dict[int, float]:
    """The share of right test answers by step, of a run with --test-curve."""
    share = COUNTED[load_config(folder).task].answers
    rows = [row for row in read_rows(folder / METRICS) if "test" in row]
    if not rows:
        raise DataError(f"{folder} has no test curve; train it with --test-curve")
    return {row["step"]: row["test"][share] for row in rows}


def draw_curves(folders: Sequence[Path], path: Path) -> None:
    """Write the figure: a line for each configuration, its seeds together.

    A line is named after its first folder, less the seed at its end, and ends where the shortest run does.
    """
    if path.suffix not in (".svg", ".png"):
        raise NGSError(f"the figure is to be {path}; give a name that ends with .svg or .png")
    curves = {
        runs[0].name.removesuffix(f"-{load_config(runs[0]).seed}"): together([curve(run) for run in runs])
        for runs in seeds_together(folders).values()
    }
    save(curves_figure(curves, "right test answers"), path)


def save(figure: Figure, path: Path) -> None:
    """Without the date, and with numbers that do not change: the same runs make the same file."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "ngs"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
