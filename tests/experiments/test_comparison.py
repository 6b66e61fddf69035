"""Runs side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ngs.errors import DataError
from ngs.experiments.comparison import Spread, compare
from ngs.experiments.config import TrainHWF


def made(folder: Path, config: TrainHWF, calculation: float, *, digest: str = "a", curve: tuple = ()) -> Path:
    """The folder of a run with this test accuracy; `curve` has (seconds, test accuracy)."""
    folder.mkdir()
    test = {"calculation": calculation, "formula": calculation, "symbol": calculation}
    result = {"data": "toy", "digest": digest, "training_seconds": 2.0, "test": test}
    for name, facts in (
        ("config.json", config.as_facts()),
        ("environment.json", {"device": "cpu", "commit": None}),
        ("result.json", result),
    ):
        (folder / name).write_text(json.dumps(facts))
    rows = [{"step": k, "seconds": s, "test": {"calculation": c}} for k, (s, c) in enumerate(curve)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_mean_and_deviation_by_hand() -> None:
    assert Spread.of([1.0, 2.0, 6.0]) == Spread(3.0, pytest.approx(7**0.5), (1.0, 2.0, 6.0))
    assert Spread.of([4.0]).deviation is None


def test_runs_are_grouped_by_everything_but_the_seed(tmp_path) -> None:
    config = TrainHWF(steps=7)
    runs = [
        made(tmp_path / "a", config, 0.9),
        made(tmp_path / "b", replace(config, method="m-bs"), 0.7),
        made(tmp_path / "c", replace(config, seed=5, test_curve=True), 0.8),
    ]
    first, second = compare(runs)
    assert first.seeds == (0, 5) and first.test["calculation"].mean == pytest.approx(0.85)
    assert first.settings == {"method": "posterior"}  # seven steps are shared by all
    assert second.seeds == (0,) and second.settings == {"method": "m-bs"}


def test_what_differs_from_the_default_is_told(tmp_path) -> None:
    runs = [made(tmp_path / "a", TrainHWF(), 0.9), made(tmp_path / "b", TrainHWF(steps=9), 0.8)]
    assert [group.settings for group in compare(runs)] == [
        {"method": "posterior"},
        {"method": "posterior", "steps": 9},
    ]


def test_the_time_to_a_goal_is_that_of_all_runs_or_none(tmp_path) -> None:
    reached = made(tmp_path / "a", TrainHWF(), 0.9, curve=((1.0, 0.5), (2.0, 0.95), (3.0, 0.9)))
    never = made(tmp_path / "b", TrainHWF(seed=1), 0.9, curve=((1.0, 0.5),))
    assert compare([reached], goal=0.9)[0].seconds_to == Spread(2.0, None, (2.0,))
    assert compare([reached, never], goal=0.9)[0].seconds_to is None


def test_what_is_no_comparison_is_refused(tmp_path) -> None:
    run = made(tmp_path / "a", TrainHWF(), 0.9)
    with pytest.raises(DataError, match="two of these runs have the same settings and seed"):
        compare([run, run])
    other = made(tmp_path / "b", TrainHWF(seed=1), 0.9, digest="b")
    with pytest.raises(DataError, match="trained on different data"):
        compare([run, other])
    (run / "result.json").write_text("{}")
    with pytest.raises(DataError, match=r"result\.json is damaged, or of another version"):
        compare([run])
    (run / "result.json").unlink()
    with pytest.raises(DataError, match="a is not finished; go on with: ngs train hwf --resume"):
        compare([run])
