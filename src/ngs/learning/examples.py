"""What is learned from: inputs with answers, in tensors on one device, and batches cut from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import index
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ngs.errors import ShapeError
from ngs.grammar.constraint import Given
from ngs.grammar.padding import PAD
from ngs.reasoning.operation import Value, check_answers


def as_stored(inputs: Tensor) -> Tensor:
    """The network is shown the inputs as they are stored."""
    return inputs


class Inputs(Protocol):
    """What is seen of examples that a network looks at as a whole."""

    def select(self, numbers: NDArray[np.int64]) -> Inputs: ...

    def to(self, device: torch.device) -> Inputs: ...

    def batch(self, numbers: NDArray[np.int64]) -> Any:
        """What the network is shown of the examples of these numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class Pool:
    """One input for each symbol of the examples.

    Inputs are in one pool, since an image may occur in several examples, and without padding, which batch
    norm would count.
    """

    inputs: Tensor  # [pool, ...]: what is seen of one symbol
    where: Tensor  # [example, time]: rows of `inputs`, PAD after the end
    view: Callable[[Tensor], Tensor] = as_stored
    """what the network is shown of stored inputs: bytes as floats, for instance"""

    def __post_init__(self) -> None:
        if self.where.dim() != 2 or self.where.dtype != torch.long:
            raise ShapeError(
                f"`where` is {self.where.dtype} of shape {list(self.where.shape)}; "
                f"give rows of the inputs as int64 [example, time]"
            )
        filled = self.where != PAD
        gaps = (filled[:, 1:] & ~filled[:, :-1]).any(1).nonzero()
        if len(gaps):
            raise ShapeError(
                f"`where` has a gap in example {int(gaps[0])}; put the inputs of each example first and PAD "
                f"after its end"
            )
        rows = self.where[filled]
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < len(self.inputs):
            raise ShapeError(
                f"`where` names rows {int(rows.min())} to {int(rows.max())} of {len(self.inputs)} inputs; "
                f"count them from 0"
            )

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """`where` on the CPU, where batches are put together: known without waiting for a GPU."""
        where: NDArray[np.int64] = self.where.cpu().numpy()
        return where

    def select(self, numbers: NDArray[np.int64]) -> Pool:
        chosen = torch.as_tensor(numbers, device=self.where.device)
        longest = int((self.rows[numbers] != PAD).sum(1).max(initial=0))
        return replace(self, where=self.where[chosen, :longest])

    def to(self, device: torch.device) -> Pool:
        return replace(self, inputs=self.inputs.to(device), where=self.where.to(device))

    def batch(self, numbers: NDArray[np.int64]) -> Tensor:
        where = self.rows[numbers]
        rows = torch.from_numpy(where[where != PAD]).to(self.inputs.device, non_blocking=True)
        return self.view(self.inputs[rows])


@dataclass(frozen=True, eq=False, repr=False)
class Stacked:
    """What is seen of examples that a network looks at as a whole: a row of one tensor for each."""

    inputs: Tensor
    """[example, ...]"""

    def select(self, numbers: NDArray[np.int64]) -> Stacked:
        return Stacked(self.batch(numbers))

    def to(self, device: torch.device) -> Stacked:
        return Stacked(self.inputs.to(device))

    def batch(self, numbers: NDArray[np.int64]) -> Tensor:
        return self.inputs[torch.as_tensor(numbers, device=self.inputs.device)]


