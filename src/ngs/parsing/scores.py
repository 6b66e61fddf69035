"""Scores of a network over a grammar's symbols are checked where they enter, once, before any parsing."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ngs.errors import ShapeError
from ngs.grammar.grammar import Grammar

Lengths = Tensor | Sequence[int] | None
"""The symbols of each sentence of a batch; None: all fill the time axis."""

HALF = (torch.float16, torch.bfloat16)
TOLERANCE = 1e-3  # |log of a row's sum|: float32 log_softmax stays below 1e-5, raw logits are far above
HALF_TOLERANCE = 2e-2  # what rounding to half precision does to a row of some tens of symbols


def checked_scores(grammar: Grammar, log_probs: Tensor, lengths: Lengths) -> tuple[Tensor, Tensor]:
    """The scores, with padding zeroed so that nothing after an example's end can spread, and the lengths."""
    checked = _checked_lengths(log_probs, lengths)
    scores = log_probs.float() if log_probs.dtype in HALF else log_probs
    if lengths is not None:
        inside_sentence = torch.arange(scores.shape[1], device=scores.device) < checked[:, None]
        scores = torch.where(inside_sentence[..., None], scores, 0.0)
    check_scores(grammar, scores)
    return scores, checked


def check_scores(grammar: Grammar, log_probs: Tensor) -> None:
    """Refuse scores [..., time, symbol] of another grammar, or with NaN or +inf; -inf is probability zero."""
    shape, symbols = list(log_probs.shape), grammar.symbols
    if len(shape) < 2:
        raise ShapeError(f"the scores have the shape {shape}; give [time, symbol], or [batch, time, symbol]")
    if not log_probs.is_floating_point():
        raise ShapeError(
            f"the scores are {log_probs.dtype}, not floating point; give log-probabilities, not symbols"
        )
    if shape[-1] != len(symbols):
        raise ShapeError(
            f"the network scores {_some(shape[-1], 'symbol')} but the grammar has "
            f"{_some(len(symbols), 'terminal')} ({' '.join(symbols)}); "
            f"give the network's last layer {_some(len(symbols), 'output')}"
        )
    below = log_probs < torch.inf  # false for NaN too: one reduction, one wait for the device
    if not bool(below.all()):
        where = (~below).nonzero()[0].tolist()
        names = ["..."] * (len(shape) > 3) + ["example", "time", "symbol"][-len(shape) :]
        raise ShapeError(
            f"the scores hold {float(log_probs[tuple(where)])} at [{', '.join(names)}] = {where} "
            f"(symbol {symbols[where[-1]]!r}); log-probabilities are below +inf, with -inf for probability "
            f"zero: look for a division by zero or a diverged network before the log_softmax"
        )


def check_normalised(log_probs: Tensor, lengths: Tensor | None = None) -> None:
    """Refuse rows that do not sum to one; with `lengths` [batch], positions beyond them are not looked at."""
    totals = log_probs.detach().double().logsumexp(-1)  # [..., time]
    tolerance = HALF_TOLERANCE if log_probs.dtype in HALF else TOLERANCE
    wrong = ~(totals.abs() <= tolerance)  # NaN is wrong as well
    if lengths is not None:
        times = torch.arange(log_probs.shape[-2], device=log_probs.device)
        wrong &= times < lengths[:, None]
    if bool(wrong.any()):
        *example, time = wrong.nonzero()[0].tolist()
        place = f"time {time}" + (f" of example {example[0]}" if example else "")
        total = math.exp(min(float(totals[(*example, time)]), 700.0))  # exp overflows above 709
        raise ShapeError(
            f"the probabilities of {place} sum to {total:.6g}, not to 1; "
            f"pass the network's output through log_softmax(dim=-1)"
        )


def _checked_lengths(log_probs: Tensor, lengths: Lengths) -> Tensor:
    """The lengths of a batch [batch, time, symbol] as int64 [batch] on its device."""
    if log_probs.ndim != 3:
        raise ShapeError(
            f"lengths belong to a batch [batch, time, symbol], but the scores have the shape "
            f"{list(log_probs.shape)}; add a batch dimension with log_probs[None]"
        )
    batch, time = log_probs.shape[:2]
    given = torch.full((batch,), time) if lengths is None else torch.as_tensor(lengths)
    if given.shape != (batch,):
        raise ShapeError(
            f"the batch has {_some(batch, 'example')} but the lengths have the shape {list(given.shape)}; "
            f"give one length for each example"
        )
    if batch and (given.is_floating_point() or given.is_complex() or given.dtype == torch.bool):
        raise ShapeError(
            f"the lengths are {given.dtype}, not integers; give the number of symbols of each example"
        )
    given = given.to(log_probs.device, torch.int64)
    outside = (given < 1) | (given > time)
    if bool(outside.any()):
        example = int(outside.nonzero()[0])
        raise ShapeError(
            f"example {example} has length {int(given[example])}, but the scores allow 1 to {time}; "
            f"leave out empty examples, or pad the scores to the longest one"
        )
    return given


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
