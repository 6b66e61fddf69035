"""What a network misreads, told by the labels."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ngs.grammar.grammar import Grammar
from ngs.grammar.padding import PAD
from ngs.grammar.tree import Sentence
from ngs.learning.examples import Examples
from ngs.learning.metrics import Reading
from ngs.parsing.independent import Independent
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import evaluate

LUCKY = 6
"""Places among the mistakes for those whose answer is right all the same."""


@dataclass(frozen=True, eq=False)
class Misreading:
    """A formula that was not read as it is written."""

    number: int
    """which of the examples"""
    written: Sentence
    read: Sentence
    answer: Value
    value: Value
    """of what was read"""
    log_probs: Tensor
    """[time, symbol]: what the network says"""
    p_written: tuple[float, ...]
    p_read: tuple[float, ...]
    """the network's probability of each written and each read symbol"""

    @property
    def wrong(self) -> tuple[int, ...]:
        """The positions of the misread symbols."""
        return tuple(t for t, (a, b) in enumerate(zip(self.written, self.read, strict=True)) if a != b)

    @property
    def lucky(self) -> bool:
        """Whether the answer is right all the same."""
        return bool(self.value == self.answer)


@dataclass(frozen=True)
class Mistakes:
    """The misread formulas of a part: how many there are, and some of them."""

    total: int
    lucky: int
    shown: tuple[Misreading, ...]


def confusion(reading: Reading, examples: Examples, symbols: int) -> Tensor:
    """How often each symbol [true, read] was read as which."""
    labels = labels_of(examples)
    pairs = (labels * symbols + reading.symbols)[(labels != PAD) & (reading.symbols != PAD)]
    return torch.bincount(pairs, minlength=symbols * symbols).view(symbols, symbols)


def mistakes(reading: Reading, examples: Examples, grammar: Grammar, limit: int) -> Mistakes:
    """The most confident mistakes first, by log p(read) - log p(written); a few places are for lucky ones."""
    labels = labels_of(examples)
    misread, p = (reading.symbols != labels).any(1), distribution(reading, examples, grammar)
    rows = torch.arange(len(p))
    confidence = p.score(rows, reading.symbols) - p.score(rows, labels)
    order = sorted(torch.nonzero(misread)[:, 0].tolist(), key=lambda k: (-float(confidence[k]), k))
    lucky = [k for k in order if reading.right[k]]
    unlucky = [k for k in order if not reading.right[k]]
    places = min(len(lucky), max(LUCKY, limit - len(unlucky)))
    chosen = sorted(lucky[:places] + unlucky[: limit - places], key=order.index)
    shown = tuple(misreading(reading, examples, grammar, k) for k in chosen)
    return Mistakes(len(order), len(lucky), shown)


def misreading(reading: Reading, examples: Examples, grammar: Grammar, number: int) -> Misreading:
    length = int(examples.lengths[number])
    symbols, labels = reading.symbols[number, :length], labels_of(examples)[number, :length]
    log_probs = distribution(reading, examples, grammar).log_probs[number, :length]
    probs = log_probs.exp()
    read = grammar.decode(symbols.tolist())
    return Misreading(
        number,
        grammar.decode(labels.tolist()),
        read,
        examples.answers[number],
        evaluate(parse(grammar, read), Arithmetic),
        log_probs,
        tuple(probs.gather(1, labels[:, None])[:, 0].tolist()),
        tuple(probs.gather(1, symbols[:, None])[:, 0].tolist()),
    )


def distribution(reading: Reading, examples: Examples, grammar: Grammar) -> Independent:
    """p(z|x) as the network says it."""
    assert reading.log_probs is not None, "networks that read formulas score each symbol"
    return Independent(grammar, reading.log_probs, torch.from_numpy(examples.lengths))


def labels_of(examples: Examples) -> Tensor:
    assert examples.labels is not None, "handwritten formulas have labels"
    return examples.labels.cpu()
