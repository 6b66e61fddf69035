"""Earley columns without positions: what a prefix still wants, and where it returns to.

An item of Earley's (1970, "An efficient context-free parsing algorithm"), [j, A -> a . b], says that `b`
is still wanted and that then the items of column j that wait for A go on. What is left of the dot does not
matter any more, so here an item is

    [b, (j, A)]    `rest`: what is still wanted; `back`: the column and the nonterminal to return to

and a column is the set of its items that are not predictions.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from ngs.grammar.grammar import Grammar
from ngs.grammar.rules import Symbol, Terminal
from ngs.grammar.validation import nullable

Rest = tuple[int, ...]  # symbols by number: a terminal is its symbol id, a nonterminal is negative
Address = tuple[int, int]  # a state and the nonterminal that was started there
Item = tuple[Rest, Address]

ROOT: Address = (-1, 0)  # where the start symbol returns: the end of the sentence


@dataclass(frozen=True)
class Column:
    """What a state knows: its items, what follows each symbol, and who waits for what it started."""

    items: frozenset[Item]
    scans: Mapping[int, frozenset[Item]]
    waiting: Mapping[int, frozenset[Item]]


class Code:
    """The grammar in numbers; aliases play no role here."""

    def __init__(self, grammar: Grammar) -> None:
        heads = {head: -1 - k for k, head in enumerate(grammar.by_head)}

        def number(symbol: Symbol) -> int:
            return grammar.symbol_id(symbol.name) if isinstance(symbol, Terminal) else heads[symbol]

        self.start = heads[grammar.start]
        self.nullable = frozenset(heads[head] for head in nullable(grammar.rules))
        self.bodies: dict[int, frozenset[Rest]] = {
            heads[head]: frozenset(tuple(map(number, rule.body)) for rule in rules)
            for head, rules in grammar.by_head.items()
        }
        self.symbols = len(grammar.symbols)


def predict(code: Code, state: int, items: frozenset[Item]) -> Column:
    """The column of `items`, with what it starts."""
    callers: defaultdict[int, set[Item]] = defaultdict(set)  # nonterminal -> items after it
    readers: defaultdict[int, set[Item]] = defaultdict(set)  # terminal -> items after it
    agenda, started = list(items), set(items)
    while agenda:
        rest, back = agenda.pop()
        if not rest:
            continue
        wanted, after = rest[0], (rest[1:], back)
        (callers if wanted < 0 else readers)[wanted].add(after)
        # PREDICT: [A b, r] in k, A -> c  =>  [c, (k, A)] in k
        new = {(body, (state, wanted)) for body in code.bodies.get(wanted, ())}
        # SKIP, in k itself: [A b, (k, B)] in k, A =>* nothing  =>  [b, (k, B)] in k
        new |= {after} if wanted in code.nullable else set()
        agenda += new - started
        started |= new

    def returns(back: Address) -> set[Address]:
        # TAIL CALL: all that wait for A in k are [A, r]  =>  (k, A) stands for these r
        # (No loop: a way from (k, A) back to itself is a derivation A =>+ A, which validation refuses.)
        if back[0] != state or any(rest for rest, _ in callers[back[1]]):
            return {back}
        return {end for _, outer in callers[back[1]] for end in returns(outer)}

    def resolved(found: set[Item]) -> frozenset[Item]:
        return frozenset((rest, end) for rest, back in found for end in returns(back))

    return Column(
        items,
        {symbol: resolved(found) for symbol, found in readers.items()},
        {head: resolved(found) for head, found in callers.items()},
    )
