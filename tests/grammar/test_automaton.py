"""The prefix automaton against enumeration: what may come next, how it can end, and how often."""

import copy
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngs.errors import ParseError
from ngs.grammar.automaton import PrefixAutomaton, prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.multisets import symbol_classes
from tests.enumeration import sentences
from tests.grammars import (
    ARITHMETIC,
    LARGE_PREFIX,
    NAMED,
    PALINDROMES,
    PREFIX,
    RIGHT_LINEAR,
    every_named,
    grammars,
)

LONGEST = 5


def words_of(grammar: Grammar, length: int) -> list[tuple[int, ...]]:
    return [tuple(grammar.encode(sentence)) for sentence in sentences(grammar, length)]


def prefixes(grammar: Grammar, longest: int) -> Iterator[tuple[int, ...]]:
    for length in range(longest + 1):
        yield from product(range(len(grammar.symbols)), repeat=length)


def check_against_enumeration(grammar: Grammar) -> None:
    automaton = PrefixAutomaton(grammar)
    words = {length: words_of(grammar, length) for length in range(LONGEST + 1)}
    for prefix in prefixes(grammar, 3):
        here = len(prefix)
        longer = {n: [w for w in words[n] if w[:here] == prefix] for n in range(here, LONGEST + 1)}
        try:
            state = automaton.run(prefix)
        except ParseError:
            assert not any(longer.values())
            continue
        assert automaton.accepts(state) == bool(longer[here])
        assert {w[here] for ws in longer.values() for w in ws if len(w) > here} <= set(automaton.legal(state))
        for symbol in automaton.legal(state):  # no dead end
            assert any(automaton.completes_in(automaton.advance(state, symbol), n) for n in range(64))
        for length, found in longer.items():
            assert automaton.count(length, prefix) == len(found)
            assert automaton.completes_in(state, length - here) == bool(found)
            following = sorted({w[here] for w in found if len(w) > here})
            assert automaton.legal_within(state, length - here) == tuple(following)


def check_words(grammar: Grammar, rng: random.Random) -> None:
    """Symbols by position, the sentences one symbol away, and the orders of a multiset."""
    automaton = PrefixAutomaton(grammar)
    for length in range(LONGEST + 1):
        words = words_of(grammar, length)
        every = tuple(tuple(sorted({word[t] for word in words})) for t in range(length))
        assert automaton.symbols_at(length) == every
        for word, t in product(
            rng.sample(words, min(3, len(words))), rng.sample(range(length), min(1, length))
        ):
            begun = [w for w in words if w[:t] == word[:t]]
            near = sorted(w[t] for w in begun if w[t + 1 :] == word[t + 1 :])
            assert automaton.substitutes(word, t) == tuple(near)
            rest = Counter(word[t:])
            orders = sorted({w[t] for w in begun if Counter(w[t:]) == rest})
            assert automaton.legal_from(automaton.run(word[:t]), rest) == tuple(orders)
        if length < LONGEST:
            possible = {tuple(sorted(word)) for word in words}
            for multiset in combinations_with_replacement(range(len(grammar.symbols)), length):
                assert automaton.completes_with(automaton.start, Counter(multiset)) == (multiset in possible)


@given(grammars(), st.randoms(use_true_random=False))
@every_named(random.Random(0))
def test_grammars_agree_with_enumeration(grammar: Grammar, rng: random.Random) -> None:
    check_against_enumeration(grammar)
    check_words(grammar, rng)


@given(grammars())
def test_symbols_of_one_class_lead_to_the_same_state(grammar: Grammar) -> None:
    automaton, classes = PrefixAutomaton(grammar), symbol_classes(grammar)
    state = automaton.start
    for _ in range(4):
        reached: dict[int, set[int]] = {}
        for symbol in range(len(grammar.symbols)):
            legal = symbol in automaton.legal(state)
            reached.setdefault(classes[symbol], set()).add(automaton.advance(state, symbol) if legal else -1)
        assert all(len(states) == 1 for states in reached.values())
        following = max(max(states) for states in reached.values())
        state = following if following >= 0 else state


def test_classes_merge_what_is_interchangeable_and_nothing_else() -> None:
    assert symbol_classes(ARITHMETIC) == (0, 0, 1, 1, 2, 2, 2)  # + - | * / | 0 1 2
    assert symbol_classes(PALINDROMES) == (0, 1)  # exchanging all a and b keeps the language, one does not


def test_prefixes_with_the_same_future_share_a_state() -> None:
    arithmetic, calls = PrefixAutomaton(ARITHMETIC), PrefixAutomaton(PREFIX)

    def state(automaton: PrefixAutomaton, *prefix: str) -> int:
        return automaton.run(automaton.grammar.encode(prefix))

    assert state(arithmetic, *"1+") == state(arithmetic, *"1*2-0+")
    assert state(arithmetic, *"1+") != state(arithmetic, *"1*")
    count = state(calls, "count", "red")
    assert count == state(calls, "count", "large", "red", "red") == state(calls, "exist", "red")
    assert count != state(calls, "equal", "count", "red")


