"""Handwritten formulas as data: symbol images, and formulas written with them."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngs.grammar.grammar import Grammar, arithmetic
from ngs.grammar.padding import PAD
from ngs.grammar.tree import Sentence
from ngs.learning.examples import Examples, padded
from ngs.networks.lenet import SIDE as SIDE  # part of what a data set is
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import evaluate
from ngs.tasks.source import Numbers, dealt

GRAMMAR: Grammar = arithmetic()  # 0-9 + - * /; an image's `column` counts its symbols
PRETRAIN_STEPS = 2000  # pre-training that has not reached its accuracy by then is over anyway


@lru_cache(maxsize=1 << 16)
def value_of(sentence: str | Sentence) -> Value:
    """The exact value of a formula; UNDEFINED where it divides by zero."""
    return evaluate(parse(GRAMMAR, sentence), Arithmetic)


@dataclass(frozen=True, eq=False)
class Formulas:
    """Formulas written with some images, and their values."""

    where: Tensor  # int64 [formula, time]: rows of the images, PAD behind the end
    answers: tuple[Fraction, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], answers: Iterable[Fraction], names: Iterable[str]) -> Formulas:
        flat = np.array([row for each in rows for row in each], dtype=np.int64)
        return cls(padded(flat, [len(each) for each in rows]), tuple(answers), tuple(names))

    def __len__(self) -> int:
        return len(self.where)

    @cached_property
    def lengths(self) -> Tensor:
        """[formula]"""
        return (self.where != PAD).sum(1)

    @property
    def images(self) -> Tensor:
        """The rows of the images that they are written with, each once, in order."""
        rows: Tensor = torch.unique(self.where[self.where != PAD])
        return rows

    def select(self, formulas: Sequence[int] | NDArray[np.int64]) -> Formulas:
        """Some of the formulas, with room for the longest of them."""
        chosen = torch.as_tensor(formulas, dtype=torch.long)
        time = int(self.lengths[chosen].max()) if len(chosen) else 0
        return Formulas(
            self.where[chosen, :time],
            tuple(self.answers[k] for k in formulas),
            tuple(self.names[k] for k in formulas),
        )


@dataclass(frozen=True, eq=False)
class HandwrittenFormulas:
    """A data set: images of single symbols, and formulas to learn from and to be tested on."""

    name: str
    images: Tensor  # uint8 [image, SIDE, SIDE]: dark strokes on white paper
    columns: Tensor  # uint8 [image]: which symbol of the grammar it shows
    sources: tuple[str, ...]  # where each image comes from: a file name, or a writer
    train: Formulas
    test: Formulas

    def sentence(self, formulas: Formulas, number: int) -> str:
        """One formula as it is written: '3*8*1/8'."""
        rows = [row for row in formulas.where[number].tolist() if row != PAD]
        return "".join(GRAMMAR.decode(self.columns[rows].tolist()))

    @property
    def used(self) -> Tensor:
        """The rows of the images that formulas are written with, each once, in order."""
        rows: Tensor = torch.unique(torch.cat([self.train.images, self.test.images]))
        return rows

    @cached_property
    def digest(self) -> str:
        """Of images, formulas and answers: tells apart data sets in the same place."""
        hasher = hashlib.sha256()
        for tensor in (self.images, self.columns, self.train.where, self.test.where):
            hasher.update(tensor.contiguous().numpy().reshape(-1).view("uint8").data)
        hasher.update(repr((self.train.answers, self.test.answers)).encode())
        return hasher.hexdigest()

    def examples(self, formulas: Formulas) -> Examples:
        labels = self.columns.long()[formulas.where.clamp(min=0)].masked_fill(formulas.where == PAD, PAD)
        return Examples.pooled(self.images, formulas.where, formulas.answers, labels, as_ink)

    def restricted(self, lengths: Sequence[int]) -> HandwrittenFormulas:
        def part(formulas: Formulas) -> Formulas:
            return formulas.select(
                torch.isin(formulas.lengths, torch.tensor(lengths)).nonzero()[:, 0].numpy()
            )

        return replace(self, train=part(self.train), test=part(self.test))


def as_ink(images: Tensor) -> Tensor:
    """float [image, 1, height, width], 1 where there is ink, from uint8 dark on white."""
    return (1 - images.float() / 255).unsqueeze(1)


def divided(formulas: Examples, share: float, seed: int) -> tuple[Examples, Examples]:
    """A random share of the formulas, the same of each length, and the rest."""
    chosen, rest = dealt(formulas.lengths, share, seed, order=_shuffled)
    return formulas.select(chosen), formulas.select(rest)


def _shuffled(seed: int, length: int, numbers: Numbers) -> Numbers:
    """As results that were published divided them."""
    order = numbers.tolist()
    random.Random(f"{seed} {length}").shuffle(order)
    return np.array(order)
