"""What is learned from: inputs with answers, in tensors on one device, and batches cut from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import index

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngs.errors import ShapeError
from ngs.gpu import sent
from ngs.parsing.decode import PAD
from ngs.reasoning.operation import Value, check_answers


def as_stored(inputs: Tensor) -> Tensor:
    """The network is shown the inputs as they are stored."""
    return inputs


@dataclass(frozen=True, eq=False, repr=False)
class Examples:
    """Sequences of inputs, one for each hidden symbol, and the answer of each sequence.

    Inputs stand in one pool, since an image may occur in several formulas, and so that nothing but real
    inputs enters a network: batch norm would count padding.
    """

    inputs: Tensor
    """[pool, ...]: what is seen of one symbol"""
    where: Tensor
    """[example, time]: rows of `inputs`, PAD behind the end"""
    answers: tuple[Value, ...]
    labels: Tensor | None = None
    """[example, time]: columns of the grammar's symbols, PAD behind the end; None where nobody knows them"""
    view: Callable[[Tensor], Tensor] = as_stored
    """what the network is shown of stored inputs: bytes as floats, for instance"""

    @classmethod
    def of(
        cls,
        inputs: Sequence[Tensor],
        answers: Sequence[Value],
        labels: Sequence[Sequence[int]] | None = None,
        view: Callable[[Tensor], Tensor] = as_stored,
    ) -> Examples:
        """Examples from one tensor [time, ...] for each; `labels` are columns of the grammar's symbols."""
        pool = pooled(inputs)
        lengths = [len(each) for each in inputs]
        where = padded(np.arange(len(pool)), lengths)
        if labels is None:
            return cls(pool, where, tuple(answers), view=view)
        for number, (given, length) in enumerate(zip(labels, lengths, strict=False)):
            if len(given) != length:
                raise ShapeError(
                    f"example {number} has {len(given)} labels for {length} inputs; give one for each"
                )
        if len(labels) != len(lengths):
            raise ShapeError(f"{len(labels)} of {len(lengths)} examples have labels; label all or none")
        return cls(pool, where, tuple(answers), padded(as_columns(labels), lengths), view)

    def __post_init__(self) -> None:
        if self.where.dim() != 2 or self.where.dtype != torch.long:
            raise ShapeError(
                f"`where` is {self.where.dtype} of shape {list(self.where.shape)}; "
                f"give rows of the inputs as int64 [example, time]"
            )
        if self.labels is not None and self.labels.shape != self.where.shape:
            raise ShapeError(
                f"the labels are {list(self.labels.shape)}, the examples {list(self.where.shape)}; "
                f"give one label for each input"
            )
        check_answers(self.answers, len(self.where))
        filled = self.where != PAD
        gaps = (filled[:, 1:] & ~filled[:, :-1]).any(1).nonzero()
        if len(gaps):
            raise ShapeError(
                f"`where` has a gap in example {int(gaps[0])}; put the inputs of each example first and PAD "
                f"behind its end"
            )
        rows = self.where[filled]
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < len(self.inputs):
            raise ShapeError(
                f"`where` names rows {int(rows.min())} to {int(rows.max())} of {len(self.inputs)} inputs; "
                f"count them from 0"
            )

    def __len__(self) -> int:
        return len(self.where)

    def __repr__(self) -> str:
        shortest, longest = self.lengths.min(initial=self.time), self.time
        return (
            f"Examples({len(self)} of {shortest} to {longest} inputs {list(self.inputs.shape[1:])}, "
            f"{'without' if self.labels is None else 'with'} labels)"
        )

    @property
    def time(self) -> int:
        return self.where.shape[1]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """[example]"""
        lengths: NDArray[np.int64] = (self._where != PAD).sum(1)
        return lengths

    @cached_property
    def _where(self) -> NDArray[np.int64]:
        # On the CPU, where batches are put together: the lengths there say how large each tensor is,
        # without waiting for the device.
        where: NDArray[np.int64] = self.where.cpu().numpy()
        return where

    def select(self, examples: Sequence[int] | NDArray[np.int64]) -> Examples:
        """Some of the examples, over the same inputs, with room for the longest of them."""
        numbers = np.asarray(examples, dtype=np.int64)
        time = int(self.lengths[numbers].max(initial=0))
        chosen = torch.as_tensor(numbers, device=self.where.device)
        return replace(
            self,
            where=self.where[chosen, :time],
            answers=tuple(self.answers[k] for k in numbers),
            labels=None if self.labels is None else self.labels[chosen, :time],
        )

    def to(self, device: torch.device) -> Examples:
        labels = None if self.labels is None else self.labels.to(device)
        return replace(self, inputs=self.inputs.to(device), where=self.where.to(device), labels=labels)

    def batch(self, numbers: NDArray[np.int64]) -> Batch:
        """The examples of these numbers."""
        where = self._where[numbers]
        filled = where != PAD
        # Lengths first: kernels read them, and Triton has others for what begins anywhere in memory.
        parts = self.lengths[numbers], numbers, np.flatnonzero(filled), where[filled]
        lengths, chosen, slots, rows = sent(parts, self.inputs.device)
        labels = None if self.labels is None else self.labels[chosen]
        return Batch(chosen, lengths, self.view(self.inputs[rows]), slots, self.time, labels, numbers)


