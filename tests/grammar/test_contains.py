"""Whether sentences are in a language, by one look-up per symbol, against parsing each."""

from __future__ import annotations

from itertools import product

import torch
from hypothesis import given

from ngs import PAD, Automaton, Given, Grammar, recognises
from ngs.grammar.constraint import Constraint
from tests.grammars import grammars


@given(grammars())
def test_contains_is_that_of_the_parser(grammar: Grammar) -> None:
    """Every string of up to 4 symbols and PAD, which may stand only after the end."""
    automaton = Automaton(grammar)
    ids = [PAD, *range(len(grammar.symbols))]
    z = torch.tensor(list(product(ids, repeat=4 if len(ids) < 5 else 3)))
    lengths = (z != PAD).sum(1)
    ended = (z[:, :-1] != PAD) | (z[:, 1:] == PAD)
    strings = [grammar.decode(symbol for symbol in row if symbol != PAD) for row in z.tolist()]
    empty = automaton.automaton.accepts(automaton.automaton.start)
    want = ended.all(1) & torch.tensor([recognises(grammar, s) if s else empty for s in strings])
    for _ in range(2):  # while the tables grow, and then from the tables alone
        assert torch.equal(automaton.contains(Given(), z), want)
        assert torch.equal(automaton.contains(Given(lengths), z), want)
        assert torch.equal(automaton.contains(Given(lengths * 0 + 2), z), want & (lengths == 2))
        assert torch.equal(Constraint.contains(automaton, Given(lengths), z), want)
