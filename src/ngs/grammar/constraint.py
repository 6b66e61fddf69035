"""Which sentences are allowed, for a batch and one symbol at a time.

A network that writes a sentence symbol by symbol asks a constraint which symbols may come next:

    state = constraint.start(given)
    while constraint.mask(state).any():                    # [row, symbol]
        state = constraint.advance(state, chosen)          # chosen [row], PAD where a sentence is over

`given` is known before the first symbol: the length of each sentence, or the multiset of its symbols. A mask
is exact: every symbol that it allows leads to some sentence.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, Self, TypeVar

import torch
from torch import Tensor, nn

from ngs.errors import ShapeError
from ngs.grammar.padding import PAD


@dataclass(frozen=True)
class Rows:
    """Tensors with one row for each sentence; None where something is not known."""

    def select(self, rows: Tensor) -> Self:
        """Some of the rows, in any order and number."""
        return self._with_each(lambda part: part[rows])

    def to(self, device: torch.device) -> Self:
        return self._with_each(lambda part: part.to(device))

    def long(self) -> Self:
        """The same in int64, for what is stored in fewer bits."""
        return self._with_each(Tensor.long)

    def _with_each(self, change: Callable[[Tensor], Tensor]) -> Self:
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: change(part) for name, part in known.items() if part is not None})


@dataclass(frozen=True)
class Given(Rows):
    """What is known about each sentence; where nothing is, `Given()` is one row that stands for all.

    >>> given = Given(lengths=torch.tensor([1, 3]))
    >>> len(given), given.longest
    (2, 3)
    """

    lengths: Tensor | None = None
    """int64 [example]"""
    multiset: Tensor | None = None
    """[example, symbol]: how often each symbol is used"""

    def __len__(self) -> int:
        return len(self._known)

    @property
    def device(self) -> torch.device:
        return self._known.device

    @property
    def sizes(self) -> Tensor:
        """int64 [example]: how many symbols each sentence has."""
        return self._known if self.multiset is None else self.multiset.sum(1)

    @property
    def longest(self) -> int:
        """Symbols of the longest sentence."""
        return int(self.sizes.max()) if len(self) else 0

    @property
    def _known(self) -> Tensor:
        known = self.lengths if self.multiset is None else self.multiset
        if known is None:
            raise ShapeError("nothing is known about the sentences; give their lengths or their multisets")
        return known


S = TypeVar("S", bound=Rows)


class Constraint(nn.Module, ABC, Generic[S]):
    """A language whose sentences are written symbol by symbol. `.to(device)` moves its tables."""

    def __init__(self, symbols: int) -> None:
        super().__init__()
        self.symbols = symbols

    @abstractmethod
    def start(self, given: Given) -> S:
        """The state before the first symbol."""

    @abstractmethod
    def mask(self, state: S) -> Tensor:
        """bool [row, symbol]: which symbols may come next; none where the sentence is over."""

    @abstractmethod
    def advance(self, state: S, symbol: Tensor) -> S:
        """The state after one more symbol [row]; PAD changes nothing."""

    def step(self, state: S, symbol: Tensor) -> tuple[S, Tensor]:
        """The state after one more symbol [row], and its mask."""
        state = self.advance(state, symbol)
        return state, self.mask(state)

    @abstractmethod
    def accepts(self, state: S) -> Tensor:
        """bool [row]: whether the sentence may end here."""

    def possible(self, given: Given) -> Tensor:
        """bool [row]: whether any sentence fits what is known; `mask` takes it for granted."""
        state = self.start(given)
        return self.mask(state).any(1) | self.accepts(state)

    def contains(self, given: Given, z: Tensor) -> Tensor:
        """bool [row]: whether `z` [row, time] are sentences that fit what is known."""
        state, found = self._start_of_each(given, z), self.possible(given).expand(len(z))
        over = torch.zeros_like(found)
        for symbol in z.unbind(1):
            allowed = self.mask(state).gather(1, symbol.clamp(min=0)[:, None])[:, 0] & ~over
            over = over | (symbol == PAD)
            found = found & (allowed | (symbol == PAD))
            state = self.advance(state, symbol)
        return found & self.accepts(state)

    def masks(self, given: Given, z: Tensor) -> Tensor:
        """bool [row, time, symbol]: what might come at each step of `z` [row, time], sentences or not."""
        state = self._start_of_each(given, z)
        found = torch.zeros((*z.shape, self.symbols), dtype=torch.bool, device=z.device)
        for step, symbol in enumerate(z.unbind(1)):
            found[:, step] = self.mask(state)
            state = self.advance(state, symbol)
        return found

    def _start_of_each(self, given: Given, z: Tensor) -> S:
        state = self.start(given)
        if given.lengths is None and given.multiset is None:
            return state.select(z.new_zeros(len(z)))
        return state

    def _multiset(self, given: Given) -> Tensor:
        counts = given.multiset
        if counts is None or counts.ndim != 2 or counts.shape[1] != self.symbols:
            shape = "none" if counts is None else f"one of shape {list(counts.shape)}"
            raise ShapeError(
                f"{type(self).__name__} needs the multiset of each sentence, [example, {self.symbols}], and "
                f"was given {shape}; pass Given(multiset=...)"
            )
        return counts


# A known multiset, where counts decide


def without(left: Tensor, symbol: Tensor) -> Tensor:
    """`left` [row, symbol] after taking one symbol each [row]; PAD takes nothing."""
    taken = (symbol != PAD).to(left.dtype)
    return left.scatter_add(1, symbol.clamp(min=0)[:, None], -taken[:, None])


@dataclass(frozen=True)
class KernelRule:
    """A constraint as kernels on a GPU know it."""

    function: Any
    """A Triton function of the facts [1, symbol] and what is left [row, symbol] of every symbol, and of the
    facts of the last one [row, 1], -1 at the beginning: whether each may come next [row, symbol]."""
    facts: Tensor  # int32 [symbol]: what the function knows of each


@dataclass(frozen=True)
class Left(Rows):
    """What is left of each multiset, and what came last."""

    left: Tensor  # [row, symbol]
    last: Tensor  # int64 [row]: PAD at the beginning


class Counting(Constraint[Left]):
    """A language where what is left of a known multiset and what came last say what may come next."""

    @abstractmethod
    def legal(self, left: Tensor, last: Tensor) -> Tensor:
        """bool [..., symbol]: what may come next, given what is left [..., symbol] and came last [...]."""

    def rule(self) -> KernelRule | None:
        """`legal` as a Triton function, for kernels on a GPU; None where there is none."""
        return None

    def start(self, given: Given) -> Left:
        counts = self._multiset(given)
        return Left(counts, torch.full((len(counts),), PAD, device=counts.device))

    def mask(self, state: Left) -> Tensor:
        return self.legal(state.left, state.last)

    def advance(self, state: Left, symbol: Tensor) -> Left:
        return Left(without(state.left, symbol), torch.where(symbol == PAD, state.last, symbol))

    def accepts(self, state: Left) -> Tensor:
        return (state.left == 0).all(1)

    def masks(self, given: Given, z: Tensor) -> Tensor:
        counts = self._multiset(given)
        before = torch.nn.functional.pad(z, (1, 0), value=PAD)[:, :-1]
        used = torch.zeros((*z.shape, self.symbols), dtype=counts.dtype, device=z.device)
        used.scatter_(2, before.clamp(min=0)[..., None], (before != PAD).to(counts.dtype)[..., None])
        latest = torch.arange(z.shape[1], device=z.device).where(before != PAD, 0).cummax(1).values
        return self.legal(counts[:, None] - used.cumsum(1), before.gather(1, latest))


class AnyOrder(Counting):
    """No grammar: every order of the symbols. The policy of NS-RL (Li et al. 2020, Sec. 4.2)."""

    facts: Tensor

    def __init__(self, symbols: int) -> None:
        super().__init__(symbols)
        self.register_buffer("facts", torch.zeros(symbols, dtype=torch.int32), persistent=False)

    def possible(self, given: Given) -> Tensor:
        return (self._multiset(given) >= 0).all(1)

    def legal(self, left: Tensor, last: Tensor) -> Tensor:
        return left > 0

    def rule(self) -> KernelRule:
        from ngs.kernels.decoder import any_order

        return KernelRule(any_order, self.facts)


# All sentences


@dataclass(frozen=True)
class Enumerated:
    """Every sentence of some examples."""

    rows: Tensor  # [sentence]: the example that it belongs to, in ascending order
    sentences: Tensor  # [sentence, time]: PAD after the end
    complete: Tensor
    """bool [example]: false where there are more than were asked for; those have none here"""


def enumerate_sentences(constraint: Constraint[Any], given: Given, at_most: int) -> Enumerated:
    """All sentences of each example that has no more than `at_most`."""
    possible = constraint.possible(given)
    complete = torch.ones_like(possible)
    rows = possible.nonzero()[:, 0]
    state = constraint.start(given).select(rows)
    sentences = rows.new_empty((len(rows), 0))
    over = torch.zeros_like(possible[rows])
    while True:
        allowed = constraint.mask(state) & ~over[:, None]
        if not allowed.any():
            return Enumerated(rows, sentences, complete)
        # A sentence that ends goes on with PAD, as one more symbol after the others.
        choices = torch.cat([allowed, (over | constraint.accepts(state))[:, None]], 1)
        # Every allowed prefix can be completed, so their number never falls: too many is too many for good.
        ways = rows.new_zeros(len(complete)).index_add(0, rows, choices.sum(1))
        complete = complete & (ways <= at_most)
        parents, following = (choices & complete[rows][:, None]).nonzero(as_tuple=True)
        over = following == constraint.symbols
        symbol = following.masked_fill(over, PAD)
        state, rows = constraint.advance(state.select(parents), symbol), rows[parents]
        sentences = torch.cat([sentences[parents], symbol[:, None]], 1)
