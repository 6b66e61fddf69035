"""Curves show what was recorded."""

from __future__ import annotations

import random
import re

import pytest

from ngs.experiments.report.curves import POINTS, charts, curve
from tests.experiments.report.documents import said


def test_long_curves_are_thinned_by_means() -> None:
    chance = random.Random(0)
    rows = [{"step": k, "loss": chance.random()} for k in range(10 * POINTS)]
    thin = curve("loss", rows, "step", "loss")
    assert len(thin.x) == POINTS
    assert thin.x[0] == 4.5
    assert thin.y[0] == pytest.approx(sum(row["loss"] for row in rows[:10]) / 10)


def test_charts_show_what_was_recorded() -> None:
    score = {"calculation": 0.5, "formula": None, "symbol": 0.75}
    rows = [
        {"step": 1, "seconds": 0.1, "lesson": "pretrain", "loss": 3.0, "learning_rate": 0.1},
        {"step": 2, "seconds": 0.2, "lesson": "mapo", "loss": -1.0, "learning_rate": 0.1, "reward": 0.2},
        {"step": 2, "seconds": 0.2, "validation": score, "test": score},
    ]
    drawn = list(charts(rows, chosen_step=2))
    assert [re.findall(r"<figcaption>(.*?)<small>", chart)[0] for chart in drawn] == [
        *["Validation accuracy", "Test accuracy", "Training loss"] * 2,
        "Measures of the objective",
        "Learning rate",
    ]
    assert said(drawn[0]).startswith("Validation accuracy , by training step answers symbols ")
    assert " by training step reward " in said(drawn[6])
    assert ">chosen</text>" in drawn[0]
    assert ">mapo</text>" in drawn[2]
    assert list(charts([], None)) == []
