"""Curves of several runs in one figure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ngs.errors import DataError, NGSError
from ngs.experiments.comparison import curve, draw_curves
from ngs.experiments.report.outcome import read_run
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf.settings import TrainHWF
from tests.experiments.training import as_facts

NOT_TESTED = {"step": 40, "seconds": 2, "lesson": "all", "loss": 1.0}


def made(folder: Path, config: TrainHWF | TrainCLEVR, share: str) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(as_facts(config)))
    rows = [{"step": 10 * k, "seconds": 1, "test": {share: k / 4}} for k in range(1, 4)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, NOT_TESTED]))
    return folder


@pytest.mark.parametrize(("config", "share"), [(TrainHWF(), "calculation"), (TrainCLEVR(), "answers")])
def test_a_curve_is_what_was_tested(config, share, tmp_path: Path) -> None:
    assert curve(read_run(made(tmp_path / "run", config, share))) == {10: 0.25, 20: 0.5, 30: 0.75}


def test_each_configuration_has_its_line(tmp_path: Path) -> None:
    methods = {"slow": "reinforce", "fast": "1-bs"}
    runs = [
        made(tmp_path / f"{name}-{seed}", TrainCLEVR(method=method, seed=seed), "answers")
        for name, method in methods.items()
        for seed in range(2)
    ]
    draw_curves(runs, tmp_path / "curves.svg")
    draw_curves(runs[:2], tmp_path / "one.svg")
    both, one = ((tmp_path / name).read_text() for name in ("curves.svg", "one.svg"))
    assert both.startswith("<?xml") and len(both) > len(one)


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_the_same_runs_make_the_same_file(suffix: str, tmp_path: Path) -> None:
    runs = [made(tmp_path / f"run-{seed}", TrainCLEVR(seed=seed), "answers") for seed in range(2)]
    paths = [tmp_path / f"{name}{suffix}" for name in ("first", "second")]
    for path in paths:
        draw_curves(runs, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    run = made(tmp_path / "run", TrainCLEVR(), "answers")
    with pytest.raises(NGSError, match=r"ends with \.svg or \.png"):
        draw_curves([run], tmp_path / "curves.bmp")
    (run / "metrics.jsonl").write_text(json.dumps(NOT_TESTED))
    with pytest.raises(DataError, match="run has no test curve; train it with --test-curve"):
        draw_curves([run], tmp_path / "curves.svg")
