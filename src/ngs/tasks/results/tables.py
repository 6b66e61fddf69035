"""Tables in Markdown: mean and spread of the seeds beside published values."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from ngs.tasks.results.outcome import Outcome, Place, Spread, commits, devices


@dataclass(frozen=True)
class Published:
    """A published table, in percent."""

    label: str
    caption: str
    values: Mapping[str, Mapping[str, float]]  # by row and column

    def at(self, row: str, column: str) -> float | None:
        return self.values.get(row, {}).get(column)


@cache
def published(package: str, label: str) -> Published:
    """A table by its label, from published.toml in a package."""
    facts = tomllib.loads((files(package) / "published.toml").read_text(encoding="utf-8"))[label]
    rows = {
        row: dict(zip(facts["columns"], values, strict=False))  # missing values are at the end
        for row, values in facts["rows"].items()
    }
    return Published(label, facts["caption"], rows)


if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEHIND = 1.0  # points below a published value that mark a place
MISSING = "not run yet"


@dataclass(frozen=True)
class Section:
    """Markdown of the page of results; `{name}` stands for the path of a figure or drawing without suffix."""

    text: str
    figures: Mapping[str, Figure] = field(default_factory=dict)  # written as SVG and PNG
    drawings: Mapping[str, str] = field(default_factory=dict)  # finished SVG


def table(outcome: Outcome, measured: str, known: Published | None = None, corner: str = "") -> str:
    """A table of one share of the test part, in percent. Published rows without runs are last.

    Quick runs have other data, and no published values beside them.
    """
    known = None if outcome.quick else known
    others = [] if known is None else [row for row in known.values if row not in outcome.rows]
    lines = [
        [row, *(_cell(outcome.at(row, each), measured, known) for each in outcome.columns)]
        for row in outcome.rows
    ]
    for row in others:
        values = [known.at(row, column) if known else None for column in outcome.columns]
        lines.append([f"*{row}*", *("" if value is None else f"*{value:.1f}*" for value in values)])
    return rows_of([corner, *outcome.columns], lines)


def titled_tables(outcome: Outcome, titles: Mapping[str, str | Published]) -> Section:
    """A table for each share of the test part, with a title or a published table."""
    parts = []
    for name, title in titles.items():
        known = None if isinstance(title, str) else title
        parts.append(f"**{title}**" if known is None else f"**{known.caption}** (`{known.label}`)")
        parts.append(table(outcome, name, known))
    return Section("\n\n".join(parts))


def rows_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def _cell(place: Place | None, measured: str, known: Published | None) -> str:
    if place is None:
        return ""
    spread = place.tested(measured)
    theirs = None if known is None else known.at(place.row, place.column)
    if spread is None:
        return MISSING + ("" if theirs is None else f"; paper {theirs:.1f}")
    text = in_percent(spread) + place.mark
    if theirs is None:
        return text
    if place.instead:
        return f"{text}; paper {theirs:.1f}"
    difference = 100 * spread.mean - theirs
    text += f"; paper {theirs:.1f} ({difference:+.1f})"
    return f"**{text}**" if difference < -BEHIND else text


def share(place: Place, measured: str) -> str:
    """The spread in percent, or that it is missing."""
    spread = place.tested(measured)
    return MISSING if spread is None else in_percent(spread)


def in_percent(spread: Spread) -> str:
    """99.35 ± 0.12"""
    return plain(spread, 2, 100)


def plain(spread: Spread, digits: int, unit: float = 1) -> str:
    """4.2 ± 0.3"""
    deviation = "" if spread.deviation is None else f" ± {unit * spread.deviation:.{digits}f}"
    return f"{unit * spread.mean:.{digits}f}{deviation}"


def provenance(outcome: Outcome) -> str:
    """The command, the number of finished runs, devices and commits."""
    runs = list(outcome.runs)
    wanted = sum(place.wanted for place in outcome.places)
    done = sum(len(place.runs) for place in outcome.places if not place.instead)
    scale = " --quick" if outcome.quick else ""
    lines = [f"`ngs reproduce {outcome.experiment}{scale}`: {done} of {wanted} runs done."]
    if (seeds := max((place.wanted for place in outcome.places), default=1)) > 1:
        lines.append(f"{seeds} seeds of each setting.")
    if any(place.instead for place in outcome.places):
        lines.append(f"†: `ngs reproduce {outcome.experiment} --instead`.")
    if runs:
        lines.append(f"On {', '.join(devices(runs))}; commit {_commits_by_row(outcome)}.")
    return " ".join(lines)


def _commits_by_row(outcome: Outcome) -> str:
    """The commits, with the rows that they made if these differ."""
    rows: dict[str, list[str]] = {}
    for row in outcome.rows:
        if runs := [run for place in outcome.places if place.row == row for run in place.runs]:
            rows.setdefault(", ".join(commits(runs)), []).append(f"*{row}*")
    return "; ".join(
        f"{made_by} ({', '.join(each)})" if len(rows) > 1 else made_by for made_by, each in rows.items()
    )
