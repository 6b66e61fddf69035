"""The grammars the tests share: named ones, and a strategy for random ones."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeVar

import torch
from hypothesis import assume, example
from hypothesis import strategies as st
from torch import Tensor

from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import normal_form
from ngs.grammar.rules import Nonterminal, Rule, Symbol, Terminal
from ngs.grammar.validation import nullable

ARITHMETIC = Grammar.parse("""
    expr: expr "+" term -> add
        | expr "-" term -> sub
        | term
    term: term "*" digit -> mul
        | term "/" digit -> div
        | digit
    digit: "0" | "1" | "2"
""")

# "if c if c s else s": the else belongs to either if.
DANGLING_ELSE = Grammar.parse("""
    statement: "if" "c" statement -> when
        | "if" "c" statement "else" statement -> choose
        | "s"
""")

PALINDROMES = Grammar.parse("""
    palindrome: "a" palindrome "a" | "b" palindrome "b" | "a" | "b" |
""")

# One sentence a^n of each length, with the Catalan number C(n - 1) of trees.
CATALAN = Grammar.parse("""
    s: s s -> pair
        | "a"
""")

# Empty lists, empty elements: nullable on both sides of a recursion.
NULLABLE_LIST = Grammar.parse("""
    list: "(" items ")"
    items: | items "," item | item
    item: sign "1"
    sign: | "-"
""")

RIGHT_LINEAR = Grammar.parse("""
    even: "0" even | "1" odd |
    odd: "0" odd | "1" even
""")

# Calls of functions in prefix notation, with types.
PREFIX = Grammar.parse("""
    answer: "exist" objects
        | number
        | "equal" number number
    number: "count" objects
    objects: filter objects
        | "union" objects objects
        | "all"
    filter: "red" | "large"
""")

# The same with more functions, in which filters have an order: 40 symbols.
LARGE_PREFIX = Grammar.parse("""
    answer: "exist" set | number | query | compare number number
        | "equal_size" size size
        | "equal_color" color color
        | "equal_material" material material
        | "equal_shape" shape shape
    query: size | color | material | shape
    size: "query_size" object
    color: "query_color" object
    material: "query_material" object
    shape: "query_shape" object
    compare: "equal_integer" | "less_than" | "greater_than"
    number: "count" set
    object: "unique" set
    set: a_shape set_1 | a_material set_2 | a_color set_3 | a_size base | base
    set_1: a_material set_2 | a_color set_3 | a_size base | base
    set_2: a_color set_3 | a_size base | base
    set_3: a_size base | base
    base: "all" | relate object | "union" set set | "intersect" set set
    relate: "left" | "right" | "front" | "behind"
        | "same_size" | "same_color" | "same_material" | "same_shape"
    a_size: "small" | "large"
    a_color: "gray" | "red" | "blue" | "green" | "brown" | "purple" | "cyan" | "yellow"
    a_material: "rubber" | "metal"
    a_shape: "cube" | "sphere" | "cylinder"
