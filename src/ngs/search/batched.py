"""One-step back-search for a whole batch, on tensors.

1-BS is a widest-path problem: the queue of Algorithm 1 pops the leaf whose path from the root has
the strongest weakest link. That link is always the leaf itself, with p(alpha) / p(leaf): for a node A
above it, 1 - p(A) >= 1 - p(leaf) >= p(alpha) and p(A) <= p(leaf), so (1 - p(A)) / p(A) is no less.
Every change of one symbol is parsed and executed by an engine (`neighbours.py`), and the likeliest right one
is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ngs.errors import ParseError, ShapeError
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.tree import Sentence
from ngs.parsing.decode import PAD, Lengths, Sentences, best, checked_scores, score_of
from ngs.parsing.scores import check_normalised
from ngs.reasoning.operation import Value, check_answers
from ngs.reasoning.semantics import Meaning
from ngs.search.compiled import BUDGET, exact_length
from ngs.search.evaluator import evaluator
from ngs.search.neighbours import Engine
from ngs.search.one_step import one_step


@dataclass(frozen=True)
class Corrections:
    """Corrected sentences; where `found` is false, the one that was given (1-BS) or the last state (m-BS)."""

    sentences: Sentences
    found: Tensor
    """[batch]: whether the sentence gives its target"""


def one_step_batch(
    grammar: Grammar,
    semantics: Meaning,
    log_probs: Tensor,
    lengths: Lengths,
    targets: Sequence[Value],
    columns: Tensor | None = None,
) -> Corrections:
    """`one_step` for each example of `log_probs` [batch, time, symbol], log-normalised.

    `columns` [batch, time] are the sentences to correct, by default the most likely ones.
    """

    def by_reference(example: int, scores: Tensor, sentence: Sentence) -> tuple[Sentence, bool]:
        fix = one_step(grammar, semantics, scores, targets[example], sentence).sentence
        return (sentence, False) if fix is None else (fix, True)

    def by_tables(batch: Batch, _: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
        fixes = correct(batch, columns)
        return fixes.columns, fixes.found

    return search_batch(grammar, semantics, log_probs, lengths, targets, columns, by_tables, by_reference)


@dataclass(frozen=True)
class Batch:
    """What one call of the tensor engine works on."""

    engine: Engine
    log_probs: Tensor
    """[batch, time, symbol], zero behind the end"""
    lengths: Tensor
    targets: Tensor
    """[batch, ...]: the answers as the engine writes them"""

    @classmethod
    def of(
        cls,
        grammar: Grammar,
        semantics: Meaning,
        log_probs: Tensor,
        lengths: Tensor,
        targets: Sequence[Value],
    ) -> Batch:
        engine = evaluator(grammar, semantics, log_probs.shape[1], BUDGET).to(log_probs.device)
        return cls(engine, log_probs, lengths, engine.numbers(lengths.tolist(), targets))


def search_batch(
    grammar: Grammar,
    semantics: Meaning,
    log_probs: Tensor,
    lengths: Lengths,
    targets: Sequence[Value],
    columns: Tensor | None,
    by_tables: Callable[[Batch, Tensor, Tensor], tuple[Tensor, Tensor]],
    by_reference: Callable[[int, Tensor, Sentence], tuple[Sentence, bool]],
) -> Corrections:
    """Search by tables where these fit the budget, and one by one where a sentence is too long for them."""
    scores, checked = checked_scores(grammar, log_probs.detach(), lengths)
    check_normalised(log_probs.detach(), checked)
    check_answers(targets, len(checked))
    if columns is None:
        columns = best(grammar, scores, checked).columns
    else:
        columns = check_columns(grammar, columns, checked, scores.shape[1])
    each = checked.tolist()
    fitting = exact_length(grammar, semantics, max(each, default=0), BUDGET)
    short = [example for example, length in enumerate(each) if length <= fitting]
    fixed, found = columns.clone(), torch.zeros_like(checked, dtype=torch.bool)
    if short:
        time = max(each[example] for example in short)
        examples = torch.tensor(short, device=scores.device)
        chosen = [targets[example] for example in short]
        batch = Batch.of(grammar, semantics, scores[examples, :time], checked[examples], chosen)
        fixed[examples, :time], found[examples] = by_tables(batch, examples, columns[examples, :time])
    for example in set(range(len(each))).difference(short):
        length = each[example]
        if columns[example, 0] == PAD:
            continue  # no sentence has positive probability
        sentence = grammar.decode(columns[example, :length].tolist())
        fix, right = by_reference(example, scores[example, :length], sentence)
        fixed[example, :length] = torch.tensor(grammar.encode(fix))
        found[example] = right
    return Corrections(Sentences(grammar, fixed, score_of(scores, fixed)), found)


def check_columns(grammar: Grammar, columns: Tensor, lengths: Tensor, time: int) -> Tensor:
    """Sentences to search from, as int64 [batch, time], PAD behind the end; each must be in the language."""
    shape = (len(lengths), time)
    if columns.shape != shape or columns.dtype != torch.long:
        raise ShapeError(
            f"the sentences are {columns.dtype} of shape {list(columns.shape)}; "
            f"give columns of the scores as int64 of shape {list(shape)}"
        )
    behind = torch.arange(time, device=columns.device) >= lengths[:, None]
    columns = columns.masked_fill(behind, PAD)
    automaton = prefix_automaton(grammar)
    for example, (sentence, length) in enumerate(zip(columns.tolist(), lengths.tolist(), strict=True)):
        if not automaton.recognises(sentence[:length]) and sentence[0] != PAD:
            known = [
                grammar.symbols[k] if 0 <= k < len(grammar.symbols) else f"column {k}"
                for k in sentence[:length]
            ]
            raise ParseError(f"example {example}: {' '.join(known)!r} is not a sentence of the grammar")
    return columns


@dataclass(frozen=True)
class Fixes:
    """1-BS of each sentence of a batch."""

    columns: Tensor
    """[batch, time]: the corrections; what gives its target already, or cannot be corrected, is unchanged"""
    found: Tensor
    """[batch]: whether the correction gives the target"""
    right: Tensor
    """[batch]: whether the sentence itself did"""
    in_language: Tensor
    """[batch]: whether the sentence was one"""


def correct(batch: Batch, columns: Tensor) -> Fixes:
    """1-BS of each sentence in `columns` [batch, time]."""
    near = batch.engine.neighbours(columns, batch.lengths, batch.targets)
    log_probs = batch.log_probs.double()  # as the reference computes: no other ties than its own
    _, time, symbols = log_probs.shape
    position, symbol = (torch.arange(size, device=columns.device) for size in (time, symbols))
    valid = (
        near.changed
        & (symbol != columns[..., None])
        & (position < batch.lengths[:, None])[..., None]
        & (log_probs > -torch.inf)
    ).flatten(1)
    current = log_probs.gather(2, columns.clamp(min=0)[..., None])
    ratio = (log_probs - current).flatten(1).masked_fill(~valid, -torch.inf)
    chosen = ratio.argmax(1, keepdim=True)  # ties go to the first
    fix = valid.any(1) & ~near.right
    edited = columns.scatter(1, chosen // symbols, chosen % symbols)
    return Fixes(torch.where(fix[:, None], edited, columns), fix | near.right, near.right, near.in_language)
