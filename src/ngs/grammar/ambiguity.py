"""Whether each sentence of a given length has one tree, and which rules are to blame if not.

Ambiguity of a whole grammar is undecidable; at one length it is a matter of counting derivations (from
the rules) and sentences (from the prefix automaton).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ngs.errors import GrammarError
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import NormalForm, NormalSymbol, Production, normal_form
from ngs.grammar.rules import Rule, Terminal
from ngs.grammar.tree import Sentence


@lru_cache(maxsize=256)
def unambiguous(grammar: Grammar, length: int) -> bool:
    """Whether each sentence of exactly `length` symbols has one tree."""
    return normal_form(grammar).count(length) == prefix_automaton(grammar).count(length)


def refuse_ambiguity(grammar: Grammar, length: int) -> None:
    """A GrammarError with a sentence of at most `length` symbols that has two trees, and the rule's line."""
    if unambiguous(grammar, length):
        return
    shortest = next(n for n in range(1, length + 1) if not unambiguous(grammar, n))
    sentence, *rules = _clash(normal_form(grammar), shortest)
    lines = {rule: rule.line for rule in grammar.rules}  # the cached normal form may be of an equal grammar
    shown = " and ".join(
        f"`{rule.head}: {rule}`" + (f" (line {lines[rule]})" if lines[rule] else "")
        for rule in dict.fromkeys(rules)
    )
    raise GrammarError(
        f"the sentence {' '.join(sentence)!r} has two trees, which part at {shown}: its meaning, and the sum "
        f"over meanings, would depend on the tree; rewrite the rule so that one tree is left "
        f"(for left association: `a: a op b | b` instead of `a: a op a`)"
    )


def _clash(form: NormalForm, length: int) -> tuple[Sentence, Rule, Rule]:
    """The first sentence with two derivations, and the first rules in which they differ."""
    seen: dict[Sentence, tuple[Production, ...]] = {}
    for sentence, used in _derivations(form, form.start, length):
        if sentence in seen:
            # Both expand the leftmost nonterminal first, so where they part they expand the same one.
            pairs = zip(seen[sentence], used, strict=False)
            first, second = next((pair for pair in pairs if pair[0] != pair[1]), (used[0], used[0]))
            return sentence, first.rule, second.rule
        seen[sentence] = used
    raise AssertionError("called on a length without ambiguity")


def _derivations(
    form: NormalForm, symbol: NormalSymbol, length: int
) -> Iterator[tuple[Sentence, tuple[Production, ...]]]:
    """Every derivation as its sentence and its productions in prefix order."""
    if isinstance(symbol, Terminal):
        yield (symbol.name,), ()
        return
    for step, left in form.splits(symbol, length):
        for begin, used in _derivations(form, step.left, left):
            if step.right is None:
                yield begin, (*step.productions, *used)
                continue
            for end, more in _derivations(form, step.right, length - left):
                yield begin + end, (*step.productions, *used, *more)
