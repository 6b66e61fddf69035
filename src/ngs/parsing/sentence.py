"""The tree of one given sentence: the slow, obvious parser that the tensor engines must agree with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ngs.errors import BudgetError, ParseError
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import Algebra, NormalSymbol, Step, TreeAlgebra, Value, normal_form
from ngs.grammar.rules import Terminal
from ngs.grammar.tree import Tree


def find_tree(grammar: Grammar, sentence: Sequence[str]) -> Tree | None:
    """The tree of `sentence`, or None where it is outside the language.

    An ambiguous sentence gets the tree of the first rule that fits, with as few empty parts as it can,
    and then with the shortest left part.
    """
    tree: Tree | None = derive(grammar, sentence, TreeAlgebra())
    return tree


def parse(grammar: Grammar, sentence: Sequence[str]) -> Tree:
    """Return the tree of `sentence`; a ParseError says where it is outside the language.

    >>> from ngs import arithmetic_grammar
    >>> print(parse(arithmetic_grammar(), "1+2*3"))
    add(1, +, multiply(2, *, 3))
    """
    tree = find_tree(grammar, sentence)
    if tree is None:
        raise ParseError(
            f"{' '.join(sentence)!r} is not a sentence of the grammar: {_why(grammar, sentence)}"
        )
    return tree


def _why(grammar: Grammar, sentence: Sequence[str]) -> str:
    """Where a sentence leaves the language, and what could stand there."""
    automaton = prefix_automaton(grammar)
    symbols = grammar.encode(sentence)  # names a symbol that the grammar does not have
    try:
        return f"it is not complete: {automaton.expected(automaton.run(symbols))}"
    except ParseError as error:
        return str(error)


def recognises(grammar: Grammar, sentence: Sequence[str]) -> bool:
    """Return whether `sentence` is in the language of `grammar`.

    >>> from ngs import arithmetic_grammar
    >>> recognises(arithmetic_grammar(), "1+2"), recognises(arithmetic_grammar(), "1+")
    (True, False)
    """
    return find_tree(grammar, sentence) is not None


def derive(grammar: Grammar, sentence: Sequence[str], algebra: Algebra) -> Value | None:
    """What `algebra` makes of the first derivation of `sentence`; None where there is none.

    first(A, i, k) is the first step A -> B C, and the first i < j < k, such that B derives the
    symbols from i to j and C those from j to k.
    """
    form = normal_form(grammar)

    @cache
    def first(symbol: NormalSymbol, start: int, length: int) -> tuple[Step, int] | None:
        for step, left in form.splits(symbol, length):
            if derives(step.left, start, left) and (
                step.right is None or derives(step.right, start + left, length - left)
            ):
                return step, left
        return None

    def derives(symbol: NormalSymbol, start: int, length: int) -> bool:
        if isinstance(symbol, Terminal):
            return sentence[start] == symbol.name
        return first(symbol, start, length) is not None

    def build(symbol: NormalSymbol, start: int, length: int) -> Value:
        if isinstance(symbol, Terminal):
            return algebra.leaf(start, symbol.name)
        found = first(symbol, start, length)
        assert found is not None  # only called on what `derives`
        step, left = found
        left_value = build(step.left, start, left)
        if step.right is None:
            return step.combine(algebra, left_value)
        return step.combine(algebra, left_value, build(step.right, start + left, length - left))

    try:
        form.lengths(len(sentence))  # shortest first, so that what longer spans ask is known
        if not sentence or not derives(form.start, 0, len(sentence)):
            return None
        return build(form.start, 0, len(sentence))
    except RecursionError:
        raise BudgetError(
            f"a sentence of {len(sentence)} symbols nests too deeply to be parsed one by one; "
            f"raise sys.setrecursionlimit, or use shorter sentences"
        ) from None
