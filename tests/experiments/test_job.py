"""Jobs are known by what their result depends on, and a training run is gone on with where it stopped."""

import hashlib
import json
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ngs.experiments.sweep.driver import do
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.costs.step_cost import StepCost
from ngs.tasks.costs.workloads import Digits
from ngs.tasks.hwf.paper.long import LongTest
from ngs.tasks.hwf.paper.workloads import BatchSize
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.results.corrections import Corrections
from ngs.tasks.results.job import DEFAULTS, Job, address, data_facts
from ngs.tasks.run_folder import CHECKPOINT, CONFIG, RESULT, load_config
from ngs.tasks.settings import RunSettings
from tests.experiments.short_runs import Short
from tests.experiments.training import as_facts, facts_of, trained


@pytest.fixture(params=["formulas", "questions"])
def config(request: pytest.FixtureRequest) -> RunSettings:
    """With a setting that is not the default, beside its data."""
    settings: RunSettings = request.getfixturevalue(request.param).settings
    return type(settings)(data=settings.data, seed=3)


def every_kind(formulas: Short, questions: Short) -> list[Job]:
    about_formulas, about_questions = trained(formulas.settings), trained(questions.settings)
    return [
        about_formulas,
        about_questions,
        LongTest(about_formulas, (7, 11), 500),
        Corrections(about_formulas),
        Corrections(about_questions),
        StepCost(BatchSize(), (1, 2), ("supervised",)),
        StepCost(Digits(), (1, 2), ("best",)),
    ]


# Addresses


def test_the_address_is_that_of_the_contents_wherever_they_lie(config: RunSettings, tmp_path: Path) -> None:
    shutil.copy(config.data, tmp_path / "elsewhere.bin")
    moved = trained(replace(config, data=str(tmp_path / "elsewhere.bin")))
    assert moved != trained(config) and address(moved) == address(trained(config))


def test_a_relative_path_is_as_good(config: RunSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(config.data)
    monkeypatch.chdir(path.parent)
    assert address(trained(replace(config, data=path.name))) == address(trained(config))


def test_every_setting_makes_another_address(config: RunSettings) -> None:
    changes = [
        {"seed": 4},
        {"method": "supervised"},
        {"steps": config.steps + 1},
        {"batch_size": 7},
        {"learning_rate": 0.5},
        {"schedule": "constant"},
        {"fraction": 0.5},
        {"validate_every": 7},
        {"test_curve": True},
        {"walk_steps": 7},
        {"data": "embedded"},
        {"lengths": (1,)} if isinstance(config, TrainHWF) else {"grammar": "free"},
        {"lengths": (3,)} if isinstance(config, TrainHWF) else {"moves": False},
    ]
    changed = [replace(config, **change) for change in changes]
    assert len({address(trained(each)) for each in (config, *changed)}) == 1 + len(changes)


@pytest.mark.parametrize("name", ["formulas", "questions"])
def test_other_data_make_another_address(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    short = request.getfixturevalue(name)
    short.write_other(tmp_path / "other.ngs")
    other = short.but(data=str(tmp_path / "other.ngs"))
    assert address(trained(other.settings)) != address(trained(short.settings))


def test_what_has_its_default_is_not_told(config: RunSettings) -> None:
    """A setting that is added later, with a default that changes nothing, leaves the address as it is."""
    assert trained(config).facts.keys() == {"task", "data", "seed", "defaults"}
    assert trained(type(config)()).facts.keys() == {"task", "data", "defaults"}
    default = type(config)()
    assert address(trained(replace(config, steps=default.steps))) == address(trained(config))
    assert "steps" in trained(replace(config, steps=default.steps + 1)).facts


def test_tasks_do_not_share_addresses() -> None:
    assert address(trained(TrainHWF())) != address(trained(TrainCLEVR()))
    assert data_facts("hwf", "embedded") == data_facts("clevr", "embedded") == "embedded"


def test_the_facts_of_every_kind_go_through_json(formulas: Short, questions: Short) -> None:
    jobs = every_kind(formulas, questions)
    for job in jobs:
        assert json.loads(json.dumps(job.facts)) == job.facts, job
        assert ".ngs" not in json.dumps(job.facts)  # wherever the data lie
        same = pickle.loads(pickle.dumps(job))
        assert same == job and address(same) == address(job)
        assert len(address(job)) == 16 and int(address(job), 16) >= 0
    assert len(set(map(address, jobs))) == len(jobs)


# Training


def test_a_run_goes_on_though_its_data_were_moved(formulas: Short, tmp_path: Path) -> None:
    first, second = (tmp_path / name for name in ("first.ngs", "second.ngs"))
    formulas.write(first)
    job = trained(formulas.but(data=str(first)).settings)
    events = do(job, tmp_path / "run", [])
    while not (tmp_path / "run" / CHECKPOINT).exists():
        next(events)
    events.close()  # type: ignore[attr-defined]
    assert not (tmp_path / "run" / RESULT).exists()
    name = address(job)

    first.rename(second)
    moved = trained(replace(job.settings, data=str(second)))
    assert address(moved) == name
    steps = [progress.step for progress in do(moved, tmp_path / "run", [])]
    assert steps[0] > 5 and steps[-1] == 12
    assert load_config(tmp_path / "run").settings == moved.settings
    list(do(moved, tmp_path / "whole", []))
    assert facts_of(tmp_path / "run") == facts_of(tmp_path / "whole")


def test_a_run_that_did_not_reach_a_checkpoint_begins_anew(formulas: Short, tmp_path: Path) -> None:
    job = trained(formulas.but(validate_every=12).settings)
    formulas.but(validate_every=12).left(tmp_path / "run", 1)
    assert (tmp_path / "run" / CONFIG).exists() and not (tmp_path / "run" / CHECKPOINT).exists()
    list(do(job, tmp_path / "run", []))
    list(do(job, tmp_path / "whole", []))
    assert facts_of(tmp_path / "run") == facts_of(tmp_path / "whole")


def test_the_defaults_are_those_that_addresses_count_on() -> None:
    """Whoever changes a default of a training run counts DEFAULTS up, and then this digest changes too."""
    defaults = [as_facts(TrainHWF()), as_facts(TrainCLEVR()), DEFAULTS]
    text = json.dumps(defaults, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "9d63a64d91c4188c"
