"""What the tests of learning share: two tasks small enough to enumerate, one for each kind of network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from random import Random
from typing import Any
from zlib import crc32

import numpy as np
import torch
from torch import Tensor, nn

from ngs.grammar.constraint import Counting, Given
from ngs.grammar.grammar import Grammar
from ngs.grammar.multisets import symbol_classes
from ngs.grammar.padding import PAD
from ngs.grammar.tree import Sentence, Tree
from ngs.learning.examples import Batch, Examples, Stacked, padded
from ngs.learning.methods import Method, Objective
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import evaluate
from ngs.search.edits import Switch
from ngs.search.judges import ReferenceJudge
from ngs.search.reasoner import Reasoner, autoregressive_reasoner, reasoner
from ngs.search.support import Effort
from tests.enumeration import sentences

SIZE = 8
"""Numbers that are seen of one symbol."""
UNREACHABLE = 97
"""No sentence of up to five symbols comes to this."""


class Task:
    """Sentences seen as noisy vectors, one for each symbol, and a network that reads them.

    A subclass has a grammar and says how sentences are seen (`seen_as`), with which `reasoner` and `network`.
    """

    grammar: Grammar

    def examples(
        self, number: int = 120, seed: int = 0, lengths: Sequence[int] = (1, 3), noise: float = 0.3
    ) -> Examples:
        random = Random(seed)
        written = [random.choice(language(self.grammar, random.choice(lengths))) for _ in range(number)]
        return self.of(written, noise, seed)

    def of(self, written: Sequence[Sentence], noise: float = 0.3, seed: int = 0) -> Examples:
        """Noisy views of sentences, with their answers and labels."""
        generator = torch.Generator().manual_seed(seed)
        looks = torch.randn(len(self.grammar.symbols), SIZE, generator=torch.Generator().manual_seed(5))
        seen = []
        for sentence in written:
            exact = looks[self.grammar.encode(sentence)]
            seen.append(exact + noise * torch.randn(exact.shape, generator=generator))
        answers = [value_of(self.grammar, sentence) for sentence in written]
        return self.seen_as(seen, answers, [self.grammar.encode(sentence) for sentence in written])


class OneByOne(Task):
    """Symbols seen one by one, with independent scores."""

    grammar = Grammar.parse("""
        expr: expr "+" term -> add | term
        term: term "*" digit -> multiply | digit
        digit: "0" | "1" | "2" | "3"
    """)

    def seen_as(self, seen: list[Tensor], answers: list[Value], labels: list[list[int]]) -> Examples:
        return Examples.of(seen, answers, labels)

    def reasoner(self, examples: Examples, **budget: int) -> Reasoner:
        return reasoner(self.grammar, Arithmetic, examples, **{"budget": 100_000, **budget})

    def network(self, seed: int = 0) -> nn.Module:
        torch.manual_seed(seed)
        return nn.Linear(SIZE, len(self.grammar.symbols))


class InTurn(Task):
    """Known symbols in an unknown order, in prefix notation, that a decoder writes in turn."""

    grammar = Grammar.parse("""
        expr: "*" expr expr -> multiply | "-" expr expr -> subtract | "0" | "1" | "2" | "3"
    """)

    def seen_as(self, seen: list[Tensor], answers: list[Value], labels: list[list[int]]) -> Examples:
        known = padded(np.concatenate([*map(np.asarray, labels)]), [*map(len, labels)])
        counts = torch.nn.functional.one_hot(known + 1, len(self.grammar.symbols) + 1)[..., 1:].sum(1)
        inputs = Stacked(nn.utils.rnn.pad_sequence(seen, batch_first=True))
        return Examples(inputs, tuple(answers), Given(multiset=counts), known)

    def reasoner(self, examples: Examples, **effort: int) -> Reasoner:
        judge = ReferenceJudge(self.grammar, Arithmetic, examples.answers)
        return autoregressive_reasoner(
            self.grammar,
            Prefix(len(self.grammar.symbols)),
            examples,
            judge,
            Switch(torch.tensor(symbol_classes(self.grammar))),
            same=self.same,
            effort=Effort(**effort),
        )

    def same(self, z: Tensor) -> Tensor:
        """Products mean the same in either order."""
        return torch.tensor(
            [meaning(self.grammar, decoded(self.grammar, each)) for each in z], dtype=torch.long
        )

    def network(self, seed: int = 0) -> nn.Module:
        torch.manual_seed(seed)
        return Writer(len(self.grammar.symbols))


class Prefix(Counting):
    """Prefix notation: all numbers but the last of what is left are arguments of operators that are left."""

    def legal(self, left: Tensor, last: Tensor) -> Tensor:
        operators, numbers = (part.sum(-1, keepdim=True) for part in left.split([2, left.shape[-1] - 2], -1))
        legal = left > 0
        legal[..., 2:] &= (numbers - operators > 1) | (operators == 0)
        return legal


class Writer(nn.Module):
    """A recurrent network that looks at one place after another while it writes."""

    def __init__(self, symbols: int, hidden: int = 16) -> None:
        super().__init__()
        self.before = nn.Embedding(symbols + 1, 4)
        self.recurrent = nn.GRU(SIZE + 4, hidden, batch_first=True)
        self.scores = nn.Linear(hidden, symbols)

    def forward(self, seen: Tensor) -> Writing:
        return Writing(self, seen, seen.new_zeros(len(seen), self.recurrent.hidden_size))


@dataclass(frozen=True, eq=False)
class Writing:
    """A decoder."""

    network: Writer
    seen: Tensor
    """[row, time, SIZE]: what is still to be looked at"""
    hidden: Tensor
    """[row, hidden]"""

    def select(self, rows: Tensor) -> Writing:
        return replace(self, seen=self.seen[rows], hidden=self.hidden[rows])

    def follow(self, before: Tensor) -> tuple[Tensor, Writing]:
        now, later = self.seen.split([before.shape[1], self.seen.shape[1] - before.shape[1]], 1)
        inputs = torch.cat([now, self.network.before(before + 1)], 2)
        hidden, last = self.network.recurrent(inputs, self.hidden[None].contiguous())
        return self.network.scores(hidden), replace(self, seen=later, hidden=last[0])


ONE_BY_ONE, IN_TURN = OneByOne(), InTurn()
TASKS: dict[str, Task] = {"one by one": ONE_BY_ONE, "in turn": IN_TURN}


@cache
def language(grammar: Grammar, length: int) -> list[Sentence]:
    return sentences(grammar, length)


@cache
def value_of(grammar: Grammar, sentence: Sentence) -> Value:
    return evaluate(parse(grammar, sentence), Arithmetic)


def decoded(grammar: Grammar, z: Tensor) -> Sentence:
    return grammar.decode(symbol for symbol in z.tolist() if symbol != PAD)


@cache
def meaning(grammar: Grammar, sentence: Sentence) -> int:
    """A number that sentences share if one is the other with the factors in another order."""
    return crc32(_normal(parse(grammar, sentence)).encode())


def _normal(tree: Tree) -> str:
    children = [*map(_normal, getattr(tree, "children", ()))]
    if not children:
        return str(tree)
    head, *arguments = children
    return f"({head} {' '.join(sorted(arguments) if head == '*' else arguments)})"


def whole(examples: Examples) -> Batch:
    """All examples as one batch."""
    return examples.batch(np.arange(len(examples)))


def objective(method: Method, reasons: Reasoner, seed: int = 0) -> Objective:
    return Objective(method, reasons, torch.Generator().manual_seed(seed))


class Case:
    """A network that looks at some examples, in double precision, and every sentence of each, one by one."""

    def __init__(
        self, task: Task, examples: Examples, seed: int = 0, sharpness: float = 2.0, **effort: int
    ) -> None:
        self.task, self.examples, self.grammar = task, examples, task.grammar
        self.reasoner = task.reasoner(examples, **effort)
        self.network = task.network(seed).double()
        with torch.no_grad():
            for parameter in self.network.parameters():
                parameter *= sharpness
        self.batch = whole(examples)

    @cached_property
    def p(self) -> Any:
        return self.of(self.batch)

    def of(self, batch: Batch) -> Any:
        """p(z|x) of another batch."""
        return self.reasoner.distribution(self.network(batch.inputs.double()), batch)

    def language(self, row: int) -> list[Sentence]:
        """The sentences that the example may have."""
        found = language(self.grammar, int(self.batch.lengths[row]))
        counts = self.batch.given.multiset
        if counts is None:
            return found
        known = sorted(np.repeat(np.arange(counts.shape[1]), counts[row]).tolist())
        return [z for z in found if sorted(self.grammar.encode(z)) == known]

    def right(self, row: int) -> list[Sentence]:
        """Those that give its answer."""
        answer = self.examples.answers[int(self.batch.examples[row])]
        return [z for z in self.language(row) if value_of(self.grammar, z) == answer]

    def encoded(self, written: Sequence[Sentence]) -> Tensor:
        """[sentence, time]"""
        table = torch.full((len(written), self.batch.time), PAD)
        for row, sentence in enumerate(written):
            table[row, : len(sentence)] = torch.tensor(self.grammar.encode(sentence))
        return table

    def log_p(self, row: int, written: Sequence[Sentence]) -> Tensor:
        """log p(z|x) of each, differentiable."""
        score: Tensor = self.p.score(torch.full((len(written),), row), self.encoded(written))
        return score

    def log_policy(self, row: int) -> dict[Sentence, Tensor]:
        """log p(z | x, z in the language) of every sentence."""
        every = self.language(row)
        log_p = self.log_p(row, every)
        return dict(zip(every, log_p - log_p.logsumexp(0), strict=True))

    def loss(self, method: Method, seed: int = 0) -> Any:
        return method(self.p, self.reasoner, self.batch, torch.Generator().manual_seed(seed))

    def gradient(self, loss: Tensor) -> Tensor:
        """By all weights, as one row of numbers."""
        parts = torch.autograd.grad(
            loss, [*self.network.parameters()], retain_graph=True, allow_unused=True, materialize_grads=True
        )
        return torch.cat([part.flatten() for part in parts])

    def check(self, loss: Tensor, expected: Tensor) -> None:
        """The same number, with the same gradient."""
        assert torch.isclose(loss, expected), (loss, expected)
        exact = self.gradient(expected)
        assert exact.abs().max() > 1e-3
        assert torch.allclose(self.gradient(loss), exact, atol=1e-9)