@pytest.mark.parametrize("grammar, states", [(ARITHMETIC, 6), (RIGHT_LINEAR, 2)])
def test_regular_behaviour_takes_finitely_many_states(grammar: Grammar, states: int) -> None:
    automaton, rng = PrefixAutomaton(grammar), random.Random(0)
    state, visited = automaton.start, set()
    for _ in range(5000):
        visited.add(state)
        state = automaton.advance(state, rng.choice(automaton.legal(state)))
    assert len(visited) == states


def test_long_sentences_are_counted_exactly() -> None:
    assert PrefixAutomaton(ARITHMETIC).count(301) == 3**151 * 4**150
    assert PrefixAutomaton(RIGHT_LINEAR).count(1000) == 2**999


def test_lengths_are_right_at_and_beyond_the_first_horizon() -> None:
    automaton = PrefixAutomaton(ARITHMETIC)
    assert [n for n in range(200) if automaton.completes_in(automaton.start, n)] == list(range(1, 200, 2))
    assert not automaton.completes_in(automaton.start, -1)


def test_lengths_do_not_run_through_all_continuations() -> None:
    even = PrefixAutomaton(Grammar.parse('s: "a" s "a" | "b" s "b" |'))  # 2^n states at depth n
    assert even.completes_in(even.start, 400)
    assert not even.completes_in(even.start, 401)
    assert even.completes_in(even.run([0, 1, 1, 0]), 4)
    assert not even.completes_in(even.run([0, 1, 1, 0]), 3)


def test_a_sentence_can_be_decoded_from_its_multiset() -> None:
    automaton, rng = prefix_automaton(LARGE_PREFIX), random.Random(0)
    for length in [2, 6, 12, 18, 25] * 4:
        sentence: list[int] = []
        state = automaton.start
        for remaining in range(length, 0, -1):
            sentence.append(rng.choice(automaton.legal_within(state, remaining)))
            state = automaton.advance(state, sentence[-1])
        multiset, state = Counter(sentence), automaton.start
        for _ in range(length):
            symbol = rng.choice(automaton.legal_from(state, multiset))
            assert multiset[symbol] > 0
            multiset[symbol] -= 1
            state = automaton.advance(state, symbol)
        assert automaton.accepts(state)


def test_multisets_that_fit_no_sentence_are_recognised() -> None:
    automaton = PrefixAutomaton(LARGE_PREFIX)
    multiset = Counter(
        {"less_than": 1, "count": 2, "union": 3, "all": 3, "unique": 4, "left": 3, "same_size": 1}
        | {"cube": 2, "metal": 2, "red": 2, "small": 2}
    )
    counts = Counter({LARGE_PREFIX.symbol_id(symbol): number for symbol, number in multiset.items()})
    assert counts.total() == 25
    assert not automaton.completes_with(automaton.start, counts)  # two `all` are missing
    counts += Counter({LARGE_PREFIX.symbol_id("all"): 2})
    assert automaton.completes_with(automaton.start, counts)


def test_errors_say_what_was_expected() -> None:
    automaton = PrefixAutomaton(ARITHMETIC)
    with pytest.raises(ParseError, match=r"^position 2: '\+' cannot come here: expected 0 1 2$"):
        automaton.run(ARITHMETIC.encode("1++"))
    with pytest.raises(ParseError, match=r"^'0' cannot come here: expected \+ - \* / or the end$"):
        automaton.advance(automaton.run(ARITHMETIC.encode("1")), ARITHMETIC.symbol_id("0"))
    with pytest.raises(ParseError, match="symbol id 99 cannot come here"):
        automaton.advance(automaton.start, 99)
    with pytest.raises(ParseError, match=r"each symbol id \(0 to 6\) is to be used; got 1 for symbol id 7"):
        automaton.completes_with(automaton.start, {7: 1})
    with pytest.raises(ParseError, match="got -1 for symbol id 0"):
        automaton.legal_from(automaton.start, {0: -1})
    calls = PrefixAutomaton(PREFIX)
    with pytest.raises(ParseError, match="the sentence is complete"):
        calls.run(PREFIX.encode(["count", "all", "all"]))


def test_copies_and_threads_see_the_same_language() -> None:
    grammar = NAMED["prefix"]
    automaton = PrefixAutomaton(grammar)
    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(automaton.count, [9] * 16))
    assert counts == [len(sentences(grammar, 9))] * 16
    assert copy.deepcopy(automaton).count(9) == counts[0]
