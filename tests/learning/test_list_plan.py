"""The posterior by a list of right sentences: the sum over all, what a search finds of it, what is kept."""

from functools import partial
from itertools import pairwise
from random import Random

import numpy as np
import pytest
import torch

from ngs.grammar.tree import Sentence
from ngs.learning.examples import Examples
from ngs.learning.methods import Posterior
from ngs.search import support
from ngs.search.support import ListPlan
from tests.learning.tasks import IN_TURN, Case, decoded, language

NUMBER = 10
EXHAUSTIVE = {"enumerated": 1, "samples": 60, "fresh": 1000, "memory": 60}
"""Nothing is enumerated, and so much is drawn that all is found."""


def examples_of(seed: int) -> Examples:
    """Sentences of different symbols, so that each has others of the same symbols."""
    every = [z for length in (3, 5) for z in language(IN_TURN.grammar, length) if len(set(z)) == length]
    return IN_TURN.of(Random(seed).choices(every[:24] + every[-24:], k=NUMBER), seed=seed)


@pytest.fixture(params=range(2), ids=lambda seed: f"seed {seed}")
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.param)


make = partial(Case, IN_TURN, sharpness=1.0)


def plan_of(case: Case) -> ListPlan:
    assert isinstance(case.reasoner.plan, ListPlan)
    return case.reasoner.plan


def stored(case: Case, example: int) -> list[Sentence]:
    plan = plan_of(case)
    return [z for z in map(partial(decoded, case.grammar), plan.memory.of(plan.slots[example])) if z]


def meanings(case: Case, written: list[Sentence]) -> set[int]:
    return set(IN_TURN.same(case.encoded(written)).tolist())


def test_what_a_long_search_finds_is_all_there_is(seed: int) -> None:
    searching, exact = (make(examples_of(seed), seed, **effort) for effort in (EXHAUSTIVE, {}))
    for _ in range(3):
        loss = searching.loss(Posterior(), seed)
    expected = exact.loss(Posterior())
    assert torch.isclose(loss.value, expected.value)
    assert torch.allclose(searching.gradient(loss.value), exact.gradient(expected.value))
    assert loss.measures["found"] == 1
    assert not plan_of(searching).exact.any() and plan_of(exact).exact.all()


def test_some_are_enumerated_and_others_searched(seed: int) -> None:
    """The parts come together in the right rows."""
    mixed, exact = (
        make(examples_of(seed), seed, **effort) for effort in ({**EXHAUSTIVE, "enumerated": 4}, {})
    )
    for case in (mixed, exact):
        case.batch = case.examples.batch(np.array([7, 2, 9, 4, 1, 0]))
    for _ in range(3):
        loss = mixed.loss(Posterior(), seed)
    assert torch.isclose(loss.value, exact.loss(Posterior()).value)
    exactly = plan_of(mixed).exact[mixed.batch.examples]
    assert 0 < exactly.sum() < len(exactly)
    of_each = [bool(stored(mixed, example)) for example in mixed.batch.examples.tolist()]
    assert of_each == (~exactly).tolist()


def test_what_is_enumerated_but_too_much_to_sum_is_drawn_from(seed: int) -> None:
    """With a memory for all, everything comes up in the end; nothing else does."""
    drawing, exact = (
        make(examples_of(seed), seed, **effort)
        for effort in ({"few": 1, "samples": 1, "fresh": 20, "memory": 60}, {})
    )
    losses = [drawing.loss(Posterior(), step).value.item() for step in range(25)]
    assert not plan_of(drawing).exact.all()
    assert losses[-1] == pytest.approx(exact.loss(Posterior()).value.item())


def test_the_most_likely_right_sentences_are_kept(seed: int) -> None:
    case = make(examples_of(seed), seed, **{**EXHAUSTIVE, "memory": 3})
    case.loss(Posterior())
    more = 0
    for example in range(NUMBER):
        right = case.right(example)
        best = case.log_p(example, right).sort(descending=True).values
        assert case.log_p(example, stored(case, example)).tolist() == pytest.approx(best[:3].tolist())
        more += len(right) > 3
    assert more > 0


def test_what_is_kept_is_used_and_not_forgotten(seed: int) -> None:
    """With one sentence drawn at a time, the sum only grows; what it runs over is right, each once."""
    case = make(examples_of(seed), seed, enumerated=1, samples=1, fresh=1, memory=60)
    generator = torch.Generator().manual_seed(seed)
    steps = [Posterior()(case.p, case.reasoner, case.batch, generator) for _ in range(20)]
    losses = [step.value.item() for step in steps if step.measures["found"] == 1]
    assert all(after <= before + 1e-9 for before, after in pairwise(losses))
    assert len(losses) > 3 and losses[-1] < losses[0] - 1e-3
    for example in range(NUMBER):
        found = stored(case, example)
        assert len(found) == len(set(found)) and set(found) <= set(case.right(example))


def test_examples_are_enumerated_in_parts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    together = plan_of(make(examples_of(seed)))
    monkeypatch.setattr(support, "AT_ONCE", 3)
    case = make(examples_of(seed))
    parts = plan_of(case)
    for name in ("listed", "begins", "exact"):
        assert torch.equal(getattr(parts, name), getattr(together, name))
    assert parts.begins.diff().tolist() == [len(case.right(example)) for example in range(NUMBER)]


def test_a_part_of_the_examples_finds_what_belongs_to_it(seed: int) -> None:
    examples = examples_of(seed)
    case = make(examples)
    batch = examples.batch(np.array([9, 0, 4]))
    found = case.reasoner.posterior(case.of(batch), batch, torch.Generator()).candidates
    for row, example in enumerate((9, 0, 4)):
        right = [decoded(case.grammar, z) for z in found.symbols[found.rows == row]]
        assert set(right) <= set(case.right(example)) and meanings(case, right) == meanings(
            case, case.right(example)
        )


def test_it_says_what_it_does() -> None:
    exact, searching = (make(examples_of(0), **effort) for effort in ({}, {"enumerated": 1}))
    assert "summed for 100% of the examples, exact" in plan_of(exact).describe()
    assert "summed for 0% of the examples" in plan_of(searching).describe()
