"""Whether each sentence of a given length has one tree, and which rules are to blame if not.

Ambiguity of a whole grammar is undecidable; at one length it is a matter of counting derivations (from
the rules) and sentences (from the prefix automaton).
"""

from functools import lru_cache
from itertools import chain

from ngs.errors import GrammarError
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import NormalForm, built, normal_form
from ngs.grammar.rules import Rule
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
    form = normal_form(grammar)
    sentence = _ambiguous_sentence(form, shortest)
    pair = (built(derivation, _Rules()) for derivation in form.derivations(sentence, most=2))
    # Both expand the leftmost nonterminal first, so where they part they expand the same one.
    rules = next((a, b) for a, b in zip(*pair, strict=False) if a != b)
    lines = {rule: rule.line for rule in grammar.rules}  # the cached normal form may be of an equal grammar
    shown = " and ".join(
        f"`{rule.head}: {rule}`" + (f" (line {lines[rule]})" if lines[rule] else "") for rule in rules
    )
    raise GrammarError(
        f"the sentence {' '.join(sentence)!r} has two trees, which part at {shown}: its meaning, and the sum "
        f"over meanings, would depend on the tree; rewrite the rule so that one tree is left "
        f"(for left association: `a: a op b | b` instead of `a: a op a`)"
    )


class _Rules:
    """The algebra in which a derivation is its rules in prefix order."""

    def leaf(self, position: int, symbol: str) -> tuple[Rule, ...]:
        return ()

    def node(self, rule: Rule, children: tuple[tuple[Rule, ...], ...]) -> tuple[Rule, ...]:
        return (rule, *chain.from_iterable(children))


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
