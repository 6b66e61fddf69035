"""The settings that experiments share: the paper's, ours, and those that take minutes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ngs.experiments.catalogue.experiment import Cell, Means
from ngs.experiments.config import Config, TrainCLEVR, TrainHWF
from ngs.experiments.job import Trained

FRACTIONS: Mapping[str, Mapping[str, Any]] = {
    column: {"fraction": share}
    for column, share in (("25%", 0.25), ("50%", 0.5), ("75%", 0.75), ("100%", 1.0))
}
ALL: Mapping[str, Mapping[str, Any]] = {"100%": {}}
"""The columns of what is trained on all data."""

HWF_ROWS: Mapping[str, Mapping[str, Any]] = {
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

CLEVR_ROWS: Mapping[str, Mapping[str, Any]] = {
    "NS-RL": {"method": "reinforce", "grammar": "none"},
    "NGS-RL": {"method": "reinforce"},
    "NGS-1-BS": {"method": "1-bs"},
    "NGS-m-BS": {"method": "m-bs", "walk_steps": 10},
}
"""The methods of the paper's table and curves of questions."""


def paper_hwf(means: Means, **changes: Any) -> TrainHWF:
    """The paper's network, batch, optimiser and iterations (supplement); one in twenty formulas chooses."""
    config = TrainHWF(
        data=means.hwf,
        network="paper",
        steps=15_000,
        batch_size=64,
        learning_rate=5e-4,
        schedule="constant",
        augment=False,
        validate_every=500,
        test_curve=True,
    )
    return replace(config, **changes)


def our_hwf(data: str, **changes: Any) -> TrainHWF:
    """A small network, large batches and one cycle of the learning rate: docs/handwriting.md."""
    config = TrainHWF(
        data=data, batch_size=256, learning_rate=4e-3, steps=700, augment=False, test_curve=True
    )
    return replace(config, **changes)


def wide_hwf(data: str, **changes: Any) -> TrainHWF:
    """What images that were not seen in training need; on HWF it changes little at full size."""
    longer = our_hwf(
        data,
        network="wide",
        augment=True,
        weight_decay=0.05,
        averaging=0.99,
        steps=1100,
        validate_every=100,
    )
    return replace(longer, **changes)


def quick_hwf(**changes: Any) -> TrainHWF:
    """Embedded formulas, a small network."""
    return replace(TrainHWF(steps=100, validate_every=50, test_curve=True), **changes)


def paper_clevr(means: Means, **changes: Any) -> TrainCLEVR:
    """The paper's grammar, network, batch, optimiser and iterations, and its plain back-search."""
    config = TrainCLEVR(
        data=means.clevr,
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
    return replace(config, **changes)


def our_clevr(means: Means, **changes: Any) -> TrainCLEVR:
    """Tidy grammar, copy score, large batches: docs/clevr.md."""
    config = TrainCLEVR(data=means.clevr, network="paper", batch_size=256, steps=900, test_curve=True)
    return replace(config, **changes)


def quick_clevr(**changes: Any) -> TrainCLEVR:
    """Embedded questions, a small network, and no more steps of m-bs than by default."""
    few = {**changes, "walk_steps": TrainCLEVR.walk_steps}
    return replace(TrainCLEVR(steps=100, validate_every=25, test_curve=True), **few)


def seeds(config: Config, number: int) -> tuple[Trained, ...]:
    """The same run with seeds from 0."""
    return tuple(Trained(replace(config, seed=seed)) for seed in range(number))


Rows = Mapping[str, Mapping[str, Any]]
"""Settings by the name of a row, or of a column."""


def grid(config: Callable[..., Config], rows: Rows, columns: Rows, number: int) -> list[Cell]:
    """Every row with every column, by what `config` makes of the settings of both, with so many seeds."""
    return [
        Cell(row, column, seeds(config(**settings, **others), number))
        for row, settings in rows.items()
        for column, others in columns.items()
    ]
