"""The posterior over programs: the sum over all right ones, what is found of it, and what is remembered."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest
import torch
from ngs.learning.program_posterior import Enumeration, ProgramPosterior, log_sum
from ngs.learning.questions import QuestionBatch
from ngs.networks.decoding import Policy
from torch import Tensor

from ngs.errors import NGSError
from ngs.grammar.padding import PAD
from ngs.learning import program_posterior
from ngs.tasks.clevr.noun_phrases import TIDY_EDITS, meanings
from ngs.tasks.clevr.program import Program
from tests.learning.program_tasks import MANY, Task, beliefs, gradient, task, whole
from tests.networks.asked import network
from tests.tasks.clevr.programs import decoded, encoded, exchanged


def posterior(made: Task, *, seed: int = 0, **how: int) -> ProgramPosterior:
    return ProgramPosterior(
        made.examples,
        TIDY_EDITS,
        meanings,
        torch.Generator().manual_seed(seed),
        **{"at_most": MANY, "few": MANY, **how},
    )


SEARCHES = {"at_most": 1, "samples": 60, "fresh": 1000, "memory": 60}
"""Nothing is enumerated, and so much is drawn that all is found."""


@pytest.fixture(scope="module", params=range(2), ids=lambda seed: f"seed {seed}")
def made(request: pytest.FixtureRequest) -> Task:
    return task(10, request.param)


def ranked(made: Task, policy: Policy, question: int) -> list[tuple[float, Program]]:
    """The right programs of a question (all of a batch that is the whole), likeliest first."""
    right = made.right_programs(question)
    columns = encoded(right, extra=policy.time - len(right[0]))
    log_p = policy.log_probs(torch.full((len(right),), question), columns)
    return sorted(zip(log_p.tolist(), right, strict=True), reverse=True)


def evidence(made: Task, policy: Policy, batch: QuestionBatch) -> Tensor:
    """-(1/|z|) log of the sum of p(z|x) over the right programs, mirrored ones counted once: the likelier."""
    losses, mirrors = [], 0
    for row, question in enumerate(batch.questions.tolist()):
        classes: defaultdict[Program, list[Tensor]] = defaultdict(list)
        for program in made.right_programs(question):
            log_p = policy.log_probs(torch.tensor([row]), encoded([program]))[0]
            classes[min(program, exchanged(program))].append(log_p)
        best = torch.stack([torch.stack(each).max() for each in classes.values()])
        mirrors += sum(len(each) > 1 for each in classes.values())
        losses.append(-best.logsumexp(0) / len(made.programs[question]))
    assert mirrors > 0
    return torch.stack(losses).mean()


def test_the_loss_is_the_sum_over_right_programs_that_differ_in_meaning(made: Task) -> None:
    reader, batch = network(), whole(made.examples)
    policy = beliefs(reader, batch)
    loss = posterior(made)(policy, batch)
    expected = evidence(made, policy, batch)
    assert torch.isclose(loss.value, expected, atol=1e-6)
    exact = gradient(expected, reader)
    assert exact.abs().max() > 1e-3
    assert torch.allclose(gradient(loss.value, reader), exact, atol=1e-5)
    assert loss.measures["found"] == loss.measures["exact"] == 1


def test_what_is_found_by_searching_long_enough_is_all_there_is(made: Task) -> None:
    reader, batch = network(sharpness=1.0), whole(made.examples)
    policy = beliefs(reader, batch)
    searching = posterior(made, **SEARCHES)
    for _ in range(3):
        loss = searching(policy, batch)
    exact = posterior(made)(policy, batch)
    assert torch.isclose(loss.value, exact.value, atol=1e-5)
    assert torch.allclose(gradient(loss.value, reader), gradient(exact.value, reader), atol=1e-5)
    assert loss.measures["exact"] == 0 and loss.measures["found"] == 1


def test_what_was_enumerated_but_is_too_much_to_sum_is_drawn_from(made: Task) -> None:
    """With a memory for all, everything comes up in the end; nothing else does."""
    batch = whole(made.examples)
    policy = beliefs(network(), batch)
    drawing = posterior(made, few=1, samples=1, fresh=20, memory=60)
    losses = [drawing(policy, batch) for _ in range(25)]
    exact = posterior(made)(policy, batch)
    assert losses[0].measures["exact"] < 1 and losses[0].measures["found"] == 1
    assert losses[0].value > exact.value + 1e-4
    assert torch.isclose(losses[-1].value, exact.value, atol=1e-5)


def test_draws_from_what_was_enumerated(made: Task) -> None:
    hopeless = made.unreachable(4)
    batch = hopeless.examples.batch(np.array([9, 4, 0, 7]))
    every = Enumeration.of(hopeless.examples, MANY)
    found = every.some_of_rows(batch, torch.tensor([0, 1, 3]), 500, torch.Generator().manual_seed(0))
    assert torch.bincount(found.rows, minlength=4).tolist() == [500, 0, 0, 500]
    for row, question in ((0, 9), (3, 7)):
        drawn = Counter(decoded(found.columns[found.rows == row]))
        assert sorted(drawn) == sorted(made.right_programs(question))
        assert min(drawn.values()) > 250 / len(drawn)


def test_some_are_enumerated_and_others_searched(made: Task) -> None:
    """The parts come together in the right rows."""
    reader, batch = network(sharpness=1.0), made.examples.batch(np.array([7, 2, 9, 4, 1]))
    policy = beliefs(reader, batch)
    mixed = posterior(made, **{**SEARCHES, "at_most": 12})
    for _ in range(3):
        loss = mixed(policy, batch)
    assert torch.isclose(loss.value, posterior(made)(policy, batch).value, atol=1e-5)
    exact = mixed.exact[batch.questions]
    assert 0 < loss.measures["exact"] == exact.float().mean() < 1
    empty = (mixed.remembered(batch.questions) == PAD).all(2).all(1)
    assert torch.equal(empty, exact)


def test_the_likeliest_right_programs_are_remembered(made: Task) -> None:
    reader, batch = network(sharpness=1.0), whole(made.examples)
    policy = beliefs(reader, batch)
    objective = posterior(made, **{**SEARCHES, "memory": 3})
    objective(policy, batch)
    more = 0
    for question in range(len(made.programs)):
        best = ranked(made, policy, question)
        kept = [
            program for program in decoded(objective.remembered(torch.tensor(question)).long()) if program
        ]
        assert len(kept) == min(3, len(best))
        values = {program: log_p for log_p, program in best}
        assert [values[z] for z in kept] == pytest.approx([log_p for log_p, _ in best[:3]], abs=1e-5)
        more += len(best) > 3
    assert more > 0


def test_what_is_remembered_is_used_and_not_forgotten(made: Task) -> None:
    """With one program drawn at a time, the sum only grows; what it runs over is right, each once."""
    batch = whole(made.examples)
    policy = beliefs(network(), batch)
    objective = posterior(made, at_most=1, samples=1, fresh=1, memory=60)
    steps = [objective(policy, batch) for _ in range(20)]
    losses = [step.value.item() for step in steps if step.measures["found"] == 1]
    assert all(after <= before + 1e-6 for before, after in pairwise(losses))
    assert len(losses) > 3 and losses[-1] < losses[0] - 1e-3
    for question, kept in enumerate(objective.remembered(torch.arange(len(objective.slots))).long()):
        programs = [program for program in decoded(kept) if program]
        assert len(programs) == len(set(programs))
        assert set(programs) <= set(made.right_programs(question))


def test_it_goes_on_where_it_was(made: Task) -> None:
    batch = whole(made.examples)
    policy = beliefs(network(), batch)
    first, second = (posterior(made, seed=seed, at_most=8, samples=2, fresh=2, memory=2) for seed in (0, 5))
    for _ in range(3):
        first(policy, batch)
    state = {name: tensor.clone() for name, tensor in first.state().items()}
    assert (state["memory"] != PAD).any()
    second.restore(state)
    losses = [[each(policy, batch).value.item() for _ in range(4)] for each in (first, second)]
    assert losses[0] == losses[1]
    assert torch.equal(first.memory, second.memory)


@pytest.mark.parametrize("at_most", [1, MANY], ids=["searched", "enumerated"])
def test_what_no_program_answers_teaches_nothing(made: Task, at_most: int) -> None:
    reader = network()
    hopeless = made.unreachable(0, 1, 2)
    alone = hopeless.examples.batch(np.array([0, 1, 2]))
    loss = posterior(hopeless, at_most=at_most)(beliefs(reader, alone), alone)
    assert loss.value == 0 and loss.measures["found"] == 0
    assert not gradient(loss.value, reader).any()

    beside = hopeless.examples.batch(np.array([2, 5, 0, 6]))
    loss = posterior(hopeless, at_most=at_most)(beliefs(reader, beside), beside)
    taught = hopeless.examples.batch(np.array([5, 6]))
    assert loss.measures["found"] <= 0.5
    assert gradient(loss.value, reader).isfinite().all()
    if at_most == MANY:
        without = posterior(hopeless, at_most=at_most)(beliefs(reader, taught), taught)
        assert torch.isclose(loss.value, without.value / 2)


def test_questions_are_enumerated_in_parts(made: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    together = Enumeration.of(made.examples, MANY)
    monkeypatch.setattr(program_posterior, "AT_ONCE", 3)
    parts = Enumeration.of(made.examples, MANY)
    assert torch.equal(parts.columns, together.columns) and torch.equal(parts.begins, together.begins)
    assert torch.equal(parts.complete, together.complete) and parts.complete.all()
    assert parts.numbers.tolist() == [len(made.right_programs(k)) for k in range(10)]
    batch = made.examples.batch(np.array([9, 0, 4]))
    found = parts.of_rows(batch, torch.tensor([0, 2]))
    assert set(found.rows.tolist()) == {0, 2}
    for row, question in ((0, 9), (2, 4)):
        assert sorted(decoded(found.columns[found.rows == row])) == sorted(made.right_programs(question))


def test_log_sum_over_rows() -> None:
    log_p = torch.tensor([-1.0, -200.0, -201.0, -2.0], requires_grad=True)
    rows = torch.tensor([0, 2, 2, 0])
    sums = log_sum(log_p, rows, 4)
    expected = torch.stack([log_p[[0, 3]].logsumexp(0), log_p[1:3].logsumexp(0)])
    assert torch.allclose(sums[[0, 2]], expected) and sums[[1, 3]].isneginf().all()
    loss = sums.masked_fill(sums.isneginf(), 0.0).sum()
    (found,), (exact,) = (torch.autograd.grad(each, log_p) for each in (loss, expected.sum()))
    assert torch.allclose(found, exact)


@pytest.mark.parametrize("what", ["at_most", "few", "samples", "fresh", "memory"])
def test_each_number_is_at_least_one(made: Task, what: str) -> None:
    with pytest.raises(NGSError, match="each must be at least 1"):
        posterior(made, **{what: 0})
