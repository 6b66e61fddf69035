"""Circuits count what they should: derivations or sentences, with or without a value."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from itertools import product, takewhile

import pytest
import torch
from hypothesis import assume, given
from torch import Tensor

from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import Value, normal_form
from ngs.grammar.tree import Sentence, sentence_of
from ngs.parsing.circuit import (
    Circuit,
    derivation_circuit,
    determinise,
    sentence_circuit,
    unroll,
)
from ngs.parsing.derivations import log_total
from ngs.parsing.sentence import parse
from ngs.parsing.tables import Blank, compile_tables
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.semantics import evaluate, interpret
from tests.enumeration import derivations, sentences
from tests.grammars import NAMED, PALINDROMES, grammars
from tests.search.semantics import SMALL_ARITHMETIC

CPU = torch.device("cpu")
PLENTY = 10**7
LONGEST = 4


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
    assert totals(determinise(grammar, longest), scores, sizes) == pytest.approx(once)
    assert totals(sentence_circuit(grammar, longest, CPU), scores, sizes) == pytest.approx(once)


@pytest.mark.parametrize("grammar", NAMED.values(), ids=NAMED)
def test_named_grammars_count_each_sentence_once(grammar: Grammar) -> None:
    circuit = sentence_circuit(grammar, 7, CPU)
    lengths = list(circuit.roots)
    assert tuple(lengths) == normal_form(grammar).lengths(7)
    scores = torch.zeros(len(lengths), 7, len(grammar.symbols), dtype=torch.float64)
    assert totals(circuit, scores, lengths) == pytest.approx([len(sentences(grammar, n)) for n in lengths])


def test_each_value_weighs_what_its_sentences_weigh() -> None:
    form = normal_form(SMALL_ARITHMETIC)
    circuit = unroll(compile_tables(form, interpret(SMALL_ARITHMETIC, Arithmetic), 5, PLENTY))
    torch.manual_seed(0)
    scores = torch.randn(5, len(SMALL_ARITHMETIC.symbols), dtype=torch.float64)
    for length in (1, 3, 5):
        wanted: defaultdict[Value, float] = defaultdict(float)
        for sentence in sentences(SMALL_ARITHMETIC, length):
            score = scores[range(length), SMALL_ARITHMETIC.encode(sentence)].sum()
            wanted[evaluate(parse(SMALL_ARITHMETIC, sentence), Arithmetic)] += math.exp(score)
        assert set(circuit.roots[length]) == set(wanted)
        roots = circuit.select([circuit.root(length, value) for value in wanted])
        have = log_total(circuit, scores.expand(len(wanted), -1, -1), roots).exp()
        assert have.tolist() == pytest.approx(list(wanted.values()))


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
    fresh = determinise(PALINDROMES, 5).to(there).to_empty(device=CPU)
    assert devices_of(fresh) == {CPU}


def devices_of(circuit: Circuit) -> set[torch.device]:
    selected = circuit.select([circuit.root(3)])
    return {circuit.inner.device, *(edges.table.device for edges in (*circuit.levels, selected))}
