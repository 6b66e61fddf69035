"""The cost of a step at several sizes: what is written down, and that larger work costs more."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

from ngs.errors import NGSError
from ngs.experiments.sweep.driver import do
from ngs.grammar.library import arithmetic
from ngs.grammar.normal_form import normal_form
from ngs.tasks.clevr import packed
from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.clevr.paper.workloads import ProgramLength
from ngs.tasks.costs.step_cost import StepCost
from ngs.tasks.costs.workloads import Digits, PrecedenceLevels, Workload, formula_grammar
from ngs.tasks.hwf.paper.workloads import BatchSize, FormulaLength, WalkSteps
from ngs.tasks.results.job import address
from ngs.tasks.run_folder import ENVIRONMENT, RESULT, read_facts


def done(job: StepCost, folder: Path) -> Any:
    steps = [(progress.step, progress.steps) for progress in do(job, folder, ())]
    size = len(job.values)
    assert steps == [*((k, size) for k in range(1, size + 1)), (1, 1)]
    assert read_facts(folder / ENVIRONMENT)["threads"] >= 1
    return read_facts(folder / RESULT)


@pytest.fixture
def few_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instead of the embedded ones, which take seconds to make."""
    data = synthetic(scenes=40, per_scene=5, validation_scenes=1, validation_per_scene=1)
    monkeypatch.setattr(packed, "embedded", lambda: data)


@pytest.mark.parametrize(
    ("workload", "values", "methods", "x"),
    [
        (FormulaLength(batch_size=4), (1, 3), ("supervised", "posterior", "m-bs"), [1, 3]),
        (BatchSize(length=3), (2, 8), ("supervised", "m-bs"), [2, 8]),
        (PrecedenceLevels(length=5, batch_size=8), (1, 2, 4), ("best", "log_partition"), [14, 17, 23]),
        (Digits(length=5, batch_size=8), (10, 100), ("best",), [17, 107]),
        (ProgramLength(batch_size=8), (5, 8), ("supervised", "1-bs", "posterior"), [5, 8]),
    ],
    ids=["formula length", "batch size", "precedence levels", "digits", "program length"],
)
def test_every_workload_has_costs_and_exponents(
    workload: Workload,
    values: tuple[int, ...],
    methods: tuple[str, ...],
    x: list[int],
    tmp_path: Path,
    few_questions: None,
) -> None:
    result = done(StepCost(workload, values, methods, rounds=2, warm_up=0), tmp_path)
    assert result["unit"] == workload.unit
    assert tuple(result["costs"]) == methods
    for cost in result["costs"].values():
        assert [row["x"] for row in cost["measured"]] == x
        assert min(row["seconds"] for row in cost["measured"]) > 0
        memory = [row["memory_mb"] for row in cost["measured"]]
        assert memory == sorted(set(memory))
        assert cost["exponents"]["memory_mb"]["exponent"] > 0
        error = cost["exponents"]["seconds"]["standard_error"]
        assert (error is None) == (len(x) == 2)


def test_a_longer_walk_needs_no_more_memory(tmp_path: Path) -> None:
    job = StepCost(WalkSteps(batch_size=4, length=3), (1, 40), ("m-bs",), rounds=1)
    short, long = done(job, tmp_path)["costs"]["m-bs"]["measured"]
    assert (short["x"], long["x"]) == (1, 40)
    assert long["memory_mb"] == pytest.approx(short["memory_mb"], rel=0.05)


def test_the_memory_of_a_supervised_step_grows_with_the_batch(tmp_path: Path) -> None:
    """Almost in proportion: what the images take is most of it."""
    result = done(StepCost(BatchSize(length=1), (32, 64, 128), ("supervised",), 1, 0), tmp_path)
    assert 0.8 < result["costs"]["supervised"]["exponents"]["memory_mb"]["exponent"] < 1.05


def test_the_grammar_of_formulas_is_one_of_them() -> None:
    made, known = formula_grammar(levels=2, digits=10), arithmetic()
    assert len(made.rules) == len(known.rules)
    for length in (1, 2, 3, 5, 7):
        assert normal_form(made).count(length) == normal_form(known).count(length)


def test_a_job_is_known_by_its_settings() -> None:
    job = StepCost(FormulaLength(), (1, 3), ("supervised",))
    assert pickle.loads(pickle.dumps(job)) == job
    others = [
        StepCost(FormulaLength(batch_size=32), (1, 3), ("supervised",)),
        StepCost(BatchSize(), (1, 3), ("supervised",)),
        StepCost(FormulaLength(), (1, 3, 5), ("supervised",)),
        StepCost(FormulaLength(), (1, 3), ("posterior",)),
        StepCost(FormulaLength(), (1, 3), ("supervised",), rounds=3),
        StepCost(FormulaLength(), (1, 3), ("supervised",), device="cuda"),
    ]
    assert len({address(each) for each in (job, *others)}) == 1 + len(others)
    assert address(job) == address(StepCost(FormulaLength(), (1, 3), ("supervised",)))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"methods": ("posterior", "magic")}, "magic; choose from"),
        ({"methods": ()}, "none; choose from"),
        ({"values": (3, 3)}, "at least two different"),
        ({"values": (0, 3)}, "of 1 or more"),
        ({"rounds": 0}, "rounds is 0"),
        ({"device": "tpu"}, "give cpu or cuda"),
    ],
)
def test_what_cannot_be_measured_is_refused(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(NGSError, match=told):
        StepCost(**{"workload": FormulaLength(), "values": (1, 3), "methods": ("supervised",), **wrong})


def test_too_few_questions_of_a_length_are_told(tmp_path: Path, few_questions: None) -> None:
    job = StepCost(ProgramLength(batch_size=64), (5, 8), ("supervised",))
    with pytest.raises(NGSError, match=r"questions have programs of 5 modules, and a step needs 64"):
        done(job, tmp_path)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_told(tmp_path: Path) -> None:
    job = StepCost(FormulaLength(), (1, 3), ("supervised",), device="cuda")
    with pytest.raises(NGSError, match="where there is a GPU"):
        done(job, tmp_path)
