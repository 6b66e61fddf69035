"""Steps that are recorded on a GPU and repeated: they do what plain steps do."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ngs.errors import NGSError
from ngs.gpu import HAS_TRITON, rounded_products
from ngs.learning.loop import Lesson, Settings, Trainer
from ngs.learning.objective import Supervised
from ngs.learning.program_methods import PROGRAM_METHODS, Searching, is_recordable
from ngs.learning.program_objectives import Start, a_sample, the_likeliest
from ngs.learning.questions import QuestionExamples
from ngs.learning.recorded_step import PLAIN_STEPS
from ngs.networks.pointer import PointerNetwork, Size
from ngs.search.multi_step import Walk
from ngs.tasks.clevr.language import Programs, TidyPrograms
from ngs.tasks.clevr.noun_phrases import SWITCHES, TIDY_EDITS, meanings
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.clevr.scores import read_programs
from tests.learning.program_tasks import moved, task
from tests.networks.asked import WORDS

needs_gpu = pytest.mark.skipif(
    not (torch.cuda.is_available() and HAS_TRITON), reason="needs a GPU and Triton"
)
RECORDED = ["supervised", "reinforce", "1-bs", "m-bs"]
EXAMPLES = task(24, 0).examples
HOW = Searching(SWITCHES.among(EXAMPLES.modules), meanings, samples=2, walk=Walk(steps=3))


def examples_for(method: str, how: Searching) -> QuestionExamples:
    """Plain switches keep to the paper's grammar, but can lead out of the tidy one, where log p is -inf."""
    switches = method in ("1-bs", "m-bs") and how.edits == HOW.edits
    return moved(replace(EXAMPLES, language=Programs() if switches else TidyPrograms()), "cuda")


def training(method: str, *, recorded: bool = True, dropout: float = 0.0, how: Searching = HOW) -> Trainer:
    examples = examples_for(method, how)
    objective = PROGRAM_METHODS[method](examples, how, torch.Generator("cuda").manual_seed(0))
    torch.manual_seed(0)
    network = PointerNetwork(WORDS, len(MODULES), size=Size(hidden=32, embedding=8), dropout=dropout)
    lesson = Lesson(method, examples, objective, 12)
    if recorded:
        lesson = Lesson(
            method, examples, objective, 12, recordable=partial(is_recordable, objective, examples)
        )
    return Trainer(network, [lesson], Settings(batch_size=8, learning_rate=0.01, clipping=0.5))


def is_recorded(trainer: Trainer) -> bool:
    return trainer._recorded is not None and trainer._recorded.is_repeated


@needs_gpu
@pytest.mark.parametrize(
    "method, start",
    [*((method, a_sample) for method in RECORDED), ("1-bs", the_likeliest), ("m-bs", the_likeliest)],
)
def test_a_recorded_step_is_a_step(method: str, start: Start) -> None:
    """With the same examples, random numbers and learning rates, and so with the same losses."""
    losses, measures = [], []
    for recorded in (True, False):
        trainer = training(method, recorded=recorded, how=replace(HOW, start=start))
        with rounded_products():
            steps = []
            for step in trainer:
                assert is_recorded(trainer) == (recorded and step.number > PLAIN_STEPS)
                steps.append(step)
        losses.append([float(step.loss) for step in steps])
        measures.append([{name: float(value) for name, value in step.measures.items()} for step in steps])
        assert len({step.learning_rate for step in steps}) > 6
    assert losses[0] == pytest.approx(losses[1], rel=1e-3, abs=1e-5)
    assert measures[0] == measures[1]
    assert all(map(isfinite, losses[0])) and len(set(losses[0])) > 6


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
@pytest.mark.parametrize("method", RECORDED)
def test_a_training_that_was_recorded_can_be_put_back(method: str) -> None:
    """The recording is of where the optimizer's state was, and is made anew."""
    with rounded_products():
        trainer = training(method)
        steps = iter(trainer)
        for _ in range(5):
            next(steps)
        state = trainer.state()
        expected = [float(next(steps).loss) for _ in range(6)]
        assert is_recorded(trainer)
        trainer.restore(*state)
        assert not is_recorded(trainer)
        again = [float(step.loss) for step in trainer][:6]
    assert again == pytest.approx(expected, rel=1e-3, abs=1e-5)


@needs_gpu
@pytest.mark.parametrize("method", RECORDED)
def test_a_network_may_be_looked_at_between_recorded_steps(method: str) -> None:
    """As validations do, in another mode and without gradients."""
    with rounded_products():
        expected = [float(step.loss) for step in training(method)]
        trainer, losses = training(method), []
        for step in trainer:
            losses.append(float(step.loss))
            read_programs(trainer.learned, moved(EXAMPLES, "cuda"))
    assert losses == pytest.approx(expected, rel=1e-3, abs=1e-5)


@needs_gpu
def test_every_lesson_has_a_recording_of_its_own() -> None:
    first, second = training("supervised"), training("reinforce")
    with rounded_products():
        both = Trainer(first.learned, [*first.lessons, *second.lessons], first.settings)
        names = [step.lesson for step in both if is_recorded(both)]
    assert names == ["supervised"] * (12 - PLAIN_STEPS) + ["reinforce"] * (12 - PLAIN_STEPS)


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
    with nullcontext() if why == "exact products" else rounded_products():
        for _ in trainer:
            assert not is_recorded(trainer)
    assert trainer.steps_done > PLAIN_STEPS


@pytest.mark.skipif(torch.cuda.is_available(), reason="trainings go to the GPU here")
def test_on_a_cpu_nothing_is_recorded() -> None:
    examples = task(8, 0).examples
    objective = PROGRAM_METHODS["m-bs"](examples, HOW, torch.Generator().manual_seed(0))
    network = PointerNetwork(WORDS, len(MODULES), size=Size(hidden=32, embedding=8))
    assert not objective.waits
    assert not is_recordable(objective, examples, network)
    lesson = Lesson("m-bs", examples, objective, 1, recordable=lambda network: True)
    trainer = Trainer(network, [lesson], Settings(batch_size=8))
    assert len(list(trainer)) == 1 and not is_recorded(trainer)


def test_examples_that_cannot_be_addressed_are_refused() -> None:
    """Before anything is recorded."""

    class Told:
        """Known on the CPU alone."""

        lengths = np.ones(4, dtype=np.int64)

        def __len__(self) -> int:
            return 4

        def batch(self, numbers: NDArray[np.int64]) -> Any:
            raise AssertionError("nobody asks")

    lesson = Lesson("told", Told(), Supervised(), 1)
    trainer = Trainer(torch.nn.Linear(1, 1), [lesson], Settings())
    with pytest.raises(NGSError, match="told: steps on Told cannot be recorded; give examples with"):
        trainer._recording(lesson, 4)
