"""The learning curves of several runs in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from matplotlib.figure import Figure

from ngs.errors import DataError, NGSError
from ngs.experiments.comparison import seeds_together
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


def seeds_curve(folders: Sequence[Path]) -> tuple[list[int], list[list[float]]]:
    """The steps at which every run was tested, and what each of them had there."""
    curves = [dict(zip(*curve(folder), strict=True)) for folder in folders]
    steps = sorted(set.intersection(*(set(shares) for shares in curves)))
    return steps, [[shares[step] for shares in curves] for step in steps]


def draw_curves(folders: Sequence[Path], path: Path) -> None:
    """Write the figure: a line for each configuration, the mean of its seeds, with all of them in its shade.

    A line is named after its first folder, less the seed at its end, and ends where the shortest run does.
    """
    if path.suffix not in (".svg", ".png"):
        raise NGSError(f"the figure is to be {path}; give a name that ends with .svg or .png")
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="steps", ylabel="right test answers", ylim=(0, 1))
    for runs in seeds_together(folders).values():
        steps, several = seeds_curve(runs)
        name = runs[0].name.removesuffix(f"-{load_config(runs[0]).seed}")
        (line,) = axes.plot(steps, [mean(shares) for shares in several], marker=".", label=name)
        lowest, highest = [min(shares) for shares in several], [max(shares) for shares in several]
        axes.fill_between(steps, lowest, highest, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.grid(alpha=0.3)
    axes.legend()  # wherever it hides least
    # Without the date, and with numbers that do not change: the same runs make the same file.
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
