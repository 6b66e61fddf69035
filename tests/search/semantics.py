"""What the tests of the search share: meanings to search with, and random problems to search in."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any
from zlib import crc32

import torch
from hypothesis import assume
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import normal_form
from ngs.grammar.padding import PAD
from ngs.grammar.tree import Sentence
from ngs.parsing.sentence import find_tree, parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import UNDEFINED, Value
from ngs.reasoning.semantics import Meaning, Semantics, evaluate
from ngs.search.reasoner import Reasoner, reasoner
from tests.enumeration import sentences
from tests.grammars import NAMED, grammars, score_tables

SMALL_ARITHMETIC = Grammar.parse("""
    expr: expr "+" term -> add | expr "-" term -> subtract | term
    term: term "*" digit -> multiply | term "/" digit -> divide | digit
    digit: "0" | "1" | "2"
""")


class PlainArithmetic(Semantics):
    """`Arithmetic` without its inverses: the search has to find them by itself."""

    symbol = Arithmetic.symbol

    def add(a: Value, b: Value) -> Value:
        return a + b

    def subtract(a: Value, b: Value) -> Value:
        return a - b

    def multiply(a: Value, b: Value) -> Value:
        return a * b

    def divide(a: Value, b: Value) -> Value:
        return a / b


def random_semantics(grammar: Grammar, seed: int, size: int = 4) -> type[Semantics]:
    """A total, deterministic function into range(size), rarely UNDEFINED, for every name in `grammar`."""

    def value(*of: object) -> Value:
        mixed = crc32(repr((seed, of)).encode())  # the same in every process, unlike `hash` of a string
        return UNDEFINED if mixed % 8 == 0 else mixed // 8 % size

    names = {rule.function for rule in grammar.rules if rule.function is not None}
    members = {name: staticmethod(partial(value, name)) for name in names}
    symbol = staticmethod(lambda name: value(name))
    return type(f"Random{seed}", (Semantics,), {**members, "symbol": symbol})


@dataclass(frozen=True)
class Problem:
    """A sentence to correct towards a target."""

    grammar: Grammar
    semantics: Meaning
    log_probs: Tensor
    """[time, symbol]"""
    sentence: Sentence
    target: Value

    def __repr__(self) -> str:
        return (
            f"Problem({str(self.grammar)!r}, {self.semantics}, "
            f"{self.log_probs.tolist()}, {self.sentence}, target={self.target})"
        )

    @property
    def symbols(self) -> list[int]:
        return self.grammar.encode(self.sentence)

    def answer(self, sentence: Sequence[str]) -> Value:
        """The value of a sentence, None for what is none."""
        tree = find_tree(self.grammar, sentence)
        return None if tree is None else evaluate(tree, self.semantics)

    def log_prob(self, sentence: Sequence[str]) -> float:
        return float(self.log_probs[torch.arange(len(sentence)), self.grammar.encode(sentence)].sum())

    def replaced(self, position: int, symbol_id: int) -> Sentence:
        return (*self.sentence[:position], self.grammar.symbols[symbol_id], *self.sentence[position + 1 :])


def lengths_of(grammar: Grammar, longest: int) -> tuple[int, ...]:
    """The lengths up to `longest` that the language has; there must be one."""
    lengths = normal_form(grammar).lengths(longest)
    assume(lengths)
    return lengths


@lru_cache(maxsize=256)
def answers(grammar: Grammar, semantics: Meaning, length: int) -> dict[Sentence, Value]:
    """The value of every sentence of `length` symbols."""
    return {
        sentence: evaluate(parse(grammar, sentence), semantics) for sentence in sentences(grammar, length)
    }


@lru_cache(maxsize=256)
def all_symbols(grammar: Grammar, length: int) -> dict[Sentence, Tensor]:
    """Every sentence of `length` symbols as symbol ids."""
    return {z: torch.tensor(grammar.encode(z)) for z in sentences(grammar, length)}


def log_probs_of(grammar: Grammar, log_probs: Tensor, length: int) -> dict[Sentence, float]:
    """log p(z|x) of every sentence of `length` symbols, of all that `log_probs` [time, symbol] has."""
    ids = all_symbols(grammar, length)
    scores = log_probs[torch.arange(length), torch.stack([*ids.values()])]  # [sentence, time]
    return dict(zip(ids, scores.sum(-1).tolist(), strict=True))


@st.composite
def meanings(draw: st.DrawFn) -> tuple[Grammar, Meaning]:
    """A random grammar with a random meaning."""
    grammar = draw(grammars())
    return grammar, random_semantics(grammar, draw(st.integers(0, 2**16)), draw(st.integers(2, 5)))


@st.composite
def problems_in(
    draw: st.DrawFn, grammar: Grammar, semantics: Meaning, lengths: Sequence[int], impossible: float = 0.1
) -> Problem:
    """A random problem: the target is mostly what some sentence of the same length gives."""
    length = draw(st.sampled_from(lengths))
    values = answers(grammar, semantics, length)
    targets = [*sorted({value for value in values.values() if value is not UNDEFINED}), -99]
    return Problem(
        grammar,
        semantics,
        draw(score_tables(grammar, length, impossible=draw(st.sampled_from([0.0, impossible])))),
        draw(st.sampled_from(sorted(values))),
        draw(st.sampled_from(targets)),
    )


@st.composite
def random_problems(draw: st.DrawFn, longest: int = 5) -> Problem:
    """A problem in a random language."""
    grammar, semantics = draw(meanings())
    return draw(problems_in(grammar, semantics, lengths_of(grammar, longest)))


@st.composite
def arithmetic_problems(draw: st.DrawFn, semantics: Meaning = Arithmetic, longest: int = 5) -> Problem:
    """A problem in arithmetic; the formula is often some steps away from the target's."""
    return draw(problems_in(SMALL_ARITHMETIC, semantics, range(1, longest + 1, 2)))


@dataclass(frozen=True)
class Examples:
    """What a reasoner must know."""

    lengths: Sequence[int]
    answers: Sequence[Value]
    device = torch.device("cpu")


def reasoner_of(problems: Sequence[Problem], **settings: Any) -> Reasoner:
    examples = Examples([len(each.sentence) for each in problems], [each.target for each in problems])
    return reasoner(problems[0].grammar, problems[0].semantics, examples, **settings)


def padded(problems: Sequence[Problem], after: float = 0.0) -> tuple[Tensor, Tensor]:
    """Scores [batch, time, symbol], with `after` after the end, and the sentences [batch, time]."""
    scores = pad_sequence([each.log_probs for each in problems], batch_first=True, padding_value=after)
    return scores, pad_sequence([torch.tensor(each.symbols) for each in problems], True, PAD)


@st.composite
def batches(draw: st.DrawFn, grammar: Grammar, semantics: Meaning, longest: int) -> list[Problem]:
    """Some problems of different lengths in one language."""
    problem = problems_in(grammar, semantics, lengths_of(grammar, longest))
    return draw(st.lists(problem, min_size=1, max_size=4))


NAMED_MEANINGS = {name: (grammar, random_semantics(grammar, seed=7)) for name, grammar in NAMED.items()}
"""Ambiguous, nullable and right-recursive languages."""

any_batches = st.one_of(
    meanings().flatmap(lambda meaning: batches(*meaning, longest=5)),
    st.sampled_from(list(NAMED_MEANINGS.values())).flatmap(lambda meaning: batches(*meaning, longest=6)),
    batches(SMALL_ARITHMETIC, Arithmetic, longest=5),
)
