"""What a network makes of a formula's symbols: the likeliest formulas, and their values in words."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from torch import Tensor

from ngs.errors import NGSError
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.tree import Sentence
from ngs.parsing.independent import Independent, independent
from ngs.reasoning.arithmetic import exact
from ngs.reasoning.operation import Value
from ngs.tasks.hwf.dataset import GRAMMAR, value_of

MOST_SYMBOLS = 31


class Box(NamedTuple):
    """A rectangle of pixels; the right and the bottom are just outside."""

    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True, eq=False)
class Seen:
    """What a network sees in a picture: its symbols from left to right, and how likely each is which."""

    images: Tensor  # uint8 [symbol, SIDE, SIDE]: dark strokes on white
    log_probs: Tensor  # [symbol, symbol of the grammar]
    boxes: tuple[Box, ...] = ()
    """where each is in the picture; none if each has a picture of its own"""

    @property
    def symbol_by_symbol(self) -> Sentence:
        return GRAMMAR.decode(self.log_probs.argmax(-1).tolist())

    @property
    def no_formula(self) -> str | None:
        """Why the symbols are no formula, if they are not."""
        count, automaton = len(self.log_probs), prefix_automaton(GRAMMAR)
        if count > MOST_SYMBOLS:
            return f"{count} symbols are in it, and a formula may have at most {MOST_SYMBOLS}"
        if automaton.completes_in(automaton.start, count):
            return None
        return (
            f"{count} symbols are in it ({' '.join(self.symbol_by_symbol)}), and a formula has an odd "
            f"number: digits with an operator between each two"
        )


class Formula(NamedTuple):
    """A formula that a picture may show."""

    sentence: Sentence
    value: Value  # UNDEFINED where it divides by zero
    probability: float  # p(z | x, z in L(G))

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
