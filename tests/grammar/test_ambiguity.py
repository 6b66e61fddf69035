"""Ambiguity against the enumeration of all trees, and the error that explains it."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import replace
from itertools import takewhile

import pytest
from hypothesis import given

from ngs.errors import GrammarError
from ngs.grammar.ambiguity import refuse_ambiguity, unambiguous
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import normal_form
from ngs.grammar.tree import sentence_of
from tests.enumeration import derivations
from tests.grammars import (
    ARITHMETIC,
    CATALAN,
    DANGLING_ELSE,
    LARGE_PREFIX,
    NULLABLE_LIST,
    PALINDROMES,
    PREFIX,
    RIGHT_LINEAR,
    grammars,
)

MOST = 1_000  # derivations that are worth enumerating
MEANING = "its meaning, and the sum over meanings, would depend on the tree"
REMEDY = "rewrite the rule so that one tree is left"
EXAMPLE = "(for left association: `a: a op b | b` instead of `a: a op a`)"


def message(grammar: Grammar, length: int) -> str:
    with pytest.raises(GrammarError) as caught:
        refuse_ambiguity(grammar, length)
    return str(caught.value)


@given(grammars())
def test_a_grammar_is_refused_with_the_shortest_sentence_that_has_two_derivations(grammar: Grammar) -> None:
    shortest = None
    for length in takewhile(lambda n: normal_form(grammar).count(n) <= MOST, range(1, 5)):
        counts = Counter(map(sentence_of, derivations(grammar, length)))
        assert unambiguous(grammar, length) == all(count == 1 for count in counts.values())
        if unambiguous(grammar, length):
            refuse_ambiguity(grammar, length)
            continue
        shortest = shortest or counts
        shown = message(grammar, length)
        found = re.match(
            f"the sentence '(.*?)' has two trees, which part at (.*?): {MEANING}; {REMEDY}", shown
        )
        assert found is not None
        assert shortest[tuple(found[1].split())] > 1
        heads = {f"`{rule.head}: {rule}`": rule.head for rule in grammar.rules}
        assert len({heads[rule] for rule in found[2].split(" and ")}) == 1  # two ways on from one name


@pytest.mark.parametrize(
    "grammar", [ARITHMETIC, PALINDROMES, NULLABLE_LIST, RIGHT_LINEAR, PREFIX, LARGE_PREFIX]
)
def test_unambiguous_grammars_pass(grammar: Grammar) -> None:
    for length in range(1, 12):
        assert unambiguous(grammar, length)
        refuse_ambiguity(grammar, length)


def test_catalan_is_ambiguous_from_three_symbols_on() -> None:
    assert [unambiguous(CATALAN, n) for n in range(1, 6)] == [True, True, False, False, False]
    refuse_ambiguity(CATALAN, 2)
    where = '`s: "a"` (line 3) and `s: s s -> pair` (line 2)'
    for length in (3, 5):  # the shortest sentence is shown, whatever the length in question
        assert message(CATALAN, length) == (
            f"the sentence 'a a a' has two trees, which part at {where}: {MEANING}; {REMEDY} {EXAMPLE}"
        )


def test_a_dangling_else_belongs_to_either_if() -> None:
    assert all(unambiguous(DANGLING_ELSE, n) for n in range(1, 7))
    shown = message(DANGLING_ELSE, 7)
    assert shown.startswith("the sentence 'if c if c s else s' has two trees, which part at ")
    assert '`statement: "if" "c" statement -> when` (line 2)' in shown
    assert '`statement: "if" "c" statement "else" statement -> choose` (line 3)' in shown


@pytest.mark.parametrize(
    "rule, symbols, length, sentence",
    [
        ('s: s "+" s -> add | word', 80, 9, "w0 + w0 + w0"),
        ('s: "if" word s -> when | "if" word s "else" s -> choose | word', 80, 7, "if w0 if w0 w0 else w0"),
    ],
    ids=["add", "dangling else"],
)
def test_many_symbols_are_refused_at_once(rule: str, symbols: int, length: int, sentence: str) -> None:
    """Of the 80^4 sentences that begin with `if` and have two trees, only one is asked for."""
    words = " | ".join(f'"w{k}"' for k in range(symbols))
    grammar = Grammar.parse(f"{rule}\nword: {words}")
    begin = time.process_time()
    assert message(grammar, length).startswith(f"the sentence '{sentence}' has two trees")
    assert time.process_time() - begin < 0.25


def test_a_symbol_read_through_two_names_is_ambiguous() -> None:
    shown = message(Grammar.parse('a: b\n  | c\nb: "x"\nc: "x"'), 1)
    where = "`a: b` (line 1) and `a: c` (line 2)"
    assert shown.startswith(f"the sentence 'x' has two trees, which part at {where}: ")


def test_the_rules_named_are_where_the_trees_part_not_what_they_share() -> None:
    shared = Grammar.parse('a: b\n  | c\nb: d\nc: d\nd: "x"')
    assert "part at `a: b` (line 1) and `a: c` (line 2): " in message(shared, 1)
    sums = Grammar.parse('start: sum\nsum: sum "+" sum -> add\n  | digit\ndigit: "1" | "2"')
    assert 'part at `sum: digit` (line 3) and `sum: sum "+" sum -> add` (line 2): ' in message(sums, 5)


def test_one_rule_with_two_readings_is_named_once() -> None:
    either = Grammar.parse('s: a a\na: "x" | ')
    assert "the sentence 'x' has two trees, which part at `s: a a` (line 1): " in message(either, 1)


def test_two_ways_to_derive_nothing_are_two_trees() -> None:
    grammar = Grammar.parse('s: "x" a\na: -> zero\n  | b\nb: -> one')
    assert not unambiguous(grammar, 1)
    assert "the sentence 'x' has two trees, which part at `s: \"x\" a` (line 1): " in message(grammar, 1)


def test_lines_are_those_of_the_grammar_at_hand_not_of_an_equal_one() -> None:
    text = 's: s s -> pair\n  | "a"'
    first, later = Grammar.parse(text), Grammar.parse("\n" * 10 + text)
    unlined = Grammar(tuple(replace(rule, line=0) for rule in first.rules))
    assert first == later == unlined
    assert '`s: "a"` (line 2) and `s: s s -> pair` (line 1)' in message(first, 3)
    assert '`s: "a"` (line 12) and `s: s s -> pair` (line 11)' in message(later, 3)
    assert '`s: "a"` and `s: s s -> pair`: ' in message(unlined, 3)
