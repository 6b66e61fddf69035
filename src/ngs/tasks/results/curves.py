"""Learning curves as a figure: the mean of the seeds, and a shade over their range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curve = Sequence[tuple[int, Sequence[float]]]  # steps with the share of each seed
Points = Sequence[tuple[float, float]]


def together(curves: Sequence[Mapping[int, float]]) -> Curve:
    """The curve of several seeds, at the steps of all of them."""
    steps = sorted(set.intersection(*map(set, curves))) if curves else []
    return [(step, [shares[step] for shares in curves]) for step in steps]


def curves_figure(
    curves: Mapping[str, Curve],
    label: str,
    beside: Mapping[str, Points] | None = None,
    scale: str = "linear",
    marks: Mapping[str, str] | None = None,
) -> Figure:
    """A line for each name and mark; curves published by others are dotted."""
    from matplotlib.figure import Figure  # here: it is slow to import, and most commands draw nothing

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="steps", ylabel=label, ylim=(0, 1), xscale=scale)
    colours: dict[str, object] = {}
    for name, curve in curves.items():
        if not curve:
            continue
        steps, several = zip(*curve, strict=True)
        (line,) = axes.plot(
            steps, [mean(shares) for shares in several], marker=".", label=name + (marks or {}).get(name, "")
        )
        colours[name] = line.get_color()
        lowest, highest = list(map(min, several)), list(map(max, several))
        axes.fill_between(steps, lowest, highest, color=line.get_color(), alpha=0.2, linewidth=0)
    for name, points in (beside or {}).items():
        axes.plot(*zip(*points, strict=True), ":", color=colours.get(name), label=f"{name}, released log")
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))  # beside: it hides nothing
    return figure


def save(figure: Figure, path: Path) -> None:
    """Save without date and random identifiers: the same runs make the same file."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "ngs"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