@dataclass(frozen=True, eq=False, repr=False)
class Examples:
    """What is learned from: inputs, the answers, and what is known about each hidden sentence.

    >>> Examples.of([torch.zeros(1, 4), torch.zeros(3, 4)], answers=[7, 2])
    Examples(2 of 1 to 3 symbols, without labels)
    """

    inputs: Pool | Inputs
    answers: tuple[Value, ...]
    given: Given
    """the length of each sentence, or the multiset of its symbols"""
    labels: Tensor | None = None
    """[example, time]: the true sentences as symbol ids, PAD after the end; None where nobody knows them"""

    @classmethod
    def of(
        cls,
        inputs: Sequence[Tensor],
        answers: Sequence[Value],
        labels: Sequence[Sequence[int]] | None = None,
        view: Callable[[Tensor], Tensor] = as_stored,
    ) -> Examples:
        """Examples from one tensor [time, ...] for each; `labels` are symbol ids of the grammar."""
        pool, lengths = concatenated(inputs), [len(each) for each in inputs]
        known = None if labels is None else _label_table(labels, lengths)
        return cls.pooled(pool, padded(np.arange(len(pool)), lengths), tuple(answers), known, view)

    @classmethod
    def whole(
        cls,
        inputs: Sequence[Tensor],
        answers: Sequence[Value],
        lengths: Sequence[int],
        labels: Sequence[Sequence[int]] | None = None,
    ) -> Examples:
        """Examples for a network that looks at each input as a whole and writes `lengths` symbols.

        Shorter inputs, of words, say, are padded with PAD.

        >>> words = [torch.tensor([4, 0]), torch.tensor([2])]
        >>> examples = Examples.whole(words, answers=[7, 2], lengths=[3, 1])
        >>> examples.inputs.inputs.tolist()
        [[4, 0], [2, -1]]
        """
        shapes = {each.shape[1:] for each in inputs}
        if len(shapes) != 1:
            raise ShapeError(
                f"the inputs differ in more than their first size ({shapes}); bring all to one size"
            )
        stacked = Stacked(pad_sequence(list(inputs), batch_first=True, padding_value=PAD))
        known = None if labels is None else _label_table(labels, lengths)
        return cls(stacked, tuple(answers), Given(lengths=torch.tensor(lengths)), known)

    @classmethod
    def pooled(
        cls,
        inputs: Tensor,
        where: Tensor,
        answers: tuple[Value, ...],
        labels: Tensor | None = None,
        view: Callable[[Tensor], Tensor] = as_stored,
    ) -> Examples:
        """Examples with one input for each symbol, from a `Pool`."""
        pool = Pool(inputs, where, view)
        return cls(pool, answers, Given(lengths=(where != PAD).sum(1)), labels)

    def __post_init__(self) -> None:
        if self.labels is not None:
            shape, pool = list(self.labels.shape), self.inputs
            needed = list(pool.where.shape) if isinstance(pool, Pool) else [len(self), *shape[1:]]
            if shape != needed:
                raise ShapeError(f"the labels are {shape}, not {needed}; give each symbol of an example one")
        check_answers(self.answers, len(self))

    def __len__(self) -> int:
        return len(self.lengths)

    def __repr__(self) -> str:
        shortest, longest = self.lengths.min(initial=self.time), self.time
        return (
            f"Examples({len(self)} of {shortest} to {longest} symbols, "
            f"{'without' if self.labels is None else 'with'} labels)"
        )

    @cached_property
    def device(self) -> torch.device:
        return self.given.device

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """[example]: symbols of each hidden sentence, on the CPU."""
        lengths: NDArray[np.int64] = self.given.sizes.cpu().numpy()
        return lengths

    @cached_property
    def time(self) -> int:
        """Symbols of the longest sentence."""
        if isinstance(self.inputs, Pool):
            return self.inputs.where.shape[1]
        return int(self.lengths.max(initial=0))

    def select(self, examples: Sequence[int] | NDArray[np.int64]) -> Examples:
        """Some of the examples, over the same inputs, as long as the longest of them."""
        numbers = np.asarray(examples, dtype=np.int64)
        longest = int(self.lengths[numbers].max(initial=0))
        chosen = torch.as_tensor(numbers, device=self.device)
        return Examples(
            self.inputs.select(numbers),
            tuple(self.answers[k] for k in numbers),
            self.given.select(chosen),
            None if self.labels is None else self.labels[chosen, :longest],
        )

    def to(self, device: torch.device) -> Examples:
        labels = None if self.labels is None else self.labels.to(device)
        return replace(self, inputs=self.inputs.to(device), given=self.given.to(device), labels=labels)

    def batch(self, numbers: NDArray[np.int64]) -> Batch:
        """The examples of these numbers."""
        chosen = torch.from_numpy(numbers).to(self.device, non_blocking=True)
        slots, time = None, self.time  # charts are compiled for the longest of all, and kernels for one shape
        if isinstance(self.inputs, Pool):
            filled = np.flatnonzero(self.inputs.rows[numbers] != PAD)
            slots = torch.from_numpy(filled).to(self.device, non_blocking=True)
        elif self.device.type == "cpu":
            time = int(self.lengths[numbers].max(initial=0))
        labels = None if self.labels is None else self.labels[chosen, :time].long()
        return Batch(chosen, self.inputs.batch(numbers), self.given.select(chosen), time, labels, slots)


