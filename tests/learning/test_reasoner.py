"""The symbolic questions of learning: tables, both ways without, and enumeration give one answer."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
import torch
from ngs.learning.reasoner import Reasoner, Substituting, Tabled, Untabled, reasoner
from ngs.search.batched import one_step_batch
from ngs.search.batched_walk import multi_step_batch
from tests.search.slow_values import slow
from torch import Tensor

from ngs.errors import NGSError, ParseError
from ngs.grammar.grammar import Grammar
from ngs.grammar.padding import PAD
from ngs.learning.examples import Batch, Examples
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import Semantics
from ngs.search.multi_step import Walk
from tests.enumeration import sentences
from tests.learning.tasks import (
    GRAMMAR,
    SIZE,
    UNREACHABLE,
    decoded,
    formulas,
    lattice,
    log_p,
    log_policy,
    right_sentences,
    tiny_reasoner,
    value_of,
    whole,
)

SEEDS = range(2)

Case = tuple[tuple[Reasoner, ...], Batch, Tensor]


def examples_with(answers: list[Value], lengths: list[int]) -> Examples:
    return Examples.of([torch.zeros(length, SIZE) for length in lengths], answers)


def ragged(seed: int) -> Examples:
    """Formulas of one to five symbols with answers of other formulas: often wrong, one out of reach."""
    random = Random(seed)
    written = formulas(20, random, (1, 3, 5))
    answers = [value_of(sentence) for sentence in written]
    random.shuffle(answers)
    return examples_with([*answers[:-1], UNREACHABLE], [len(sentence) for sentence in written])


@pytest.fixture(params=SEEDS, ids=lambda seed: f"seed {seed}")
def case(request: pytest.FixtureRequest) -> Case:
    """By tables, without, and by batched values."""
    examples = ragged(request.param)
    values = slow(Arithmetic)
    engines = (
        reasoner(GRAMMAR, Arithmetic, examples, batched_values=values),
        reasoner(GRAMMAR, Arithmetic, examples, budget=1),
        reasoner(GRAMMAR, Arithmetic, examples, budget=1, batched_values=values),
    )
    assert [type(engine) for engine in engines] == [Tabled, Untabled, Substituting]
    batch = examples.batch(np.random.default_rng(request.param).permutation(len(examples)))
    return engines, batch, lattice(batch, request.param)


def all_of(case: Case) -> list[tuple[Reasoner, Batch, Tensor]]:
    engines, batch, log_probs = case
    return [(engine, batch, log_probs) for engine in engines]


def each_example(batch: Batch, log_probs: Tensor, examples: Examples) -> list[tuple[Tensor, int, Value]]:
    """The scores [time, symbol], the length and the answer of every example."""
    return [
        (log_probs[place, :length], length, examples.answers[number])
        for place, (number, length) in enumerate(
            zip(batch.numbers.tolist(), batch.lengths.tolist(), strict=True)
        )
    ]


def test_read_is_the_argmax_over_the_language(case: Case) -> None:
    for engine, batch, log_probs in all_of(case):
        read = engine.read(log_probs, batch)
        for columns, (scores, length, _) in zip(
            read, each_example(batch, log_probs, engine.examples), strict=True
        ):
            best = max(sentences(GRAMMAR, length), key=lambda z: log_p(scores, z).item())
            assert decoded(columns) == best
            assert (columns[length:] == PAD).all()


def test_right_is_what_executing_says(case: Case) -> None:
    random = Random(1)
    for engine, batch, log_probs in all_of(case):
        places = each_example(batch, log_probs, engine.examples)
        drawn = [random.choice([*right_sentences(n, y), *sentences(GRAMMAR, n)[:5]]) for _, n, y in places]
        columns = torch.full((len(drawn), batch.time), PAD)
        for place, sentence in enumerate(drawn):
            columns[place, : len(sentence)] = torch.tensor(GRAMMAR.encode(sentence))
        expected = [value_of(z) == y for z, (_, _, y) in zip(drawn, places, strict=True)]
        assert engine.right(columns, batch).tolist() == expected
        assert True in expected and False in expected
        assert not engine.right(torch.full_like(columns, PAD), batch).any()  # no sentence is never right


def test_the_evidence_is_the_sum_over_right_sentences(case: Case) -> None:
    for engine, batch, log_probs in all_of(case):
        evidence = engine.log_evidence(log_probs, batch)
        for found, (scores, length, answer) in zip(
            evidence, each_example(batch, log_probs, engine.examples), strict=True
        ):
            terms = [log_p(scores, z) for z in right_sentences(length, answer)]
            expected = torch.stack(terms).logsumexp(0) if terms else torch.tensor(-torch.inf).double()
            assert torch.isclose(found, expected)


def test_the_partition_is_the_sum_over_the_language(case: Case) -> None:
    for engine, batch, log_probs in all_of(case):
        for found, (scores, length, _) in zip(
            engine.log_partition(log_probs, batch),
            each_example(batch, log_probs, engine.examples),
            strict=True,
        ):
            terms = [log_p(scores, z) for z in sentences(GRAMMAR, length)]
            assert torch.isclose(found, torch.stack(terms).logsumexp(0))


@pytest.mark.parametrize("k", [1, 3])
def test_the_likeliest_are_those_of_enumeration(case: Case, k: int) -> None:
    for engine, batch, log_probs in all_of(case):
        found = engine.likeliest(log_probs, batch, k)
        assert found.shape == (len(batch.numbers), k, batch.time)
        for ranked, (scores, length, answer) in zip(
            found, each_example(batch, log_probs, engine.examples), strict=True
        ):
            right = right_sentences(length, answer)
            expected = sorted(right, key=lambda z: -log_p(scores, z).item())[:k]
            assert [decoded(columns) for columns in ranked if columns[0] != PAD] == expected
            assert (ranked[len(expected) :] == PAD).all()


def test_back_search_is_that_of_the_public_functions(case: Case) -> None:
    for engine, batch, log_probs in all_of(case):
        answers = [engine.examples.answers[k] for k in batch.numbers.tolist()]
        asked = GRAMMAR, Arithmetic, log_probs.detach(), batch.lengths, answers
        one = one_step_batch(*asked)
        columns, found = engine.one_step(log_probs, batch)
        assert torch.equal(columns, one.sentences.columns) and torch.equal(found, one.found)
        assert 0 < int(found.sum()) < len(answers)

        walk = Walk(steps=4, back_search=0.5)
        many = multi_step_batch(*asked, walk=walk, generator=torch.Generator().manual_seed(3))
        columns, found = engine.multi_step(log_probs, batch, walk, torch.Generator().manual_seed(3))
        assert torch.equal(columns, many.sentences.columns) and torch.equal(found, many.found)


def test_samples_follow_the_policy_with_and_without_tables() -> None:
    """Total variation over 32 sentences; by chance about sqrt(32 / (2 pi 20000)) = 0.016."""
    seed, count = 11, 20_000
    print(f"seed {seed}")
    examples = examples_with([3] * count, [3] * count)
    batch = whole(examples)
    one = lattice(examples.batch(np.arange(1)), seed).detach()
    policy = {z: log.exp().item() for z, log in log_policy(one[0], 3).items()}
    for budget in (1, 100_000):
        engine = tiny_reasoner(examples, budget=budget)
        drawn = engine.sample(one.expand(count, -1, -1), batch, torch.Generator().manual_seed(seed))
        counts = {z: 0 for z in policy}
        for columns in drawn:
            counts[decoded(columns)] += 1
        distance = sum(abs(counts[z] / count - p) for z, p in policy.items()) / 2
        assert distance < 0.035


@pytest.mark.parametrize("k", [1, 5])
def test_a_batch_without_any_right_sentence_has_no_likeliest(k: int) -> None:
    examples = examples_with([UNREACHABLE, UNREACHABLE], [3, 1])
    batch = whole(examples)
    for budget in (1, 100_000):
        found = tiny_reasoner(examples, budget=budget).likeliest(lattice(batch, 0), batch, k)
        assert found.shape == (2, k, 3) and (found == PAD).all()


def test_room_behind_the_longest_example_is_no_reason_to_fail() -> None:
    """Tables for three symbols fit this budget, tables for five do not."""
    inputs = torch.zeros(4, SIZE)
    where = torch.tensor([[0, 1, 2, PAD, PAD], [3, PAD, PAD, PAD, PAD]])
    examples = Examples(inputs, where, (3, 2))
    batch = whole(examples)
    log_probs = lattice(batch, 0)
    roomy = tiny_reasoner(examples, budget=60)
    assert isinstance(tiny_reasoner(examples.select([0, 1]), budget=60), Tabled)
    assert isinstance(roomy, Untabled)
    assert torch.allclose(
        roomy.log_evidence(log_probs, batch), tiny_reasoner(examples).log_evidence(log_probs, batch)
    )


def test_a_length_the_language_lacks_is_refused() -> None:
    with pytest.raises(ParseError, match="2"):
        tiny_reasoner(examples_with([1], [2]))


class Pairs(Semantics):
    def pair(a: Value, b: Value) -> Value:
        return a + b


def test_an_ambiguous_grammar_has_no_posterior_here_but_can_be_read() -> None:
    grammar = Grammar.parse('s: s s -> pair | "a" | "b"')
    examples = Examples.of([torch.zeros(3, 2)], ["aab"])
    engine = reasoner(grammar, Pairs, examples)
    batch = whole(examples)
    log_probs = torch.tensor([[[0.6, 0.4], [0.6, 0.4], [0.3, 0.7]]]).log()
    assert engine.read(log_probs, batch).tolist() == [[0, 0, 1]]
    with pytest.raises(NGSError, match="has two trees"):
        engine.log_evidence(log_probs, batch)
