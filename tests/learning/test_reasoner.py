"""The symbolic side of learning: tables, parsing each sentence, one's own judge and enumeration agree."""

from dataclasses import replace
from random import Random

import pytest
import torch

from ngs.grammar.constraint import Given, enumerate_sentences
from ngs.grammar.multiset_constraint import Multiset
from ngs.grammar.padding import PAD
from ngs.learning.examples import Examples
from ngs.parsing.independent import normalised
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.judges import ReferenceJudge, TableJudge
from ngs.search.reasoner import reasoner
from ngs.search.support import posterior
from tests.learning.tasks import (
    IN_TURN,
    ONE_BY_ONE,
    SIZE,
    TASKS,
    UNREACHABLE,
    Case,
    Prefix,
    decoded,
    whole,
)

GRAMMAR = ONE_BY_ONE.grammar
BUDGETS = {"tables": 100_000, "without tables": 1}


def shuffled(task: str, seed: int) -> Examples:
    """Sentences with the answers of others: often wrong, the last out of reach."""
    examples = TASKS[task].examples(20, seed, (1, 3, 5))
    answers = [*examples.answers]
    Random(seed).shuffle(answers)
    return replace(examples, answers=(*answers[:-1], UNREACHABLE))


@pytest.fixture(params=[(task, seed) for task in TASKS for seed in range(2)], ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    task, seed = request.param
    return Case(TASKS[task], shuffled(task, seed), seed)


def test_sentences_are_judged_by_tables_one_by_one_or_by_ones_own_judge() -> None:
    """What each of them says is in tests/search/test_judges.py."""
    examples = shuffled("one by one", 0)
    own = ReferenceJudge(GRAMMAR, Arithmetic, examples.answers)
    engines = [ONE_BY_ONE.reasoner(examples, budget=budget) for budget in BUDGETS.values()]
    assert [type(each.judge) for each in engines] == [TableJudge, ReferenceJudge]
    assert reasoner(GRAMMAR, Arithmetic, examples, judge=lambda grammar, examples: own).judge is own
    for engine in engines:
        assert not engine.judge(torch.arange(20), torch.full((20, 5), PAD)).any()  # no sentence is right


def test_a_batch_is_judged_by_its_own_examples(case: Case) -> None:
    batch = case.examples.batch(torch.tensor([5, 2, 7]).numpy())
    z = case.encoded([case.language(row)[0] for row in (5, 2, 7)])
    expected = [case.language(row)[0] in case.right(row) for row in (5, 2, 7)]
    assert case.reasoner.right(batch, z).tolist() == expected
    rows = torch.tensor([2, 0, 1, 0])
    assert case.reasoner.judge_of(batch)(rows, z[rows]).tolist() == [expected[row] for row in rows]


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_a_posterior_is_that_of_the_public_function(budget: int) -> None:
    examples = shuffled("one by one", 0)
    engine = ONE_BY_ONE.reasoner(examples, budget=budget)
    batch = whole(examples)
    logits = torch.randn(
        len(batch.inputs), 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    p = engine.distribution(logits, batch)
    found = engine.posterior(p, batch, torch.Generator())
    expected = posterior(GRAMMAR, Arithmetic, p.log_probs, batch.lengths, examples.answers)
    for name in ("log_z", "marginals", "found"):
        assert torch.allclose(getattr(found, name), getattr(expected, name))
    assert not found.found[-1] and found.found.any()
    assert torch.equal(found.topk(3).symbols, expected.topk(3).symbols)
    assert torch.equal(p.best().symbols, normalised(GRAMMAR, p.log_probs, batch.lengths).best().symbols)


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_an_example_may_have_fewer_than_k_right_sentences(budget: int) -> None:
    examples = replace(ONE_BY_ONE.of([("1", "*", "2"), ("1",)]), answers=(UNREACHABLE, 1))
    case = Case(ONE_BY_ONE, examples, budget=budget)
    found = case.reasoner.posterior(case.p, case.batch, torch.Generator()).topk(5)
    assert found.symbols.shape == (2, 5, 3) and (found.symbols[0] == PAD).all()
    assert [decoded(GRAMMAR, z) for z in found.symbols[1]] == [("1",), (), (), (), ()]


def test_examples_longer_than_any_sentence_are_no_reason_to_fail() -> None:
    """Tables for three symbols fit this budget, tables for five do not."""
    where = torch.tensor([[0, 1, 2, PAD, PAD], [3, PAD, PAD, PAD, PAD]])
    examples = Examples.pooled(torch.zeros(4, SIZE), where, (3, 2))
    batch = whole(examples)
    logits = torch.randn(4, 6)
    narrow, roomy = ONE_BY_ONE.reasoner(examples, budget=60), ONE_BY_ONE.reasoner(examples)
    assert isinstance(narrow.judge, TableJudge)
    found = [
        each.posterior(each.distribution(logits, batch), batch, torch.Generator()) for each in (narrow, roomy)
    ]
    assert torch.allclose(found[0].log_z, found[1].log_z)


def test_a_counting_rule_is_the_grammar() -> None:
    """The constraint of these tests, against the search among multisets."""
    counts = whole(IN_TURN.examples(30, 0, (1, 3, 5))).given.multiset
    fast, exact = (
        enumerate_sentences(constraint, Given(multiset=counts), 1000)
        for constraint in (Prefix(6), Multiset(IN_TURN.grammar))
    )
    assert torch.equal(fast.rows, exact.rows) and torch.equal(fast.sentences, exact.sentences)
