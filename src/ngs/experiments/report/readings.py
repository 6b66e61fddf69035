"""What a network reads in some examples, and what their labels, which no search sees, tell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, zip_longest
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Self

from torch import Tensor

from ngs.learning.examples import Examples
from ngs.learning.metrics import Reading
from ngs.search.reasoner import Reasoner
from ngs.tasks.trainable import Metrics


@dataclass(frozen=True, eq=False)
class Readings(ABC):
    """What a network reads in some examples of a part."""

    noun: ClassVar[str]
    """what the examples are called"""
    at_once: ClassVar[int]
    """wrong answers that are corrected together"""
    examined: ClassVar[int | None] = None
    """test examples that a page is about, at most"""
    places: ClassVar[tuple[int, int]]
    """mistakes on a page, at most; and places among them for right answers"""

    reasoner: Reasoner
    reading: Reading
    of: int
    """how many examples the part has that can be read"""

    @classmethod
    @abstractmethod
    def read(cls, run: Path, file: str, config: Any, parts: Any, part: str, limit: int | None) -> Self:
        """By a network of a run, at most `limit` examples of one of its parts; the same ones each time."""

    def __len__(self) -> int:
        return len(self.reading.right)

    @property
    def is_all(self) -> bool:
        return len(self) == self.of

    @property
    def counted(self) -> str:
        return f"{len(self):,} {self.noun}" if self.is_all else f"{len(self):,} of {self.of:,} {self.noun}"

    @property
    def labelled(self) -> bool:
        """Whether the true sentences are known."""
        return self.examples.labels is not None

    @property
    def examples(self) -> Examples:
        examples: Examples = self.reasoner.examples
        return examples

    @cached_property
    def wrong(self) -> list[int]:
        """Examples with a wrong answer."""
        numbers: list[int] = (~self.reading.right).nonzero()[:, 0].tolist()
        return numbers

    @cached_property
    def lucky(self) -> list[int]:
        """Examples with the right answer from a sentence that means something else than the true one."""
        right = self.reading.right.nonzero()[:, 0].tolist()
        meant = self.means(right, self.reading.symbols[right])
        return [k for k, same in zip(right, meant, strict=True) if same is False]

    @abstractmethod
    def means(self, numbers: Sequence[int], z: Tensor) -> Sequence[bool | None]:
        """Whether sentences [number, time] mean what the true ones mean; None where nobody knows."""

    @property
    @abstractmethod
    def scores(self) -> Metrics: ...

    @abstractmethod
    def distribution(self, numbers: Tensor) -> Any:
        """p(z|x) of some examples."""

    @abstractmethod
    def turn(self, number: int) -> tuple[Any, ...]:
        """What examples are told apart by where some of each kind are shown; kinds are sorted by it."""

    @abstractmethod
    def most_confident(self, numbers: list[int]) -> Iterable[int]:
        """Mistakes in the order in which they are shown."""

    @abstractmethod
    def shown(self, number: int) -> Any:
        """An example with what was read in it, to be shown."""

    def mistakes(self, limit: int, lucky: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Some with wrong answers, and some lucky ones: at most `limit`, with places for `lucky` ones."""
        places = min(len(self.lucky), max(lucky, limit - len(self.wrong)))
        return self._some(self.wrong, limit - places), self._some(self.lucky, places)

    def _some(self, numbers: list[int], limit: int) -> tuple[Any, ...]:
        return tuple(map(self.shown, islice(self.most_confident(numbers), limit)))


def some_of(number: int, limit: int | None) -> list[int]:
    """At most `limit` of so many examples; the same ones each time."""
    every = range(number)
    return list(every) if limit is None else sorted(Random(0).sample(every, min(limit, number)))


def in_turn(numbers: Iterable[int], kind: Callable[[int], tuple[Any, ...]]) -> Iterator[int]:
    """One of each kind, then another of each, and so on."""
    kinds: dict[tuple[Any, ...], list[int]] = {}
    for k in numbers:
        kinds.setdefault(kind(k), []).append(k)
    turns = zip_longest(*(kinds[each] for each in sorted(kinds)))
    return (k for k in chain.from_iterable(turns) if k is not None)
