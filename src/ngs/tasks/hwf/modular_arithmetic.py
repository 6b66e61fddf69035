"""Formulas compared with their answers modulo primes: exactly, and many at once, whatever their length.

The value of a formula over digits is N / D, D the product of the digits it divides by. Read from the left,
it is a sum S so far and a last term T, which a further operator and digit d change linearly: with
v = (D, D S, D T), which are integers,

    + d:  (D, D S + D T,  d D)           * d:  (D, D S, d D T)
    - d:  (D, D S + D T, -d D)           / d:  (d D, d D S, D T)

So a formula is a product of 3x3 matrices applied to (1, 0, 0), the first digit coming as `+ d`. It gives
a / b where D is not zero, that is, where it does not divide by the digit 0, and

    b N - a D = 0,      N = D S + D T                                                             (*)

(*) is decided modulo primes p < 2^31: products fit 64 bits. With enough primes this is exact. Let the formula
have k digits in t terms, term i with f_i >= 1 digits above and g_i below the line. N is a sum of t products,
and the i-th has f_i + sum of g_j, j not i, digits. That is at most k - (t - 1), since each of the other terms
has an f_j >= 1, so |N| <= t 9^(k-t+1) <= 9^k. D has at most k - 1 digits. Hence in lowest terms no formula's
value has a numerator above 9^k or a denominator above 9^(k-1): such answers are known to be out of reach. For
any other answer

    |b N - a D| <= 2 9^(2k-1)

and an integer of that size is zero if it is zero modulo primes whose product is greater. One prime is enough
for formulas of up to 9 symbols, two for 19, three for 29, four for 37.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import isqrt
from numbers import Rational, Real

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from ngs.errors import NGSError, ShapeError
from ngs.grammar.grammar import Grammar
from ngs.grammar.library import arithmetic
from ngs.grammar.padding import PAD
from ngs.reasoning.operation import Value
from ngs.search.edits import lengths_of
from ngs.search.reasoner import Known

OPERATORS, DIGITS = "+-*/", "0123456789"
"""Together the symbols of the grammar, in its order."""

UNREACHABLE = 1, 0
"""Numerator and denominator of an answer no formula gives: (*) becomes -D = 0."""


class ModularJudge(nn.Module):
    """Whether formulas give the answers of their examples: a judge for formulas too long for tables."""

    primes: Tensor
    """[prime]"""
    targets: Tensor
    """[example, 2, prime]: numerator and denominator of each answer modulo the primes"""
    steps: Tensor
    """[operator, digit, 4]: (u, s, x, y) of the matrix M = ((u, 0, 0), (0, u, s), (x, 0, y)) of each pair"""

    def __init__(self, longest: int, answers: Sequence[Value]) -> None:
        """For formulas of up to `longest` symbols."""
        super().__init__()
        self.digits = digits = (max(longest, 1) + 1) // 2
        primes = list(_primes(2 * 9 ** (2 * digits - 1)))
        pairs = [_target(answer, digits) for answer in answers]
        residues = [[[part % p for p in primes] for part in pair] for pair in pairs]
        steps = [[_step(operator, int(digit)) for digit in DIGITS] for operator in OPERATORS]
        self.register_buffer("primes", torch.tensor(primes), persistent=False)
        targets = torch.tensor(residues, dtype=torch.long).view(-1, 2, len(primes))
        self.register_buffer("targets", targets, persistent=False)
        self.register_buffer("steps", torch.tensor(steps), persistent=False)

    def forward(self, examples: Tensor, z: Tensor) -> Tensor:
        """bool [formula]: whether each formula [formula, time] gives the answer of its example [formula]."""
        z = pad(z, (0, 1 - z.shape[1] % 2), value=PAD)  # digits and operators in pairs
        lengths = lengths_of(z)
        longest = int(lengths.max()) if len(z) else 0
        if (longest + 1) // 2 > self.digits:
            raise ShapeError(
                f"the formulas have up to {longest} symbols, and this judge is exact for up to "
                f"{2 * self.digits - 1}; make it for the longest formula"
            )
        digit = z[:, ::2] - len(OPERATORS)
        operator = pad(z[:, 1:-1:2], (1, 0))  # the first digit comes as `+ d`
        over = z[:, ::2] == PAD
        fits = over | ((digit >= 0) & (operator >= 0) & (operator < len(OPERATORS)))
        by_zero = ~over & (operator == OPERATORS.index("/")) & (digit == 0)
        steps = self.steps[operator.clamp(0, len(OPERATORS) - 1), digit.clamp(min=0)]
        primes = self.primes[:, None]
        d = torch.ones_like(primes * z[:, 0])
        ds, dt = torch.zeros_like(d), torch.zeros_like(d)
        for (u, s, x, y), ended in zip(steps.permute(1, 2, 0), over.T, strict=True):
            moved = torch.stack((u * d, u * ds + s * dt, x * d + y * dt)) % primes
            d, ds, dt = torch.where(ended, torch.stack((d, ds, dt)), moved)
        a, b = self.targets[examples].permute(1, 2, 0)
        equal: Tensor = ((b * ((ds + dt) % primes) - a * d) % primes == 0).all(0)
        return equal & (fits & ~by_zero).all(1) & (lengths % 2 == 1)


def modular_judge(grammar: Grammar, examples: Known) -> ModularJudge:
    """The judge of examples in the grammar `arithmetic()`."""
    if grammar != arithmetic():
        raise NGSError(
            f"modular arithmetic is for the grammar of handwritten formulas, and the grammar given, over the "
            f"symbols {' '.join(grammar.symbols)}, is another; give that one, or a judge of your own"
        )
    longest = max((int(length) for length in examples.lengths), default=1)
    return ModularJudge(longest, examples.answers).to(examples.device)


def _target(answer: Value, digits: int) -> tuple[int, int]:
    if not isinstance(answer, Real):
        return UNREACHABLE
    exact = Fraction(answer) if isinstance(answer, Rational) else Fraction(float(answer))
    small = abs(exact.numerator) <= 9**digits and exact.denominator <= 9 ** (digits - 1)
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


def _primes(bound: int) -> Iterator[int]:
    """The largest primes below 2^31, as many as have a product above `bound`."""
    candidate, reached = 2**31 - 1, 1
    while reached <= bound:
        if all(candidate % divisor for divisor in range(3, isqrt(candidate) + 1, 2)):
            yield candidate
            reached *= candidate
        candidate -= 2
