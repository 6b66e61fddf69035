"""Sentences with their trees, by the slow, obvious parser that the tensor engines must agree with."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from ngs.errors import BudgetError, ParseError, ShapeError
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import TreeAlgebra, built, normal_form
from ngs.grammar.padding import PAD
from ngs.grammar.tree import Sentence, Tree


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


@dataclass(frozen=True)
class Sentences:
    """A batch of sentences; both tensors may have further dimensions in front (the k best of each).

    Where no sentence has positive probability, `log_probs` is -inf and `symbols` is PAD throughout.
    """

    symbols: Tensor
    """[..., time]: symbol ids, PAD after the end"""
    log_probs: Tensor
    """[...]: log p(z|x)"""
    grammar: Grammar

    def __getitem__(self, index: int | tuple[int, ...]) -> Sentence:
        """The sentence as symbols by name; empty where there is none."""
        if self.symbols[index].ndim != 1:
            shape = list(self.symbols.shape[:-1])
            raise ShapeError(
                f"[{index}] is not one of the sentences {shape}; for k best give [example, rank]"
            )
        return self.grammar.decode(symbol for symbol in self.symbols[index].tolist() if symbol != PAD)

    def tree(self, index: int | tuple[int, ...]) -> Tree:
        return parse(self.grammar, self[index])
