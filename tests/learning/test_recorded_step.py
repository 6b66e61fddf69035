"""Steps that are recorded on a GPU and repeated: they do what plain steps do."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest
import torch

from ngs.errors import NGSError
from ngs.experiments.config import TrainCLEVR
from ngs.gpu import HAS_TRITON, rounded_products
from ngs.learning.loop import Lesson, Settings, Trainer
from ngs.learning.program_methods import PROGRAM_METHODS, Searching, waits_for_nothing
from ngs.perception.pointer import PointerNetwork, Size
from ngs.search.multi_step import Walk
from ngs.tasks.clevr.noun_phrases import SWITCHES, TIDY_EDITS, meanings
from ngs.tasks.clevr.program import MODULES
from tests.learning.program_tasks import moved, task
from tests.learning.tasks import tiny
from tests.perception.asked import WORDS

needs_gpu = pytest.mark.skipif(
    not (torch.cuda.is_available() and HAS_TRITON), reason="needs a GPU and Triton"
)
RECORDED = ["supervised", "reinforce", "1-bs", "m-bs"]
HOW = Searching(SWITCHES, meanings, samples=2, walk=Walk(steps=3))


def training(method: str, *, recorded: bool = True, dropout: float = 0.0, how: Searching = HOW) -> Trainer:
    examples = moved(task(24, 0).examples, "cuda")
    objective = PROGRAM_METHODS[method](examples, how, torch.Generator("cuda").manual_seed(0))
    torch.manual_seed(0)
    network = PointerNetwork(WORDS, len(MODULES), size=Size(hidden=32, embedding=8), dropout=dropout)
    lesson = Lesson(method, examples, objective, 12)
    if recorded:
        lesson = Lesson(
            method, examples, objective, 12, recordable=partial(waits_for_nothing, objective, examples)
        )
    return Trainer(network, [lesson], Settings(batch_size=8, learning_rate=0.01, clipping=0.5))


def is_recorded(trainer: Trainer) -> bool:
    return trainer._recorded is not None


@needs_gpu
@pytest.mark.parametrize("method", RECORDED)
def test_a_recorded_step_is_a_step(method: str) -> None:
    """With the same examples, random numbers and learning rates, and so with the same losses."""
    losses, measures = [], []
    for recorded in (True, False):
        trainer = training(method, recorded=recorded)
        with rounded_products():
            steps = []
            for step in trainer:
                assert is_recorded(trainer) == recorded
                steps.append(step)
        losses.append([float(step.loss) for step in steps])
        measures.append([{name: float(value) for name, value in step.measures.items()} for step in steps])
        assert len({step.learning_rate for step in steps}) > 6
    assert losses[0] == pytest.approx(losses[1], rel=1e-3, abs=1e-5)
    assert measures[0] == measures[1]
    assert len(set(losses[0])) > 6


@needs_gpu
@pytest.mark.parametrize("method", RECORDED)
def test_a_recorded_training_goes_on_where_it_was(method: str) -> None:
    with rounded_products():
        whole = training(method)
        expected = [float(step.loss) for step in whole]
        first, second = training(method), training(method)
        steps = iter(first)
        losses = [float(next(steps).loss) for _ in range(7)]
        second.restore(*first.state())
        losses += [float(step.loss) for step in second]
    assert losses == pytest.approx(expected, rel=1e-3, abs=1e-5)


@needs_gpu
@pytest.mark.parametrize("why", ["dropout", "edits that wait", "exact products", "posterior"])
def test_what_waits_is_not_recorded(why: str) -> None:
    tidy = Searching(TIDY_EDITS, meanings)
    made = {
        "dropout": lambda: training("m-bs", dropout=0.5),
        "edits that wait": lambda: training("m-bs", how=tidy),
        "exact products": lambda: training("m-bs"),
        "posterior": lambda: training("posterior", how=tidy),
    }
    trainer = made[why]()
    if why == "exact products":
        next(iter(trainer))
    else:
        with rounded_products():
            next(iter(trainer))
    assert not is_recorded(trainer)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("averaging", [0.0, 0.9])
@pytest.mark.parametrize("processes", [1, 2])
def test_runs_are_recorded_on_one_gpu_in_float32_without_averages(
    precision: str, averaging: float, processes: int
) -> None:
    """With all that is the default of runs: clipping, for one."""
    examples, config = task(4, 0).examples, TrainCLEVR(precision=precision, averaging=averaging)
    objective = PROGRAM_METHODS["reinforce"](examples, HOW, torch.Generator())
    recordable, other = (
        Lesson("reinforce", examples, objective, 1, recordable=lambda network, answer=answer: answer)
        for answer in (True, False)
    )
    network = PointerNetwork(WORDS, len(MODULES), size=Size(hidden=32, embedding=8))
    trainer = Trainer(network, [recordable], config.settings)
    trainer.accelerator = SimpleNamespace(  # type: ignore[assignment]
        device=torch.device("cuda"), num_processes=processes, unwrap_model=lambda network: network
    )
    expected = precision == "float32" and not averaging and processes == 1
    assert trainer._is_recordable(recordable) == expected
    assert not trainer._is_recordable(other)


@pytest.mark.skipif(torch.cuda.is_available(), reason="trainings go to the GPU here")
def test_on_a_cpu_nothing_is_recorded() -> None:
    examples = task(8, 0).examples
    objective = PROGRAM_METHODS["m-bs"](examples, HOW, torch.Generator().manual_seed(0))
    network = PointerNetwork(WORDS, len(MODULES), size=Size(hidden=32, embedding=8))
    assert not objective.waits
    assert not waits_for_nothing(objective, examples, network)
    lesson = Lesson("m-bs", examples, objective, 1, recordable=lambda network: True)
    trainer = Trainer(network, [lesson], Settings(batch_size=8))
    assert len(list(trainer)) == 1 and not is_recorded(trainer)


def test_examples_that_cannot_be_addressed_are_refused() -> None:
    """Before anything is recorded."""
    examples = tiny()
    objective = PROGRAM_METHODS["supervised"](task(4, 0).examples, HOW, torch.Generator())
    lesson = Lesson("formulas", examples, objective, 1)
    trainer = Trainer(torch.nn.Linear(1, 1), [lesson], Settings())
    with pytest.raises(NGSError, match="formulas: steps on Examples cannot be recorded; give examples with"):
        trainer._recording(lesson, 4)
