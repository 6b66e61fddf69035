"""Rules that could never be used, or would never end, are refused with their line and the remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ngs.errors import GrammarError
from ngs.grammar.rules import Nonterminal, Rule, Symbol, Terminal


def check_rules(rules: Sequence[Rule], start: Nonterminal) -> None:
    """Raise a GrammarError for undefined, repeated, unreachable, unproductive or cyclic rules."""
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
