"""The cost of a step at several sizes: seconds, the peak of tensors, and the exponents of both."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from ngs.errors import NGSError
from ngs.experiments.sweep.driver import do
from ngs.grammar.grammar import arithmetic
from ngs.grammar.normal_form import normal_form
from ngs.tasks.clevr import packed
from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.clevr.paper.workloads import ProgramLength
from ngs.tasks.costs.step_cost import StepCost, peak_tensor_mb, power_law, timed
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


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(NGSError, match="give cpu or cuda"):
        StepCost(FormulaLength(), (1, 3), ("supervised",), device="tpu")


def test_too_few_questions_of_a_length_are_told(tmp_path: Path, few_questions: None) -> None:
    job = StepCost(ProgramLength(batch_size=64), (5, 8), ("supervised",))
    with pytest.raises(NGSError, match=r"questions have programs of 5 modules, and a step needs 64"):
        done(job, tmp_path)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_told(tmp_path: Path) -> None:
    job = StepCost(FormulaLength(), (1, 3), ("supervised",), device="cuda")
    with pytest.raises(NGSError, match="where there is a GPU"):
        done(job, tmp_path)


# Exponents


@pytest.mark.parametrize("exponent", [-1.5, 0.0, 1.0, 3.0])
@pytest.mark.parametrize("constant", [1e-4, 7.0])
def test_exact_powers_are_found_exactly(exponent: float, constant: float) -> None:
    x = [1, 3, 5, 7, 20]
    law = power_law(x, [constant * n**exponent for n in x])
    assert law.exponent == pytest.approx(exponent, abs=1e-12)
    assert law.constant == pytest.approx(constant, rel=1e-12)
    assert law.standard_error == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_linear_algebra(seed: int) -> None:
    random = np.random.default_rng(seed)
    x = random.integers(1, 100, size=12)
    y = 0.1 * x**1.7 * np.exp(0.2 * random.standard_normal(12))
    (slope, intercept), covariance = np.polyfit(np.log(x), np.log(y), 1, cov=True)
    law = power_law(x.tolist(), y.tolist())
    assert law.exponent == pytest.approx(slope)
    assert law.constant == pytest.approx(np.exp(intercept))
    assert law.standard_error == pytest.approx(np.sqrt(covariance[0, 0]))


def test_the_standard_error_covers_the_truth() -> None:
    random = np.random.default_rng(0)
    x = [1, 2, 4, 8, 16, 32, 64, 128]
    within = 0
    for _ in range(400):
        law = power_law(x, [n**1.5 * np.exp(0.3 * random.standard_normal()) for n in x])
        assert law.standard_error is not None
        within += abs(law.exponent - 1.5) < 2.45 * law.standard_error  # 95% of Student's t, 6 degrees
    assert 0.92 <= within / 400 <= 0.98


def test_two_points_have_an_exponent_and_no_error() -> None:
    law = power_law([2, 4], [1, 8])
    assert law.exponent == pytest.approx(3)
    assert law.standard_error is None


# Memory


CPU = torch.device("cpu")
MB = 2**18
"""floats in a megabyte"""


def test_what_is_freed_makes_room() -> None:
    def one_after_the_other() -> None:
        for _ in range(5):
            torch.zeros(3 * MB)

    def together() -> None:
        kept = [torch.zeros(3 * MB) for _ in range(5)]
        kept.clear()
        torch.zeros(MB)

    assert peak_tensor_mb(one_after_the_other, CPU) == 3
    assert peak_tensor_mb(together, CPU) == 15


def test_views_and_changes_in_place_take_nothing() -> None:
    before = torch.zeros(4 * MB)

    def action() -> None:
        before.view(2, -1)[0].add_(1)
        made = torch.zeros(2 * MB)
        made.mul_(2).reshape(-1, 2).T.neg_()

    assert peak_tensor_mb(action, CPU) == pytest.approx(2, abs=1e-3)


def test_what_is_kept_for_the_gradient_counts() -> None:
    x = torch.ones(MB)
    weight = nn.Parameter(torch.ones(()))

    def action() -> None:
        (weight * x).exp().exp().sum().backward()  # type: ignore[no-untyped-call]

    with torch.no_grad():
        without = peak_tensor_mb(lambda: (weight * x).exp().exp().sum(), CPU)
    assert 2 <= without < 2.1
    assert peak_tensor_mb(action, CPU) >= 3


def test_what_outlives_the_action_does_no_harm() -> None:
    kept = []
    assert peak_tensor_mb(lambda: kept.append(torch.zeros(MB)), CPU) == 1
    kept.clear()
    assert peak_tensor_mb(lambda: torch.zeros(MB), CPU) == 1


# Seconds


def test_actions_are_timed_in_turn() -> None:
    calls: list[str] = []
    actions = {name: lambda name=name: calls.append(name) for name in "ab"}
    spent = timed(actions, 3)
    assert calls == ["a", "a", "b", "b", *["a", "b"] * 3]
    assert spent.keys() == {"a", "b"} and min(each.median for each in spent.values()) >= 0
    assert all(len(each.times) == 3 for each in spent.values())