@dataclass(frozen=True, eq=False)
class Batch:
    """Some of the examples, as a network and a method take them."""

    examples: Tensor  # [batch]: which of them
    inputs: Any  # what the network is shown
    given: Given
    time: int  # symbols of the longest sentence, or more: sentences are padded to as many
    labels: Tensor | None  # [batch, time]
    slots: Tensor | None = None
    """[input]: the place of each input in the flattened [batch, time], where inputs are seen one by one"""

    def __len__(self) -> int:
        return len(self.examples)

    @cached_property
    def rows(self) -> Tensor:
        """[batch]: 0, 1, 2, ..."""
        return torch.arange(len(self), device=self.examples.device)

    @cached_property
    def lengths(self) -> Tensor:
        """int64 [batch]: symbols of each sentence."""
        known = self.given.lengths
        return self.given.sizes if known is None else known

    def log_probs(self, logits: Tensor) -> Tensor:
        """log p(z_t = s | x) [batch, time, symbol] from logits [input, symbol]; zero after the end.

        In single precision at least: a chart adds many small numbers.
        """
        if self.slots is None:
            raise ShapeError(
                "these inputs are seen as a whole, so logits have no positions; give Examples.of(...) one "
                "input for each symbol, or a network that returns a decoder"
            )
        log_probs = logits.float().log_softmax(-1) if logits.dtype != torch.double else logits.log_softmax(-1)
        flat = log_probs.new_zeros(len(self) * self.time, log_probs.shape[-1])
        return flat.index_copy(0, self.slots, log_probs).view(len(self), self.time, -1)


def concatenated(inputs: Sequence[Tensor]) -> Tensor:
    """The inputs of all examples one after another [pool, ...]."""
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


def _label_table(labels: Sequence[Sequence[int]], lengths: Sequence[int]) -> Tensor:
    """[example, time]: symbol ids, PAD after each end."""
    if len(labels) != len(lengths):
        raise ShapeError(f"{len(labels)} of {len(lengths)} examples have labels; label all or none")
    for number, (given, length) in enumerate(zip(labels, lengths, strict=True)):
        if len(given) != length:
            raise ShapeError(
                f"example {number} has {len(given)} labels for {length} symbols; give one for each"
            )
    try:
        flat = np.array([index(symbol) for each in labels for symbol in each], dtype=np.int64)
    except TypeError:
        raise ShapeError(
            f"the labels of the first example are {labels[0]!r}; give symbol ids: grammar.encode(sentence)"
        ) from None
    return padded(flat, lengths)


def padded(flat: NDArray[np.int64], lengths: Sequence[int]) -> Tensor:
    """[example, time] from values one after another, PAD after each end."""
    counts = np.asarray(lengths, dtype=np.int64)
    table = np.full((len(counts), counts.max(initial=0)), PAD, dtype=np.int64)
    table[np.arange(table.shape[1]) < counts[:, None]] = flat
    return torch.from_numpy(table)