""")

MOST = 1_000
"""Derivations that are worth building one by one."""

NAMED = {
    "arithmetic": ARITHMETIC,
    "dangling else": DANGLING_ELSE,
    "palindromes": PALINDROMES,
    "catalan": CATALAN,
    "nullable list": NULLABLE_LIST,
    "right-linear": RIGHT_LINEAR,
    "prefix": PREFIX,
}


Test = TypeVar("Test", bound=Callable[..., None])


def every_named(*others: object) -> Callable[[Test], Test]:
    """Have a property of a grammar, and of these `others`, tested for all named grammars too."""
    return lambda test: reduce(lambda test, grammar: example(grammar, *others)(test), NAMED.values(), test)


@st.composite
def grammars(draw: st.DrawFn) -> Grammar:
    """A random valid grammar: 2-4 nonterminals, 2-4 symbols, bodies of 0-3 symbols.

    Nothing is drawn in vain: alternatives that would break validity are left out, and a nonterminal
    that never ends is given one more alternative. A unit derivation may only lead from a nonterminal
    to a later one; since any of them can be the start, this loses no acyclic grammar but for names.
    """
    terminals = [Terminal(name) for name in "abcd"[: draw(st.integers(2, 4))]]
    heads = [Nonterminal(name) for name in ("p", "q", "_r", "t")[: draw(st.integers(2, 4))]]
    rules = [rule for head in heads for rule in draw(_alternatives(head, [*terminals, *heads]))]
    rules = _without_cycles(rules, heads)
    for head in heads:
        if head not in _ending(rules):
            rules.append(Rule(head, (draw(st.sampled_from(terminals)),)))
    start = draw(st.sampled_from([head for head in heads if not head.inlined]))
    reached = reached_from(start, rules)
    rules = sorted((rule for rule in rules if rule.head in reached), key=lambda rule: rule.head != start)
    if not any(isinstance(symbol, Terminal) for rule in rules for symbol in rule.body):
        rules.append(Rule(start, (terminals[0],)))
    return Grammar(tuple(rules))


@st.composite
def grammars_and_lengths(draw: st.DrawFn, longest: int) -> tuple[Grammar, int]:
    """A random grammar and a length at which it has few enough derivations to build them one by one."""
    grammar, length = draw(grammars()), draw(st.integers(1, longest))
    assume(normal_form(grammar).count(length) <= MOST)
    return grammar, length


def score_tables(
    grammar: Grammar, time: int, *, batch: int | None = None, impossible: float = 0.0
) -> st.SearchStrategy[Tensor]:
    """Log-normalised float64 scores [time, symbol], or [batch, time, symbol].

    The scale varies from flat to peaked; each entry has probability zero with chance `impossible`,
    but for one symbol of each row.
    """
    shape = (time, len(grammar.symbols)) if batch is None else (batch, time, len(grammar.symbols))

    def table(seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        scale = 10 ** (2 * torch.rand((), generator=generator, dtype=torch.float64) - 1)
        scores = scale * torch.randn(shape, generator=generator, dtype=torch.float64)
        excluded = torch.rand(shape, generator=generator, dtype=torch.float64) < impossible
        excluded &= scores < scores.amax(-1, keepdim=True)
        return scores.masked_fill(excluded, -torch.inf).log_softmax(-1)

    return st.integers(0, 2**32 - 1).map(table)


def _alternatives(head: Nonterminal, symbols: Sequence[Symbol]) -> st.SearchStrategy[list[Rule]]:
    bodies = st.lists(st.sampled_from(symbols), max_size=3).map(tuple)
    aliases = st.sampled_from([None, None, "f", "g"])
    rule = st.builds(Rule, st.just(head), bodies, aliases)
    return st.lists(rule, min_size=1, max_size=4, unique=True)


def _without_cycles(rules: list[Rule], heads: Sequence[Nonterminal]) -> list[Rule]:
    """The rules whose unit derivations lead to later nonterminals only."""
    empty = nullable(rules)

    def forward(rule: Rule) -> bool:
        units = (
            symbol
            for k, symbol in enumerate(rule.body)
            if all(other in empty for other in rule.body[:k] + rule.body[k + 1 :])
        )
        return all(isinstance(unit, Terminal) or heads.index(unit) > heads.index(rule.head) for unit in units)

    return [rule for rule in rules if forward(rule)]


def _ending(rules: Sequence[Rule]) -> set[Symbol]:
    """The symbols that derive some sequence of terminals."""
    ended: set[Symbol] = {symbol for rule in rules for symbol in rule.body if isinstance(symbol, Terminal)}
    for _ in rules:
        ended |= {rule.head for rule in rules if ended.issuperset(rule.body)}
    return ended


def reached_from(start: Nonterminal, rules: Sequence[Rule]) -> list[Nonterminal]:
    """The nonterminals that `start` leads to, with itself first."""
    reached = [start]
    for head in reached:  # which grows on the way
        used = (symbol for rule in rules if rule.head == head for symbol in rule.body)
        reached += [s for s in dict.fromkeys(used) if isinstance(s, Nonterminal) and s not in reached]
    return reached
