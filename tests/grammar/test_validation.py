"""Every grammar that is refused, with its rule, its line and the remedy."""

from __future__ import annotations

import pytest

from ngs.errors import GrammarError
from ngs.grammar.grammar import Grammar
from ngs.grammar.rules import Nonterminal, Rule, Symbol, Terminal
from ngs.grammar.validation import nullable


def rule(head: str, *body: Symbol, alias: str | None = None, keeps: bool = False) -> Rule:
    return Rule(Nonterminal(head), body, alias, keeps)


X = Terminal("x")
Y = Terminal("y")
ENDLESS = "so a sentence would have endlessly many trees; delete one of these alternatives"


@pytest.mark.parametrize(
    "text, message",
    [
        ("", 'the grammar has no rules; write at least `start: "a"`'),
        (
            'a: "x"\n | b "y"',
            "line 2: rule `a` uses `b`, which no rule defines; "
            'add `b: ...`, or put it in quotes ("b") if it is a symbol to be seen',
        ),
        (
            "a: DIGIT",
            "line 1: rule `a` uses `DIGIT`, which no rule defines; "
            'add `DIGIT: ...`, or put it in quotes ("DIGIT") if it is a symbol to be seen',
        ),
        (
            'a: "x"\n | "y"\n | "x"',
            'line 3: rule `a` repeats the alternative `"x"` given on line 1; delete one of the two',
        ),
        (
            'a: "x"? "y"\n | "y"',
            'line 2: rule `a` repeats the alternative `"y"` given on line 1; delete one of the two',
        ),
        (
            'a: D\nD: "0".."3" | "2"',
            'line 2: rule `D` repeats the alternative `"2"` given on line 2; delete one of the two',
        ),
        (
            'a: "x"\nb: "y"',
            "line 2: rule `b` cannot be reached from `a`; use it in another rule or delete it",
        ),
        (
            'a: "x" b\nb: "y"\nstart: "z"',
            "line 1: rule `a` cannot be reached from `start`; use it in another rule or delete it",
        ),
        (
            'a: "x" a',
            "line 1: rule `a` never ends: each of its alternatives needs a rule that never ends; "
            "add an alternative of `a` that can stop",
        ),
        (
            'a: "x" | b\n\nb: "y" b',
            "line 1: rule `a` uses `b`, which never ends; add an alternative of `b` that can stop",
        ),
        ('a: a | "x"', f"line 1: rule `a` can turn into itself without adding a symbol (a -> a), {ENDLESS}"),
        (
            'a: b | "x"\nb: "y"\n | c\nc: a',
            f"line 1: rule `a` can turn into itself without adding a symbol (a -> b -> c -> a), {ENDLESS}",
        ),
        (
            'a: a b | "x"\nb: "y"?',
            f"line 1: rule `a` can turn into itself without adding a symbol (a -> a), {ENDLESS}"
            " or make its other parts unable to be empty",
        ),
        (
            'a: "x"\n | b+\nb: | "y"',
            f"line 2: rule `_a_1` can turn into itself without adding a symbol (_a_1 -> _a_1), {ENDLESS}"
            " or make its other parts unable to be empty",
        ),
        (
            'a: "x" ""',
            'line 1: rule `a` has the empty symbol ""; delete it: '
            "an alternative without symbols is written as nothing at all",
        ),
        (
            r'a: "x" | "\ud83d"',
            r"line 1: rule `a` has the symbol '\ud83d', which is half of a character; "
            "write the whole character",
        ),
        *(
            (
                f'a: D b\nb: "x"\nD: {side}',
                "line 3: rule `D` is a named terminal (upper-case name), so each alternative is one symbol "
                f"or one other named terminal, not `{shown}`; write it as a rule (lower-case name)",
            )
            for side, shown in [
                ('"0" "1"', '"0" "1"'),
                ("b", "b"),
                ("", ""),
                ('"0" |', ""),
                ('["0"]', ""),
                ('"0" -> f', '"0" -> f'),
            ]
        ),
    ],
)
def test_refused_text(text: str, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.parse(text)
    assert str(caught.value) == message


WRITTEN = "use letters a-z, digits and `_`, all lower-case, or all upper-case for a named terminal"


@pytest.mark.parametrize(
    "rules, message",
    [
        *(
            (
                [rule(name, X)],
                f"rule `{name}` has a name that cannot be written down: {name!r}; {WRITTEN}",
            )
            for name in ("", "_", "__a", "1a", "Expr", "aB", "a-b", "a b", "é", "a\n", "!a", "?a", "_1")
        ),
        (
            [rule("a", Nonterminal("Ab")), rule("Ab", X)],
            f"rule `a` has a name that cannot be written down: 'Ab'; {WRITTEN}",
        ),
        *(
            (
                [rule("a", X, alias=alias)],
                f"rule `a` has a function name that cannot be written down: {alias!r}; "
                "use lower-case letters a-z, digits and `_`",
            )
            for alias in ("", "Add", "ADD", "+", "add two", "?f", "f\n")
        ),
        (
            [rule("A", X, keeps=True)],
            "rule `A` is a named terminal (upper-case name), so each alternative is one symbol or "
            'one other named terminal, not `"x"`; write it as a rule (lower-case name)',
        ),
        (
            [rule("a", X), rule("a", Y, keeps=True)],
            "rule `a` keeps its terminals in some alternatives only; "
            "set `keeps_terminals` in all of them or in none",
        ),
        (
            [rule("a", X), rule("a", X)],
            'rule `a` repeats the alternative `"x"` given; delete one of the two',
        ),
    ],
)
def test_refused_rules(rules: list[Rule], message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar(tuple(rules))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text",
    [
        'a: "x" -> f | "x" -> g',  # ambiguous, but two different functions
        'a: "x" | a a',  # ambiguous, but finitely often
        'a: b c\nb: "x"?\nc: "y"?',
        "a:",
        'a: "x" a |',
        'a: D\nD: E\nE: "x"',
    ],
)
def test_accepted(text: str) -> None:
    assert Grammar.parse(text)


def test_nullable() -> None:
    grammar = Grammar.parse('a: b c | "x"\nb: | "y"\nc: b b\nd: "z" | "z" b\nstart: a d')
    assert nullable(grammar.rules) == {Nonterminal("a"), Nonterminal("b"), Nonterminal("c")}
