"""The kinds of edits of the core, and one of the tests, keep to the contract of `ngs.search.edits`."""

import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise, permutations, product
from math import lcm

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import pad

from ngs import PAD, ChainSettings, Edits, Grammar, Substitute, Switch, recognises
from ngs.grammar.multisets import symbol_classes
from ngs.parsing.candidates import Candidates, joined
from ngs.search.back_search import State, log_ratio, log_target
from ngs.search.correction import Edit, switches
from ngs.search.edits import Phrases, usable_symbols
from ngs.search.multi_step import Substitutions
from tests.enumeration import sentences
from tests.grammars import ARITHMETIC, grammars
from tests.search import edits_contract
from tests.search.edits_contract import (
    FARTHEST,
    Drawn,
    Language,
    ListedEdits,
    ReferenceEdits,
    chains,
    check_all,
    check_chain,
    check_reference,
    check_steps_follow_each_other,
    reached,
    walks_by_steps,
)
from tests.search.semantics import SMALL_ARITHMETIC, lengths_of

seeds = st.integers(0, 2**32 - 1)
MOST = 40
"""Sentences of a language whose transition matrix is written down."""


# Substitutions


def grammars_with_lengths(longest: int) -> st.SearchStrategy[tuple[Grammar, int]]:
    def with_length(grammar: Grammar) -> st.SearchStrategy[tuple[Grammar, int]]:
        return st.tuples(st.just(grammar), st.sampled_from(lengths_of(grammar, longest)))

    return grammars().flatmap(with_length)


@given(grammars_with_lengths(5))
def test_symbols_of_a_position_are_those_of_all_sentences(case: tuple[Grammar, int]) -> None:
    grammar, length = case
    table = usable_symbols(grammar, length)
    for shorter in range(1, length + 1):
        known = {
            (t, symbol) for z in sentences(grammar, shorter) for t, symbol in enumerate(grammar.encode(z))
        }
        assert set(map(tuple, table[shorter].nonzero().tolist())) == known


def test_long_sentences_of_many_brackets_can_be_edited() -> None:
    brackets = Grammar.parse('s: "(" s ")" | "[" s "]" | "{" s "}" | "x"')
    usable = usable_symbols(brackets, 41)  # the prefixes of these sentences lead to 3^20 states
    assert usable[41, 20].sum() == 1 and usable[41, :20].sum() == usable[41, 21:].sum() == 60


def walks_of_substitutions(language: Language) -> list[Tensor]:
    """For each distance, P(z'|z) of walks, by every order of positions and every choice of symbols."""
    z, time = language.sentences, language.sentences.shape[1]
    length = int((z[0] != PAD).sum())
    symbols = lcm(*language.edits.alternatives[length].clamp(min=1).tolist())
    choices = [(k + 0.5) / symbols for k in range(symbols)]
    orders = torch.tensor(list(permutations(range(length)))).double() / length
    draws = torch.tensor(list(product(choices, repeat=length)), dtype=torch.float64)
    both = orders.repeat_interleave(len(draws), 0), draws.repeat(len(orders), 1)
    number = len(both[0])
    uniform = pad(torch.stack(both), (0, time - length)).repeat(1, len(z), 1)
    start = torch.arange(len(z)).repeat_interleave(number)
    walks = []
    for distance in range(length + 1):
        with Drawn(uniform):
            walked = language.edits.walk(z[start], torch.full_like(start, distance), torch.Generator())
        walks.append(language.chances(start, walked, torch.full_like(start, 1 / number, dtype=torch.float64)))
    return walks + [torch.eye(len(z), dtype=torch.float64)] * (FARTHEST - length - 1)


@given(grammars_with_lengths(3), st.integers(0, 1), chains, seeds)
def test_substitutions(case: tuple[Grammar, int], extra: int, chain: ChainSettings, seed: int) -> None:
    grammar, length = case
    known = [grammar.encode(sentence) for sentence in sentences(grammar, length)]
    assume(len(known) <= MOST)
    language = Language.random(
        Substitute(grammar, length), pad(torch.tensor(known), (0, extra), value=PAD), seed
    )
    check_all(language, walks_of_substitutions(language), chain, seed)
    check_reference(language, Substitutions(grammar), lambda z: named(grammar, z), chain)


def named(grammar: Grammar, z: Sequence[int]) -> tuple[str, ...]:
    return grammar.decode(symbol for symbol in z if symbol != PAD)


# Switches


