"""One-step and multi-step back-search for a whole batch, on tensors.

1-BS is a widest-path problem: the queue of Algorithm 1 pops the leaf whose path from the root has
the strongest weakest link. The priority (1 - p(A)) / p(A) of a node falls towards the leaves, because
p(A) is a product over fewer and fewer of them; so a leaf's weakest link is its parent node or itself.
Every change of one symbol is parsed and executed (`evaluator.py`) and the best right one is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ngs.errors import ShapeError
from ngs.grammar.grammar import Grammar
from ngs.grammar.tree import Sentence
from ngs.parsing.decode import Lengths, Sentences, best, checked_scores, score_of
from ngs.parsing.lattice import check_normalised
from ngs.parsing.replay import Tensors
from ngs.reasoning.operation import Value, check_answer
from ngs.reasoning.semantics import Meaning
from ngs.search.compiled import exact_length
from ngs.search.evaluator import Evaluator, evaluator
from ngs.search.one_step import one_step


@dataclass(frozen=True)
class Corrections:
    """Corrected sentences; where `found` is false, the last ones tried."""

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
        return correct(batch, columns)

    return search_batch(grammar, semantics, log_probs, lengths, targets, columns, by_tables, by_reference)


@dataclass(frozen=True)
class Batch:
    """What one call of the tensor engine works on."""

    engine: Evaluator
    log_probs: Tensor
    """[batch, time, symbol], zero behind the end"""
    lengths: Tensor
    targets: Tensor
    """[batch]: numbers of the answers among sentences of the example's length"""

    @classmethod
    def of(
        cls,
        grammar: Grammar,
        semantics: Meaning,
        log_probs: Tensor,
        lengths: Tensor,
        targets: Sequence[Value],
    ) -> Batch:
        engine = evaluator(grammar, semantics, log_probs.shape[1]).to(log_probs.device)
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
    if len(targets) != len(checked):
        raise ShapeError(f"{len(targets)} targets for a batch of {len(checked)}; give one for each example")
    for target in targets:
        check_answer(target)
    if columns is None:
        columns = best(grammar, scores, checked).columns
    each = checked.tolist()
    fitting = exact_length(grammar, semantics, max(each, default=0))
    short = [example for example, length in enumerate(each) if length <= fitting]
    corrected, found = columns.clone(), torch.zeros_like(checked, dtype=torch.bool)
    if short:
        time = max(each[example] for example in short)
        examples = torch.tensor(short, device=scores.device)
        chosen = [targets[example] for example in short]
        batch = Batch.of(grammar, semantics, scores[examples, :time], checked[examples], chosen)
        corrected[examples, :time], found[examples] = by_tables(batch, examples, columns[examples, :time])
    for example in set(range(len(each))).difference(short):
        length = each[example]
        sentence = grammar.decode(columns[example, :length].tolist())
        fix, right = by_reference(example, scores[example, :length], sentence)
        corrected[example, :length] = torch.tensor(grammar.encode(fix))
        found[example] = right
    return Corrections(Sentences(grammar, corrected, score_of(scores, corrected)), found)


def correct(batch: Batch, columns: Tensor) -> tuple[Tensor, Tensor]:
    """1-BS of each sentence in `columns` [batch, time]: the corrections and whether there is one.

    A sentence that gives its target, and one that cannot be corrected, come back unchanged.
    """

    def corrections(log_probs: Tensor, lengths: Tensor, targets: Tensor, columns: Tensor) -> Tensors:
        return _correct(Batch(batch.engine, log_probs, lengths, targets), columns)

    inputs = batch.log_probs, batch.lengths, batch.targets, columns
    corrected, found = batch.engine.replays("1-BS", corrections, inputs)
    return corrected, found


