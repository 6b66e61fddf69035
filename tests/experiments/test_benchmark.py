"""The benchmark measures what it says it measures; how fast is not tested."""

from dataclasses import replace
from fractions import Fraction

import pytest
import torch

from ngs.errors import NGSError
from ngs.experiments import benchmark
from ngs.grammar.library import arithmetic
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.elementwise import at_once
from ngs.search.compiled import BUDGET, value_tables
from ngs.search.support import posterior
from ngs.tasks.clevr.dataset import Ragged, VisualQuestions
from ngs.tasks.clevr.embedded import synthetic

CPU = torch.device("cpu")


def test_answers_are_reachable() -> None:
    log_probs, answers = benchmark.unsure_scores(7, CPU)
    assert log_probs.shape == (64, 7, 14)
    assert all(isinstance(answer, Fraction) for answer in answers)
    assert posterior(arithmetic(), Arithmetic, log_probs, None, answers).found.all()


def test_every_speed_has_its_reference_and_scale() -> None:
    speeds = [*benchmark.parsing_speeds(CPU, 1), *benchmark.search_speeds(CPU, 1, part=2)]
    assert [speed.name for speed in speeds] == [
        "best parse, length 7",
        "best parse, length 19",
        "1-BS, length 7",
        "m-BS(5), length 7",
    ]
    for speed in speeds:
        assert speed.per_second == benchmark.BATCH / speed.seconds
        assert speed.ratio == speed.seconds / speed.reference_seconds


def test_table_entries_are_counted_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(benchmark, "at_once", lambda *given: asked.append(given) or at_once(*given))
    speed = benchmark.table_speed(1)
    assert asked
    entries = value_tables(arithmetic(), Arithmetic, 7, BUDGET).entries
    assert speed.per_second == entries / speed.seconds
    assert speed.ratio == speed.seconds / speed.reference_seconds


def test_all_objectives_train() -> None:
    steps = benchmark.objective_times(CPU, 1)
    assert list(steps)[:3] == ["supervised", "posterior", "m-BS(5)"]
    assert list(steps)[3:] == ["posterior, by ngs.posterior"]
    assert all(seconds > 0 for seconds in steps.values())


def test_compiling_has_a_cost() -> None:
    cost = benchmark.compile_cost()
    assert min(cost[name] for name in ("seconds", "process_mb", "rows", "edges")) > 0


def test_promises_on_each_device() -> None:
    speed = benchmark.Speed("x", 1.0, 1.0, "y", 1.0, 1.0)
    names = ("best parse, length 7", "1-BS, length 7", "posterior step, length 7")
    speeds = [benchmark.Speed(name, *list(vars(speed).values())[1:]) for name in names]
    steps = {"supervised": 1.0, "posterior": 1.4, "m-BS(5)": 1.9}
    compiled = {"seconds": 1.0, "process_mb": 100.0}
    on_cpu = benchmark.promises(CPU, speeds, steps, compiled)
    assert [target["kept"] for target in on_cpu] == [False, False, False, True, True]
    on_gpu = benchmark.promises(torch.device("cuda"), speeds, steps, compiled)
    assert [target["kept"] for target in on_gpu] == [False, True]


@pytest.fixture(scope="module")
def data() -> VisualQuestions:
    return synthetic(scenes=20, per_scene=5, validation_scenes=2)


def test_batched_execution_is_compared_with_the_reference(data: VisualQuestions) -> None:
    speeds = benchmark.execution(data, rounds=1, device=CPU)
    assert speeds["times_reference"] == speeds["batched_per_second"] / speeds["reference_per_second"]
    assert min(speeds.values()) > 0 and speeds["programs_at_once"] == 100_000


def test_data_without_programs_are_refused(data: VisualQuestions) -> None:
    silent = replace(
        data.train, programs=Ragged(data.train.programs.flat[:0], 0 * data.train.programs.offsets)
    )
    with pytest.raises(NGSError, match="some questions of synthetic have no program"):
        benchmark.execution(replace(data, train=silent), rounds=1, device=CPU)
