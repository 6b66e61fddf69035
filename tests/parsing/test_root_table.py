"""Roots chosen on a device are those that the CPU selects, with impossible edges behind them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import pytest
import torch

from ngs.grammar.library import arithmetic
from ngs.parsing import root_table as module
from ngs.parsing.chart import log_total
from ngs.parsing.circuit import NOTHING, Circuit, Edges, sentence_circuit
from ngs.parsing.decode import best_columns
from ngs.parsing.root_table import RootTable, entries, root_table, roots_of_lengths
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.compiled import BUDGET, value_circuit
from tests.grammars import NAMED

LONGEST = 5


def answers() -> tuple[Circuit, list[int | None]]:
    """Formulas with their values: every root there is, some more than once, and twice no root at all."""
    circuit = value_circuit(arithmetic(), Arithmetic, LONGEST, BUDGET)
    roots: list[int | None] = [root for values in circuit.roots.values() for root in values.values()]
    chosen = [*roots, *roots[::7], None, circuit.root(1, Fraction(1, 7)), circuit.root(3, 4)]
    Random(0).shuffle(chosen)
    return circuit, chosen


def assert_same(padded: Edges, selected: Edges) -> None:
    """But for edges that are impossible."""
    possible = padded.left != NOTHING
    assert padded.segments == selected.segments
    assert torch.equal(padded.left[~possible], padded.right[~possible])
    for name in ("left", "right", "out"):
        assert torch.equal(getattr(padded, name)[possible], getattr(selected, name))
    assert (padded.out.diff() >= 0).all()


@pytest.mark.parametrize("name", NAMED)
def test_roots_of_lengths_are_those_that_are_selected(name: str) -> None:
    """And impossible where a length has no sentences."""
    circuit = sentence_circuit(NAMED[name], LONGEST)
    lengths = [0, 5, 1, 2, 3, 4, 3]
    known = [circuit.roots.get(length, {}).get(()) for length in lengths]
    assert_same(roots_of_lengths(circuit)[torch.tensor(lengths)], circuit.select(known))


@pytest.mark.parametrize("seed", range(3))
def test_roots_of_answers_are_those_that_are_selected(seed: int) -> None:
    circuit, roots = answers()
    numbers = torch.randint(len(roots), (40,), generator=torch.Generator().manual_seed(seed))
    numbers[:2] = torch.tensor([number for number, root in enumerate(roots) if root is None])
    chosen, selected = (
        RootTable(circuit, roots)[numbers],
        circuit.select([roots[k] for k in numbers.tolist()]),
    )
    assert_same(chosen, selected)
    assert len(chosen.out) == 40 * entries(circuit, roots) / len(set(roots)) > len(selected.out)


@pytest.mark.parametrize("seed", range(3))
def test_sums_maxima_and_gradients_do_not_mind(seed: int) -> None:
    circuit, roots = answers()
    random = torch.Generator().manual_seed(seed)
    numbers = torch.cat(
        [torch.randint(len(roots), (30,), generator=random), torch.tensor([roots.index(None)])]
    )
    scores = torch.randn(31, LONGEST, circuit.symbols, generator=random, dtype=torch.float64).log_softmax(-1)

    def outcome(edges: Edges) -> Sequence[torch.Tensor]:
        asked = scores.clone().requires_grad_()
        totals = log_total(circuit, asked, edges)
        reachable = totals.masked_fill(totals.isneginf(), 0.0)
        return (
            totals.detach(),
            torch.autograd.grad(reachable.sum(), asked)[0],
            best_columns(circuit, scores, edges),
        )

    chosen = outcome(RootTable(circuit, roots)[numbers])
    selected = outcome(circuit.select([roots[k] for k in numbers.tolist()]))
    assert chosen[0][-1] == -torch.inf and chosen[0][:-1].isfinite().any()
    for one, other in zip(chosen, selected, strict=True):
        assert torch.allclose(one, other)


def test_nothing_but_answers_that_there_are_not() -> None:
    circuit, _ = answers()
    table = RootTable(circuit, [None, None])
    assert (
        log_total(circuit, torch.zeros(1, LONGEST, circuit.symbols), table[torch.tensor([1])]) == -torch.inf
    )


def test_there_is_no_table_beyond_its_room(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit, roots = answers()
    monkeypatch.setattr(module, "MOST_ENTRIES", entries(circuit, roots))
    assert isinstance(root_table(circuit, roots), RootTable)
    monkeypatch.setattr(module, "MOST_ENTRIES", entries(circuit, roots) - 1)
    assert root_table(circuit, roots) is None
