"""Rules that could not be written down, never be used, or would never end: refused with the remedy."""

import re
from collections.abc import Callable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import chain

from ngs.errors import GrammarError
from ngs.grammar.rules import Nonterminal, Rule, Symbol, Terminal

_LOWER = "_?[a-z][_a-z0-9]*"
_UPPER = "_?[A-Z][_A-Z0-9]*"

Faults = Iterator[tuple[Rule, str]]  # rules, and what is wrong with each


def check_rules(rules: Sequence[Rule], start: Nonterminal) -> None:
    """Raise a GrammarError for rules that Lark's notation cannot express, and for undefined, repeated,
    unreachable, unproductive or cyclic ones."""
    checks = (
        _names,
        _symbols,
        _named_terminals,
        _forms,
        _undefined,
        _repeated,
        _unreachable,
        _endless,
        _cyclic,
    )
    for rule, fault in chain.from_iterable(check(rules, start) for check in checks):
        where = f"line {rule.line}: " if rule.line else ""
        raise GrammarError(f"{where}rule `{rule.head}` {fault}")


def nullable(rules: Sequence[Rule]) -> frozenset[Nonterminal]:
    """The nonterminals that derive the empty sequence."""
    return frozenset(_closure(rules, lambda symbol, known: symbol in known))


def _closure(rules: Sequence[Rule], holds: Callable[[Symbol, set[Nonterminal]], bool]) -> set[Nonterminal]:
    """The least set of heads one of whose bodies holds symbol by symbol, given the set."""
    known: set[Nonterminal] = set()
    while True:
        new = {rule.head for rule in rules if all(holds(symbol, known) for symbol in rule.body)} - known
        if not new:
            return known
        known |= new


def _nonterminals(rule: Rule) -> list[Nonterminal]:
    return [symbol for symbol in rule.body if isinstance(symbol, Nonterminal)]


def _names(rules: Sequence[Rule], _: Nonterminal) -> Faults:
    for rule in rules:
        for name in (rule.head, *_nonterminals(rule)):
            if not re.fullmatch(f"{_LOWER}|{_UPPER}", name.name):
                yield (
                    rule,
                    f"has a name that cannot be written down: {name.name!r}; use letters a-z, "
                    f"digits and `_`, all lower-case, or all upper-case for a named terminal",
                )
        if rule.alias is not None and not re.fullmatch(_LOWER, rule.alias):
            yield (
                rule,
                f"has a function name that cannot be written down: {rule.alias!r}; "
                f"use lower-case letters a-z, digits and `_`",
            )


def _symbols(rules: Sequence[Rule], _: Nonterminal) -> Faults:
    for rule in rules:
        for symbol in rule.body:
            if symbol == Terminal(""):
                needed = "an alternative without symbols is written as nothing at all"
                yield rule, f'has the empty symbol ""; delete it: {needed}'
            if re.search(r"[\ud800-\udfff]", symbol.name):
                half = f"has the symbol {symbol.name!a}, which is half of a character"
                yield rule, f"{half}; write the whole character"


def _named_terminals(rules: Sequence[Rule], _: Nonterminal) -> Faults:
    for rule in rules:
        plain = [isinstance(symbol, Terminal) or symbol.name.isupper() for symbol in rule.body] == [True]
        if rule.head.name.isupper() and (not plain or rule.alias or rule.keeps_terminals):
            yield (
                rule,
                f"is a named terminal (upper-case name), so each alternative is one symbol or "
                f"one other named terminal, not `{rule}`; write it as a rule (lower-case name)",
            )


def _forms(rules: Sequence[Rule], _: Nonterminal) -> Faults:
    first: dict[Nonterminal, Rule] = {}
    for rule in rules:
        if rule.keeps_terminals != first.setdefault(rule.head, rule).keeps_terminals:
            remedy = "set `keeps_terminals` in all of them or in none"
            yield rule, f"keeps its terminals in some alternatives only; {remedy}"


def _undefined(rules: Sequence[Rule], _: Nonterminal) -> Faults:
    heads = {rule.head for rule in rules}
    for rule in rules:
        for symbol in _nonterminals(rule):
            if symbol not in heads:
                remedy = f'put it in quotes ("{symbol}") if it is a symbol to be seen'
                yield rule, f"uses `{symbol}`, which no rule defines; add `{symbol}: ...`, or {remedy}"


def _repeated(rules: Sequence[Rule], _: Nonterminal) -> Faults:
    seen: dict[Rule, int] = {}
    for rule in rules:
        if rule in seen:
            first = f" on line {seen[rule]}" if seen[rule] else ""
            yield rule, f"repeats the alternative `{rule}` given{first}; delete one of the two"
        seen[rule] = rule.line


def _unreachable(rules: Sequence[Rule], start: Nonterminal) -> Faults:
    reached = [start]
    for head in reached:  # which grows on the way
        used = {symbol for rule in rules if rule.head == head for symbol in _nonterminals(rule)}
        reached += used.difference(reached)
    for rule in rules:
        if rule.head not in reached:
            yield rule, f"cannot be reached from `{start}`; use it in another rule or delete it"


def _endless(rules: Sequence[Rule], _: Nonterminal) -> Faults:
    productive = _closure(rules, lambda symbol, known: isinstance(symbol, Terminal) or symbol in known)
    for rule in rules:
        if rule.head not in productive:
            fault = "never ends: each of its alternatives needs a rule that never ends"
            yield rule, f"{fault}; add an alternative of `{rule.head}` that can stop"
        for symbol in _nonterminals(rule):
            if symbol not in productive:
                remedy = f"add an alternative of `{symbol}` that can stop"
                yield rule, f"uses `{symbol}`, which never ends; {remedy}"


def _cyclic(rules: Sequence[Rule], _: Nonterminal) -> Faults:
    """A =>+ A gives every sentence infinitely many trees."""
    empty = nullable(rules)
    units: dict[Nonterminal, dict[Nonterminal, Rule]] = {}
    for rule in rules:
        for k, symbol in enumerate(rule.body):
            rest = rule.body[:k] + rule.body[k + 1 :]
            if isinstance(symbol, Nonterminal) and empty.issuperset(rest):
                units.setdefault(rule.head, {}).setdefault(symbol, rule)
    try:
        TopologicalSorter(units).prepare()
    except CycleError as error:
        cycle = error.args[1][:0:-1]  # it ends where it begins, and each part comes before its whole
    else:
        return
    first = min(range(len(cycle)), key=lambda k: [*units].index(cycle[k]))
    cycle = cycle[first:] + cycle[: first + 1]
    rule = units[cycle[0]][cycle[1]]
    yield (
        rule,
        f"can turn into itself without adding a symbol ({' -> '.join(map(str, cycle))}), "
        f"so a sentence would have endlessly many trees; delete one of these alternatives"
        + (" or make its other parts unable to be empty" if len(rule.body) > 1 else ""),
    )
