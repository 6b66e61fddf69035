"""The reference of m-BS: its distribution, and what its settings mean."""

from collections import Counter
from math import exp, inf

import torch
from torch import Tensor

from ngs import ChainSettings, Grammar, Semantics, multi_step, one_step
from ngs.grammar.tree import Sentence
from ngs.reasoning.arithmetic import Arithmetic
from tests.search.semantics import answers, log_probs_of

DIGITS = Grammar.parse("""
    expr: expr "+" digit -> add | expr "-" digit -> subtract | expr "*" digit -> multiply | digit
    digit: "0" | "1" | "2" | "3"
""")
TARGET = 3


def log_scores(seed: int, scale: float = 1.5) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    shape = 3, len(DIGITS.symbols)
    return (scale * torch.randn(shape, generator=generator, dtype=torch.float64)).log_softmax(-1)


def test_a_long_chain_has_the_smoothed_posterior() -> None:
    """Total variation about 0.06; 0.2 and more for the usual shortcuts in the acceptance ratio."""
    chain = ChainSettings(steps=6000, back_search=0.3, distance=1.0, epsilon=0.3)
    generator = torch.Generator().manual_seed(1)
    states = multi_step(DIGITS, Arithmetic, log_scores(1), TARGET, chain=chain, generator=generator).states
    counts, values = Counter(states), answers(DIGITS, Arithmetic, 3)
    log_probs = log_probs_of(DIGITS, log_scores(1), 3)
    q = {z: ((values[z] == TARGET) + chain.epsilon) * exp(log_probs[z]) for z in values}
    assert set(counts) <= set(q)
    assert 0.5 * sum(abs(counts[z] / len(states) - q[z] / sum(q.values())) for z in q) < 0.1


def test_the_generator_decides_everything() -> None:
    def states(seed: int) -> tuple[Sentence, ...]:
        draws, chain = torch.Generator().manual_seed(seed), ChainSettings(30, back_search=0.1, epsilon=0.3)
        torch.rand(3)  # the global generator plays no role
        return multi_step(DIGITS, Arithmetic, log_scores(0), TARGET, chain=chain, generator=draws).states

    assert [states(seed) for seed in range(4)] == [states(seed) for seed in range(4)]
    assert len({states(seed) for seed in range(4)}) == 4


def test_no_steps_change_nothing() -> None:
    chain, generator = ChainSettings(steps=0), torch.Generator()
    visited = multi_step(DIGITS, Arithmetic, log_scores(0), TARGET, "0+0", chain=chain, generator=generator)
    assert visited.states == (("0", "+", "0"),)
    assert not visited.right


def test_what_is_beyond_one_step_is_reached() -> None:
    """Three wrong symbols: one step finds nothing, many steps do."""
    grammar = Grammar.parse('pair: bit bit bit -> all\nbit: "0" | "1"')

    class All(Semantics):
        symbol = int

        def all(a: int, b: int, c: int) -> int:
            return a * b * c

    scores = torch.tensor([[0.7, 0.3]] * 3, dtype=torch.float64).log()
    assert one_step(grammar, All, scores, 1, "000").sentence is None
    for seed in range(20):
        generator, chain = torch.Generator().manual_seed(seed), ChainSettings(steps=200)
        assert multi_step(grammar, All, scores, 1, "000", chain=chain, generator=generator).right


def test_states_of_probability_zero_are_never_entered() -> None:
    scores = log_scores(3).clone()
    scores[0, DIGITS.symbol_id("3")] = -inf
    visited = multi_step(
        DIGITS,
        Arithmetic,
        scores.log_softmax(-1),
        TARGET,
        "0+0",
        chain=ChainSettings(steps=300, back_search=0.1, epsilon=1.0),
        generator=torch.Generator().manual_seed(0),
    )
    assert {z[0] for z in visited.states} == {"0", "1", "2"}
