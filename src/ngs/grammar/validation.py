"""Rules that could not be written down, never be used, or would never end: refused with the remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ngs.errors import GrammarError
from ngs.grammar.rules import Nonterminal, Rule, Symbol, Terminal

_LOWER = "_?[a-z][_a-z0-9]*"
_UPPER = "_?[A-Z][_A-Z0-9]*"


def check_rules(rules: Sequence[Rule], start: Nonterminal) -> None:
    """Raise a GrammarError for rules that Lark's notation cannot express, and for undefined, repeated,
    unreachable, unproductive or cyclic ones."""
    _check_names(rules)
    _check_symbols(rules)
    _check_named_terminals(rules)
    _check_one_form(rules)
    _check_defined(rules)
    _check_distinct(rules)
    _check_reachable(rules, start)
    _check_productive(rules)
    _check_acyclic(rules)


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


def _where(rule: Rule) -> str:
    return f"line {rule.line}: rule `{rule.head}`" if rule.line else f"rule `{rule.head}`"


def _check_names(rules: Sequence[Rule]) -> None:
    for rule in rules:
        for name in (rule.head, *rule.body):
            if isinstance(name, Nonterminal) and not re.fullmatch(f"{_LOWER}|{_UPPER}", name.name):
                raise GrammarError(
                    f"{_where(rule)} has a name that cannot be written down: {name.name!r}; use letters a-z, "
                    f"digits and `_`, all lower-case, or all upper-case for a named terminal"
                )
        if rule.alias is not None and not re.fullmatch(_LOWER, rule.alias):
            raise GrammarError(
                f"{_where(rule)} has a function name that cannot be written down: {rule.alias!r}; "
                f"use lower-case letters a-z, digits and `_`"
            )


def _check_symbols(rules: Sequence[Rule]) -> None:
    for rule in rules:
        for symbol in rule.body:
            if symbol == Terminal(""):
                raise GrammarError(
                    f'{_where(rule)} has the empty symbol ""; delete it: '
                    f"an alternative without symbols is written as nothing at all"
                )
            if re.search(r"[\ud800-\udfff]", symbol.name):
                raise GrammarError(
                    f"{_where(rule)} has the symbol {symbol.name!a}, which is half of a character; "
                    f"write the whole character"
                )


def _check_named_terminals(rules: Sequence[Rule]) -> None:
    for rule in rules:
        if not rule.head.name.isupper():
            continue
        plain = [isinstance(symbol, Terminal) or symbol.name.isupper() for symbol in rule.body] == [True]
        if not plain or rule.alias or rule.keeps_terminals:
            raise GrammarError(
                f"{_where(rule)} is a named terminal (upper-case name), so each alternative is one symbol or "
                f"one other named terminal, not `{rule}`; write it as a rule (lower-case name)"
            )


def _check_one_form(rules: Sequence[Rule]) -> None:
    first: dict[Nonterminal, Rule] = {}
    for rule in rules:
        if rule.keeps_terminals != first.setdefault(rule.head, rule).keeps_terminals:
            raise GrammarError(
                f"{_where(rule)} keeps its terminals in some alternatives only; "
                f"set `keeps_terminals` in all of them or in none"
            )


def _check_defined(rules: Sequence[Rule]) -> None:
    heads = {rule.head for rule in rules}
    for rule in rules:
        for symbol in rule.body:
            if isinstance(symbol, Nonterminal) and symbol not in heads:
                raise GrammarError(
                    f"{_where(rule)} uses `{symbol}`, which no rule defines; "
                    f'add `{symbol}: ...`, or put it in quotes ("{symbol}") if it is a symbol to be seen'
                )


def _check_distinct(rules: Sequence[Rule]) -> None:
    seen: dict[Rule, Rule] = {}
    for rule in rules:
        if rule in seen:
            first = f" on line {seen[rule].line}" if seen[rule].line else ""
            raise GrammarError(
                f"{_where(rule)} repeats the alternative `{rule}` given{first}; delete one of the two"
            )
        seen[rule] = rule


def _check_reachable(rules: Sequence[Rule], start: Nonterminal) -> None:
    reached, agenda = {start}, [start]
    while agenda:
        head = agenda.pop()
        found = {s for rule in rules if rule.head == head for s in rule.body if isinstance(s, Nonterminal)}
        agenda += found - reached
        reached |= found
    for rule in rules:
        if rule.head not in reached:
            raise GrammarError(
                f"{_where(rule)} cannot be reached from `{start}`; use it in another rule or delete it"
            )


def _check_productive(rules: Sequence[Rule]) -> None:
    productive = _closure(rules, lambda symbol, known: isinstance(symbol, Terminal) or symbol in known)
    for rule in rules:
        if rule.head not in productive:
            raise GrammarError(
                f"{_where(rule)} never ends: each of its alternatives needs a rule that never ends; "
                f"add an alternative of `{rule.head}` that can stop"
            )
        for symbol in rule.body:
            if isinstance(symbol, Nonterminal) and symbol not in productive:
                raise GrammarError(
                    f"{_where(rule)} uses `{symbol}`, which never ends; "
                    f"add an alternative of `{symbol}` that can stop"
                )


def _check_acyclic(rules: Sequence[Rule]) -> None:
    """Refuse A =>+ A: it gives every sentence infinitely many trees."""
    empty = nullable(rules)
    units: dict[Nonterminal, dict[Nonterminal, Rule]] = {}
    for rule in rules:
        for k, symbol in enumerate(rule.body):
            rest = rule.body[:k] + rule.body[k + 1 :]
            if isinstance(symbol, Nonterminal) and all(other in empty for other in rest):
                units.setdefault(rule.head, {}).setdefault(symbol, rule)
    for head in units:
        cycle = _path(units, head, head)
        if cycle:
            shown = " -> ".join([head.name, *(symbol.name for symbol, _ in cycle)])
            raise GrammarError(
                f"{_where(cycle[0][1])} can turn into itself without adding a symbol ({shown}), "
                f"so a sentence would have endlessly many trees; delete one of these alternatives"
                + (" or make its other parts unable to be empty" if len(cycle[0][1].body) > 1 else "")
            )


def _path(
    units: Mapping[Nonterminal, Mapping[Nonterminal, Rule]], source: Nonterminal, goal: Nonterminal
) -> list[tuple[Nonterminal, Rule]]:
    """The steps of a unit derivation source =>+ goal; empty where there is none."""
    paths: dict[Nonterminal, list[tuple[Nonterminal, Rule]]] = {source: []}
    agenda = [source]
    while agenda:
        head = agenda.pop(0)
        for symbol, rule in units.get(head, {}).items():
            step = [*paths[head], (symbol, rule)]
            if symbol == goal:
                return step
            if symbol not in paths:
                paths[symbol] = step
                agenda.append(symbol)
    return []
