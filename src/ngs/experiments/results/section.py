"""A part of the page of results: text, and the figures it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Section:
    """Markdown in which `{name}` stands for the path of a figure or drawing, without its ending."""

    text: str
    figures: Mapping[str, Figure] = field(default_factory=dict)
    """written as SVG and PNG"""
    drawings: Mapping[str, str] = field(default_factory=dict)
    """SVG that is there already"""