def _correct(batch: Batch, columns: Tensor) -> tuple[Tensor, Tensor]:
    engine, log_probs = batch.engine, batch.log_probs
    size, time, _ = log_probs.shape
    positions, symbols = engine.edits.unbind(1)
    edits = len(positions)
    rows = engine.values(columns.T)
    right_already = engine.answer_numbers(rows, batch.lengths) == batch.targets

    changed = columns.T[:, None].repeat(1, edits, 1)  # [time, edit, batch]
    changed[positions, torch.arange(edits, device=columns.device)] = symbols[:, None]
    values = engine.values(changed.view(time, edits * size))
    answers = engine.answer_numbers(values, batch.lengths.repeat(edits)).view(edits, size)

    by_edit = log_probs.permute(1, 2, 0)[positions, symbols]  # [edit, batch]
    current = log_probs.gather(2, columns.clamp(min=0)[..., None])[..., 0].T  # [time, batch]
    ratio = by_edit - current[positions]
    weakest = torch.minimum(ratio, parent_log_priority(batch, columns, rows)[positions])
    valid = (
        (answers == batch.targets)
        & (symbols[:, None] != columns.T[positions])
        & (positions[:, None] < batch.lengths)
        & (by_edit > -torch.inf)
    )
    return _widest(columns, positions, symbols, ratio, weakest, valid, right_already)


def _widest(
    columns: Tensor,
    positions: Tensor,
    symbols: Tensor,
    ratio: Tensor,
    weakest: Tensor,
    valid: Tensor,
    right_already: Tensor,
) -> tuple[Tensor, Tensor]:
    """Apply the valid edit with the strongest weakest link; ties go to the likelier, then the first."""
    never = -torch.inf
    tied = valid & (weakest == weakest.masked_fill(~valid, never).amax(0))
    chosen = ratio.masked_fill(~tied, never).argmax(0)
    # argmax over a column of -inf is 0: an edit that is tied at -inf must still be a tied one
    chosen = torch.where(tied.gather(0, chosen[None])[0], chosen, tied.int().argmax(0))
    fix = valid.any(0) & ~right_already
    corrected = columns.scatter(1, positions[chosen][:, None], symbols[chosen][:, None])
    return torch.where(fix[:, None], corrected, columns), fix | right_already


def parent_log_priority(batch: Batch, columns: Tensor, rows: Tensor) -> Tensor:
    """log of (1 - p(A)) / p(A) for the node A right above each leaf [time, batch]; +inf below the root.

    Top-down along the edges each cell got its value by; cells outside the tree lead to a row nobody reads.
    """
    engine, log_probs = batch.engine, batch.log_probs
    size, time, _ = log_probs.shape
    picked = log_probs.gather(2, columns.clamp(min=0)[..., None])[..., 0].T
    upto = torch.cat([picked.new_zeros(1, size), picked.cumsum(0)])  # [time + 1, batch]
    root = engine.root_row[batch.lengths]
    nowhere = engine.rows
    above = log_probs.new_full((engine.rows + 1, size), torch.inf)
    in_tree = torch.zeros_like(above, dtype=torch.bool).scatter_(0, root[None], True)

    def passed_down(first: int, start: Tensor, stop: Tensor, nodes: Tensor) -> Tensor:
        log_p = (upto[stop] - upto[start]).clamp_(max=0.0)
        own = torch.log(-torch.expm1(log_p)) - log_p
        is_root = torch.arange(first, first + len(start), device=root.device)[:, None] == root
        below_root = torch.where(is_root & (nodes == 1), torch.inf, own)
        return torch.where(nodes == 0, above[first : first + len(start)], below_root)

    for layer, edge in zip(reversed(engine.layers), reversed(engine.chosen(rows)), strict=True):
        here = slice(layer.first, layer.first + layer.cells)
        active = in_tree[here] & (edge < len(layer.out))
        edge = edge.clamp(max=len(layer.out) - 1)
        passed = passed_down(layer.first, layer.start, layer.stop, layer.nodes[edge])
        for side in (layer.left, layer.right):
            row = torch.where(active, side[edge], nowhere)
            above.scatter_(0, row, passed)
            in_tree.scatter_(0, row, True)
    words = engine.words
    nodes = words.nodes.gather(1, columns.T[words.position].clamp(min=0))
    passed = passed_down(0, words.position, words.position + 1, nodes)
    position = torch.where(in_tree[: len(words.position)], words.position[:, None], time)
    return log_probs.new_full((time + 1, size), torch.inf).scatter_(0, position, passed)[:time]
