"""Lark's notation: what each construct stands for, and what is refused."""

import re
import warnings
from itertools import product

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ngs.errors import GrammarError
from ngs.grammar.grammar import Grammar
from ngs.grammar.notation import LARGEST, read_rules
from ngs.grammar.rules import Nonterminal, Rule, Terminal
from tests.enumeration import sentences


def written(text: str) -> list[str]:
    return [f"{'!' * rule.keeps_terminals}{rule.head}: {rule}" for rule in read_rules(text)]


def refusal(text: str) -> str:
    with pytest.raises(GrammarError) as caught:
        read_rules(text)
    return str(caught.value)


def test_rules_are_values() -> None:
    assert read_rules('a: b "x" -> f\n!b: "y"') == [
        Rule(Nonterminal("a"), (Nonterminal("b"), Terminal("x")), "f"),
        Rule(Nonterminal("b"), (Terminal("y"),), keeps_terminals=True),
    ]


@pytest.mark.parametrize(
    "text, rules",
    [
        # Alternatives
        ('a: "x" | "y"', ['a: "x"', 'a: "y"']),
        ('a: "x" "y" | b', ['a: "x" "y"', "a: b"]),
        ('a: | "x"', ["a: ", 'a: "x"']),
        ('a: "x" |', ['a: "x"', "a: "]),
        ("a:", ["a: "]),
        ('a: "x" | "x"', ['a: "x"', 'a: "x"']),  # for validation to refuse
        ('a: "x"? | "x"', ['a: "x"', "a: ", 'a: "x"']),
        # Optional parts: longest first
        ('a: "x"?', ['a: "x"', "a: "]),
        ('a: ["x"]', ['a: "x"', "a: "]),
        ('a: ["x" | b "y"] "z"', ['a: "x" "z"', 'a: b "y" "z"', 'a: "z"']),
        ('a: "x"? b "y"?', ['a: "x" b "y"', 'a: "x" b', 'a: b "y"', "a: b"]),
        ('a: "x"? "x"?', ['a: "x" "x"', 'a: "x"', "a: "]),
        # Groups
        ('a: ("x" | "y") "z"', ['a: "x" "z"', 'a: "y" "z"']),
        ('a: ("x" | "y" (b | "z"))', ['a: "x"', 'a: "y" b', 'a: "y" "z"']),
        ('a: ("x" | ) "z"', ['a: "x" "z"', 'a: "z"']),
        ("a: (b | b)", ["a: b", "a: b"]),  # a group around the whole side changes nothing
        ('a: ("x" -> f | b)', ['a: "x" -> f', "a: b"]),
        ("a: (b | b) c", ["a: b c"]),
        ('a: () "x"', ['a: "x"']),
        ("a: ()+", ["a: "]),
        # Repetitions
        ("a: b+", ["a: _a_1", "_a_1: b", "_a_1: _a_1 b"]),
        ("a: b*", ["a: _a_1", "a: ", "_a_1: b", "_a_1: _a_1 b"]),
        ('a: "(" b* ")"', ['a: "(" _a_1 ")"', 'a: "(" ")"', "_a_1: b", "_a_1: _a_1 b"]),
        ('a: ("x" | b c)+', ["a: _a_1", '_a_1: "x"', "_a_1: b c", '_a_1: _a_1 "x"', "_a_1: _a_1 b c"]),
        ("a: b? c", ["a: b c", "a: c"]),
        ("a: (b?)+", ["a: _a_1", "a: ", "_a_1: b", "_a_1: _a_1 b"]),
        ("a: (b*)*", ["a: _a_2", "a: ", "_a_1: b", "_a_1: _a_1 b", "_a_2: _a_1", "_a_2: _a_2 _a_1"]),
        ("a: b ~ 3", ["a: b b b"]),
        ("a: b ~ 0..2", ["a: b b", "a: b", "a: "]),
        ("a: (b | c) ~ 1..2", ["a: b b", "a: b c", "a: c b", "a: c c", "a: b", "a: c"]),
        # Helpers: shared where equal, kept where their user keeps, named after their user, never taken
        ("a: b+ c\nb: b+", ["a: _a_1 c", "_a_1: b", "_a_1: _a_1 b", "b: _a_1"]),
        (
            '!a: "x"+ b\nb: "x"+',
            ["!a: _a_1 b", '!_a_1: "x"', '!_a_1: _a_1 "x"', "b: _b_1", '_b_1: "x"', '_b_1: _b_1 "x"'],
        ),
        ("_a: b+", ["_a: _a_1", "_a_1: b", "_a_1: _a_1 b"]),
        ("a: b+ _a_1\n_a_2: c", ["a: _a_3 _a_1", "_a_3: b", "_a_3: _a_3 b", "_a_2: c"]),
        # Aliases and modifiers
        ('a: "x"? b -> f | c', ['a: "x" b -> f', "a: b -> f", "a: c"]),
        ("a: b+ -> f", ["a: _a_1 -> f", "_a_1: b", "_a_1: _a_1 b"]),
        ("a: -> f", ["a: -> f"]),
        ('?a: "x"', ['a: "x"']),
        ('!?a: "x"', ['!a: "x"']),
        ('_a: "x"', ['_a: "x"']),
        # Named terminals and ranges
        ('D: "0" | "1" | SIGN\nSIGN: "-"', ['D: "0"', 'D: "1"', "D: SIGN", 'SIGN: "-"']),
        ('D: ("0" | "1") | "2"', ['D: "0"', 'D: "1"', 'D: "2"']),
        ('D: "0".."3"', ['D: "0"', 'D: "1"', 'D: "2"', 'D: "3"']),
        ('_COMMA: ","', ['_COMMA: ","']),
        ('a: "a".."c" "x"', ['a: "a" "x"', 'a: "b" "x"', 'a: "c" "x"']),
    ],
)
def test_what_each_construct_stands_for(text: str, rules: list[str]) -> None:
    assert written(text) == rules


