"""The settings that experiments share: the paper's, ours, and those that take minutes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ngs.experiments.catalogue.experiment import Cell
from ngs.experiments.job import Trained
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.settings import RunSettings

Rows = Mapping[str, Mapping[str, Any]]
"""Settings by the name of a row or a column."""

FRACTIONS: Rows = {f"{percent}%": {"fraction": percent / 100} for percent in (25, 50, 75, 100)}
WHOLE: Rows = {"100%": {}}

HWF_ROWS: Rows = {
    "NGS-RL": {"method": "reinforce"},
    "NGS-MAPO": {"method": "mapo"},
    "NGS-RL-Pretrain": {"method": "reinforce", "pretrain": 0.6},
    "NGS-MAPO-Pretrain": {"method": "mapo", "pretrain": 0.6},
    "NGS-m-BS": {"method": "m-bs"},
    "posterior": {"method": "posterior"},
    "supervised": {"method": "supervised"},
}
"""The methods of the paper's tables, ours, and the ceiling. The authors' released logs of pre-trained
networks begin with 58 to 63% of symbols right."""

CLEVR_ROWS: Rows = {
    "NS-RL": {"method": "reinforce", "grammar": "none"},
    "NGS-RL": {"method": "reinforce"},
    "NGS-1-BS": {"method": "1-bs"},
    "NGS-m-BS": {"method": "m-bs", "walk_steps": 10},
}
"""The methods of the paper's table and curves of questions."""


paper_hwf = partial(
    TrainHWF,
    network="paper",
    steps=15_000,
    batch_size=64,
    learning_rate=5e-4,
    schedule="constant",
    augment=False,
    validate_every=500,
    test_curve=True,
)
"""The paper's network, batch, optimiser and iterations (supplement); one in twenty formulas chooses."""

our_hwf = partial(TrainHWF, batch_size=256, learning_rate=4e-3, steps=700, augment=False, test_curve=True)
"""A small network, large batches and one cycle of the learning rate: docs/handwriting.md."""

wide_hwf = partial(
    our_hwf,
    network="wide",
    augment=True,
    weight_decay=0.05,
    averaging=0.99,
    steps=1100,
    validate_every=100,
)
"""What images that were not seen in training need; on HWF it changes little at full size."""

quick_hwf = partial(TrainHWF, steps=100, validate_every=50, test_curve=True)
"""Embedded formulas, a small network."""

paper_clevr = partial(
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
)
"""The paper's grammar, network, batch, optimiser and iterations, and its plain back-search."""

our_clevr = partial(TrainCLEVR, network="paper", batch_size=256, steps=900, test_curve=True)
"""Tidy grammar, copy score, large batches: docs/clevr.md."""


def quick_clevr(**changes: Any) -> TrainCLEVR:
    """Embedded questions, a small network, and no more steps of m-bs than by default."""
    few = {**changes, "walk_steps": TrainCLEVR.walk_steps}
    return replace(TrainCLEVR(steps=100, validate_every=25, test_curve=True), **few)


def grid(task: str, rows: Rows, columns: Rows, config: Callable[..., RunSettings], number: int) -> list[Cell]:
    """Every row with every column: `number` seeds of what `config` makes of the settings of both."""
    return [
        Cell(row, column, seeds(task, config(**how, **what), number))
        for row, how in rows.items()
        for column, what in columns.items()
    ]


def seeds(task: str, config: RunSettings, number: int) -> tuple[Trained, ...]:
    """The same run with seeds from 0."""
    return tuple(Trained(task, replace(config, seed=seed)) for seed in range(number))
