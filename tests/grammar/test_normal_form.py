"""The normal form derives what the rules derive, as often as they do, and with the same trees."""

from collections import Counter
from collections.abc import Iterator
from math import prod

import pytest
from hypothesis import given

from ngs.errors import GrammarError
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import Algebra, NormalForm, TreeAlgebra, Value, built, fold, normal_form
from ngs.grammar.rules import Nonterminal, Rule
from ngs.grammar.tree import sentence_of
from tests.enumeration import _derive, derivations, sentences
from tests.grammars import MOST, NAMED, grammars, grammars_and_lengths, reached_from


class Shapes:
    """Builds a bracketing of rules, renaming ones too, so that all derivations differ."""

    def leaf(self, position: int, symbol: str) -> Value:
        return symbol

    def node(self, rule: Rule, children: tuple[Value, ...]) -> Value:
        return rule, children


def all_built(form: NormalForm, algebra: Algebra, length: int) -> Iterator[Value]:
    """What `algebra` makes of each derivation of each sentence."""
    for sentence in sentences(form.grammar, length):
        yield from (built(each, algebra) for each in form.derivations(sentence, most=MOST))


def rooted(grammar: Grammar, head: Nonterminal) -> Grammar:
    """The part of `grammar` that `head` reaches, with `head` as its start."""
    heads = reached_from(head, grammar.rules)
    return Grammar(tuple(rule for reached in heads for rule in grammar.by_head[reached]))


def number_of_derivations(grammar: Grammar, length: int) -> int:
    """The enumeration's recursion on numbers instead of trees."""
    (number,) = _derive(grammar, length, lambda *_: 1, lambda _, parts: prod(parts), lambda n: (sum(n),))
    return number


def check_trees(grammar: Grammar, length: int) -> None:
    """All trees, and all derivations, which differ in renaming rules too."""
    form = normal_form(grammar)
    wanted = Counter(derivations(grammar, length))
    assert Counter(all_built(form, TreeAlgebra(), length)) == wanted
    assert len(set(all_built(form, Shapes(), length))) == form.count(length) == wanted.total()
    begun = Counter(sentence_of(tree)[:2] for tree in wanted.elements())
    assert all(form.count(length, prefix) == number for prefix, number in begun.items())


@given(grammars_and_lengths(5))
def test_the_steps_of_random_grammars_build_every_tree_as_often_as_the_rules(
    case: tuple[Grammar, int],
) -> None:
    check_trees(*case)
    assert all(fold(tree, TreeAlgebra()) == tree for tree in derivations(*case))


@pytest.mark.parametrize("grammar", NAMED.values(), ids=NAMED)
def test_the_steps_of_named_grammars_build_every_tree_as_often_as_the_rules(grammar: Grammar) -> None:
    for length in range(1, 7):
        check_trees(grammar, length)


@given(grammars())
def test_counts_and_lengths_are_those_of_the_rules(grammar: Grammar) -> None:
    form = normal_form(grammar)
    assert [form.count(n) for n in range(1, 9)] == [number_of_derivations(grammar, n) for n in range(1, 9)]
    assert form.lengths(6) == tuple(n for n in range(1, 7) if sentences(grammar, n))
    for head in grammar.by_head:
        part = rooted(grammar, head)
        assert [form.derives(head, n) for n in range(1, 6)] == [bool(sentences(part, n)) for n in range(1, 6)]
    assert not any(form.derives(symbol, 0) for symbol in form.steps)


def test_the_empty_sentence_has_no_steps() -> None:
    form = normal_form(NAMED["palindromes"])
    assert form.count(0) == 0
    assert form.lengths(0) == ()


def test_too_many_parts_that_can_be_empty_are_refused() -> None:
    parts = " ".join(["a"] * 11)
    with pytest.raises(GrammarError, match=r"line 1: rule `start` has 11 parts that can be empty.*split it"):
        normal_form(Grammar.parse(f'start: {parts} "x"\na: "y" |'))
