"""Ambiguity against the enumeration of all trees, and the error that explains it."""

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
    MOST,
    NULLABLE_LIST,
    PALINDROMES,
    PREFIX,
    RIGHT_LINEAR,
    grammars,
)

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


DOUBLED = 's: "x" a\na: -> zero\n  | b\nb: -> one'
SUMS = 'start: sum\nsum: sum "+" sum -> add\n  | digit\ndigit: "1" | "2"'


@pytest.mark.parametrize(
    "grammar, length, sentence, where",
    [
        (CATALAN, 3, "a a a", '`s: "a"` (line 3) and `s: s s -> pair` (line 2)'),
        (CATALAN, 5, "a a a", '`s: "a"` (line 3) and `s: s s -> pair` (line 2)'),  # the shortest sentence
        (
            DANGLING_ELSE,
            7,
            "if c if c s else s",
            '`statement: "if" "c" statement -> when` (line 2) and '
            '`statement: "if" "c" statement "else" statement -> choose` (line 3)',
        ),
        (Grammar.parse('a: b\n  | c\nb: "x"\nc: "x"'), 1, "x", "`a: b` (line 1) and `a: c` (line 2)"),
        # where the trees part, not what they share
        (Grammar.parse('a: b\n  | c\nb: d\nc: d\nd: "x"'), 1, "x", "`a: b` (line 1) and `a: c` (line 2)"),
        (Grammar.parse(SUMS), 5, "1 + 1 + 1", '`sum: digit` (line 3) and `sum: sum "+" sum -> add` (line 2)'),
        (Grammar.parse('s: a a\na: "x" | '), 1, "x", '`a: ` (line 2) and `a: "x"` (line 2)'),
        (Grammar.parse(DOUBLED), 1, "x", "`a: -> zero` (line 2) and `a: b` (line 3)"),  # two ways to be empty
    ],
)
def test_an_ambiguous_grammar_is_refused_like_this(
    grammar: Grammar, length: int, sentence: str, where: str
) -> None:
    told = f"the sentence '{sentence}' has two trees, which part at {where}: {MEANING}; {REMEDY} {EXAMPLE}"
    assert message(grammar, length) == told


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


def test_lines_are_those_of_the_grammar_at_hand_not_of_an_equal_one() -> None:
    text = 's: s s -> pair\n  | "a"'
    first, later = Grammar.parse(text), Grammar.parse("\n" * 10 + text)
    unlined = Grammar(tuple(replace(rule, line=0) for rule in first.rules))
    assert first == later == unlined
    assert '`s: "a"` (line 2) and `s: s s -> pair` (line 1)' in message(first, 3)
    assert '`s: "a"` (line 12) and `s: s s -> pair` (line 11)' in message(later, 3)
    assert '`s: "a"` and `s: s s -> pair`: ' in message(unlined, 3)