@pytest.mark.parametrize(
    "text",
    [
        'a: "x"\n | "y"',
        'a: "x"\n | "y"\n',
        '\n\n  a: "x"\n   | "y"\n  ',
        '    a: "x"\n\n\n\t| "y"',
        'a: "x"\r\n | "y"\r\n',
        '// first\na: "x" // second\n  // third\n\n  // fourth\n | "y" // "z"\n// last',
        'a:"x"|"y"',
    ],
)
def test_layout_does_not_matter(text: str) -> None:
    assert written(text) == ['a: "x"', 'a: "y"']


def test_no_text_has_no_rules() -> None:
    assert read_rules("") == read_rules("\n  // nothing\n") == []


def test_each_rule_knows_its_line() -> None:
    text = """
        a: "x"
         | b "y"+
        b: "z"
         |
        D: "0"
    """
    assert [(rule.head.name, rule.line) for rule in read_rules(text)] == [
        *(("a", 2), ("a", 3), ("_a_1", 3), ("_a_1", 3)),
        *(("b", 4), ("b", 4), ("D", 6)),  # an empty alternative has only the line of its rule
    ]


@pytest.mark.parametrize(
    "quoted, symbol",
    [
        ('"filter_color[red]"', "filter_color[red]"),
        ('"two words"', "two words"),
        (r'"\""', '"'),
        (r'"\\"', "\\"),
        (r'"\\\""', '\\"'),
        (r'"\n\t\r"', "\n\t\r"),
        (r'"\x41\u00e9\U0001f600\N{BULLET}"', "Aé😀•"),
        ('"×÷"', "×÷"),
        ('"//"', "//"),
        ('"#"', "#"),
        ('"/a/"', "/a/"),
        ('"i"', "i"),
        ('"\'"', "'"),
        ('"\u2028"', "\u2028"),
    ],
)
def test_a_symbol_is_the_whole_decoded_string(quoted: str, symbol: str) -> None:
    (rule,) = read_rules(f"a: {quoted}")
    assert rule.body == (Terminal(symbol),)


DIRECTIVES = {
    "import common.DIGIT": "are not supported; write out the rule or symbol that you need",
    'ignore " "': "are not supported; a sentence is its symbols and nothing else, "
    "so there is nothing to skip; delete this line",
    "declare A": 'are not supported; define the symbol: `NAME: "..."`',
    'override a: "x"': "are not supported; change the rule itself",
    'extend a: "x"': "are not supported; add the alternatives to the rule itself",
    "other": "are not supported; delete this line",
}


PLAIN_RULES = "write one plain rule for each use"
NO_NAME = "is used as a name, but `!` and `?` belong in front of a rule's definition"
NO_COUNT = "is no count; write `~ n` or `~ n..m` with n <= m and m from 1 to 9999"


