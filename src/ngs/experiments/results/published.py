"""What others published, to stand beside our numbers."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Published:
    """A published table, in percent."""

    label: str
    caption: str
    values: Mapping[str, Mapping[str, float]]
    """row -> column -> value"""

    def at(self, row: str, column: str) -> float | None:
        return self.values.get(row, {}).get(column)


@cache
def published(label: str) -> Published:
    """A table by its label in the paper, or the name we gave it."""
    facts = tomllib.loads(_data("published.toml"))[label]
    rows = {
        row: dict(zip(facts["columns"], values, strict=False))  # what is missing stands at the end
        for row, values in facts["rows"].items()
    }
    return Published(label, facts["caption"], rows)


@cache
def released_curves() -> Mapping[str, tuple[tuple[float, float, float], ...]]:
    """By method: iteration, calculation and symbol accuracy, as the paper's authors logged them."""
    curves = json.loads(_data("released_curves.json"))["curves"]
    return {name: tuple(map(tuple, points)) for name, points in curves.items()}


def _data(name: str) -> str:
    return (files(__package__) / "data" / name).read_text(encoding="utf-8")
