"""Runs side by side, in groups and in one figure."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ngs.errors import DataError, NGSError
from ngs.experiments.comparison import Spread, compare, curve, draw_curves
from ngs.experiments.report.outcome import read_run
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.settings import RunSettings
from tests.experiments.training import as_facts, task_of


def made(
    folder: Path, config: RunSettings, share: float, *, digest: str = "a", curve: tuple = (), **shares
) -> Path:
    """The folder of a run with these test scores; `curve` has (seconds, test accuracy)."""
    folder.mkdir()
    names = list(task_of(config).metrics.shares)
    test = {"examples": 10, **dict.fromkeys(names, share), **shares}
    result = {"data": "toy", "digest": digest, "training_seconds": 2.0, "test": test, "validation": test}
    result |= {"chosen_step": 1, "peak_memory_mb": None}
    for name, facts in (
        ("config.json", as_facts(config)),
        ("environment.json", {"device": "cpu", "commit": None}),
        ("result.json", result),
    ):
        (folder / name).write_text(json.dumps(facts))
    rows = [{"step": 10 * k, "seconds": s, "test": {names[0]: c}} for k, (s, c) in enumerate(curve, 1)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_mean_and_deviation_by_hand() -> None:
    assert Spread.of([1.0, 2.0, 6.0]) == Spread(3.0, pytest.approx(7**0.5), (1.0, 2.0, 6.0))
    assert Spread.of([4.0]).deviation is None


def test_runs_are_grouped_by_everything_but_the_seed(tmp_path) -> None:
    config = TrainCLEVR(steps=7)
    free = replace(config, grammar="free", copies=False)
    runs = [
        made(tmp_path / "a", config, 0.9, programs=0.5, equivalent=0.7),
        made(tmp_path / "b", free, 0.6),
        made(tmp_path / "c", replace(config, seed=5, test_curve=True), 0.8, programs=0.7, equivalent=0.8),
        made(tmp_path / "d", replace(free, seed=3), 0.4),
    ]
    first, second = compare(runs)
    assert (first.task, first.seeds, first.settings) == ("clevr", (0, 5), {"method": "posterior"})
    assert {name: spread.mean for name, spread in first.test.items()} == {
        "answers": pytest.approx(0.85),
        "programs": pytest.approx(0.6),
        "equivalent": pytest.approx(0.75),
    }
    assert list(first.test) == ["answers", "programs", "equivalent"]
    assert first.test["programs"].deviation == pytest.approx(0.2 / 2**0.5)
    assert second.seeds == (0, 3)
    assert second.settings == {"method": "posterior", "grammar": "free", "copies": False}


def test_what_differs_from_the_default_is_told(tmp_path) -> None:
    runs = [made(tmp_path / "a", TrainHWF(), 0.9), made(tmp_path / "b", TrainHWF(steps=9), 0.8)]
    assert [group.settings for group in compare(runs)] == [
        {"method": "posterior"},
        {"method": "posterior", "steps": 9},
    ]


@pytest.mark.parametrize("config", [TrainHWF(), TrainCLEVR()], ids=["hwf", "clevr"])
def test_the_time_to_a_goal_is_that_of_all_runs_or_none(config: RunSettings, tmp_path: Path) -> None:
    reached = made(tmp_path / "a", config, 0.9, curve=((1.0, 0.5), (2.0, 0.95), (3.0, 0.9)))
    never = made(tmp_path / "b", replace(config, seed=1), 0.9, curve=((1.0, 0.5),))
    assert compare([reached], goal=0.9)[0].seconds_to == Spread(2.0, None, (2.0,))
    assert compare([reached], goal=0.96)[0].seconds_to is None
    assert compare([reached, never], goal=0.9)[0].seconds_to is None


def test_what_is_no_comparison_is_refused(tmp_path) -> None:
    run = made(tmp_path / "a", TrainHWF(), 0.9)
    with pytest.raises(DataError, match="two of these runs have the same settings and seed"):
        compare([run, run])
    other = made(tmp_path / "b", TrainHWF(seed=1), 0.9, digest="b")
    with pytest.raises(DataError, match="trained on different data"):
        compare([run, other])
    (other / "environment.json").unlink()
    with pytest.raises(DataError, match=r"b has no environment\.json, which says where it ran"):
        compare([other])
    (run / "result.json").write_text("{}")
    with pytest.raises(DataError, match=r"result\.json is no result of this version of NGS .*'data'"):
        compare([run])


def test_what_some_run_does_not_know_is_left_out(tmp_path) -> None:
    runs = [
        made(tmp_path / "a", TrainCLEVR(), 0.9, programs=None, equivalent=None),
        made(tmp_path / "b", TrainCLEVR(seed=1), 0.8),
    ]
    (group,) = compare(runs)
    assert list(group.test) == ["answers"] and group.test["answers"].mean == pytest.approx(0.85)


def test_tasks_are_told_apart(tmp_path) -> None:
    """What all runs of a task share is not told, though those of another have it otherwise."""
    runs = [
        made(tmp_path / "a", TrainHWF(steps=9), 0.9),
        made(tmp_path / "b", TrainCLEVR(steps=9, batch_size=3), 0.7),
        made(tmp_path / "c", TrainHWF(steps=9, batch_size=3), 0.8),
    ]
    groups = compare(runs)
    assert [group.task for group in groups] == ["hwf", "clevr", "hwf"]
    assert [group.settings for group in groups] == [
        {"method": "posterior"},
        {"method": "posterior"},
        {"method": "posterior", "batch_size": 3},
    ]
    assert [next(iter(group.test)) for group in groups] == ["calculation", "answers", "calculation"]


@pytest.mark.parametrize("config", [TrainHWF(), TrainCLEVR()], ids=["hwf", "clevr"])
def test_an_unfinished_run_says_how_to_go_on_with_its_task(config: RunSettings, tmp_path: Path) -> None:
    run = made(tmp_path / "a", config, 0.9)
    (run / "result.json").unlink()
    again = f"a is not finished; go on with: ngs train {task_of(config).name} --resume"
    with pytest.raises(DataError, match=again):
        compare([run])


# Curves in one figure

NOT_TESTED = {"step": 40, "seconds": 2, "lesson": "all", "loss": 1.0}


def with_curve(folder: Path, config: RunSettings) -> Path:
    """The folder of a run with a test curve of three points."""
    made(folder, config, 0.9, curve=((1.0, 0.25), (1.0, 0.5), (1.0, 0.75)))
    with (folder / "metrics.jsonl").open("a") as rows:
        rows.write(json.dumps(NOT_TESTED) + "\n")
    return folder


@pytest.mark.parametrize("config", [TrainHWF(), TrainCLEVR()], ids=["hwf", "clevr"])
def test_a_curve_is_what_was_tested(config: RunSettings, tmp_path: Path) -> None:
    assert curve(read_run(with_curve(tmp_path / "run", config))) == {10: 0.25, 20: 0.5, 30: 0.75}


def test_each_configuration_has_its_line(tmp_path: Path) -> None:
    methods = {"slow": "reinforce", "fast": "1-bs"}
    runs = [
        with_curve(tmp_path / f"{name}-{seed}", TrainCLEVR(method=method, seed=seed))
        for name, method in methods.items()
        for seed in range(2)
    ]
    draw_curves(runs, tmp_path / "curves.svg")
    draw_curves(runs[:2], tmp_path / "one.svg")
    both, one = ((tmp_path / name).read_text() for name in ("curves.svg", "one.svg"))
    assert both.startswith("<?xml") and len(both) > len(one)


def test_configurations_in_folders_of_the_same_name_have_a_line_each(tmp_path: Path) -> None:
    runs = []
    for method in ("posterior", "m-bs"):
        (tmp_path / method).mkdir()
        runs.append(with_curve(tmp_path / method / "run", TrainCLEVR(method=method)))
    draw_curves(runs, tmp_path / "both.svg")
    draw_curves(runs[:1], tmp_path / "one.svg")
    both, one = ((tmp_path / name).read_text().count("<path") for name in ("both.svg", "one.svg"))
    assert both > one


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_the_same_runs_make_the_same_file(suffix: str, tmp_path: Path) -> None:
    runs = [with_curve(tmp_path / f"run-{seed}", TrainCLEVR(seed=seed)) for seed in range(2)]
    paths = [tmp_path / f"{name}{suffix}" for name in ("first", "second")]
    for path in paths:
        draw_curves(runs, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    run = with_curve(tmp_path / "run", TrainCLEVR())
    with pytest.raises(NGSError, match=r"ends with \.svg or \.png"):
        draw_curves([run], tmp_path / "curves.bmp")
    (run / "metrics.jsonl").write_text(json.dumps(NOT_TESTED))
    with pytest.raises(DataError, match="run has no test curve; train it with --test-curve"):
        draw_curves([run], tmp_path / "curves.svg")