@pytest.mark.parametrize(
    "text, line, fault",
    [
        ("a: /x+/", 1, '/x+/ is a regular expression; list the symbols it stands for: "a" | "b"'),
        ('a: b\nb: "x"i', 2, '"x"i ignores case; write "x", and its other spellings as alternatives'),
        (
            r'a: "\d"',
            1,
            r'"\d" has an escape or a character that cannot be read; '
            r"write a backslash as `\\`, and a control character as `\x..`",
        ),
        *(
            (f"a: b\n  %{directive}", 2, f"directives such as `%{directive.split()[0]}` {remedy}")
            for directive, remedy in DIRECTIVES.items()
        ),
        ('a{x}: x "y"', 1, f"rule `a` is a template; {PLAIN_RULES} of it"),
        ('A{X}: "y"', 1, f"rule `A` is a template; {PLAIN_RULES} of it"),
        ('a: b{"x"}', 1, f"templates are not supported; {PLAIN_RULES}"),
        ('a.2: "x"', 1, "rule `a` has a priority; delete it: the symbols' scores decide between parses"),
        *(
            (
                text,
                line,
                f"rule `{text[0]}` is defined a second time (first on line 1); join the two with `|`",
            )
            for text, line in [('a: "x"\nb: "y"\n!a: "z"', 3), ('A: "x"\nA: "y"', 2)]
        ),
        *(
            (f"a: {body}", 1, "`-> f` stands inside a group; move it to the end of the alternative")
            for body in ('"x" ("y" -> f | "z")', 'b | ("y" -> f | "z")', '["y" -> f]')
        ),
        *(
            (
                f'a: D\nD: "x"{repetition}',
                2,
                "the named terminal `D` contains a repetition; write it as a rule (lower-case name)",
            )
            for repetition in ("?", "*", "+", "~2", "~1..2")
        ),
        *(
            (f'a: "x" ~ {number}', 1, f"`~ {number}` {NO_COUNT}")
            for number in ("0", "3..2", "-1", "+2", "10000", "9" * 5000)
        ),
        *(
            (f"a: {bad}", 1, f'`{bad}` is no range; write two characters in order, as in "0".."9"')
            for bad in ('"9".."0"', '"10".."20"', '""..""')
        ),
        ('a: "x"?b', 1, f"`?b` {NO_NAME}; write `b`, or `? b` if what stands before it is optional"),
        ('a: "x" -> !f', 1, f"`!f` {NO_NAME}; write `f`, or `? f` if what stands before it is optional"),
    ],
)
def test_refusals(text: str, line: int, fault: str) -> None:
    assert refusal(text) == f"line {line}: {fault}"


def test_groups_nested_too_deeply_are_refused() -> None:
    assert refusal("a: " + "(b " * 3000 + ")" * 3000).startswith(
        "groups are nested too deeply; name the inner"
    )


