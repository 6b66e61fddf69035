"""Outcomes made by hand."""

from typing import Any

from ngs.tasks.results.outcome import Outcome, Place, Run

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def run(share: float | None, *, device: str = "cpu", commit: str | None = COMMIT, **result: Any) -> Run:
    """A run with this share of right calculations; its address tells it."""
    environment = {"device": device, "threads": 1, "python": "3.11", "packages": {}, "commit": commit}
    return Run(
        f"address-{share}", {"seed": 0}, {"test": {"calculation": share}, "steps": 10, **result}, environment
    )


def place(
    row: str, column: str, *shares: float | None, wanted: int | None = None, instead: bool = False
) -> Place:
    number = len(shares) if wanted is None else wanted
    return Place(row, column, number, tuple(map(run, shares)), instead)


def outcome(*places: Place, quick: bool = False) -> Outcome:
    return Outcome("some", quick, places)
