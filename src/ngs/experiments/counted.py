"""What is counted in the scores of each task, by the names that its facts have."""

from __future__ import annotations

from collections.abc import Mapping

from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.report.shares import Counted

COUNTED: Mapping[str, Counted] = {
    "hwf": Counted(("calculation", "formula", "symbol"), ("by_length",)),
    "clevr": Counted(("answers", "programs", "equivalent"), ("by_kind", "by_length")),
    "scenes": Counted(
        ("objects_right", "found", "precision", *ATTRIBUTES, "relations", "pictures_right"), ("by_objects",)
    ),
}
"""By the task of a run."""
