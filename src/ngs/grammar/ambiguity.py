"""Whether each sentence of a given length has one tree, and which rules are to blame if not.

Ambiguity of a whole grammar is undecidable; at one length it is a matter of counting derivations (from
the rules) and sentences (from the prefix automaton).
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import islice

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
    """A sentence with two derivations, and the first rules in which its first two differ."""
    sentence = _ambiguous_sentence(form, length)
    first, second = _two_derivations(form, sentence)
    # Both expand the leftmost nonterminal first, so where they part they expand the same one.
    pairs = ((a, b) for a, b in zip(first, second, strict=False) if a != b)
    a, b = next(pairs, (second[0], second[0]))
    return sentence, a.rule, b.rule


def _ambiguous_sentence(form: NormalForm, length: int) -> Sentence:
    """The first one, by the order of the grammar's symbols, that has more derivations than one."""
    automaton = prefix_automaton(form.grammar)
    prefix: tuple[int, ...] = ()
    while len(prefix) < length:
        following = automaton.legal_within(automaton.run(prefix), length - len(prefix))
        prefix = next(
            longer
            for longer in ((*prefix, symbol) for symbol in following)
            if form.count(length, form.grammar.decode(longer)) > automaton.count(length, longer)
        )
    return form.grammar.decode(prefix)


def _two_derivations(form: NormalForm, sentence: Sentence) -> tuple[tuple[Production, ...], ...]:
    """The first two derivations of an ambiguous sentence, as their productions in prefix order."""

    @cache
    def two(symbol: NormalSymbol, part: Sentence) -> tuple[tuple[Production, ...], ...]:
        if isinstance(symbol, Terminal):
            return ((),) if part == (symbol.name,) else ()
        found = (
            (*step.productions, *begin, *end)
            for step, left in form.splits(symbol, len(part))
            for begin in two(step.left, part[:left])
            for end in (((),) if step.right is None else two(step.right, part[left:]))
        )
        return tuple(islice(found, 2))

    return two(form.start, sentence)
