"""What a network makes of a formula's symbols: the likeliest formulas, and their values in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from torch import Tensor

from ngs.errors import NGSError
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.tree import Sentence
from ngs.parsing.independent import Independent, independent
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic, exact
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import evaluate
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.segmentation import Symbols


@dataclass(frozen=True, eq=False)
class Seen:
    """What a network sees in a picture: its symbols, and how likely each is which."""

    symbols: Symbols
    log_probs: Tensor
    """[symbol of the formula, symbol of the grammar]"""

    @property
    def symbol_by_symbol(self) -> Sentence:
        return GRAMMAR.decode(self.log_probs.argmax(-1).tolist())

    @property
    def is_long_as_a_formula(self) -> bool:
        """Whether formulas have as many symbols."""
        automaton = prefix_automaton(GRAMMAR)
        return automaton.completes_in(automaton.start, len(self.log_probs))


@dataclass(frozen=True)
class Formula:
    """A formula that a picture may show."""

    sentence: Sentence
    value: Value
    """UNDEFINED where it divides by zero"""
    probability: float
    """p(z | x, z in L(G))"""

    def __str__(self) -> str:
        return f"{' '.join(self.sentence)} = {shown_value(self.value)}"

    def as_facts(self) -> dict[str, Any]:
        is_number = isinstance(self.value, Fraction)
        return {
            "formula": "".join(self.sentence),
            "value": str(self.value) if is_number else None,
            "decimal": float(self.value) if is_number else None,
            "probability": self.probability,
        }


def likeliest(log_probs: Tensor, k: int) -> list[Formula]:
    """The k likeliest formulas under scores [time, symbol], or as many as there are."""
    return ranked(independent(GRAMMAR, log_probs[None]), k)


def ranked(p: Independent, k: int) -> list[Formula]:
    """The k likeliest formulas of a distribution or posterior, or as many as there are."""
    best = p.topk(k)
    shares = (best.log_probs[0] - p.log_z.detach()).exp().tolist()
    sentences = [(best[0, rank], share) for rank, share in enumerate(shares) if best[0, rank]]
    return [Formula(z, value_of(z), share) for z, share in sentences]


@lru_cache(maxsize=10_000)
def value_of(sentence: Sentence) -> Value:
    """f(z). Cached, since who draws on sees the same formulas again and again."""
    return evaluate(parse(GRAMMAR, sentence), Arithmetic)


def as_answer(text: str) -> Fraction:
    """The exact value of what was typed; a decimal stands for the simplest fraction within a millionth.

    >>> as_answer("-3"), as_answer("7/3"), as_answer("2.333333")
    (Fraction(-3, 1), Fraction(7, 3), Fraction(7, 3))
    """
    match = re.fullmatch(r"[+-]?[0-9]{1,15}(?:(\.[0-9]{1,15})|/0*[1-9][0-9]{0,14})?", text.strip(), re.ASCII)
    if match is None:
        raise NGSError(
            f"the answer is {text!r}; give a whole number, a decimal or a fraction: 12, -3, 0.75 or 7/3"
        )
    return exact(match[0]) if match[1] else Fraction(match[0])


def shown_value(value: Value) -> str:
    """A whole number, a fraction with its decimal, or `undefined`.

    >>> shown_value(Fraction(12)), shown_value(Fraction(7, 3))
    ('12', '7/3 (2.33333)')
    """
    if not isinstance(value, Fraction):
        return "undefined"
    return str(value) if value.denominator == 1 else f"{value} ({float(value):.6g})"
