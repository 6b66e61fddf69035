"""Constraints for batches against the prefix automaton, one sentence at a time, and against counting."""

import pickle
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from itertools import permutations, product
from math import factorial, prod
from random import Random
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ngs.errors import BudgetError, ShapeError
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.constraint import AnyOrder, Constraint, Enumerated, Given, enumerate_sentences
from ngs.grammar.grammar import Grammar
from ngs.grammar.multiset_constraint import Multiset
from ngs.grammar.padding import PAD
from ngs.grammar.prefix_constraint import Automaton
from ngs.parsing.sentence import recognises
from tests.grammars import ARITHMETIC, NAMED, RIGHT_LINEAR, grammars

seeds = st.integers(0, 2**32 - 1)
LONGEST = 4


def everything(grammar: Grammar) -> list[tuple[int, ...]]:
    """All sequences of up to LONGEST symbols, sentences or not."""
    symbols = range(len(grammar.symbols))
    return [z for time in range(LONGEST + 1) for z in product(symbols, repeat=time)]


def padded(sequences: Sequence[Sequence[int]]) -> Tensor:
    time = max(map(len, sequences))
    return torch.tensor([[*z, *[PAD] * (time - len(z))] for z in sequences])


def lengths_of(sequences: Sequence[Sequence[int]]) -> Tensor:
    return torch.tensor([len(z) for z in sequences])


def counts_of(sequences: Sequence[Sequence[int]], symbols: int) -> Tensor:
    return torch.tensor([[z.count(symbol) for symbol in range(symbols)] for z in map(list, sequences)])


def a_few(sequences: list[tuple[int, ...]], seed: int) -> list[tuple[int, ...]]:
    return Random(seed).sample(sequences, min(40, len(sequences)))


def check_masks(constraint: Constraint[Any], known: Given, z: Tensor) -> None:
    """At once is as step by step; of the empty batch there is nothing."""
    assert torch.equal(constraint.masks(known, z), Constraint.masks(constraint, known, z))
    nobody = torch.arange(0)
    assert constraint.masks(known.select(nobody), z[:0]).shape == (0, *z.shape[1:], constraint.symbols)


def allowed_at(masks: Tensor, row: int, step: int) -> tuple[int, ...]:
    return tuple(masks[row, step].nonzero().flatten().tolist())


# A grammar


@settings(max_examples=60)
@given(grammars(), seeds)
def test_an_automaton_says_what_the_prefix_automaton_says(grammar: Grammar, seed: int) -> None:
    """Along random sequences, most of which leave the language at some step."""
    automaton, constraint = prefix_automaton(grammar), Automaton(grammar)
    sequences = a_few(everything(grammar), seed)
    z, rng = padded(sequences), Random(seed)
    lengths = torch.tensor([len(z) + rng.randrange(-1, 2) for z in sequences]).clamp(min=0)
    free, within = constraint.masks(Given(), z), constraint.masks(Given(lengths=lengths), z)
    for row, (sequence, length) in enumerate(zip(sequences, lengths.tolist(), strict=True)):
        state: int | None = automaton.start
        for step in range(len(sequence) + (len(sequence) < z.shape[1])):
            dead = state is None
            assert allowed_at(free, row, step) == (() if dead else automaton.legal(state or 0))
            rest = length - step
            want = () if dead or rest < 1 else automaton.legal_within(state or 0, rest)
            assert allowed_at(within, row, step) == want
            if step < len(sequence):
                found = () if state is None else automaton.legal(state)
                state = automaton.advance(state or 0, sequence[step]) if sequence[step] in found else None
    check_masks(constraint, Given(lengths=lengths), z)


@settings(max_examples=60)
@given(grammars())
def test_what_it_contains_is_the_language(grammar: Grammar) -> None:
    """Every string of up to LONGEST symbols and PAD, which may stand only after the end."""
    constraint, ids = Automaton(grammar), [PAD, *range(len(grammar.symbols))]
    z = torch.tensor(list(product(ids, repeat=LONGEST if len(ids) < 5 else LONGEST - 1)))
    lengths, ended = (z != PAD).sum(1), (z[:, :-1] != PAD) | (z[:, 1:] == PAD)
    strings = [grammar.decode(symbol for symbol in row if symbol != PAD) for row in z.tolist()]
    empty = constraint.automaton.accepts(constraint.automaton.start)
    want = ended.all(1) & torch.tensor([recognises(grammar, each) if each else empty for each in strings])
    for _ in range(2):  # while the tables grow, and then from the tables alone
        assert torch.equal(constraint.contains(Given(), z), want)
        for known, right in (
            (lengths, want),
            (lengths + 1, want & False),
            (lengths * 0 + 2, want & (lengths == 2)),
        ):
            assert torch.equal(constraint.contains(Given(lengths=known), z), right)
        assert torch.equal(Constraint.contains(constraint, Given(lengths), z), want)
    counts = torch.stack([(z == symbol).sum(1) for symbol in ids[1:]], 1)
    assert torch.equal(Multiset(grammar).contains(Given(multiset=counts), z), want)
    some = torch.arange(z.shape[1] + 1)
    possible = [bool(want[lengths == length].any()) for length in some.tolist()]
    assert constraint.possible(Given(lengths=some)).tolist() == possible


@pytest.mark.parametrize("name", NAMED)
def test_a_copy_starts_anew(name: str) -> None:
    """However far the tables have grown."""
    constraint, known = Automaton(NAMED[name]), Given(lengths=torch.tensor([5]))
    found = enumerate_sentences(constraint, known, 300)
    for each in (deepcopy(constraint), pickle.loads(pickle.dumps(constraint))):
        assert torch.equal(found.sentences, enumerate_sentences(each, known, 300).sentences)


