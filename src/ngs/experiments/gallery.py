"""What the networks of a run misread, and what a search makes of it, told apart by the labels.

Learning from answers never sees a label. Here they judge: a correction that gives the right answer and is
not what is written is spurious, and only the labels can tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import chain, islice, zip_longest
from pathlib import Path
from random import Random

import torch
from torch import Tensor

from ngs.experiments.config import TrainHWF
from ngs.experiments.run import A_NETWORK, BEST, EARLY, load_network, parts_of
from ngs.grammar.grammar import Grammar
from ngs.grammar.tree import Sentence
from ngs.learning import tensor_file
from ngs.learning.examples import Examples
from ngs.learning.reasoner import Reasoner, reasoner
from ngs.learning.scores import Reading, Scores, read_all, scores_of
from ngs.parsing.decode import PAD, Sentences, score_of
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import evaluate
from ngs.search.multi_step import Walk
from ngs.search.posterior import Posterior, posterior
from ngs.tasks.hwf.dataset import GRAMMAR

SHOWN_MISTAKES, SHOWN_CORRECTIONS = 24, 6
"""At most; of the corrections for each fate."""
LUCKY = 6
"""Places among the mistakes for those whose answer is right all the same."""
ALTERNATIVES = 3
"""Formulas of the posterior that are shown."""
SAMPLE = 300
"""Training formulas that are corrected."""


@dataclass(frozen=True, eq=False)
class Exam:
    """What the best network of a run reads on the test part."""

    step: int
    """of the network"""
    examples: Examples
    names: Sequence[str]
    """[example]"""
    scores: Scores
    confusion: Tensor
    """[true, read]"""
    mistakes: Mistakes


@dataclass(frozen=True, eq=False)
class Practice:
    """What an early network reads in some training formulas, and how its answers are corrected."""

    step: int
    """of the network"""
    formulas: int
    """that were learned from"""
    examples: Examples
    """some of them"""
    reading: Reading
    corrections: Corrections | None
    """None where there was nothing to correct"""


@dataclass(frozen=True, eq=False)
class Gallery:
    data: str
    """the name of the data set"""
    exam: Exam
    practice: Practice


def gallery(folder: Path, config: TrainHWF) -> Gallery:
    """Read the test part and some training formulas anew, with the networks of a run."""
    parts = parts_of(config, torch.device("cpu"))
    exam = _exam(folder, parts.test, parts.data.test.names)
    return Gallery(parts.data.name, exam, _practice(folder, config, parts.train))


def _exam(folder: Path, part: Reasoner, names: Sequence[str]) -> Exam:
    reading = read_all(load_network(folder), part)
    return Exam(
        _step_of(folder / BEST),
        part.examples,
        names,
        scores_of(reading, part.examples),
        confusion(reading, part.examples, len(GRAMMAR.symbols)),
        mistakes(reading, part.examples, GRAMMAR, SHOWN_MISTAKES),
    )


def _practice(folder: Path, config: TrainHWF, part: Reasoner) -> Practice:
    """With the network of the first validation, which has much to learn; with the best if it has not."""
    formulas = len(part.examples)
    chosen = sorted(Random(0).sample(range(formulas), min(SAMPLE, formulas)))
    sample = reasoner(GRAMMAR, Arithmetic, part.examples.select(chosen))
    for name in [EARLY] * (folder / EARLY).exists() + [BEST]:
        step, reading = _step_of(folder / name), read_all(load_network(folder, name), sample)
        if not reading.right.all():
            walk, generator = Walk(steps=config.walk_steps), torch.Generator().manual_seed(config.seed)
            found = corrections(reading, sample, walk, generator, SHOWN_CORRECTIONS)
            return Practice(step, formulas, sample.examples, reading, found)
    return Practice(step, formulas, sample.examples, reading, None)


def _step_of(path: Path) -> int:
    _, facts = tensor_file.load(path, A_NETWORK, "train one with `ngs train hwf`")
    return int(facts["step"])


# Mistakes


@dataclass(frozen=True)
class Misreading:
    """A formula that was not read as it is written."""

    number: int
    """which of the examples"""
    written: Sentence
    read: Sentence
    answer: Value
    value: Value
    """of what was read"""
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
    labels = _labels(examples)
    pairs = (labels * symbols + reading.columns)[(labels != PAD) & (reading.columns != PAD)]
    return torch.bincount(pairs, minlength=symbols * symbols).view(symbols, symbols)


def mistakes(reading: Reading, examples: Examples, grammar: Grammar, limit: int) -> Mistakes:
    """The most confident mistakes first, by log p(read) - log p(written); a few places are for lucky ones."""
    labels = _labels(examples)
    misread = (reading.columns != labels).any(1)
    confidence = score_of(reading.log_probs, reading.columns) - score_of(reading.log_probs, labels)
    order = sorted(torch.nonzero(misread)[:, 0].tolist(), key=lambda k: (-float(confidence[k]), k))
    lucky = [k for k in order if reading.right[k]]
    unlucky = [k for k in order if not reading.right[k]]
    places = min(len(lucky), max(LUCKY, limit - len(unlucky)))
    chosen = sorted(lucky[:places] + unlucky[: limit - places], key=order.index)
    shown = tuple(misreading(reading, examples, grammar, k) for k in chosen)
    return Mistakes(len(order), len(lucky), shown)


def misreading(reading: Reading, examples: Examples, grammar: Grammar, number: int) -> Misreading:
    length = int(examples.lengths[number])
    columns, labels = reading.columns[number, :length], _labels(examples)[number, :length]
    probs = reading.log_probs[number, :length].exp()
    read = grammar.decode(columns.tolist())
    return Misreading(
        number,
        grammar.decode(labels.tolist()),
        read,
        examples.answers[number],
        evaluate(parse(grammar, read), Arithmetic),
        tuple(probs.gather(1, labels[:, None])[:, 0].tolist()),
        tuple(probs.gather(1, columns[:, None])[:, 0].tolist()),
    )


# Corrections


class Fate(Enum):
    """What became of a misread formula."""

    TRUE = "true"
    """corrected into what is written"""
    SPURIOUS = "spurious"
    """corrected into something else with the same value"""
    NONE = "none"
    """not corrected: nothing that was looked at gives the answer"""


def fates(columns: Tensor, found: Tensor, labels: Tensor) -> list[Fate]:
    """Of corrections [example, time], `found` where they give the answer."""
    true = (columns == labels).all(1)
    return [
        (Fate.TRUE if same else Fate.SPURIOUS) if right else Fate.NONE
        for same, right in zip(true.tolist(), found.tolist(), strict=True)
    ]


@dataclass(frozen=True)
class Corrected:
    """A wrong answer, what 1-BS made of it, and what the posterior thinks."""

    misreading: Misreading
    fate: Fate
    """of the correction by 1-BS"""
    correction: Sentence | None
    alternatives: tuple[tuple[Sentence, float], ...]
    """the likeliest formulas with the right answer, and p(z|x,y) of each"""
    p_written: float
    """p(z|x,y) of what is written"""

    @property
    def posterior_right(self) -> bool:
        """Whether the likeliest of all formulas with the right answer is the one that is written."""
        return bool(self.alternatives) and self.alternatives[0][0] == self.misreading.written


@dataclass(frozen=True)
class Corrections:
    """What different searches make of the wrong answers of some examples, judged by the labels."""

    examples: int
    lucky: int
    """misread, but with the right answer: nothing to correct, as far as the answer tells"""
    fates: Mapping[str, Counter[Fate]]
    """of all wrong answers, by search"""
    p_written: float
    """p(z|x,y) of what is written, on average over the wrong answers"""
    exact: bool
    """whether the posterior is; otherwise its values are those of a beam"""
    shown: Mapping[Fate, tuple[Corrected, ...]]
    """some of them, by what 1-BS made of them"""

    @property
    def wrong(self) -> int:
        """How many answers were wrong."""
        return sum(next(iter(self.fates.values())).values())


ONE_STEP, MULTI_STEP, POSTERIOR = "1-BS", "m-BS", "posterior"


def corrections(
    reading: Reading, part: Reasoner, walk: Walk, generator: torch.Generator, limit: int
) -> Corrections:
    """Correct every wrong answer in three ways; show at most `limit` for each fate under 1-BS.

    Of each fate, the lengths take turns, and those that the posterior gets right with those it does not.
    """
    searches = _Searches.of(reading, part, walk, generator)
    counts = {name: Counter(found) for name, found in searches.fates.items()}
    shown = {}
    for fate in Fate:
        those = (k for k, other in enumerate(searches.fates[ONE_STEP]) if other is fate)
        shown[fate] = tuple(searches.corrected(k) for k in islice(_in_turn(those, searches.kind), limit))
    misread = (reading.columns != _labels(part.examples)).any(1)
    lucky = int((misread & reading.right).sum())
    p_written, exact = float(searches.p_written.mean()), bool(searches.posterior.exact.all())
    return Corrections(len(reading.right), lucky, counts, p_written, exact, shown)


@dataclass(frozen=True, eq=False)
class _Searches:
    """The wrong answers of a reading after every search; `k` counts them."""

    reading: Reading
    part: Reasoner
    numbers: Tensor
    """[wrong]: which of the examples"""
    one: tuple[Tensor, Tensor]
    walked: tuple[Tensor, Tensor]
    """corrections [wrong, time], and whether they give the answer [wrong]"""
    posterior: Posterior
    likeliest: Sentences
    """[wrong, rank] of the posterior"""

    @classmethod
    def of(cls, reading: Reading, part: Reasoner, walk: Walk, generator: torch.Generator) -> _Searches:
        numbers = torch.nonzero(~reading.right)[:, 0]
        log_probs, batch = reading.log_probs[numbers], part.examples.batch(numbers.numpy())
        answers = [part.examples.answers[k] for k in numbers.tolist()]
        found = posterior(part.grammar, Arithmetic, log_probs, batch.lengths, answers)
        return cls(
            reading,
            part,
            numbers,
            part.one_step(log_probs, batch),
            part.multi_step(log_probs, batch, walk, generator),
            found,
            found.k_best(ALTERNATIVES),
        )

    @cached_property
    def labels(self) -> Tensor:
        return _labels(self.part.examples)[self.numbers]

    @cached_property
    def fates(self) -> Mapping[str, list[Fate]]:
        mode = self.likeliest.columns[:, 0], self.posterior.found
        searches = {ONE_STEP: self.one, MULTI_STEP: self.walked, POSTERIOR: mode}
        return {name: fates(*found, self.labels) for name, found in searches.items()}

    @cached_property
    def p_written(self) -> Tensor:
        """p(z|x,y) [wrong] of what is written: at most 1, also where a beam left some of p(y|x) out."""
        log_p = score_of(self.posterior.scores, self.labels) - self.posterior.log_evidence.detach()
        return log_p.exp().masked_fill(~self.posterior.found, 0.0).clamp(max=1.0)

    def kind(self, k: int) -> tuple[int, bool]:
        """Longest first, and those first that the posterior gets right."""
        return -int(self.part.examples.lengths[self.numbers[k]]), self.fates[POSTERIOR][k] is not Fate.TRUE

    def corrected(self, k: int) -> Corrected:
        columns, found = self.one
        grammar = self.part.grammar
        shares = (self.likeliest.log_probs[k] - self.posterior.log_evidence[k]).detach().exp().tolist()
        return Corrected(
            misreading(self.reading, self.part.examples, grammar, int(self.numbers[k])),
            self.fates[ONE_STEP][k],
            grammar.decode(c for c in columns[k].tolist() if c != PAD) if found[k] else None,
            tuple((self.likeliest[k, rank], share) for rank, share in enumerate(shares) if share > 0),
            float(self.p_written[k]),
        )


def _in_turn(numbers: Iterable[int], kind: Callable[[int], tuple[int, bool]]) -> Iterator[int]:
    """One of each kind, then another of each, and so on."""
    kinds: dict[tuple[int, bool], list[int]] = {}
    for k in numbers:
        kinds.setdefault(kind(k), []).append(k)
    turns = zip_longest(*(kinds[each] for each in sorted(kinds)))
    return (k for k in chain.from_iterable(turns) if k is not None)


def _labels(examples: Examples) -> Tensor:
    assert examples.labels is not None, "handwritten formulas have labels"
    return examples.labels.cpu()
