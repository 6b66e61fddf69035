"""The tree of one given sentence: the slow, obvious parser that the tensor engines must agree with."""

from __future__ import annotations

from collections.abc import Sequence

from ngs.errors import BudgetError, ParseError
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import TreeAlgebra, built, normal_form
from ngs.grammar.tree import Tree


def find_tree(grammar: Grammar, sentence: Sequence[str]) -> Tree | None:
    """The tree of `sentence`, or None where it is outside the language.

    An ambiguous sentence gets the tree of the first rule that fits, with as few empty parts as it can,
    and then with the shortest left part.
    """
    form = normal_form(grammar)
    try:
        form.lengths(len(sentence))  # shortest first, so that what longer spans ask is known
        found = form.derivations(sentence, most=1)
        return built(found[0], TreeAlgebra()) if found else None
    except RecursionError:
        raise BudgetError(
            f"a sentence of {len(sentence)} symbols nests too deeply to be parsed one by one; "
            f"raise sys.setrecursionlimit, or use shorter sentences"
        ) from None


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
