"""Every grammar that is refused, with its rule, its line and the remedy."""

import pytest

from ngs.errors import GrammarError
from ngs.grammar.grammar import Grammar
from ngs.grammar.rules import Nonterminal, Rule, Symbol, Terminal
from ngs.grammar.validation import nullable


def rule(head: str, *body: Symbol, alias: str | None = None, keeps: bool = False) -> Rule:
    return Rule(Nonterminal(head), body, alias, keeps)


X = Terminal("x")
Y = Terminal("y")
UNDEFINED = (
    "uses `{0}`, which no rule defines; "
    'add `{0}: ...`, or put it in quotes ("{0}") if it is a symbol to be seen'
)
REPEATED = "repeats the alternative `{}` given on line {}; delete one of the two"
UNREACHED = "cannot be reached from `{}`; use it in another rule or delete it"
ENDLESS = "which never ends; add an alternative of `{}` that can stop"
CYCLIC = (
    "can turn into itself without adding a symbol ({}), "
    "so a sentence would have endlessly many trees; delete one of these alternatives"
)
EMPTY = " or make its other parts unable to be empty"
NAMED_TERMINAL = (
    "is a named terminal (upper-case name), so each alternative is one symbol or one other named terminal, "
    "not `{}`; write it as a rule (lower-case name)"
)


@pytest.mark.parametrize(
    "text, line, head, fault",
    [
        ('a: "x"\n | b "y"', 2, "a", UNDEFINED.format("b")),
        ("a: DIGIT", 1, "a", UNDEFINED.format("DIGIT")),
        ('a: "x"\n | "y"\n | "x"', 3, "a", REPEATED.format('"x"', 1)),
        ('a: "x"? "y"\n | "y"', 2, "a", REPEATED.format('"y"', 1)),
        ('a: D\nD: "0".."3" | "2"', 2, "D", REPEATED.format('"2"', 2)),
        ('a: "x"\nb: "y"', 2, "b", UNREACHED.format("a")),
        ('a: "x" b\nb: "y"\nstart: "z"', 1, "a", UNREACHED.format("start")),
        (
            'a: "x" a',
            1,
            "a",
            "never ends: each of its alternatives needs a rule that never ends; "
            "add an alternative of `a` that can stop",
        ),
        ('a: "x" | b\n\nb: "y" b', 1, "a", f"uses `b`, {ENDLESS.format('b')}"),
        ('a: a | "x"', 1, "a", CYCLIC.format("a -> a")),
        ('a: b | "x"\nb: "y"\n | c\nc: a', 1, "a", CYCLIC.format("a -> b -> c -> a")),
        ('a: a b | "x"\nb: "y"?', 1, "a", CYCLIC.format("a -> a") + EMPTY),
        ('a: "x"\n | b+\nb: | "y"', 2, "_a_1", CYCLIC.format("_a_1 -> _a_1") + EMPTY),
        ('s: a | "y"\na: "x" | b\nb: a', 2, "a", CYCLIC.format("a -> b -> a")),
        (
            'a: "x" ""',
            1,
            "a",
            'has the empty symbol ""; delete it: an alternative without symbols is written as nothing at all',
        ),
        (
            r'a: "x" | "\ud83d"',
            1,
            "a",
            r"has the symbol '\ud83d', which is half of a character; write the whole character",
        ),
        *(
            (f'a: D b\nb: "x"\nD: {side}', 3, "D", NAMED_TERMINAL.format(shown))
            for side, shown in [
                *(('"0" "1"', '"0" "1"'), ("b", "b"), ("", ""), ('"0" |', ""), ('["0"]', "")),
                ('"0" -> f', '"0" -> f'),
            ]
        ),
    ],
)
def test_refused_text(text: str, line: int, head: str, fault: str) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.parse(text)
    assert str(caught.value) == f"line {line}: rule `{head}` {fault}"


def test_no_rules_are_refused() -> None:
    with pytest.raises(GrammarError, match=r'^the grammar has no rules; write at least `start: "a"`$'):
        Grammar.parse("")


WRITTEN = "use letters a-z, digits and `_`, all lower-case, or all upper-case for a named terminal"


@pytest.mark.parametrize(
    "rules, fault",
    [
        *(
            ([rule(name, X)], f"has a name that cannot be written down: {name!r}; {WRITTEN}")
            for name in ("", "_", "__a", "1a", "Expr", "aB", "a-b", "a b", "é", "a\n", "!a", "?a", "_1")
        ),
        (
            [rule("a", Nonterminal("Ab")), rule("Ab", X)],
            f"has a name that cannot be written down: 'Ab'; {WRITTEN}",
        ),
        *(
            (
                [rule("a", X, alias=alias)],
                f"has a function name that cannot be written down: {alias!r}; "
                "use lower-case letters a-z, digits and `_`",
            )
            for alias in ("", "Add", "ADD", "+", "add two", "?f", "f\n")
        ),
        ([rule("A", X, keeps=True)], NAMED_TERMINAL.format('"x"')),
        (
            [rule("a", X), rule("a", Y, keeps=True)],
            "keeps its terminals in some alternatives only; set `keeps_terminals` in all of them or in none",
        ),
        ([rule("a", X), rule("a", X)], 'repeats the alternative `"x"` given; delete one of the two'),
    ],
)
def test_refused_rules(rules: list[Rule], fault: str) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar(tuple(rules))
    assert str(caught.value) == f"rule `{rules[0].head}` {fault}"


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
