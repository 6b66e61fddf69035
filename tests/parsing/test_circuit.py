"""Circuits count what they should: derivations or sentences, with or without a value."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product, takewhile

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from ngs.errors import ParseError
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import Value, normal_form
from ngs.grammar.tree import Sentence, sentence_of
from ngs.parsing.circuit import (
    Circuit,
    derivation_circuit,
    determinise,
    leaf_row,
    sentence_circuit,
    unroll,
)
from ngs.parsing.derivations import log_total
from ngs.parsing.sentence import parse
from ngs.parsing.tables import Blank, compile_tables
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.semantics import evaluate, interpret
from tests.enumeration import derivations, sentences
from tests.grammars import ARITHMETIC, NAMED, PALINDROMES, grammars

CPU = torch.device("cpu")
PLENTY = 10**7
LONGEST = 4

DIVISIONS = Grammar.parse("""
    expression: factor | expression "-" factor -> subtract | expression "/" factor -> divide
    factor: "0" | "1" | "2"
""")


def automaton_circuit(grammar: Grammar, longest: int) -> Circuit:
    return determinise(grammar, longest, prefix_automaton(grammar))


def spelled(grammar: Grammar, words: Iterable[Sentence], time: int) -> Tensor:
    """Scores under which each word is certain, [word, time, symbol]; anything goes behind its end."""
    symbols = [grammar.encode(word) for word in words]
    scores = torch.zeros(len(symbols), time, len(grammar.symbols), dtype=torch.float64)
    for example, word in enumerate(symbols):
        scores[example, : len(word)] = -math.inf
        scores[example, range(len(word)), word] = 0.0
    return scores


def totals(circuit: Circuit, scores: Tensor, lengths: Iterable[int]) -> list[float]:
    """exp(log_total): the weight of each example, where all sentences of its length are wanted."""
    roots = circuit.select([circuit.root(length) for length in lengths])
    return log_total(circuit, scores, roots).exp().tolist()


def check_order(circuit: Circuit) -> None:
    """Edges are sorted and look back only, and every row is reached by some edge."""
    first = leaf_row(circuit.symbols, circuit.time, 0)
    for level in circuit.levels:
        assert level.out.tolist() == sorted(level.out.tolist())
        assert set(level.out.tolist()) == set(range(level.segments))
        assert int(level.left.max()) < first
        assert int(level.right.max()) < first
        first += level.segments
    assert circuit.rows == first
    assert set(circuit.root_edges.out.tolist()) == set(range(circuit.root_edges.segments))
    assert circuit.edges == sum(len(edges.out) for edges in (*circuit.levels, circuit.root_edges))


@given(grammars())
def test_every_word_weighs_as_much_as_it_has_derivations_or_one(grammar: Grammar) -> None:
    form = normal_form(grammar)
    longest = len(list(takewhile(lambda n: form.count(n) <= 1_000, range(1, LONGEST + 1))))
    lengths = form.lengths(longest)
    assume(lengths)
    words = [word for n in lengths for word in product(grammar.symbols, repeat=n)]
    trees = Counter(sentence_of(tree) for n in lengths for tree in derivations(grammar, n))
    scores, sizes = spelled(grammar, words, longest), [len(word) for word in words]
    once = [float(word in trees) for word in words]
    assert totals(derivation_circuit(grammar, longest, CPU), scores, sizes) == pytest.approx(
        [trees[word] for word in words]
    )
    assert totals(automaton_circuit(grammar, longest), scores, sizes) == pytest.approx(once)
    assert totals(sentence_circuit(grammar, longest, CPU), scores, sizes) == pytest.approx(once)


@given(grammars(), st.integers(1, 6))
def test_flat_scores_count_derivations_and_sentences(grammar: Grammar, longest: int) -> None:
    form = normal_form(grammar)
    lengths = form.lengths(longest)
    scores = torch.zeros(len(lengths), longest, len(grammar.symbols), dtype=torch.float64)
    found = [len(sentences(grammar, n)) for n in lengths]
    assert totals(automaton_circuit(grammar, longest), scores, lengths) == pytest.approx(found)
    assert totals(sentence_circuit(grammar, longest, CPU), scores, lengths) == pytest.approx(found)
    counts = [form.count(n) for n in lengths]
    assert totals(derivation_circuit(grammar, longest, CPU), scores, lengths) == pytest.approx(counts)


@given(grammars(), st.integers(1, 5))
def test_edges_look_back_only(grammar: Grammar, longest: int) -> None:
    for circuit in (derivation_circuit(grammar, longest, CPU), automaton_circuit(grammar, longest)):
        check_order(circuit)
        assert (circuit.time, circuit.symbols) == (longest, len(grammar.symbols))
        assert tuple(circuit.roots) == normal_form(grammar).lengths(longest)


@pytest.mark.parametrize("grammar", NAMED.values(), ids=NAMED)
def test_named_grammars_count_each_sentence_once(grammar: Grammar) -> None:
    circuit = sentence_circuit(grammar, 7, CPU)
    lengths = list(circuit.roots)
    scores = torch.zeros(len(lengths), 7, len(grammar.symbols), dtype=torch.float64)
    assert totals(circuit, scores, lengths) == pytest.approx([len(sentences(grammar, n)) for n in lengths])
    check_order(circuit)


def test_each_value_weighs_what_its_sentences_weigh() -> None:
    form = normal_form(DIVISIONS)
    circuit = unroll(compile_tables(form, interpret(DIVISIONS, Arithmetic), 5, PLENTY))
    check_order(circuit)
    torch.manual_seed(0)
    scores = torch.randn(5, len(DIVISIONS.symbols), dtype=torch.float64)
    for length in (1, 3, 5):
        wanted: defaultdict[Value, float] = defaultdict(float)
        for sentence in sentences(DIVISIONS, length):
            score = scores[range(length), DIVISIONS.encode(sentence)].sum()
            wanted[evaluate(parse(DIVISIONS, sentence), Arithmetic)] += math.exp(score)
        assert set(circuit.roots[length]) == set(wanted)
        roots = circuit.select([circuit.root(length, value) for value in wanted])
        have = log_total(circuit, scores.expand(len(wanted), -1, -1), roots).exp()
        assert have.tolist() == pytest.approx(list(wanted.values()))


def test_a_value_that_no_sentence_has_weighs_nothing() -> None:
    circuit = unroll(compile_tables(normal_form(DIVISIONS), interpret(DIVISIONS, Arithmetic), 3, PLENTY))
    roots = [circuit.root(3, Fraction(7)), circuit.root(3, Fraction(1, 2)), circuit.root(1, Fraction(1, 2))]
    assert roots[0] is None and roots[1] is not None and roots[2] is None
    scores = torch.zeros(3, 3, len(DIVISIONS.symbols), dtype=torch.float64)
    have = log_total(circuit, scores, circuit.select(roots))
    assert have.tolist() == [-math.inf, 0.0, -math.inf]  # 1/2 is said in one way


def test_selected_edges_are_those_of_each_examples_root() -> None:
    circuit = sentence_circuit(ARITHMETIC, 5, CPU)
    one, three = circuit.root(1), circuit.root(3)
    selected = circuit.select([three, None, one, three])
    assert selected.segments == 4
    counts = torch.bincount(selected.out, minlength=4).tolist()
    assert counts[0] == counts[3] > 0 and counts[1] == 0 and counts[2] == 3  # three digits
    assert selected.left[selected.out == 0].tolist() == selected.left[selected.out == 3].tolist()
    leaves = [leaf_row(circuit.symbols, 0, symbol) for symbol in ARITHMETIC.encode("012")]
    assert sorted(selected.left[selected.out == 2].tolist()) == leaves
    assert circuit.select([]).segments == 0


def test_a_missing_length_names_those_there_are() -> None:
    has = "the lengths up to 5 it has are 1 3 5; give only such lengths"
    wanted = f"the grammar has no sentence of length 4; {has}"
    with pytest.raises(ParseError, match=f"^{re.escape(wanted)}$"):
        sentence_circuit(ARITHMETIC, 5, CPU).root(4)
    none = Grammar.parse('s: "a" "b" "c"')
    with pytest.raises(ParseError, match=r"the lengths up to 2 it has are \(none\);"):
        sentence_circuit(none, 2, CPU).root(2)


@pytest.mark.parametrize("compiled", [derivation_circuit, sentence_circuit])
def test_each_device_has_a_circuit_of_its_own(compiled: Callable[..., Circuit]) -> None:
    """Moving one, there and back again, moves its edges and leaves alone those that others share."""
    there = torch.device("meta")
    here, moved = compiled(PALINDROMES, 5, CPU), compiled(PALINDROMES, 5, there)
    assert compiled(PALINDROMES, 5, CPU) is here and compiled(PALINDROMES, 5, there) is moved is not here
    assert devices_of(here) == {CPU} and devices_of(moved) == {there}
    assert not here.state_dict(), "a circuit is compiled again, not saved"
    assert devices_of(unroll(compile_tables(normal_form(PALINDROMES), Blank(), 5, PLENTY)).to(there)) == {
        there
    }
    fresh = determinise(PALINDROMES, 5, prefix_automaton(PALINDROMES)).to(there).to_empty(device=CPU)
    assert devices_of(fresh) == {CPU}


def devices_of(circuit: Circuit) -> set[torch.device]:
    selected = circuit.select([circuit.root(3)])
    parts = [part for edges in (*circuit.levels, selected) for part in edges.parts]
    return {part.device for part in (circuit.inner, *parts)}