@dataclass(frozen=True, eq=False)
class Batch:
    """Some examples, with their inputs one behind the other."""

    examples: Tensor
    """[batch]: which of them, on the device"""
    lengths: Tensor
    """[batch]"""
    inputs: Tensor
    """[symbol, ...] of all examples, without padding"""
    slots: Tensor
    """[symbol]: the place of each in the flattened [batch, time]"""
    time: int
    labels: Tensor | None
    """[batch, time]"""
    numbers: NDArray[np.int64]
    """[batch]: which of the examples, on the CPU"""

    def beliefs(self, logits: Tensor) -> Tensor:
        """log p(z_t = s | x) [batch, time, symbol] from scores [input, symbol]; zero behind the end.

        In single precision at least: a chart adds many small numbers.
        """
        log_probs = logits.float().log_softmax(-1) if logits.dtype != torch.double else logits.log_softmax(-1)
        flat = log_probs.new_zeros(len(self.examples) * self.time, log_probs.shape[-1])
        return flat.index_copy(0, self.slots, log_probs).view(len(self.examples), self.time, -1)


def pooled(inputs: Sequence[Tensor]) -> Tensor:
    """The inputs of all examples one behind the other [pool, ...]."""
    for number, each in enumerate(inputs):
        if not isinstance(each, Tensor) or not each.dim():
            raise ShapeError(
                f"the inputs of example {number} are a {type(each).__name__}; give a tensor [time, ...]"
            )
        if each.shape[1:] != inputs[0].shape[1:]:
            raise ShapeError(
                f"an input of example {number} is {list(each.shape[1:])}, one of example 0 is "
                f"{list(inputs[0].shape[1:])}; bring all inputs to one size"
            )
    if not len(inputs):
        raise ShapeError("there are no examples; give at least one")
    return torch.cat(list(inputs))


def as_columns(labels: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """The labels of all examples one behind the other."""
    try:
        return np.array([index(column) for each in labels for column in each], dtype=np.int64)
    except TypeError:
        raise ShapeError(
            f"the labels of the first example are {labels[0]!r}; give columns: grammar.encode(sentence)"
        ) from None


def padded(flat: NDArray[np.int64], lengths: Sequence[int]) -> Tensor:
    """[example, time] from values one behind the other, PAD behind each end."""
    counts = np.asarray(lengths, dtype=np.int64)
    table = np.full((len(counts), counts.max(initial=0)), PAD, dtype=np.int64)
    table[np.arange(table.shape[1]) < counts[:, None]] = flat
    return torch.from_numpy(table)