@given(st.one_of(grammars_with_lengths(5), st.just((ARITHMETIC, 5))), st.integers(0, 1), chains, seeds)
def test_switches(case: tuple[Grammar, int], extra: int, chain: ChainSettings, seed: int) -> None:
    grammar, length = case
    known = sentences(grammar, length)
    first = torch.tensor([grammar.encode(known[seed % len(known)])])
    classes = symbol_classes(grammar)
    edits = Switch(torch.tensor(classes))
    every = reached(edits, pad(first, (0, extra), value=PAD), MOST)
    assume(every is not None)
    assert all(recognises(grammar, named(grammar, z)) for z in every.tolist())
    language = Language.random(edits, every, seed)
    check_all(language, walks_by_steps(language), chain, seed)
    plain = ListedEdits(partial(switches, classes=dict(zip(grammar.symbols, classes, strict=True))))
    check_reference(language, plain, lambda z: named(grammar, z), chain)
    check_steps_follow_each_other(edits, every, seed)


# Phrases

RANK = torch.tensor([0, 0, 1, 2, -1, -1, -1, -1])
"""Of two sizes, a color, a shape, two relations, a thing, and a function, which is no head."""
SYMBOLS = torch.arange(8)
IS_HEAD, IS_LINK = (SYMBOLS > 3) & (SYMBOLS < 7), (SYMBOLS > 3) & (SYMBOLS < 6)


def test_a_modifier_moves_and_a_chain_turns() -> None:
    """That `Rearrange` keeps to the contract is in tests/tasks/clevr/test_edits.py."""
    phrases = Phrases(RANK, IS_HEAD, IS_LINK)
    z = torch.tensor([[0, 2, 4, 3, 6]])  # a size and a color, a relation, a shape and the thing
    moved = [[2, 4, 0, 3, 6], [0, 4, 2, 3, 6], [0, 2, 3, 4, 6]]
    assert phrases.moves(z).symbols.tolist() == moved
    assert phrases.turns(z).symbols.tolist() == [[3, 4, 0, 2, 6]]


# Edits that are neither


