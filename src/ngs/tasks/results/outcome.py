"""The outcome of an experiment: the results of its jobs by row and column."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from ngs.errors import DataError
from ngs.learning.whole_file import replacing
from ngs.tasks.results.curves import Curve, together


@dataclass(frozen=True)
class Spread:
    """The values of some runs, their mean and sample standard deviation."""

    mean: float
    deviation: float | None  # None for a single run
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(mean(values), stdev(values) if len(values) > 1 else None, tuple(values))


@dataclass(frozen=True)
class Run:
    address: str
    facts: dict[str, Any]  # the settings of the job
    result: dict[str, Any]
    environment: dict[str, Any]
    curve: tuple[dict[str, Any], ...] = ()  # points of the test curve
    drawings: dict[str, str] | None = None  # SVG by name


@dataclass(frozen=True)
class Place:
    """A place of a table, or a line of a figure, with its runs."""

    row: str
    column: str
    wanted: int
    runs: tuple[Run, ...]
    instead: bool = False  # these runs stand in for the wanted ones

    @property
    def mark(self) -> str:
        """The mark beside a number of stand-ins or of too few seeds."""
        other = "†" if self.instead else ""
        return other + (f" ({len(self.runs)} of {self.wanted} seeds)" if len(self.runs) < self.wanted else "")

    def curve(self, share: str) -> Curve:
        """The test curve of all its runs for one share."""
        return together([{row["step"]: row[share] for row in run.curve} for run in self.runs])

    def spread(self, of: Callable[[Run], float | None]) -> Spread | None:
        """The spread over the runs that have a value; None if none has."""
        values = [value for run in self.runs if (value := of(run)) is not None]
        return Spread.of(values) if values else None

    def tested(self, share: str) -> Spread | None:
        return self.spread(lambda run: run.result["test"].get(share))


@dataclass(frozen=True)
class Outcome:
    """All places of an experiment, filled or not."""

    experiment: str
    quick: bool
    places: tuple[Place, ...]

    @property
    def rows(self) -> list[str]:
        return list(dict.fromkeys(place.row for place in self.places))

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(place.column for place in self.places))

    @property
    def runs(self) -> Iterator[Run]:
        for place in self.places:
            yield from place.runs

    def at(self, row: str, column: str) -> Place | None:
        found = [place for place in self.places if (place.row, place.column) == (row, column)]
        return found[0] if found else None

    def rows_of(self, column: str) -> list[Place]:
        return [place for place in self.places if place.column == column]


def write_outcome(outcome: Outcome, path: Path) -> None:
    """Write JSON with a line for each run, for small diffs."""
    places = ",\n".join(_place_text(place) for place in outcome.places)
    head = json.dumps({"experiment": outcome.experiment, "quick": outcome.quick})[1:-1]
    with replacing(path) as temporary:
        temporary.write_text(f'{{{head}, "places": [\n{places}\n]}}\n', encoding="utf-8")


def _place_text(place: Place) -> str:
    head = {name: getattr(place, name) for name in ("row", "column", "wanted", "instead")}
    runs = ",\n".join("  " + json.dumps(asdict(run), ensure_ascii=False) for run in place.runs)
    return json.dumps(head, ensure_ascii=False)[:-1] + (
        f', "runs": [\n{runs}\n]}}' if runs else ', "runs": []}'
    )


def read_outcome(path: Path) -> Outcome:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        return Outcome(facts["experiment"], facts["quick"], tuple(map(_place, facts["places"])))
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = f"it lacks {error}" if isinstance(error, KeyError) else error
        raise DataError(
            f"{path} is no record of an experiment ({why}); make it again with `ngs reproduce`"
        ) from None


def _place(facts: dict[str, Any]) -> Place:
    runs = (Run(**{**each, "curve": tuple(each["curve"])}) for each in facts["runs"])
    return Place(**{**facts, "runs": tuple(runs)})


def commits(runs: Sequence[Run]) -> list[str]:
    """Short commits, with `+` for uncommitted changes."""
    found = [attempt["commit"] for attempt in _attempts(runs)]
    return sorted({"unknown" if each is None else each[:7] + "+" * each.endswith("+") for each in found})


def devices(runs: Sequence[Run]) -> list[str]:
    return sorted({str(attempt["device"]) for attempt in _attempts(runs)})


def _attempts(runs: Sequence[Run]) -> Iterator[dict[str, Any]]:
    """Environments of the runs, from their beginnings and resumptions."""
    for run in runs:
        yield run.environment
        yield from run.environment.get("resumed", [])
