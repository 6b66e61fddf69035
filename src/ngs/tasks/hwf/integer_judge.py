"""Formulas compared with their answers in whole numbers: exactly, and many at once.

The value of a formula over digits is N / D, D the product of the digits it divides by. Read from the left,
it is a sum S so far and a last term T, which a further operator and digit d change linearly. The integers
(D, D S, D T) begin as (1, 0, 0), the first digit comes as `+ d`, and

    + d:  (D, D S + D T,  d D)           * d:  (D, D S, d D T)
    - d:  (D, D S + D T, -d D)           / d:  (d D, d D S, D T)

A formula gives a / b in lowest terms where D is not zero, that is, where it does not divide by the digit 0,
and

    b divides D,    N = D S + D T = a (D / b)                                                         (*)

Let the formula have k digits in t terms, term i with f_i >= 1 digits above and g_i below the line. N is a sum
of t products, and the i-th has f_i + sum of g_j, j not i, digits. That is at most k - (t - 1), since each of
the other terms has an f_j >= 1, so |N| <= t 9^(k-t+1) <= 9^k. D has at most k - 1 digits. So all of these
fit 64 bits up to k = 19, and answers with larger parts are out of reach. a (D / b) may be larger, but is not
N then.
"""

from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational, Real

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from ngs.errors import NGSError, ShapeError
from ngs.grammar.grammar import Grammar, arithmetic
from ngs.grammar.padding import PAD
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import Value
from ngs.search.back_search import Judge
from ngs.search.edits import lengths_of
from ngs.search.judges import ReferenceJudge
from ngs.search.reasoner import Known

OPERATORS, DIGITS = "+-*/", "0123456789"  # together the symbols of the grammar, in its order
LONGEST = 37  # symbols: 19 digits
UNREACHABLE = 1, 2**62  # numerator and denominator of an answer no formula gives: it divides no D


class IntegerJudge(nn.Module):
    """Whether formulas give the answers of their examples: a judge for formulas too long for tables."""

    targets: Tensor  # [example, 2]: numerator and denominator of each answer
    steps: Tensor
    """[operator, digit, 4]: (u, s, x, y), by which (D, D S, D T) becomes (u D, u D S + s D T, x D + y D T)"""
    rest: Tensor  # [4]: the step that changes nothing

    def __init__(self, answers: Sequence[Value]) -> None:
        super().__init__()
        steps = [[_step(operator, int(digit)) for digit in DIGITS] for operator in OPERATORS]
        targets = torch.tensor([_target(answer) for answer in answers], dtype=torch.long).view(-1, 2)
        self.register_buffer("targets", targets, persistent=False)
        self.register_buffer("steps", torch.tensor(steps), persistent=False)
        self.register_buffer("rest", torch.tensor([1, 0, 0, 1]), persistent=False)

    def forward(self, examples: Tensor, z: Tensor) -> Tensor:
        """bool [formula]: whether each formula [formula, time] gives the answer of its example [formula]."""
        if z.shape[1] > LONGEST:
            raise ShapeError(
                f"the formulas have up to {z.shape[1]} symbols, and this judge is exact for up to {LONGEST}; "
                f"use ngs.search.judges.ReferenceJudge"
            )
        z = pad(z, (0, 1 - z.shape[1] % 2), value=PAD)  # digits and operators in pairs
        digit, over = z[:, ::2] - len(OPERATORS), z[:, ::2] == PAD
        operator = pad(z[:, 1:-1:2], (1, 0))  # the first digit comes as `+ d`
        fits = over | ((digit >= 0) & (operator >= 0) & (operator < len(OPERATORS)))
        steps = self.steps[operator.clamp(0, len(OPERATORS) - 1), digit.clamp(min=0)]
        d = torch.ones_like(z[:, 0])
        ds, dt = torch.zeros_like(d), torch.zeros_like(d)
        for u, s, x, y in torch.where(over[..., None], self.rest, steps).permute(1, 2, 0):
            d, ds, dt = u * d, u * ds + s * dt, x * d + y * dt
        a, b = self.targets[examples].unbind(-1)
        product = a * (d // b)
        fits_64_bits = (a.double() * (d // b)).abs() < 2.0**62
        gives: Tensor = (d != 0) & (d % b == 0) & (ds + dt == product) & fits_64_bits
        return gives & fits.all(1) & (lengths_of(z) % 2 == 1)


def integer_judge(grammar: Grammar, examples: Known) -> Judge:
    """The judge of examples in the grammar `arithmetic()`; beyond LONGEST symbols the reference."""
    if grammar != arithmetic():
        raise NGSError(
            f"this judge is for the grammar of handwritten formulas, and the grammar given, over the "
            f"symbols {' '.join(grammar.symbols)}, is another; give that one, or a judge of your own"
        )
    if max((int(length) for length in examples.lengths), default=1) > LONGEST:
        return ReferenceJudge(grammar, Arithmetic, examples.answers)
    return IntegerJudge(examples.answers).to(examples.device)


def _target(answer: Value) -> tuple[int, int]:
    if not isinstance(answer, Real):
        return UNREACHABLE
    exact = Fraction(answer) if isinstance(answer, Rational) else Fraction(float(answer))
    small = max(abs(exact.numerator), exact.denominator) <= 9 ** (LONGEST // 2 + 1)
    return (exact.numerator, exact.denominator) if small else UNREACHABLE


def _step(operator: str, digit: int) -> tuple[int, int, int, int]:
    match operator:
        case "+":
            return 1, 1, digit, 0
        case "-":
            return 1, 1, -digit, 0
        case "*":
            return 1, 0, 0, digit
        case _:
            return digit, 0, 0, 1
