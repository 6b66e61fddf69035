"""A grammar is a value that prints in Lark's notation and reads back as itself."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngs.errors import GrammarError
from ngs.grammar.grammar import Grammar
from ngs.grammar.rules import Nonterminal, Rule, Symbol, Terminal
from tests.grammars import NAMED, grammars

HAND_PICKED = [
    *map(str, NAMED.values()),
    "a:",
    'a: | "x" -> f | "y" "z" |  -> g',
    'a: "x" b |\nb: | "y"',
    'a: "x"* b+ ("," b)* ["y"]\nb: "z"~2..3',
    '!a: "(" a+ ")" | _b\n!_b: "x"+ | "y" -> f',
    r'a: "\"" | "\\" | "\\\"" | "\n\r\t\b\f\x00\x7f" | "\\n" | "\'"',
    'a: "×" | "÷" | "😀" | "é" | "e\u0301" | "\u2028" | "\x85" | "\ufeff" | "\xa0"',
    'a: " " | "//" | "#" | "|" | "->" | ":" | "/x/" | "x\'" | "%import" | "i" | "a b"',
    'start: D _C d2_\nD: "0".."9" | E\nE: "e"\n_C: ","\nd2_: "x"',
]


@pytest.mark.parametrize("text", HAND_PICKED)
def test_reads_back_as_itself(text: str) -> None:
    grammar = Grammar.parse(text)
    assert Grammar.parse(str(grammar)) == grammar
    assert str(Grammar.parse(str(grammar))) == str(grammar)
    assert hash(Grammar.parse(str(grammar))) == hash(grammar)


LOWER = st.from_regex("_?[a-z][_a-z0-9]{0,4}", fullmatch=True)
UPPER = st.from_regex("_?[A-Z][_A-Z0-9]{0,4}", fullmatch=True)
SYMBOLS = st.one_of(
    st.text(min_size=1, max_size=4),
    st.text(alphabet="\"\\'\n/#|", min_size=1, max_size=4),
).map(Terminal)


@st.composite
def written_strangely(draw: st.DrawFn) -> Grammar:
    """A valid grammar with any names, aliases and symbols that can be written, its rules shuffled.

    The first alternative of each rule leads to the next rule, the last one's to the named terminals:
    all are reached, and all end. Every body begins with a symbol or is empty: none is cyclic.
    """
    lower = st.lists(LOWER.filter(lambda name: name != "start"), min_size=1, max_size=4, unique=True)
    names = draw(lower | lower.map(lambda names: ["start", *names]))
    heads = [Nonterminal(name) for name in names]
    named = [Nonterminal(name) for name in draw(st.lists(UPPER, max_size=2, unique=True))]
    rests: list[tuple[Symbol, ...]] = [*((later,) for later in heads[1:]), tuple(named)]
    rules = []
    for head, rest in zip(heads, rests, strict=True):
        more = st.lists(SYMBOLS | st.sampled_from(heads + named), min_size=1, max_size=4)
        bodies = st.builds(lambda symbol, more: (symbol, *more), SYMBOLS, more) | st.just(())
        keeps = draw(st.booleans())
        rules.append(Rule(head, (draw(SYMBOLS), *rest), None, keeps))
        others = st.builds(Rule, st.just(head), bodies, LOWER | st.none(), st.just(keeps))
        rules += draw(st.lists(others, max_size=3))
    for head in named:
        symbols = draw(st.lists(SYMBOLS, min_size=1, max_size=3, unique=True))
        rules += [Rule(head, (symbol,)) for symbol in symbols]
    first, *rest_of_them = dict.fromkeys(rules)
    return Grammar((first, *draw(st.permutations(rest_of_them))))


@given(written_strangely() | grammars(), st.data())
def test_whatever_can_be_written_reads_back_and_rules_stand_together(
    grammar: Grammar, data: st.DataObject
) -> None:
    assert Grammar.parse(str(grammar)) == grammar
    first, *rest = grammar.rules
    mixed = Grammar((first, *data.draw(st.permutations(rest))))
    assert mixed.start == grammar.start
    assert set(mixed.rules) == set(grammar.rules)
    assert mixed.rules == tuple(rule for rules in mixed.by_head.values() for rule in rules)


def test_prints_as_it_would_be_written() -> None:
    grammar = Grammar.parse(
        '!list: "(" item ("," item)* ")" | "(" ")" -> nil\nitem: | DIGIT\nDIGIT: "0".."1"'
    )
    assert str(grammar) == (
        '!list: "(" item _list_1 ")"\n'
        '     | "(" item ")"\n'
        '     | "(" ")" -> nil\n'
        '!_list_1: "," item\n'
        '        | _list_1 "," item\n'
        "item: \n"
        "    | DIGIT\n"
        'DIGIT: "0"\n'
        '     | "1"\n'
    )
    assert Grammar.parse(str(grammar)) == grammar


def test_lines_do_not_count_as_difference() -> None:
    assert Grammar.parse('a: "x"\n | "y"') == Grammar.parse('\n\n\na: "x" | "y"')
    assert Grammar.parse('a: "x" | "y"') != Grammar.parse('a: "y" | "x"')


def test_start_is_the_rule_of_that_name_or_else_the_first() -> None:
    assert Grammar.parse('a: b\nb: "x"').start == Nonterminal("a")
    assert Grammar.parse('a: "x"\nstart: a').start == Nonterminal("start")


def test_symbols_stand_in_the_order_of_first_appearance() -> None:
    grammar = Grammar.parse('a: "y" b "x"? | "y"\nb: "z" | "x"')
    assert grammar.symbols == ("y", "x", "z")
    assert grammar.encode(["z", "y"]) == [2, 0]
    assert grammar.decode([2, 0]) == ("z", "y")
    assert [grammar.symbol_id(symbol) for symbol in grammar.symbols] == [0, 1, 2]


def test_load_reads_a_file_and_names_it_in_errors(tmp_path: Path) -> None:
    path = tmp_path / "signs.lark"
    path.write_text('sign: "+" | "×"\n', encoding="utf-8")
    assert Grammar.load(path) == Grammar.load(str(path)) == Grammar.parse('sign: "+" | "×"')
    path.write_text("sign: digit\n", encoding="utf-8")
    with pytest.raises(GrammarError) as caught:
        Grammar.load(path)
    assert str(caught.value).startswith(f"{path}: line 1: rule `sign` uses `digit`")


@given(st.text(min_size=1))
def test_a_terminal_prints_as_json_does(name: str) -> None:
    assert json.loads(str(Terminal(name))) == name


def test_a_pickled_grammar_is_found_in_another_process(tmp_path) -> None:
    """String hashes differ between processes: a stored hash would make an equal grammar unequal in sets."""
    grammar = Grammar.parse('start: "a" start | "b"')
    hash(grammar)
    (tmp_path / "grammar").write_bytes(pickle.dumps(grammar))
    code = (
        "import pickle, sys; from ngs import Grammar; "
        "loaded = pickle.loads(open(sys.argv[1], 'rb').read()); "
        'print(loaded in {Grammar.parse(\'start: "a" start | "b"\')})'
    )
    command = [sys.executable, "-c", code, str(tmp_path / "grammar")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "True"
