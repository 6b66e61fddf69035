"""A network's readings of some examples, compared with labels, which no search sees."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, islice, zip_longest
from random import Random
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ngs.grammar.grammar import Grammar
from ngs.grammar.padding import PAD
from ngs.grammar.tree import Sentence
from ngs.learning.examples import Examples, Pool
from ngs.learning.metrics import Reading, scores_of
from ngs.parsing.independent import Independent
from ngs.parsing.sentence import find_tree
from ngs.reasoning.operation import UNDEFINED, Value
from ngs.reasoning.semantics import Meaning, evaluate, interpret
from ngs.search.back_search import back_search
from ngs.search.correction import Correction, Evaluated
from ngs.search.edits import Substitute
from ngs.search.one_step import one_step
from ngs.search.reasoner import Reasoner


@dataclass(frozen=True)
class Misread:
    """An example that was misread."""

    title: str
    picture: Callable[[], str]  # the input as text or markup; empty where nothing is shown
    answer: Value
    read: Sentence
    value: Value | None  # of the sentence that was read; None: unknown
    true: Sentence | None  # None: unknown
    p_read: tuple[float, ...]  # of each symbol that was read, or of the whole sentence
    p_true: tuple[float, ...]

    @property
    def wrong(self) -> tuple[int, ...]:
        """The positions of wrong symbols."""
        true = self.read if self.true is None else self.true
        return tuple(t for t, symbol in enumerate(self.read) if true[t : t + 1] != (symbol,))


@dataclass(frozen=True, eq=False)
class Readings:
    """A network's readings of some examples of a part. A task with more to show makes a subclass."""

    at_once: ClassVar[int] = 256  # wrong answers that are corrected together

    grammar: Grammar
    reasoner: Reasoner  # of these examples
    network: nn.Module
    reading: Reading  # from `read_all`
    of: int  # number of readable examples in the part
    chosen: Sequence[int]  # [example]: which of the part
    semantics: Meaning | None = None  # None: only the judge knows what sentences mean
    show: Callable[[Any], str] | None = None  # from inputs [time, ...] or whole to text or markup

    def __len__(self) -> int:
        return len(self.reading.right)

    @property
    def labelled(self) -> bool:
        return self.examples.labels is not None

    @property
    def examples(self) -> Examples:
        examples: Examples = self.reasoner.examples
        return examples

    @property
    def labels(self) -> Tensor:
        assert self.examples.labels is not None, "asked only where the true sentences are known"
        return self.examples.labels.cpu()

    @cached_property
    def wrong(self) -> list[int]:
        """Examples with a wrong answer."""
        return (~self.reading.right).nonzero()[:, 0].tolist()

    @cached_property
    def lucky(self) -> list[int]:
        """Examples with the right answer and the wrong meaning."""
        right = self.reading.right.nonzero()[:, 0].tolist()
        meant = self.means(right, self.reading.symbols[right])
        return [k for k, same in zip(right, meant, strict=True) if same is False]

    @property
    def confusion(self) -> Tensor:
        """Counts of symbols [true, read]."""
        labels, read, symbols = self.labels, self.reading.symbols, len(self.grammar.symbols)
        pairs = (labels * symbols + read)[(labels != PAD) & (read != PAD)]
        return torch.bincount(pairs, minlength=symbols * symbols).view(symbols, symbols)

    @property
    def scores(self) -> Any:
        return scores_of(self.reading, self.examples)

    # A task may override these

    def means(self, numbers: Sequence[int], z: Tensor) -> Sequence[bool | None]:
        """Whether sentences [number, time] mean the same as the true ones; None if unknown."""
        if not self.labelled:
            return [None] * len(numbers)
        return (z == self.labels[numbers]).all(1).tolist()

    def turn(self, number: int) -> tuple[Any, ...]:
        """The kind of an example, of which some of each are shown: longest first."""
        return (-int(self.examples.lengths[number]),)

    def most_confident(self, numbers: list[int]) -> Iterable[int]:
        """Mistakes sorted by log p(read) - log p(true)."""
        margin = self.log_p(numbers, self.reading.symbols[numbers])
        if self.labelled:
            margin = margin - self.log_p(numbers, self.labels[numbers])
        return [numbers[k] for k in margin.argsort(descending=True, stable=True).tolist()]

    def name(self, number: int) -> str:
        return f"example {self.chosen[number] + 1}"

    def picture(self, number: int) -> str:
        """The input as text or markup; empty where nothing is shown."""
        inputs = self.examples.inputs
        seen = inputs.batch(np.array([number]))
        return "" if self.show is None else self.show(seen if isinstance(inputs, Pool) else seen[0])

    def value(self, read: Sentence) -> Value | None:
        """The value of a sentence; None if only the judge knows."""
        if self.semantics is None:
            return None
        tree = find_tree(self.grammar, read)
        return UNDEFINED if tree is None else evaluate(tree, self.semantics)

    def correction(self, number: int) -> Correction:
        """1-BS by Algorithm 1 if edits replace one symbol, else by the search of training."""
        assert self.semantics is not None, "asked only of tasks with one semantics for all examples"
        z, target = self.reading.symbols[number], self.examples.answers[number]
        read, edits = self.sentence(z), self.reasoner.edits
        if self.reading.log_probs is not None and isinstance(edits, Substitute):
            log_probs = self.distribution(torch.tensor([number])).log_probs[0, : len(read)]
            return one_step(self.grammar, self.semantics, log_probs, target, read)
        numbers = torch.tensor([number])
        judge = self.reasoner.judge_of(self.examples.batch(numbers.numpy()))
        with torch.inference_mode():
            found = back_search(z[None], self.distribution(numbers).score, edits, judge)
        algebra = interpret(self.grammar, self.semantics)
        first = Evaluated.of(self.grammar, algebra, read)
        fixed = Evaluated.of(self.grammar, algebra, self.sentence(found.z[0])) if found.found[0] else None
        return Correction(first, target, first if fixed == first else fixed)

    def shown(self, number: int) -> Any:
        z, true = self.reading.symbols[number], self.labels[number] if self.labelled else None
        read = self.sentence(z)
        return Misread(
            self.name(number),
            partial(self.picture, number),
            self.examples.answers[number],
            read,
            self.value(read),
            None if true is None else self.sentence(true),
            self.p(number, z),
            () if true is None else self.p(number, true),
        )

    # Probabilities

    @torch.inference_mode()
    def distribution(self, numbers: Tensor) -> Any:
        """p(z|x) of some examples."""
        if self.reading.log_probs is not None:
            lengths = torch.from_numpy(self.examples.lengths)
            return Independent(self.grammar, self.reading.log_probs[numbers], lengths[numbers])
        batch = self.examples.batch(numbers.numpy())
        return self.reasoner.distribution(self.network(batch.inputs), batch)

    @torch.inference_mode()
    def log_p(self, numbers: Sequence[int], z: Tensor) -> Tensor:
        """log p(z|x) of sentences [number, time]."""
        found = [torch.zeros(0)]
        for first in range(0, len(numbers), self.at_once):
            some = z[first : first + self.at_once]
            p = self.distribution(torch.tensor(numbers[first : first + self.at_once]))
            found.append(p.score(torch.arange(len(some)), some))
        return torch.cat(found)

    def p(self, number: int, z: Tensor) -> tuple[float, ...]:
        """The probability of each symbol of a sentence [time], or of the whole if they are dependent."""
        if self.reading.log_probs is None:
            return tuple(self.log_p([number], z[None]).exp().tolist())
        z = z[z != PAD]
        p = self.reading.log_probs[number, : len(z)].gather(1, z[:, None])
        return tuple(p[:, 0].exp().tolist())

    def sentence(self, z: Tensor) -> Sentence:
        return self.grammar.decode(symbol for symbol in z.tolist() if symbol != PAD)

    def mistakes(self, limit: int, lucky: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """At most `limit` wrong and lucky examples, with places for `lucky` lucky ones."""
        places = min(len(self.lucky), max(lucky, limit - len(self.wrong)))
        return self._some(self.wrong, limit - places), self._some(self.lucky, places)

    def _some(self, numbers: list[int], limit: int) -> tuple[Any, ...]:
        return tuple(map(self.shown, islice(self.most_confident(numbers), limit)))


def some_of(number: int, limit: int | None) -> list[int]:
    """The numbers of at most `limit` examples, the same each time."""
    every = range(number)
    return list(every) if limit is None else sorted(Random(0).sample(every, min(limit, number)))


def in_turn(numbers: Iterable[int], kind: Callable[[int], tuple[Any, ...]]) -> Iterator[int]:
    """One of each kind, then another of each, and so on."""
    kinds: dict[tuple[Any, ...], list[int]] = {}
    for k in numbers:
        kinds.setdefault(kind(k), []).append(k)
    turns = zip_longest(*(kinds[each] for each in sorted(kinds)))
    return (k for k in chain.from_iterable(turns) if k is not None)
