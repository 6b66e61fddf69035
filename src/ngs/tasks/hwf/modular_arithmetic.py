"""Formulas compared with their answers modulo primes: exactly, and all changes of one symbol at once.

The value of a formula over digits is N / D, D the product of the digits it divides by. Read from the left,
it is a sum S so far and a last term T, which a further operator and digit d change linearly: with
v = (D, D S, D T), which are integers,

    + d:  (D, D S + D T,  d D)           * d:  (D, D S, d D T)
    - d:  (D, D S + D T, -d D)           / d:  (d D, d D S, D T)

So a formula is a product of 3x3 matrices applied to (1, 0, 0), the first digit coming as `+ d`. It gives
a / b where D is not zero, that is, where it does not divide by the digit 0, and

    b N - a D = (-a, b, b) v = 0,      N = D S + D T                                               (*)

Vectors v from the left and rows w from the right are computed once, in one pass each. A change of one symbol
changes one matrix M, and costs one product w M v instead of another pass through the formula. Time and memory
grow as length x symbols x primes.

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
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from numbers import Rational, Real

import torch
from torch import Tensor
from torch.nn.functional import pad

from ngs.errors import NGSError, ShapeError
from ngs.grammar.grammar import Grammar
from ngs.grammar.library import arithmetic
from ngs.reasoning.operation import Value

OPERATORS, DIGITS = "+-*/", "0123456789"
"""Together the symbols of the grammar, in its order."""

UNREACHABLE = 1, 0
"""Numerator and denominator of an answer no formula gives: (*) becomes -D = 0."""


@dataclass(frozen=True, eq=False)
class Residues:
    """The arithmetic of formulas of up to `2 digits - 1` symbols, for batches of them."""

    digits: int
    """k, at most"""
    primes: Tensor
    """[prime]"""
    steps: Tensor
    """[operator, digit, 4]: the entries of the matrix that are not 0 everywhere, as `_step` has them"""
    nothing: Tensor
    """[4]: those of the identity, behind the end of a formula"""
    by_zero: Tensor
    """[operator, digit]: whether it is a division by zero"""
    places: Tensor
    """[2, symbol]: whether it is an operator, whether it is a digit"""

    def targets(self, answers: Sequence[Value]) -> Tensor:
        """[answer, 2, prime]: numerators and denominators modulo the primes."""
        primes = self.primes.tolist()
        pairs = [self._target(answer) for answer in answers]
        residues = [[[part % p for p in primes] for part in pair] for pair in pairs]
        return torch.tensor(residues, dtype=torch.long).view(-1, 2, len(primes)).to(self.primes.device)

    def _target(self, answer: Value) -> tuple[int, int]:
        if not isinstance(answer, Real):
            return UNREACHABLE
        exact = Fraction(answer) if isinstance(answer, Rational) else Fraction(float(answer))
        small = abs(exact.numerator) <= 9**self.digits and exact.denominator <= 9 ** (self.digits - 1)
        return (exact.numerator, exact.denominator) if small else UNREACHABLE

    def in_language(self, columns: Tensor, lengths: Tensor) -> Tensor:
        """Whether digits and operators take turns [batch], for `columns` [batch, time]."""
        return ~self._misfits(columns, lengths).any(1) & (lengths % 2 == 1)

    def _misfits(self, columns: Tensor, lengths: Tensor) -> Tensor:
        """Whether something else than a digit, or an operator, stands where one should [batch, time]."""
        time = torch.arange(columns.shape[1], device=columns.device)
        is_digit = columns >= len(OPERATORS)
        fits = (is_digit == (time % 2 == 0)) & (columns >= 0) & (columns < len(OPERATORS + DIGITS))
        return ~fits & (time < lengths[:, None])

    def changes(self, columns: Tensor, lengths: Tensor, targets: Tensor) -> Tensor:
        """Whether a formula gives its target once a symbol stands at a place [batch, time, symbol]."""
        pairs = (columns.shape[1] + 1) // 2
        if pairs > self.digits:
            raise ShapeError(
                f"there is room for {columns.shape[1]} symbols, and these residues are exact for up to "
                f"{2 * self.digits - 1}; make them for the longest formula"
            )
        digits = (columns[:, ::2] - len(OPERATORS)).clamp(0, len(DIGITS) - 1)
        operators = pad(columns[:, 1 : 2 * pairs - 1 : 2], (1, 0)).clamp(0, len(OPERATORS) - 1)
        there = 2 * torch.arange(pairs, device=columns.device) < lengths[:, None]
        steps = torch.where(there[..., None], self.steps[operators, digits], self.nothing)

        # w M v for every M with another operator or another digit: [prime, batch, pair, symbol]
        tried = torch.cat([self.steps.transpose(0, 1)[digits], self.steps[operators]], 2)
        entries = self._entries(steps, targets)[..., None]
        is_zero = (tried * entries.transpose(-2, -1)).sum(-1) % self.primes.view(-1, 1, 1, 1) == 0

        by_zero = self.by_zero[operators, digits] & there
        elsewhere = by_zero.sum(1, keepdim=True) > by_zero
        tried_by_zero = torch.cat([self.by_zero.T[digits], self.by_zero[operators]], 2)
        right = is_zero.all(0) & ~tried_by_zero & (there & ~elsewhere)[..., None]
        by_place = (right[:, :, None] & self.places).flatten(1, 2)[:, 1:]  # before the first digit is nothing
        changed = pad(by_place, (0, 0, 0, columns.shape[1] - by_place.shape[1]))
        misfits = self._misfits(columns, lengths)
        all_else_fits = misfits.sum(1, keepdim=True) == misfits
        return changed & (all_else_fits & (lengths % 2 == 1)[:, None])[..., None]

    def _entries(self, steps: Tensor, targets: Tensor) -> Tensor:
        """What each entry of a matrix M is multiplied with in w M v [prime, batch, pair, 4].

        In the order of `_step`: u (w0 v0 + w1 v1) + s w1 v2 + x w2 v0 + y w2 v2.
        """
        primes = self.primes.view(-1, 1, 1)
        v0, v1, v2 = self._from_left(steps)
        w0, w1, w2 = self._from_right(steps, targets)
        by_u = w0 * v0 % primes + w1 * v1 % primes
        return torch.stack([by_u, w1 * v2, w2 * v0, w2 * v2], -1) % primes[..., None]

    def _from_left(self, steps: Tensor) -> Tensor:
        """v before each pair of an operator and a digit [3, prime, batch, pair]."""
        primes = self.primes[:, None]
        v = pad(steps.new_ones(1, len(primes), len(steps)), (0, 0, 0, 0, 0, 2))  # (1, 0, 0)
        before = []
        for u, s, x, y in steps.permute(1, 2, 0).contiguous():
            before.append(v)
            v = torch.stack([u * v[0], u * v[1] + s * v[2], x * v[0] + y * v[2]]) % primes
        return torch.stack(before, -1)

    def _from_right(self, steps: Tensor, targets: Tensor) -> Tensor:
        """w behind each pair of an operator and a digit [3, prime, batch, pair]."""
        primes = self.primes[:, None]
        a, b = targets.permute(1, 2, 0)
        w = torch.stack([-a, b, b]) % primes
        after = []
        for u, s, x, y in steps.permute(1, 2, 0).flip(0).contiguous():
            after.append(w)
            w = torch.stack([u * w[0] + x * w[2], u * w[1], s * w[1] + y * w[2]]) % primes
        return torch.stack(after[::-1], -1)


def residues(grammar: Grammar, longest: int, device: torch.device) -> Residues:
    """For formulas of up to `longest` symbols in the grammar `arithmetic()`."""
    if grammar != arithmetic():
        raise NGSError(
            f"residues are those of ngs.arithmetic_grammar(), and the grammar given, over the symbols "
            f"{' '.join(grammar.symbols)}, is another; give that one, or batched values of your own"
        )
    digits = (max(longest, 1) + 1) // 2
    steps = [[_step(operator, int(digit)) for digit in DIGITS] for operator in OPERATORS]
    by_zero = [[(operator, digit) == ("/", "0") for digit in DIGITS] for operator in OPERATORS]
    places = [[symbol in kind for symbol in OPERATORS + DIGITS] for kind in (OPERATORS, DIGITS)]
    return Residues(
        digits,
        torch.tensor(list(_primes(2 * 9 ** (2 * digits - 1))), device=device),
        torch.tensor(steps, device=device),
        torch.tensor([1, 0, 0, 1], device=device),
        torch.tensor(by_zero, device=device),
        torch.tensor(places, device=device),
    )


def _step(operator: str, digit: int) -> tuple[int, int, int, int]:
    """(u, s, x, y) of the matrix M = ((u, 0, 0), (0, u, s), (x, 0, y)) of an operator and a digit."""
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