@pytest.mark.parametrize(
    "symbol", [r"\d", r"\8", r"\777", r"\0", r"\x1", r"\uD8", r"\N{no}", "\r", "\0", "\ud800"]
)
def test_unreadable_strings_are_refused_without_a_warning(symbol: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "has an escape or a character that cannot be read" in refusal(f'a: "{symbol}"')


@pytest.mark.parametrize(
    "body",
    [
        " ".join(f'"{k}"?' for k in range(40)),
        '(("a" | "b") ~ 9) ~ 9',
        '(("a" ~ 999) ~ 999) ~ 999',
        '"a" ~ 1..9999',
        r'"\u0000".."\U0010ffff"',
    ],
)
def test_an_explosion_is_refused_before_it_happens(body: str) -> None:
    assert refusal(f'b: "x"\na: {body}') == (
        f"line 2: this alternative expands into more than {LARGEST} symbols; "
        f"name its optional or repeated parts as rules of their own"
    )


BODY = "a lower-case name, an upper-case name, a symbol in quotes"
CONTINUES = "a rule continues on the next line only with `|`"
RULE = "a rule is written `name: body`, and `->` names the function at the end of an alternative"
LAYOUT = "a rule is written `name: body | body`, one rule to a line, symbols in quotes"


BEGINS = f"{BODY}, `(`, `[`, `|` or a new line"
CASES = "`Expr` mixes cases: name a rule all in lower case, a named terminal all in upper case"
CLOSED = "no bracket of this kind is open"
QUOTES = "close the quotes on the same line"
DOUBLE = 'a symbol stands in double quotes: "x"'
SEEN = "put it in quotes if it is a symbol to be seen"
ENDS = f"{BODY}, `?`, `*`, `+`, `(`, `[`, `~`, `|` or a new line"
NAMES = "a lower-case name, an upper-case name or a new line"


@pytest.mark.parametrize(
    "text, line, column, expected, got, hint",
    [
        ('a: "x"\nExpr: "y"', 2, 2, "`:`", "`xpr`", CASES),
        ('  a: ("x"\n  )', 1, 10, "`)`", "the end of the line", CONTINUES),
        ('a:\n\t"x"', 2, 2, NAMES, '`"x"`', CONTINUES),
        ('a -> "x"', 1, 3, "`:`", "`->`", RULE),
        ('a = "x"', 1, 3, "`:`", "`=`", RULE),
        ("a b", 1, 3, "`:`", "`b`", LAYOUT),
        ('a: "x" -> F', 1, 11, "a lower-case name", "`F`", LAYOUT),
        ('a: "x', 1, 4, BEGINS, '`"x`', QUOTES),
        ("a: 'x'", 1, 4, BEGINS, "`'x'`", DOUBLE),
        ('a: "x" - "y"\r\n', 1, 8, ENDS, "`-`", SEEN),
        ('a: "x" )', 1, 8, "a new line", "`)`", CLOSED),
        ('a: ("x"]', 1, 8, "`)`", "`]`", CLOSED),
        ("a: b ~ c", 1, 8, "a number", "`c`", LAYOUT),
    ],
)
def test_syntax_errors_show_the_place_and_what_was_expected(
    text: str, line: int, column: int, expected: str, got: str, hint: str
) -> None:
    source = text.splitlines()[line - 1]
    caret = "".join("\t" if letter == "\t" else " " for letter in source[: column - 1]) + "^"
    message = f"line {line}, column {column}: expected {expected}, got {got}; {hint}\n  {source}\n  {caret}"
    assert refusal(text) == message


Expression = tuple[str, str]
"""One language, in our notation and as a regular expression over the letters a and b."""


def extend(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    def sequence(left: Expression, right: Expression) -> Expression:
        return f"{left[0]} {right[0]}", left[1] + right[1]

    def choice(left: Expression, right: Expression) -> Expression:
        return f"({left[0]} | {right[0]})", f"(?:{left[1]}|{right[1]})"

    def repeat(operators: Expression, part: Expression) -> Expression:
        return f"({part[0]}){operators[0]}", f"(?:{part[1]}){operators[1]}"

    def maybe(part: Expression) -> Expression:
        return f"[{part[0]}]", f"(?:{part[1]})?"

    operators = [("?", "?"), ("*", "*"), ("+", "+"), ("~2", "{2}"), ("~0..1", "{0,1}"), ("~1..2", "{1,2}")]
    return st.one_of(
        st.builds(sequence, inner, inner),
        st.builds(choice, inner, inner),
        st.builds(repeat, st.sampled_from(operators), inner),
        inner.map(maybe),
    )


EXPRESSIONS = st.recursive(st.sampled_from([('"a"', "a"), ('"b"', "b"), ("()", "")]), extend, max_leaves=6)


@given(EXPRESSIONS)
@example(('("a"* "b"?)+', "(?:a*b?)+"))
@example(('("a"+ "b"*)~1..2 "a"?', "(?:a+b*){1,2}a?"))
def test_the_language_is_that_of_the_regular_expression(expression: Expression) -> None:
    text, regex = expression
    try:
        grammar = Grammar.parse(f"start: () {text}")  # alone, ("a" | "a") would repeat an alternative
    except GrammarError as error:
        assume("expands into more than" not in str(error))
        raise
    for length in range(5):
        want = {word for word in product("ab", repeat=length) if re.fullmatch(regex, "".join(word))}
        assert set(sentences(grammar, length)) == want
    assert any(not rule.body for rule in grammar.rules) == bool(re.fullmatch(regex, ""))
    assert Grammar.parse(str(grammar)) == grammar


WORDS = (
    *("a", "b", "_c", "!a", "?b", "A", "_B", "Ab", '"x"', '"y"', '"x"i', '"\\d"', '"', "'", "/x/", "//", "#"),
    *(":", "|", "->", "(", ")", "[", "]", "?", "*", "+", "~", "2", "-1", "..", "{", "}", ",", ".", "%import"),
    *("\n", "\n", "\n ", "\r\n", "\t", " ", "\0", "é", "a: ", 'a: "x"\n'),
)


@given(st.one_of(st.lists(st.sampled_from(WORDS), max_size=12).map("".join), st.text(max_size=12)))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        grammar = Grammar.parse(text)
    except GrammarError as error:
        assert str(error)
    else:
        assert Grammar.parse(str(grammar)) == grammar
