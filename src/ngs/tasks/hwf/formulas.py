"""Formulas drawn from a grammar by its rules, with the value of each."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache, lru_cache
from itertools import count, islice
from math import inf
from random import Random

from ngs.errors import BudgetError, NGSError
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import NormalSymbol, Step, TreeAlgebra, no_such_length, normal_form
from ngs.grammar.rules import Terminal
from ngs.grammar.tree import Sentence, Tree, sentence_of
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import UNDEFINED, Value
from ngs.reasoning.semantics import evaluate
from ngs.tasks.hwf.dataset import GRAMMAR

PAPER_LENGTHS: Mapping[int, float] = {1: 0.1, 3: 0.1, 5: 0.2, 7: 0.6}
"""Length -> share of the formulas (Li et al. 2020, supplement)."""

FINEST = 1_000_000  # shares are fractions with at most this denominator, so that 0.1 is a tenth

MORE = 10  # how far beyond an impossible length an error looks for possible ones


def sample_formula(grammar: Grammar, length: int, random: Random) -> Tree:
    """A derivation of exactly `length` symbols by `grammar`, each as likely as any other.

    Top-down: the rule A -> B C and the length j of its left part are drawn together, with probability

        N(B, j) N(C, n - j) / N(A, n),    N(A, n) = number of derivations of n symbols from A

    For formulas this makes all operators, and all digits, equally frequent and independent of each other,
    as they are in the published HWF. (Rules drawn uniformly would make two operators out of three a product
    or a quotient at length 7, because a term can only grow by these.)
    """
    return _sampler(grammar).draw(length, random)


def sample_formulas(
    number: int, lengths: Mapping[int, float], random: Random, grammar: Grammar = GRAMMAR
) -> list[tuple[Sentence, Fraction]]:
    """Formulas with their values, with the share of each length.

    Uniform among the formulas of each length that have a value: what divides by zero is drawn again.
    The first formulas are the same however many are asked for.

    >>> [("".join(sentence), str(value)) for sentence, value in sample_formulas(2, {3: 1}, Random(1))]
    [('9*4', '36'), ('7*7', '49')]
    """
    found = []
    for length in islice(mixed(lengths), number):
        value: Value = UNDEFINED
        while value is UNDEFINED:
            tree = sample_formula(grammar, length, random)
            value = evaluate(tree, Arithmetic)
        found.append((sentence_of(tree), value))
    return found


def mixed(lengths: Mapping[int, float]) -> Iterator[int]:
    """Lengths without end: among the first n, each has had its share n s rounded up or down.

    The quota method (Balinski and Young 1975): next comes the length with the largest s / (given + 1)
    among those that have not yet been given n s times.

    >>> list(islice(mixed(PAPER_LENGTHS), 10))
    [7, 7, 5, 7, 1, 7, 7, 3, 5, 7]
    """
    shares = _shares(lengths)
    given = dict.fromkeys(shares, 0)
    for n in count(1):
        short = [length for length, share in shares.items() if given[length] < n * share]
        chosen = max(short, key=lambda length: shares[length] / (given[length] + 1))
        given[chosen] += 1
        yield chosen


def _shares(lengths: Mapping[int, float]) -> dict[int, Fraction]:
    total = sum(lengths.values())
    if min(lengths.values(), default=0) < 0 or not 0 < total < inf:
        raise NGSError(
            f"the shares of the lengths are {dict(lengths)}; give each length a share of 0 or more, not all 0"
        )
    shares = {n: Fraction(share / total).limit_denominator(FINEST) for n, share in lengths.items()}
    return {n: share / sum(shares.values()) for n, share in shares.items()}


class _Sampler:
    def __init__(self, grammar: Grammar) -> None:
        self.form = normal_form(grammar)
        self.number = cache(self._number)

    def draw(self, length: int, random: Random) -> Tree:
        known = self.form.lengths(length)
        if length not in known:
            longest = max(length, 0) + MORE
            raise no_such_length(length, self.form.lengths(longest), longest)
        for shorter in known:  # first, so that what longer spans ask is known
            self.number(self.form.start, shorter)
        try:
            return self._draw(self.form.start, 0, length, random)
        except RecursionError:
            raise BudgetError(
                f"a derivation of {length} symbols nests too deeply to be drawn; "
                f"raise sys.setrecursionlimit, or ask for shorter ones"
            ) from None

    def _number(self, symbol: NormalSymbol, length: int) -> int:
        """N(symbol, length)"""
        if isinstance(symbol, Terminal):
            return 1
        return sum(self._number_split(step, left, length) for step, left in self.form.splits(symbol, length))

    def _number_split(self, step: Step, left: int, length: int) -> int:
        lefts = self.number(step.left, left)
        return lefts if step.right is None else lefts * self.number(step.right, length - left)

    def _draw(self, symbol: NormalSymbol, start: int, length: int, random: Random) -> Tree:
        if isinstance(symbol, Terminal):
            return TREES.leaf(start, symbol.name)
        ticket, splits = random.randrange(self.number(symbol, length)), iter(self.form.splits(symbol, length))
        while ticket >= 0:
            step, left = next(splits)
            ticket -= self._number_split(step, left, length)
        parts = [self._draw(step.left, start, left, random)]
        if step.right is not None:
            parts.append(self._draw(step.right, start + left, length - left, random))
        tree: Tree = step.combine(TREES, *parts)
        return tree


TREES = TreeAlgebra()

_sampler = lru_cache(maxsize=64)(_Sampler)
