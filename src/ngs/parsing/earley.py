"""The generalized Earley parser: the likeliest sentences of a grammar, best first over its prefixes.

Qi, Jia & Zhu 2018, "Generalized Earley parser: bridging symbolic grammars and sequence data for future
prediction". A prefix is opened while it still promises more than every other one; which symbols may open
it further is the prefix automaton's to say. This is the second, independent way to

    argmax over z in L(G) of p(z | x)

beside the chart, and it needs no segmentation: one symbol may cover several frames.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngs.errors import BudgetError, ParseError, ShapeError
from ngs.grammar.automaton import PrefixAutomaton, prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.rules import Symbol, Terminal
from ngs.grammar.tree import Sentence
from ngs.grammar.validation import nullable
from ngs.parsing.lattice import check_lattice, check_normalised

Scores = Tensor | NDArray[np.floating]
Columns = tuple[int, ...]

WIDEST = 2_000  # automaton states of one position before the bound stops telling symbols apart


@dataclass(frozen=True)
class Parsed:
    """A sentence and its log-probability."""

    sentence: Sentence
    log_prob: float


@dataclass(frozen=True)
class Segmentation:
    """A sentence over frames: `spans[k]` = (first, last + 1) are the frames of symbol k."""

    sentence: Sentence
    spans: tuple[tuple[int, int], ...]
    log_prob: float  # of the sentence: the sum over all its segmentations
    best_log_prob: float  # of `spans` alone
    opened: int  # prefixes that were opened on the way


def parse_aligned(grammar: Grammar, log_probs: Scores) -> Parsed:
    """The likeliest sentence of as many symbols as `log_probs` [time, symbol] has rows."""
    for columns, log_prob in sentences_by_probability(grammar, log_probs):
        return Parsed(grammar.decode(columns), log_prob)
    raise ParseError(_no_sentence(prefix_automaton(grammar), len(log_probs)))


def sentences_by_probability(grammar: Grammar, log_probs: Scores) -> Iterator[tuple[Columns, float]]:
    """The sentences under one lattice [time, symbol] and their log-probabilities, in falling order.

    A prefix of length t is queued under log p(prefix) + sum over u >= t of best_u, where best_u is the
    best score at u of the symbols that stand there in some sentence of this length. No completion can
    do better, so whole sentences leave the queue in order. Sentences of probability zero never come.
    """
    return _best_first(grammar, _rows(grammar, log_probs))  # the checks run now, not at the first `next`


def _best_first(grammar: Grammar, rows: list[list[float]]) -> Iterator[tuple[Columns, float]]:
    automaton, time = prefix_automaton(grammar), len(rows)
    best = [
        max((row[column] for column in columns), default=-math.inf)
        for row, columns in zip(rows, _symbols_at(grammar, time), strict=True)
    ]
    # Kept as what is lost against the bound, sum over t of best_t - row_t: equal prefixes then tie
    # exactly, and the longer goes first. Adding up scores instead, rounding would open all of them.
    queue: list[tuple[float, int, Columns, int]] = []
    if automaton.completes_in(automaton.start, time) and -math.inf not in best:
        queue.append((0.0, 0, (), automaton.start))
    while queue:
        lost, _, prefix, state = heappop(queue)
        t = len(prefix)
        if t == time:
            yield prefix, math.fsum(row[column] for row, column in zip(rows, prefix, strict=True))
        for column in automaton.legal_within(state, time - t):
            loss = best[t] - rows[t][column]
            if loss < math.inf:
                following = automaton.advance(state, column)
                heappush(queue, (lost + loss, -t, (*prefix, column), following))


@lru_cache(maxsize=256)
def _symbols_at(grammar: Grammar, length: int) -> tuple[frozenset[int], ...]:
    """For each position the symbols that stand there in some sentence of `length` symbols.

    Where the automaton branches too widely to tell, as between two kinds of nested brackets, it is all
    symbols: the bound is then looser and still a bound.
    """
    automaton = prefix_automaton(grammar)
    layer = {automaton.start} if automaton.completes_in(automaton.start, length) else set()
    found: list[frozenset[int]] = []
    for remaining in range(length, 0, -1):
        steps = {(state, column) for state in layer for column in automaton.legal_within(state, remaining)}
        layer = {automaton.advance(state, column) for state, column in steps}
        found.append(frozenset(column for _, column in steps))
        if len(layer) > WIDEST:
            return (*found, *[frozenset(range(len(grammar.symbols)))] * (remaining - 1))
    return tuple(found)


def parse_unsegmented(grammar: Grammar, log_probs: Scores, *, limit: int = 100_000) -> Segmentation:
    """The likeliest sentence over frames [frame, symbol], each symbol covering one frame or more.

    With y_t the probabilities of frame t, and l the sentence l' followed by the symbol k (Qi et al.
    2018, section 4):

        p(l | x_0..t)  = y_t(k) (p(l | x_0..t-1) + p(l' | x_0..t-1))             l ends in frame t
        p(l... | x)   <= sum over t of p(l' | x_0..t-1) y_t(k) m_t+1 ... m_T-1   l's last symbol starts in t

    where m_u bounds what one more frame adds to any sentence: to stay in a symbol a or to go on to a
    symbol b is y_u(a) + y_u(b), so m_u is the largest such sum over neighbours a, b of the language. For
    a != b that is at most the 1 of the paper. But the same symbol twice in a row is two symbols here
    ("11"), many boundaries between them give the same frames, and 2 y_u(a) may exceed 1: p(l | x) is
    then a weight rather than a probability, and 1 would be no bound.
    """
    rows = _rows(grammar, log_probs)
    check_normalised(torch.tensor(rows).reshape(len(rows), -1))
    frames = np.array(rows, dtype=np.float64).reshape(len(rows), len(grammar.symbols))
    search = _PrefixSearch(grammar, frames)
    columns, log_prob = search.best(limit)
    spans = _best_spans(rows, columns)
    best_log_prob = math.fsum(rows[t][k] for k, span in zip(columns, spans, strict=True) for t in range(*span))
    return Segmentation(grammar.decode(columns), spans, log_prob, best_log_prob, search.opened)
