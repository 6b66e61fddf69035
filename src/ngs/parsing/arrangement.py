"""Arranging given symbols, all of them and no others, into a sentence: step by step, many at once.

An autoregressive network that is told which symbols a sentence is made of (a pointer network) chooses one
after another. A language of arrangements says which it may choose: those that leave the rest arrangeable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

import ngs.kernels
from ngs.grammar.padding import PAD


class Arranging(Protocol):
    """A language in which multisets of symbols are arranged, where what is left and what came last say all.

    `prefix_automaton(grammar).legal_from` answers the same question for any grammar and one prefix.
    """

    def arranges(self, counts: Tensor) -> Tensor:
        """bool [row]: whether multisets [row, symbol] can be arranged; all else takes it for granted."""

    def legal(self, left: Tensor, last: Tensor) -> Tensor:
        """bool [..., symbol]: what may come next; false throughout when nothing is left.

        `left` [..., symbol] says how many of each symbol are not placed yet, `last` [...] which was placed
        last, PAD at the beginning.
        """


@dataclass(frozen=True)
class Rule:
    """A language as kernels on a GPU know it."""

    function: Any
    """A Triton function of the facts [1, symbol] and what is left [row, symbol] of every symbol, and of the
    facts of the last one [row, 1], -1 at the beginning: whether each may come next [row, symbol]."""
    facts: Tensor
    """int32 [symbol]: what the function knows of each"""


@runtime_checkable
class HasRule(Protocol):
    """A language that says to kernels what its `legal` says."""

    def rule(self, symbols: int, device: torch.device) -> Rule: ...


def rule_of(language: Arranging, counts: Tensor) -> Rule | None:
    """The rule for multisets [row, symbol] where a kernel can follow it; elsewhere none."""
    if not (ngs.kernels.available(counts) and isinstance(language, HasRule)):
        return None
    return language.rule(counts.shape[1], counts.device)


class AnyOrder:
    """No grammar: every order of the symbols. The policy of NS-RL (Li et al. 2020, Sec. 4.2)."""

    def arranges(self, counts: Tensor) -> Tensor:
        return (counts >= 0).all(1)

    def legal(self, left: Tensor, last: Tensor) -> Tensor:
        return left > 0

    def rule(self, symbols: int, device: torch.device) -> Rule:
        from ngs.kernels.legal_symbols import any_order

        return Rule(any_order, torch.zeros(symbols, dtype=torch.int32, device=device))


def without(left: Tensor, columns: Tensor) -> Tensor:
    """`left` [row, symbol] after taking one symbol each [row]; PAD takes nothing."""
    taken = (columns != PAD).to(left.dtype)
    return left.scatter_add(1, columns.clamp(min=0)[:, None], -taken[:, None])


def legal_along(language: Arranging, counts: Tensor, columns: Tensor) -> Tensor:
    """bool [row, time, symbol]: what might have come at each step of the sentences `columns` [row, time]."""
    rule = rule_of(language, counts)
    if rule is not None:
        from ngs.kernels import legal_symbols

        return legal_symbols.legal_along(rule.function, rule.facts, counts, columns)
    before = torch.nn.functional.pad(columns, (1, 0), value=PAD)[:, :-1]
    placed = torch.zeros((*columns.shape, counts.shape[1]), dtype=counts.dtype, device=counts.device)
    placed.scatter_(2, before.clamp(min=0)[..., None], (before != PAD).to(counts.dtype)[..., None])
    return language.legal(counts[:, None] - placed.cumsum(1), before)


@dataclass(frozen=True)
class Enumerated:
    """Every arrangement of some multisets."""

    rows: Tensor
    """[sentence]: the multiset that it arranges, in rising order"""
    columns: Tensor
    """[sentence, time]: PAD behind the end"""
    complete: Tensor
    """bool [multiset]: false where there are more than were asked for; those have none here"""


def arrangements(language: Arranging, counts: Tensor, at_most: int) -> Enumerated:
    """All arrangements of each multiset `counts` [multiset, symbol] that has no more than `at_most`."""
    device = counts.device
    rows = torch.arange(len(counts), device=device)
    left, last = counts, rows.new_full(rows.shape, PAD)
    complete = torch.ones(len(counts), dtype=torch.bool, device=device)
    columns = rows.new_empty((len(counts), 0))
    for _ in range(int(counts.sum(1).max()) if len(counts) else 0):
        legal = language.legal(left, last)
        # Every legal prefix can be completed, so their number never falls: too many is too many for good.
        ways = rows.new_zeros(len(counts))
        ways.index_add_(0, rows, legal.sum(1).clamp(min=1))
        complete &= ways <= at_most
        stays = complete[rows]
        over = ~legal.any(1)
        # A finished sentence goes on with PAD, as one more symbol behind the others.
        choices = torch.cat([legal, over[:, None]], 1) & stays[:, None]
        parents, following = choices.nonzero(as_tuple=True)
        last = following.masked_fill(following == legal.shape[1], PAD)
        left, rows = without(left[parents], last), rows[parents]
        columns = torch.cat([columns[parents], last[:, None]], 1)
    return Enumerated(rows, columns, complete)
