"""The tree of one sentence against all trees of all sentences."""

import re
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import assume, given

from ngs.errors import ParseError
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import TreeAlgebra, built, fold, normal_form
from ngs.grammar.rules import Rule, Terminal
from ngs.grammar.tree import Leaf, Sentence, Tree, leaves, sentence_of
from ngs.parsing.sentence import find_tree, parse, recognises
from tests.enumeration import derivations
from tests.grammars import ARITHMETIC, DANGLING_ELSE, MOST, NAMED, PALINDROMES, grammars_and_lengths

Case = tuple[Grammar, int]


class Sizes:
    """Counts symbols and rules, renaming ones too."""

    def leaf(self, position: int, symbol: str) -> tuple[int, int]:
        return 1, 0

    def node(self, rule: Rule, children: tuple[tuple[int, int], ...]) -> tuple[int, int]:
        return sum(symbols for symbols, _ in children), 1 + sum(rules for _, rules in children)


def without_empty_rules(grammar: Grammar) -> Grammar:
    filler = (Terminal("a"),)
    return Grammar(tuple(dict.fromkeys(replace(rule, body=rule.body or filler) for rule in grammar.rules)))


def trees_by_sentence(grammar: Grammar, length: int) -> dict[Sentence, list[Tree]]:
    """In the order of the rules, then of the lengths of their parts."""
    found: dict[Sentence, list[Tree]] = {}
    for tree in derivations(grammar, length):
        found.setdefault(sentence_of(tree), []).append(tree)
    return found


def check_all_words(grammar: Grammar, length: int) -> None:
    wanted = trees_by_sentence(grammar, length)
    for word in product(grammar.symbols, repeat=length):
        tree = find_tree(grammar, word)
        assert recognises(grammar, word) == (tree is not None) == (word in wanted)
        if tree is None:
            with pytest.raises(ParseError, match=f"{re.escape(' '.join(word))}' is not a sentence"):
                parse(grammar, word)
        else:
            assert tree in wanted[word]
            assert parse(grammar, word) == tree
            assert list(leaves(tree)) == [Leaf(position, symbol) for position, symbol in enumerate(word)]


@given(grammars_and_lengths(4))
def test_a_word_has_a_tree_if_it_is_in_the_random_language(case: Case) -> None:
    """The same whatever was parsed before, and any algebra sees its derivation."""
    check_all_words(*case)
    grammar, length = case
    words = list(trees_by_sentence(grammar, length))
    before = [parse(grammar, word) for word in words]
    for word, tree in zip(words, before, strict=True):
        (derivation,) = normal_form(grammar).derivations(word, most=1)
        symbols, rules = built(derivation, Sizes())
        assert symbols == length
        assert rules >= fold(tree, Sizes())[1]  # the tree leaves renaming rules out
        assert built(derivation, TreeAlgebra()) == tree
    normal_form.cache_clear()
    copy = Grammar.parse(str(grammar))
    assert [parse(copy, word) for word in reversed(words)] == before[::-1]


@pytest.mark.parametrize("grammar", NAMED.values(), ids=NAMED)
def test_a_word_has_a_tree_if_it_is_in_the_named_language(grammar: Grammar) -> None:
    for length in range(1, 5):
        check_all_words(grammar, length)


@given(grammars_and_lengths(4))
def test_of_several_trees_the_first_rule_and_the_shortest_left_part_decide(case: Case) -> None:
    grammar, length = without_empty_rules(case[0]), case[1]
    assume(normal_form(grammar).count(length) <= MOST)
    for word, (first, *_) in trees_by_sentence(grammar, length).items():
        assert parse(grammar, word) == first


def test_the_order_of_the_rules_decides_to_which_if_an_else_belongs() -> None:
    words = ["if", "c", "if", "c", "s", "else", "s"]
    assert str(parse(DANGLING_ELSE, words)) == "when(if, c, choose(if, c, s, else, s))"
    when, choose, end = DANGLING_ELSE.rules
    other = Grammar((choose, when, end))
    assert str(parse(other, words)) == "choose(if, c, when(if, c, s), else, s)"


def test_empty_parts_are_the_last_resort() -> None:
    grammar = Grammar.parse("""
        s: a a
        a: "x" -> one | "x" "x" -> two | -> none
    """)
    assert str(parse(grammar, "xx")) == "s(one(x), one(x))"  # not s(none(), two(x, x))
    assert str(parse(grammar, "x")) == "s(none(), one(x))"  # the shortest left part
    assert str(parse(grammar, "xxx")) == "s(one(x), two(x, x))"


def test_products_bind_tighter_and_equals_group_to_the_left() -> None:
    assert str(parse(ARITHMETIC, "1-2-0")) == "sub(sub(1, -, 2), -, 0)"
    assert str(parse(ARITHMETIC, "1+2*0")) == "add(1, +, mul(2, *, 0))"
    assert str(parse(ARITHMETIC, "1/2*0-1")) == "sub(mul(div(1, /, 2), *, 0), -, 1)"


def test_text_lists_and_tuples_are_sentences() -> None:
    assert (
        parse(ARITHMETIC, "1+2") == parse(ARITHMETIC, ["1", "+", "2"]) == parse(ARITHMETIC, ("1", "+", "2"))
    )


def test_a_word_outside_the_language_is_shown() -> None:
    wanted = "'1 + +' is not a sentence of the grammar: position 2: '+' cannot come here: expected 0 1 2"
    with pytest.raises(ParseError, match=f"^{re.escape(wanted)}$"):
        parse(ARITHMETIC, "1++")
    with pytest.raises(ParseError, match=r"'1 \+' .* it is not complete: expected 0 1 2$"):
        parse(ARITHMETIC, "1+")


def test_a_symbol_outside_the_grammar_is_named() -> None:
    wanted = "the grammar has no symbol '7'; its symbols are + - * / 0 1 2"
    with pytest.raises(ParseError, match=f"^{re.escape(wanted)}$"):
        parse(ARITHMETIC, "1+7")
    assert not recognises(ARITHMETIC, "1+7")
    assert find_tree(ARITHMETIC, "1+7") is None


@pytest.mark.parametrize("grammar", [ARITHMETIC, PALINDROMES])
def test_the_empty_sentence_has_no_tree(grammar: Grammar) -> None:
    assert not recognises(grammar, ())
    with pytest.raises(ParseError, match=r"^'' is not a sentence"):
        parse(grammar, ())


def test_long_sentences_are_parsed() -> None:
    tree = parse(ARITHMETIC, "1+" * 100 + "1")
    assert len(list(leaves(tree))) == 201
