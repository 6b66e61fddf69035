"""The methods by name: each makes its objective with the settings given, and each learns."""

from __future__ import annotations

import pytest
import torch
from ngs.learning.program_methods import PROGRAM_METHODS, Searching
from ngs.learning.program_objectives import (
    MultiStepPrograms,
    OneStepPrograms,
    ReinforcePrograms,
    the_likeliest,
)
from ngs.learning.program_posterior import ProgramPosterior

from ngs.search.multi_step import Walk
from ngs.tasks.clevr.noun_phrases import TIDY_EDITS, TIDY_SWITCHES, meanings
from tests.learning.program_tasks import Task, beliefs, task, whole
from tests.networks.asked import network


@pytest.fixture(scope="module")
def made() -> Task:
    return task(16, 0)


def test_settings_reach_the_objectives(made: Task) -> None:
    walk = Walk(steps=2)
    how = Searching(
        TIDY_SWITCHES, meanings, start=the_likeliest, walk=walk, samples=3, enumerated=10, memory=5
    )
    generator = torch.Generator()
    objectives = {name: make(made.examples, how, generator) for name, make in PROGRAM_METHODS.items()}
    one, many = objectives["1-bs"], objectives["m-bs"]
    assert isinstance(one, OneStepPrograms) and isinstance(many, MultiStepPrograms)
    assert one.start is many.start is the_likeliest and many.walk == walk and one.edits is TIDY_SWITCHES
    exact, rewarded = objectives["posterior"], objectives["reinforce"]
    assert isinstance(exact, ProgramPosterior) and isinstance(rewarded, ReinforcePrograms)
    assert (exact.samples, exact.memory.shape[1], rewarded.samples) == (3, 5, 3)
    assert 0 < exact.enumerated.complete.sum() < len(made.examples)
    assert exact.generator is many.generator is generator


@pytest.mark.parametrize("name", PROGRAM_METHODS)
def test_each_method_learns_to_answer(name: str, made: Task) -> None:
    """The chance that a sampled program gives the answer rises."""
    torch.manual_seed(0)
    reader, batch = network(), whole(made.examples)
    how = Searching(TIDY_EDITS, meanings, walk=Walk(steps=2), enumerated=12)
    objective = PROGRAM_METHODS[name](made.examples, how, torch.Generator().manual_seed(0))
    optimiser = torch.optim.Adam(reader.parameters(), 0.02)

    def answered() -> float:
        policy, rows = beliefs(reader, batch), batch.rows.repeat(30)
        columns, _ = policy.sample(rows, torch.Generator().manual_seed(1))
        return batch.right(rows, columns).float().mean().item()

    before = answered()
    for _ in range(25):
        optimiser.zero_grad()
        objective(beliefs(reader, batch), batch).value.backward()
        optimiser.step()
    assert before < 0.8 and answered() > before + 0.1
