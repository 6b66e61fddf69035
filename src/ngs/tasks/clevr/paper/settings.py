"""The settings that experiments share: the paper's, ours, and those that take minutes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.results.experiment import TEST_GROWTH, Rows

ROWS: Rows = {
    "NS-RL": {"method": "reinforce", "grammar": "none"},
    "NGS-RL": {"method": "reinforce"},
    "NGS-1-BS": {"method": "1-bs"},
    "NGS-m-BS": {"method": "m-bs", "walk_steps": 10},
}
"""The methods of the paper's table and curves of questions."""

paper = partial(
    TrainCLEVR,
    network="paper",
    steps=30_000,
    batch_size=64,
    learning_rate=1e-5,
    schedule="constant",
    copies=False,
    moves=False,
    grammar="free",
    samples=1,
    validate_every=1000,
    test_curve=True,
    test_growth=TEST_GROWTH,
)
"""The paper's grammar, network, batch, optimiser and iterations, and its plain back-search."""

ours = partial(TrainCLEVR, network="paper", batch_size=256, steps=900, test_curve=True)
"""Tidy grammar, copy score, large batches: docs/clevr.md."""


def small(**changes: Any) -> TrainCLEVR:
    """Embedded questions, a small network, and no more steps of m-bs than by default."""
    few = {**changes, "walk_steps": TrainCLEVR.walk_steps}
    return replace(TrainCLEVR(steps=100, validate_every=25, test_curve=True), **few)
