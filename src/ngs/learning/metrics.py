"""How good a network is: answers, sentences and symbols right, for each length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from ngs.errors import NGSError
from ngs.grammar.padding import PAD
from ngs.learning.examples import Examples
from ngs.search.reasoner import Reasoner

SHARES = ("answers", "sentences", "symbols")  # what is counted, by the names that facts have
AT_ONCE = 1024
"""Symbols read in one go, so that longer sentences do not take more memory. With the paper's network, which
halves its images late, that is 0.6 GB a layer: several runs have to share a GPU."""


@dataclass(frozen=True)
class Score:
    """Counts of what is right in some examples; sentences and symbols are None where nobody knows the labels.

    The most likely sentence is judged. Answers are exact: a tolerance belongs where decimals enter.
    """

    examples: int
    symbols: int
    answers_right: int
    sentences_right: int | None
    symbols_right: int | None

    @property
    def answer(self) -> float:
        return self.answers_right / max(self.examples, 1)

    @property
    def sentence(self) -> float | None:
        """The share of sentences read without a mistake."""
        return None if self.sentences_right is None else self.sentences_right / max(self.examples, 1)

    @property
    def symbol(self) -> float | None:
        """The share of symbols read right."""
        return None if self.symbols_right is None else self.symbols_right / max(self.symbols, 1)

    def __add__(self, other: Score) -> Score:
        pairs = zip(astuple(self), astuple(other), strict=True)
        sums: list[Any] = [None if None in pair else sum(pair) for pair in pairs]
        return Score(*sums)

    def as_facts(self, names: Sequence[str] = SHARES) -> dict[str, float | int | None]:
        """For JSON: how many examples, and by name the shares of right answers, sentences and symbols."""
        shares = (self.answer, self.sentence, self.symbol)
        return {"examples": self.examples, **dict(zip(names, shares, strict=True))}


@dataclass(frozen=True)
class Scores:
    """A score for each length of sentences, and their sum."""

    by_length: Mapping[int, Score]
    names: Sequence[str] = SHARES
    """what a task calls the shares"""

    @property
    def total(self) -> Score:
        return sum(self.by_length.values(), Score(0, 0, 0, 0, 0))

    @property
    def accuracy(self) -> float:
        return self.total.answer

    def as_facts(self) -> dict[str, object]:
        """For JSON."""
        by_length = {str(length): score.as_facts(self.names) for length, score in self.by_length.items()}
        return {**self.total.as_facts(self.names), "by_length": by_length}


@dataclass(frozen=True, eq=False)
class Reading:
    """What a network reads in each of some examples."""

    symbols: Tensor  # [example, time]: the sentence it finds most likely, PAD after the end
    right: Tensor  # [example]: whether it gives the answer
    log_probs: Tensor | None
    """[example, time, symbol], where the network gives scores for each position"""


def read_all(network: nn.Module, reasoner: Reasoner) -> Reading:
    """The most likely sentence of every example, in evaluation mode, on the CPU."""
    examples: Examples = reasoner.examples
    if not len(examples):
        raise NGSError("there are no examples to read; give at least one")
    was_training = network.training
    network.eval()
    parts = []
    step = max(1, AT_ONCE // max(1, examples.time))
    with torch.inference_mode():
        for first in range(0, len(examples), step):
            batch = examples.batch(np.arange(first, min(first + step, len(examples))))
            p = reasoner.distribution(network(batch.inputs), batch)
            z = p.best().symbols
            right = reasoner.right(batch, z)
            z = pad(z, (0, examples.time - z.shape[1]), value=PAD)
            parts.append((z, right, getattr(p, "log_probs", None)))
    network.train(was_training)
    symbols, right, log_probs = zip(*parts, strict=True)
    scores = None if log_probs[0] is None else torch.cat(log_probs).cpu()
    return Reading(torch.cat(symbols).cpu(), torch.cat(right).cpu(), scores)


def measure(network: nn.Module, reasoner: Reasoner) -> Scores:
    return scores_of(read_all(network, reasoner), reasoner.examples)


def scores_of(reading: Reading, examples: Examples) -> Scores:
    lengths = torch.from_numpy(examples.lengths)
    labels = None if examples.labels is None else examples.labels.cpu()

    def score(length: int) -> Score:
        chosen = lengths == length
        count = int(chosen.sum())
        right = int(reading.right[chosen].sum())
        if labels is None:
            return Score(count, count * length, right, None, None)
        same = (reading.symbols[chosen] == labels[chosen]) & (labels[chosen] != PAD)
        whole = int((same.sum(1) == length).sum())
        return Score(count, count * length, right, whole, int(same.sum()))

    return Scores({length: score(length) for length in sorted(set(lengths.tolist()))})
