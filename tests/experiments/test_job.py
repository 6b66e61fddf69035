"""Jobs are known by what their result depends on, and a training run is gone on with where it stopped."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ngs.errors import DataError
from ngs.experiments.sweep.driver import do
from ngs.tasks.clevr import packed as packed_questions
from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.costs.step_cost import StepCost
from ngs.tasks.costs.workloads import Digits
from ngs.tasks.hwf import packed as packed_formulas
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.paper.long import LongTest
from ngs.tasks.hwf.paper.workloads import BatchSize
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.results.corrections import Corrections
from ngs.tasks.results.job import DEFAULTS, Job, Trained, address, data_facts
from ngs.tasks.run_folder import CHECKPOINT, CONFIG, RESULT, load_config
from ngs.tasks.settings import RunSettings
from tests.experiments.finished_runs import facts_of
from tests.experiments.training import as_facts, trained


@pytest.fixture(scope="module")
def formulas(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "formulas.ngs"
    packed_formulas.write(path, embedded(train=60, test=20, lengths={1: 0.5, 3: 0.5}))
    return str(path)


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "questions.ngs"
    packed_questions.write(
        path, synthetic(scenes=2, per_scene=4, validation_scenes=1, validation_per_scene=2)
    )
    return str(path)


@pytest.fixture(params=[TrainHWF, TrainCLEVR], ids=["hwf", "clevr"])
def config(request: pytest.FixtureRequest, formulas: str, questions: str) -> RunSettings:
    made: RunSettings = request.param(data=formulas if request.param is TrainHWF else questions, seed=3)
    return made


def every_kind(formulas: str, questions: str) -> list[Job]:
    about_formulas = TrainHWF(data=formulas, lengths=(1, 3), method="m-bs")
    return [
        trained(about_formulas),
        trained(TrainCLEVR(data=questions)),
        LongTest(trained(about_formulas)),
        Corrections(trained(about_formulas)),
        Corrections(trained(TrainCLEVR(data=questions))),
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


def test_other_data_make_another_address(formulas: str, tmp_path: Path) -> None:
    packed_formulas.write(tmp_path / "other.ngs", embedded(seed=1, train=60, test=20))
    other = trained(TrainHWF(data=str(tmp_path / "other.ngs")))
    assert address(other) != address(trained(TrainHWF(data=formulas)))


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


def test_the_facts_of_every_kind_go_through_json(formulas: str, questions: str) -> None:
    jobs = every_kind(formulas, questions)
    for job in jobs:
        assert json.loads(json.dumps(job.facts)) == job.facts, job
        assert formulas not in json.dumps(job.facts) and questions not in json.dumps(job.facts)
        same = pickle.loads(pickle.dumps(job))
        assert same == job and address(same) == address(job)
        assert len(address(job)) == 16 and int(address(job), 16) >= 0
    assert len(set(map(address, jobs))) == len(jobs)


def test_a_missing_data_set_is_named() -> None:
    with pytest.raises(DataError, match=r"nothing\.ngs: there is no such file"):
        address(trained(TrainHWF(data="nothing.ngs")))


# Training


def begun(job: Trained, folder: Path) -> None:
    """Stop after the first checkpoint."""
    events = do(job, folder, [])
    while not (folder / CHECKPOINT).exists():
        next(events)
    events.close()  # type: ignore[attr-defined]


def test_a_run_goes_on_though_its_data_were_moved(formulas: str, tmp_path: Path) -> None:
    first, second = (tmp_path / name for name in ("first.ngs", "second.ngs"))
    shutil.copy(formulas, first)
    job = trained(TrainHWF(data=str(first), steps=6, validate_every=2, batch_size=8, validation=0.2))
    begun(job, tmp_path / "run")
    assert not (tmp_path / "run" / RESULT).exists()
    name = address(job)

    first.rename(second)
    moved = trained(replace(job.settings, data=str(second)))
    assert address(moved) == name
    steps = [progress.step for progress in do(moved, tmp_path / "run", [])]
    assert steps[0] > 2 and steps[-1] == 6
    assert load_config(tmp_path / "run").settings == moved.settings

    list(do(moved, tmp_path / "whole", []))
    run, whole = facts_of(tmp_path / "run"), facts_of(tmp_path / "whole")
    assert run == whole and (tmp_path / "run" / CONFIG).exists()


def test_a_run_that_did_not_reach_a_checkpoint_begins_anew(formulas: str, tmp_path: Path) -> None:
    job = trained(TrainHWF(data=formulas, steps=12, validate_every=12, batch_size=8, validation=0.2))
    events = do(job, tmp_path / "run", [])
    next(events)
    events.close()  # type: ignore[attr-defined]
    assert (tmp_path / "run" / CONFIG).exists() and not (tmp_path / "run" / CHECKPOINT).exists()
    list(do(job, tmp_path / "run", []))
    list(do(job, tmp_path / "whole", []))
    assert facts_of(tmp_path / "run") == facts_of(tmp_path / "whole")


def test_other_data_are_not_gone_on_with(formulas: str, tmp_path: Path) -> None:
    job = trained(TrainHWF(data=formulas, steps=4, validate_every=2, batch_size=8, validation=0.2))
    begun(job, tmp_path / "run")
    packed_formulas.write(tmp_path / "other.ngs", embedded(seed=1, train=60, test=20, lengths={1: 1}))
    other = trained(replace(job.settings, data=str(tmp_path / "other.ngs")))
    with pytest.raises(DataError, match=r"other\.ngs is not what .*run was trained on so far"):
        list(do(other, tmp_path / "run", []))
    assert load_config(tmp_path / "run").settings == job.settings


def test_the_defaults_are_those_that_addresses_count_on() -> None:
    """Whoever changes a default of a training run counts DEFAULTS up, and then this digest changes too."""
    defaults = [as_facts(TrainHWF()), as_facts(TrainCLEVR()), DEFAULTS]
    text = json.dumps(defaults, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "9d63a64d91c4188c"