def test_what_stands_behind_a_gap_is_no_sentence() -> None:
    z = torch.tensor([[0, PAD, PAD], [PAD, 0, PAD], [0, PAD, 0]])
    known = Given(multiset=torch.tensor([[1], [1], [2]]))
    assert AnyOrder(1).contains(known, z).tolist() == [True, False, False]
    for constraint in (AnyOrder(1), Multiset(Grammar.parse('start: "a" | "a" "a"'))):
        check_masks(constraint, known, z)


# A known multiset


@given(seeds)
def test_any_order_allows_what_is_left(seed: int) -> None:
    rng, constraint = Random(seed), AnyOrder(4)
    sequences = [[rng.randrange(4) for _ in range(rng.randrange(6))] for _ in range(30)]
    orders = [rng.choice(sequences) for _ in sequences]
    z, counts = padded([*orders, [0] * 6]), counts_of([*sequences, []], 4)
    masks, contained = (f(Given(multiset=counts), z) for f in (constraint.masks, constraint.contains))
    for row, (sequence, order) in enumerate(zip(sequences, orders, strict=True)):
        for step in range(len(order)):
            left = Counter(sequence)
            left.subtract(order[:step])
            assert allowed_at(masks, row, step) == tuple(s for s in range(4) if left[s] > 0)
        assert contained[row] == (sorted(sequence) == sorted(order))
    check_masks(constraint, Given(multiset=counts), z)
    assert constraint.possible(Given(multiset=counts - 1)).tolist() == (counts > 0).all(1).tolist()


def test_a_search_that_could_take_too_long_is_refused() -> None:
    symbols = "abcdefgh"
    rules = "\n".join(f'    | "{symbol}" s "{other}"' for symbol, other in permutations(symbols, 2))
    grammar = Grammar.parse(f's: "a"\n{rules}\n')
    few, many = torch.full((1, 8), 1), torch.full((1, 8), 9)
    assert Multiset(grammar).start(Given(multiset=few)).left.equal(few)
    with pytest.raises(BudgetError, match=r"72 symbols has .* parts .*, and the limit is 1,000,000"):
        Multiset(grammar).possible(Given(multiset=many))


@pytest.mark.parametrize("constraint", [AnyOrder(5), Multiset(ARITHMETIC)])
def test_a_multiset_of_other_symbols_is_refused(constraint: Constraint[Any]) -> None:
    for known in (Given(), Given(lengths=torch.tensor([3])), Given(multiset=torch.zeros(2, 3, dtype=int))):
        with pytest.raises(ShapeError, match="needs the multiset of each sentence"):
            constraint.start(known)


# All sentences


def listed(found: Enumerated, row: int) -> list[tuple[int, ...]]:
    """The sentences of an example, without padding."""
    rows = found.sentences[found.rows == row].tolist()
    return sorted(tuple(symbol for symbol in z if symbol != PAD) for z in rows)


@settings(max_examples=40)
@given(grammars())
def test_all_sentences_are_those_that_are_contained(grammar: Grammar) -> None:
    automaton, at_most = prefix_automaton(grammar), 25
    sentences = sorted(z for z in everything(grammar) if automaton.recognises(z))
    found = enumerate_sentences(Automaton(grammar), Given(lengths=torch.arange(LONGEST + 1)), at_most)
    for length in range(LONGEST + 1):
        want = [z for z in sentences if len(z) == length]
        assert found.complete[length] == (len(want) <= at_most)
        assert listed(found, length) == (want if len(want) <= at_most else [])
    multisets = sorted({tuple(sorted(z)) for z in everything(grammar)})
    counts = counts_of(multisets, len(grammar.symbols))
    found = enumerate_sentences(Multiset(grammar), Given(multiset=counts), 10_000)
    assert found.complete.all() and (found.rows.diff() >= 0).all()
    for row, multiset in enumerate(multisets):
        assert listed(found, row) == [z for z in sentences if tuple(sorted(z)) == multiset]


def test_sentences_of_any_length() -> None:
    finite = Grammar.parse('start: "a" | "b" "a" | "b" "a" "a"')
    found = enumerate_sentences(Automaton(finite), Given(), 3)
    assert found.complete.all() and listed(found, 0) == [(0,), (1, 0), (1, 0, 0)]
    assert not enumerate_sentences(Automaton(RIGHT_LINEAR), Given(), 50).complete.any()


@given(seeds, st.sampled_from([1, 11, 12, 10_000]))
def test_any_order_has_multinomially_many_or_too_many(seed: int, at_most: int) -> None:
    rng = Random(seed)
    counts = torch.tensor([[rng.randint(0, 2) for _ in range(4)] for _ in range(20)])
    found = enumerate_sentences(AnyOrder(4), Given(multiset=counts), at_most)
    ways = [factorial(sum(each)) // prod(map(factorial, each)) for each in counts.tolist()]
    assert found.complete.tolist() == [number <= at_most for number in ways]
    kept = [number if number <= at_most else 0 for number in ways]
    assert torch.bincount(found.rows, minlength=20).tolist() == kept
    assert len(set(map(tuple, torch.cat([found.rows[:, None], found.sentences], 1).tolist()))) == sum(kept)


def test_of_nothing_there_is_one_sentence_and_for_nobody_none() -> None:
    found = enumerate_sentences(AnyOrder(2), Given(multiset=torch.tensor([[0, 0], [1, 0]])), 5)
    assert found.sentences.tolist() == [[PAD], [0]] and found.rows.tolist() == [0, 1]
    nobody = enumerate_sentences(AnyOrder(2), Given(multiset=torch.zeros((0, 2), dtype=torch.long)), 5)
    assert nobody.sentences.shape == (0, 0) and nobody.complete.shape == (0,)