class Counters(Edits):
    """One more or one less at one position, or two neighbours change places, which can be done in two ways.

    How many edits there are depends on the sentence.
    """

    def __init__(self, highest: int, forbidden: int) -> None:
        super().__init__()
        self.highest, self.forbidden = highest, forbidden

    def neighbours(self, z: Tensor) -> Candidates:
        change = torch.cat(
            [torch.eye(z.shape[1], dtype=torch.long), -torch.eye(z.shape[1], dtype=torch.long)]
        )
        row, which = (
            ((z[:, None] + change).clamp(0, self.highest) != z[:, None]).any(2).nonzero(as_tuple=True)
        )
        moved = Candidates(row, z[row] + change[which])
        row, first = (z[:, 1:] != z[:, :-1]).nonzero(as_tuple=True)
        crossed = z[row].scatter(1, first[:, None], z[row, first + 1][:, None])
        crossed = Candidates(row, crossed.scatter(1, first[:, None] + 1, z[row, first][:, None]))
        made = joined(moved, crossed, crossed)
        return made.select(self.contains(made.symbols))

    def contains(self, z: Tensor) -> Tensor:
        return (z * torch.arange(1, z.shape[1] + 1)).sum(1) % 5 != self.forbidden

    def plain(self, z: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Each neighbour as often as an edit makes it."""
        return (made for made in self._made(z) if bool(self.contains(torch.tensor([made]))[0]))

    def _made(self, z: Sequence[int]) -> Iterator[tuple[int, ...]]:
        for k, number in enumerate(z):
            for other in {number - 1, number + 1} & set(range(self.highest + 1)):
                yield (*z[:k], other, *z[k + 1 :])
        for k, (a, b) in enumerate(pairwise(z)):
            if a != b:
                yield from [(*z[:k], b, a, *z[k + 2 :])] * 2

    def reference(self) -> ReferenceEdits:
        return ListedEdits(cache(lambda z: [Edit(made, (), (), "") for made in self.plain(z)]))


shapes = st.sampled_from([(1, 4), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (4, 1), (5, 1)])


@given(shapes, st.integers(0, 4), chains, seeds)
def test_edits_whose_number_varies(
    shape: tuple[int, int], forbidden: int, chain: ChainSettings, seed: int
) -> None:
    time, highest = shape
    edits = Counters(highest, forbidden)
    every = torch.cartesian_prod(*[torch.arange(highest + 1)] * time).view(-1, time)
    every = every[edits.contains(every)]
    for z, made in zip(every, (edits.neighbours(z[None]).symbols for z in every), strict=True):
        assert Counter(map(tuple, made.tolist())) == Counter(edits.plain(tuple(z.tolist())))
    assume(len(every))
    language = Language.random(edits, every, seed)
    check_all(language, walks_by_steps(language), chain, seed)
    check_reference(language, edits.reference(), tuple, chain)
    check_steps_follow_each_other(edits, every, seed)


# What all of them do


def test_nothing_to_edit_stays_as_it_is() -> None:
    for edits in (
        Substitute(SMALL_ARITHMETIC, 3),
        Switch(torch.tensor(symbol_classes(SMALL_ARITHMETIC))),
        Counters(3, 1),
    ):
        for shape in ((2, 0), (0, 3)):
            z = torch.empty(shape, dtype=torch.long)
            walked = edits.walk(z, torch.full((len(z),), 2), torch.Generator())
            assert torch.equal(walked, z)
            assert edits.count(z).tolist() == [1.0] * len(z) and not edits.ways(z, z).any()


def test_edits_travel_to_other_processes() -> None:
    z = torch.tensor([SMALL_ARITHMETIC.encode("1+2")])
    for edits in (Substitute(SMALL_ARITHMETIC, 3), Switch(torch.tensor(symbol_classes(SMALL_ARITHMETIC)))):
        there = pickle.loads(pickle.dumps(edits))
        assert torch.equal(there.neighbours(z).symbols, edits.neighbours(z).symbols)


def test_substitutions_know_sentences_that_are_padded_beyond_the_longest() -> None:
    edits, z = Substitute(SMALL_ARITHMETIC, 3), torch.tensor([SMALL_ARITHMETIC.encode("1+2"), [4, PAD, PAD]])
    wide = pad(z, (0, 4), value=PAD)
    assert torch.equal(edits.neighbours(wide).symbols[:, :3], edits.neighbours(z).symbols)
    assert torch.equal(edits.count(wide), edits.count(z))
    walked = edits.walk(wide, torch.tensor([1, 1]), torch.Generator().manual_seed(0))
    assert (walked[:, 3:] == PAD).all() and ((walked != wide).sum(1) <= 1).all()


def small_substitutions() -> tuple[Language, list[Tensor]]:
    every = torch.tensor([SMALL_ARITHMETIC.encode(z) for z in sentences(SMALL_ARITHMETIC, 3)])
    language = Language.random(Substitute(SMALL_ARITHMETIC, 3), every, seed=0)
    return language, walks_of_substitutions(language)


def small_counters() -> tuple[Language, list[Tensor]]:
    edits, every = Counters(3, 1), torch.tensor(list(product(range(4), repeat=2)))
    language = Language.random(edits, every[edits.contains(every)], seed=0)
    return language, walks_by_steps(language)


@pytest.mark.parametrize("distance", range(4))
def test_walks_of_the_reference_have_the_same_distribution(distance: int) -> None:
    language, walks = small_substitutions()
    reference, generator, number = (
        Substitutions(SMALL_ARITHMETIC),
        torch.Generator().manual_seed(distance),
        2000,
    )
    first = SMALL_ARITHMETIC.decode(language.sentences[0].tolist())
    walked = [SMALL_ARITHMETIC.encode(reference.walk(first, distance, generator)) for _ in range(number)]
    end, inside = language.find(torch.tensor(walked))
    have, want = torch.bincount(end, minlength=len(language)) / number, walks[distance][0]
    noise = (want * (1 - want).clamp(min=0) / number).sqrt().sum() / 2
    assert inside.all() and (have - want).abs().sum() / 2 < noise + 0.05


def by_target_alone(now: State, new: State, _: Tensor, __: Edits, chain: ChainSettings) -> Tensor:
    return log_target(new, chain) - log_target(now, chain)


def as_printed(now: State, new: State, distance: Tensor, edits: Edits, chain: ChainSettings) -> Tensor:
    """Corrections are always accepted, and walks by the ratio of p alone."""
    corrects = now.found & (now.fix == new.z).all(1)
    return torch.where(corrects & (distance == 1), 0.0, new.log_p - now.log_p)


def without_counts(now: State, new: State, distance: Tensor, edits: Edits, chain: ChainSettings) -> Tensor:
    one = torch.ones_like(now.count)
    return log_ratio(replace(now, count=one), replace(new, count=one), distance, edits, chain)


@pytest.mark.parametrize(
    "make, naive",
    [
        *product((small_substitutions, small_counters), (by_target_alone, as_printed)),
        (small_counters, without_counts),
    ],
)
def test_the_checks_refuse_naive_ratios(
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[], tuple[Language, list[Tensor]]],
    naive: Callable[..., Tensor],
) -> None:
    language, walks = make()
    chain = ChainSettings(back_search=0.5, epsilon=0.1)
    check_chain(language, walks, chain)
    monkeypatch.setattr(edits_contract, "log_ratio", naive)
    with pytest.raises(AssertionError):
        check_chain(language, walks, chain)
