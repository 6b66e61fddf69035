"""What the tests of learning share: a task small enough to enumerate, seen as noisy vectors."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import torch
from ngs.learning.reasoner import Reasoner, reasoner
from torch import Tensor, nn

from ngs.grammar.grammar import Grammar
from ngs.grammar.padding import PAD
from ngs.grammar.tree import Sentence
from ngs.learning.examples import Batch, Examples
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import evaluate
from tests.enumeration import sentences

GRAMMAR = Grammar.parse("""
    expr: expr "+" term -> add | term
    term: term "*" digit -> multiply | digit
    digit: "0" | "1" | "2" | "3"
""")

SIZE = 8
"""Numbers that are seen of one symbol."""

UNREACHABLE = 97
"""No formula of up to five symbols comes to this."""

LOOKS = torch.randn(len(GRAMMAR.symbols), SIZE, generator=torch.Generator().manual_seed(5))


def value_of(sentence: Sentence) -> Value:
    return evaluate(parse(GRAMMAR, sentence), Arithmetic)


def formulas(number: int, random: Random, lengths: Sequence[int] = (1, 3)) -> list[Sentence]:
    return [random.choice(sentences(GRAMMAR, random.choice(lengths))) for _ in range(number)]


def examples_of(written: Sequence[Sentence], *, noise: float = 0.3, seed: int = 0) -> Examples:
    """Noisy views of formulas, with their answers and, for those who want them, labels."""
    generator = torch.Generator().manual_seed(seed)
    columns = [GRAMMAR.encode(sentence) for sentence in written]
    seen = [LOOKS[each] + noise * torch.randn(len(each), SIZE, generator=generator) for each in columns]
    return Examples.of(seen, [value_of(sentence) for sentence in written], columns)


def tiny(number: int = 120, seed: int = 0, lengths: Sequence[int] = (1, 3)) -> Examples:
    return examples_of(formulas(number, Random(seed), lengths), seed=seed)


def tiny_reasoner(examples: Examples, *, budget: int = 100_000) -> Reasoner:
    return reasoner(GRAMMAR, Arithmetic, examples, budget=budget)


def network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Linear(SIZE, len(GRAMMAR.symbols))


def whole(examples: Examples) -> Batch:
    """All examples as one batch."""
    return examples.batch(np.arange(len(examples)))


def lattice(batch: Batch, seed: int, sharpness: float = 1.5) -> Tensor:
    """Random log p(z_t = s | x) [batch, time, symbol], in double precision, to differentiate by."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(len(batch.inputs), len(GRAMMAR.symbols), generator=generator, dtype=torch.float64)
    return batch.beliefs(sharpness * scores).requires_grad_()


def log_p(log_probs: Tensor, sentence: Sentence) -> Tensor:
    """log p(z|x) of one sentence under `log_probs` [time, symbol], differentiable."""
    return torch.stack([log_probs[t, column] for t, column in enumerate(GRAMMAR.encode(sentence))]).sum()


def right_sentences(length: int, answer: Value) -> list[Sentence]:
    """Every z of this length with f(z) = y."""
    return [sentence for sentence in sentences(GRAMMAR, length) if value_of(sentence) == answer]


def decoded(columns: Tensor) -> Sentence:
    return GRAMMAR.decode(column for column in columns.tolist() if column != PAD)


def log_policy(log_probs: Tensor, length: int) -> dict[Sentence, Tensor]:
    """log p(z | x, z in L(G)) of every sentence of this length, differentiable."""
    joint = {sentence: log_p(log_probs, sentence) for sentence in sentences(GRAMMAR, length)}
    total = torch.stack([*joint.values()]).logsumexp(0)
    return {sentence: score - total for sentence, score in joint.items()}
