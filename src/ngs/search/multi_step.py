"""The reference of m-BS: Algorithm 2 of Li et al. (2020), one sentence at a time.

Property tests check that `back_search.sample_corrections` has the same acceptance ratio and random walks, and
that the exact transition matrix is in detailed balance with q(z) of Eq. 11.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log

import torch
from torch import Tensor

from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.tree import Sentence
from ngs.parsing.sentence import recognises
from ngs.reasoning.operation import Value, check_answer
from ngs.reasoning.semantics import Meaning
from ngs.search.back_search import SMALLEST, ChainSettings
from ngs.search.one_step import Search, first_sentence


@dataclass(frozen=True)
class Substitutions:
    """Another symbol at one position; a walk changes distinct positions (`edits.Substitute`)."""

    grammar: Grammar

    def ways(self, sentence: Sentence) -> Mapping[Sentence, float]:
        """ways(z, z') of every other sentence z' of the language that one edit makes."""
        found = {}
        for position, others in enumerate(self._others(sentence)):
            for symbol in others:
                changed = (*sentence[:position], symbol, *sentence[position + 1 :])
                if recognises(self.grammar, changed):
                    found[changed] = 1 / len(others)
        return found

    def count(self, sentence: Sentence) -> float:
        return max(1.0, float(sum(map(bool, self._others(sentence)))))

    def walk(self, sentence: Sentence, distance: int, generator: torch.Generator) -> Sentence:
        others = self._others(sentence)
        changeable = [position for position, symbols in enumerate(others) if symbols]
        if distance > len(changeable):
            return sentence
        changed = list(sentence)
        for k in torch.randperm(len(changeable), generator=generator)[:distance].tolist():
            symbols = others[changeable[k]]
            changed[changeable[k]] = symbols[int(torch.randint(len(symbols), (), generator=generator))]
        return tuple(changed) if recognises(self.grammar, changed) else sentence

    def _others(self, sentence: Sentence) -> list[list[str]]:
        """For each position, the other symbols that some sentence of this length has there."""
        usable = prefix_automaton(self.grammar).symbols_at(len(sentence))
        pairs = zip(sentence, map(self.grammar.decode, usable), strict=True)
        return [[symbol for symbol in symbols if symbol != current] for current, symbols in pairs]


@dataclass(frozen=True)
class State:
    """A sentence with what the chain needs to know about it."""

    sentence: Sentence
    log_p: float
    right: bool
    fix: Sentence | None  # 1-BS(z); z itself where it is right, None where nothing was found


def log_ratio(now: State, new: State, distance: int, edits: Substitutions, chain: ChainSettings) -> float:
    """log of the acceptance ratio r, which `back_search.log_ratio` derives."""
    count = {state: edits.count(state.sentence) for state in (now, new)}

    def chance(a: State) -> float:
        return 0.0 if a.fix is None else chain.back_search

    def log_move(a: State, b: State) -> float:
        """log Q(b|a) of the kind of move that was made, without what is the same for Q(a|b)."""
        if distance != 1:
            return log(1 - chance(a)) - log(count[a])
        once = chain.distance * exp(-chain.distance) * edits.ways(a.sentence).get(b.sentence, 0.0) / count[a]
        total = chance(a) * (a.fix == b.sentence) + (1 - chance(a)) * once
        return log(total) if total > 0 else -inf

    def log_target(a: State) -> float:
        return log(a.right + chain.epsilon) + a.log_p

    backwards, forwards = log_move(new, now), log_move(now, new)
    if -inf in (new.log_p, backwards):
        return -inf
    return log_target(new) - log_target(now) + backwards - forwards


@dataclass(frozen=True)
class Visited:
    """What one chain went through."""

    states: tuple[Sentence, ...]
    """z(0) to z(T)"""
    right: bool
    """whether the last one gives the target"""

    @property
    def sentence(self) -> Sentence:
        return self.states[-1]


def multi_step(
    grammar: Grammar,
    semantics: Meaning,
    log_probs: Tensor,
    target: Value,
    sentence: Sequence[str] | None = None,
    *,
    chain: ChainSettings | None = None,
    generator: torch.Generator,
) -> Visited:
    """Return the states of m-BS(z, y) from `sentence`, by default the most likely one, towards `target`.

    `log_probs` is [time, symbol], log-normalised.

    >>> from ngs import Arithmetic, arithmetic_grammar
    >>> grammar = arithmetic_grammar()
    >>> log_probs = torch.full((3, 14), 0.01)
    >>> log_probs[[0, 1, 2], grammar.encode("1+2")] = 0.87
    >>> generator = torch.Generator().manual_seed(0)
    >>> visited = multi_step(grammar, Arithmetic, log_probs.log(), target=2, generator=generator)
    >>> len(visited.states), visited.right
    (6, True)
    """
    check_answer(target)
    settings = ChainSettings() if chain is None else chain
    start = first_sentence(grammar, log_probs, sentence)
    search, edits = Search(grammar, semantics, log_probs, target), Substitutions(grammar)

    def state_of(z: Sentence) -> State:
        fix = search.run(z).sentence
        log_p = sum(search.log_probs[t][symbol] for t, symbol in enumerate(grammar.encode(z)))
        return State(z, log_p, fix == z, fix)

    now, states = state_of(start), [start]
    for _ in range(settings.steps):
        kind, accept = torch.rand(2, generator=generator, dtype=torch.float64).tolist()
        if kind < settings.back_search and now.fix is not None:
            distance, proposed = 1, now.fix
        else:
            distance = int(torch.poisson(torch.tensor(settings.distance), generator=generator))
            proposed = edits.walk(now.sentence, distance, generator)
        new = state_of(proposed)
        if log(max(accept, SMALLEST)) <= log_ratio(now, new, distance, edits, settings):
            now = new
        states.append(now.sentence)
    return Visited(tuple(states), now.right)
