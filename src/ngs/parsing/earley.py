"""The generalized Earley parser: the most likely sentences of a grammar, best first over its prefixes.

Qi, Jia & Zhu 2018, "Generalized Earley parser: bridging symbolic grammars and sequence data for future
prediction". The prefix that promises most is extended by each symbol that the prefix automaton allows. This
finds argmax over z in L(G) of p(z | x) independently of the chart, and needs no segmentation: one symbol may
cover several frames.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from itertools import chain, pairwise, product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngs.errors import BudgetError, ParseError, ShapeError
from ngs.grammar.automaton import PrefixAutomaton, prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import NormalSymbol, normal_form
from ngs.grammar.rules import Terminal
from ngs.grammar.tree import Sentence
from ngs.parsing.scores import check_normalised, check_scores

Scores = Tensor | NDArray[np.floating]
Frames = NDArray[np.float64]
Symbols = tuple[int, ...]


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
    """Return the most likely sentence of as many symbols as `log_probs` [time, symbol] has rows.

    A ParseError says where there is none.

    >>> import torch
    >>> from ngs import arithmetic_grammar
    >>> grammar = arithmetic_grammar()
    >>> log_probs = torch.full((3, 14), 0.01)
    >>> log_probs[[0, 1, 2], grammar.encode("1+2")] = 0.87
    >>> parse_aligned(grammar, log_probs.log()).sentence
    ('1', '+', '2')
    """
    for symbols, log_prob in sentences_by_probability(grammar, log_probs):
        return Parsed(grammar.decode(symbols), log_prob)
    automaton, time = prefix_automaton(grammar), len(log_probs)
    known = " ".join(str(n) for n in range(time) if automaton.completes_in(automaton.start, n))
    other = f"up to there it has the lengths {known}" if known else "all its sentences are longer"
    raise _nothing(automaton, f"length {time}", [time], other)


def sentences_by_probability(grammar: Grammar, log_probs: Scores) -> Iterator[tuple[Symbols, float]]:
    """Yield the sentences of as many symbols as `log_probs` [time, symbol] has rows, most likely first.

    Each is given as symbol ids with its log-probability. A prefix is queued under log p(prefix) + h, where h
    bounds the score of all its completions, so that whole sentences leave the queue in order. Prefixes that
    end in the same state of the automaton share one h,

        h_T = 0,    h_t(state) = max over symbols k that may follow of  log y_t(k) + h_t+1(state after k)

    Where there are too many states, as in nested brackets of several kinds, h_t is the sum of each later
    row's maximum. Sentences of probability zero are left out.

    >>> import torch
    >>> from ngs import arithmetic_grammar
    >>> log_probs = torch.tensor([[0.0] * 4 + [0.0, 0.6, 0.4] + [0.0] * 7]).log()  # a 1 or a 2
    >>> for z, log_p in sentences_by_probability(arithmetic_grammar(), log_probs):
    ...     print(arithmetic_grammar().decode(z), round(log_p, 2))
    ('1',) -0.51
    ('2',) -0.92
    """
    return _best_first(grammar, _checked(grammar, log_probs).tolist())  # checked now, not at the first next


def _best_first(grammar: Grammar, rows: list[list[float]]) -> Iterator[tuple[Symbols, float]]:
    automaton, time = prefix_automaton(grammar), len(rows)
    promises = _promises(automaton, rows)
    # Queued under what is lost against the first bound, step by step: equal prefixes then tie exactly
    # and the longest goes first. With sums of scores, rounding would open all of them.
    queue: list[tuple[float, int, Symbols, int]] = []
    if promises[0].get(automaton.start, -math.inf) > -math.inf:
        queue.append((0.0, 0, (), automaton.start))
    while queue:
        lost, _, prefix, state = heappop(queue)
        t = len(prefix)
        if t == time:
            yield prefix, math.fsum(row[symbol] for row, symbol in zip(rows, prefix, strict=True))
        for symbol in automaton.legal_within(state, time - t):
            following = automaton.advance(state, symbol)
            if t + 1 < len(promises):
                loss = promises[t][state] - (rows[t][symbol] + promises[t + 1][following])
            else:
                loss = max(rows[t]) - rows[t][symbol]
            if loss < math.inf:
                heappush(queue, (lost + loss, -t, (*prefix, symbol), following))


def _promises(automaton: PrefixAutomaton, rows: list[list[float]]) -> list[dict[int, float]]:
    """h_t(state) for each t up to the last, or up to where the states are too many."""
    layers = _layers(automaton, len(rows))
    beyond = math.fsum(map(max, rows[len(layers) - 1 :]))
    promises = [dict.fromkeys(layers[-1], beyond)]
    for t in range(len(layers) - 2, -1, -1):
        after = promises[-1]
        here = {
            state: max(
                rows[t][symbol] + after[automaton.advance(state, symbol)]
                for symbol in automaton.legal_within(state, len(rows) - t)
            )
            for state in layers[t]
        }
        promises.append(here)
    return promises[::-1]


@lru_cache(maxsize=256)
def _layers(automaton: PrefixAutomaton, length: int) -> Sequence[Mapping[int, int]]:
    """The states after 0, 1, ... symbols of the sentences of `length`, as long as they are not too many."""
    layers: list[Mapping[int, int]] = []
    with suppress(BudgetError):
        layers.extend(automaton.layers(length))  # those before the error are kept
    return layers


def parse_unsegmented(grammar: Grammar, log_probs: Scores, *, limit: int = 100_000) -> Segmentation:
    """Return the most likely sentence over frames [frame, symbol], each symbol covering one frame or more.

    With y_t the probabilities of frame t, and l the prefix l' followed by the symbol k (the parsing and
    prefix probabilities of Qi et al. 2018):

        p(l | x_0..t)  = y_t(k) (p(l | x_0..t-1) + p(l' | x_0..t-1))             l ends in frame t
        p(l... | x)   <= sum over t of p(l' | x_0..t-1) y_t(k) m_t+1 ... m_T-1   l's last symbol starts in t

    where m_u bounds what one more frame adds to any sentence: to stay in a symbol a or to go on to a
    symbol b is y_u(a) + y_u(b), so m_u is the largest such sum over neighbours a, b of the language. For
    a != b that is at most the 1 of the paper. But the same symbol twice in a row is two symbols here ("11"),
    and 2 y_u(a) may exceed 1: p(l | x) is then a weight rather than a probability. A BudgetError says where
    more than `limit` prefixes would have to be opened.

    >>> import torch
    >>> from ngs import arithmetic_grammar
    >>> log_probs = torch.full((4, 14), 0.01)
    >>> log_probs[[0, 1, 2, 3], arithmetic_grammar().encode("11+2")] = 0.87
    >>> found = parse_unsegmented(arithmetic_grammar(), log_probs.log())
    >>> found.sentence, found.spans
    (('1', '+', '2'), ((0, 2), (2, 3), (3, 4)))
    """
    scores = _checked(grammar, log_probs)
    check_normalised(scores)
    symbols, log_prob, opened = _best_segmented(grammar, scores.numpy(), limit)
    spans = _best_spans(scores.tolist(), symbols)
    pairs = zip(symbols, spans, strict=True)
    best_log_prob = math.fsum(float(scores[first:last, k].sum()) for k, (first, last) in pairs)
    return Segmentation(grammar.decode(symbols), spans, log_prob, best_log_prob, opened)


def _best_segmented(grammar: Grammar, frames: Frames, limit: int) -> tuple[Symbols, float, int]:
    """The sentence with the largest p(l | x), its logarithm, and the number of prefixes opened."""
    automaton, time = prefix_automaton(grammar), len(frames)
    tail = _tail_bound(grammar, frames)
    ended = np.full(time + 1, -np.inf)  # log p(l | x_0..t-1) at t; the empty prefix takes no frame
    ended[0] = 0.0
    queue: list[tuple[float, bool, Symbols, int, Frames]] = []
    if time == 0 and automaton.accepts(automaton.start):
        queue.append((0.0, False, (), automaton.start, ended))
    if _completes_by(automaton, automaton.start, time):
        queue.append((0.0, True, (), automaton.start, ended))
    opened = 0
    while queue:
        cost, is_open, prefix, state, ended = heappop(queue)
        if not is_open:  # no open prefix promises more
            return prefix, float(-cost), opened
        opened += 1
        if opened > limit:
            raise BudgetError(
                f"{limit} prefixes were opened over {time} frames and none of them is sure to be the best; "
                f"raise `limit`, merge neighbouring frames, or use a network that is surer of its symbols"
            )
        legal = automaton.legal(state)
        bounds, longer = _extend(ended, frames[:, legal], tail)
        for k, symbol in enumerate(legal):
            words, following = (*prefix, symbol), automaton.advance(state, symbol)
            if automaton.accepts(following) and longer[-1, k] > -np.inf:
                heappush(queue, (-longer[-1, k], False, words, following, longer[:, k]))
            if bounds[k] > -np.inf and _completes_by(automaton, following, time - len(words)):
                heappush(queue, (-bounds[k], True, words, following, longer[:, k]))
    other = "a symbol takes one frame or more: give more frames"
    raise _nothing(automaton, f"1 to {time} symbols", range(1, time + 1), other)


def _extend(ended: Frames, frames: Frames, tail: Frames) -> tuple[Frames, Frames]:
    """For each symbol of `frames` [time, symbol] after a prefix: the bound on log p(l | x) of all that begins
    so [symbol], and where l itself ends [time + 1, symbol]."""
    longer = np.full((len(frames) + 1, frames.shape[1]), -np.inf)
    for t, frame in enumerate(frames):
        longer[t + 1] = frame + np.logaddexp(longer[t], ended[t])
    begun = ended[:-1, None] + frames  # log p(l' | x_0..t-1) y_t(k)
    return np.logaddexp.reduce(begun + tail[1:, None], axis=0), longer


def _tail_bound(grammar: Grammar, frames: Frames) -> Frames:
    """log m_t ... m_T-1 at t [time + 1]."""
    probs = np.exp(frames)
    most = probs.max(axis=1)  # at the end of a sentence nothing can follow
    for left, right in _neighbours(grammar):
        most = np.maximum(most, probs[:, left] + probs[:, right])
    return np.append(np.cumsum(np.log(most)[::-1])[::-1], 0.0)


@lru_cache(maxsize=32)
def _neighbours(grammar: Grammar) -> frozenset[tuple[int, int]]:
    """The pairs of adjacent symbols: the last of B with the first of C, for each A -> B C."""
    steps = [step for steps in normal_form(grammar).steps.values() for step in steps]
    first = _ends(grammar, [(step.head, step.left) for step in steps])
    last = _ends(grammar, [(step.head, step.right or step.left) for step in steps])
    pairs = (product(last[step.left], first[step.right]) for step in steps if step.right is not None)
    return frozenset(chain.from_iterable(pairs))


def _ends(
    grammar: Grammar, parts: Sequence[tuple[NormalSymbol, NormalSymbol]]
) -> Mapping[NormalSymbol, set[int]]:
    """The symbol ids at one end of what each symbol derives, given (head, its part at that end)."""
    ends: defaultdict[NormalSymbol, set[int]] = defaultdict(set)
    ends |= {Terminal(name): {symbol} for symbol, name in enumerate(grammar.symbols)}
    size = -1
    while size != (size := sum(map(len, ends.values()))):
        for head, part in parts:
            ends[head] |= ends[part]
    return ends


def _best_spans(rows: list[list[float]], symbols: Symbols) -> tuple[tuple[int, int], ...]:
    """The most likely segmentation of a sentence: its symbols stay or go on, frame by frame (Viterbi)."""
    # The best score of the first 0, 1, ... symbols over the frames so far, and where each of them begins.
    best: list[tuple[float, tuple[int, ...]]] = [(0.0, ()), *[(-math.inf, ())] * len(symbols)]
    for t, row in enumerate(rows):
        longer: list[tuple[float, tuple[int, ...]]] = [(-math.inf, ())]
        for symbol, (before, here) in zip(symbols, pairwise(best), strict=True):
            score, begins = (before[0], (*before[1], t)) if before[0] > here[0] else here
            longer.append((score + row[symbol], begins))
        best = longer
    return tuple(pairwise([*best[-1][1], len(rows)]))


def _checked(grammar: Grammar, log_probs: Scores) -> Tensor:
    """Checked scores [time, symbol] as float64 in main memory."""
    scores = log_probs.detach() if isinstance(log_probs, Tensor) else torch.tensor(log_probs)
    check_scores(grammar, scores)
    if scores.ndim != 2:
        raise ShapeError(
            f"this parser reads one example [time, symbol] at a time but got the shape {list(scores.shape)}; "
            f"call it for each example of the batch"
        )
    return scores.to("cpu", torch.float64)


def _completes_by(automaton: PrefixAutomaton, state: int, most: int) -> bool:
    """Whether one to `most` further symbols can make a sentence."""
    return any(automaton.completes_in(state, remaining) for remaining in range(1, most + 1))


def _nothing(automaton: PrefixAutomaton, which: str, lengths: Iterable[int], otherwise: str) -> ParseError:
    """The error where no sentence of these lengths is found, since there is none or all are impossible."""
    if any(automaton.completes_in(automaton.start, length) for length in lengths):
        return ParseError(
            f"every sentence of {which} has probability zero under these scores; "
            f"give each symbol that may be right a little probability"
        )
    return ParseError(f"the language has no sentence of {which}; {otherwise}")
