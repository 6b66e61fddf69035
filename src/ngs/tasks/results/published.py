"""What others published, to stand beside our numbers."""

from __future__ import annotations

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
def published(package: str, label: str) -> Published:
    """A table by its label in the paper, or the name we gave it, from published.toml in a package."""
    facts = tomllib.loads((files(package) / "published.toml").read_text(encoding="utf-8"))[label]
    rows = {
        row: dict(zip(facts["columns"], values, strict=False))  # what is missing stands at the end
        for row, values in facts["rows"].items()
    }
    return Published(label, facts["caption"], rows)
