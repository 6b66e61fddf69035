"""The kernel that walks a circuit in one launch, in Triton's interpreter, against the plain engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from ngs.gpu import HAS_TRITON
from ngs.grammar.grammar import Grammar
from ngs.grammar.library import arithmetic
from ngs.grammar.normal_form import normal_form
from ngs.parsing import chart
from ngs.parsing.chart import inside, log_total
from ngs.parsing.circuit import Circuit, Edges, derivation_circuit, sentence_circuit
from ngs.parsing.decode import PAD, best_columns, chosen_columns, sampled_columns
from ngs.parsing.semiring import drawing, exponential
from tests.grammars import CATALAN, DANGLING_ELSE, NULLABLE_LIST, PROGRAMS

pytestmark = [
    pytest.mark.skipif(
        not HAS_TRITON and os.environ.get("NGS_TRITON") != "required",
        reason="needs Triton, which comes with PyTorch for GPUs; NGS_TRITON=required to fail without it",
    ),
    pytest.mark.skipif(torch.cuda.is_available(), reason="here the kernels are compiled"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # NumPy's, of what lanes without an example compute
]

Compile = Callable[[Grammar, int], Circuit]


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """On a CPU; tests/conftest.py has told Triton to interpret."""
    monkeypatch.setattr(torch.cuda, "device_of", lambda _: nullcontext())
    yield


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it, and from then on the engine takes the kernel."""
    return lambda: monkeypatch.setattr(chart, "has_kernels", lambda _: True)


@dataclass(frozen=True)
class Case:
    """Examples of all lengths, some of which have no possible sentence, or no root at all."""

    circuit: Circuit
    scores: Tensor
    roots: Edges

    @classmethod
    def of(
        cls, compiled: Compile, grammar: Grammar, time: int, batch: int, dtype: torch.dtype = torch.float64
    ) -> Case:
        circuit = compiled(grammar, time)
        scores = 3 * torch.randn(batch, time, len(grammar.symbols), dtype=dtype)
        scores = scores.masked_fill(torch.rand(scores.shape) < 0.1, -torch.inf)
        scores[1:2, 0] = -torch.inf
        known = normal_form(grammar).lengths(time)
        lengths = [known[k % len(known)] for k in torch.randint(100, (batch,)).tolist()]
        roots = [None if b % 7 == 3 else circuit.root(length) for b, length in enumerate(lengths)]
        return cls(circuit, scores, circuit.select(roots))

    def sums(self) -> tuple[Tensor, Tensor]:
        scores = self.scores.clone().requires_grad_()
        totals = log_total(self.circuit, scores, self.roots)
        finite = totals.masked_fill(totals.isneginf(), 0.0)
        return totals.detach(), torch.autograd.grad(finite.sum(), scores)[0]

    def drawn(self, noise: Tensor) -> Tensor:
        """What the plain engine draws by the kernel's noise."""
        batch = len(self.scores)
        of_levels = noise[: self.circuit.inner_edges * batch].view(self.circuit.inner_edges, batch)
        parts = iter(
            [
                noise[self.circuit.inner_edges * batch :],
                *reversed(of_levels.split([len(level.out) for level in self.circuit.levels])),
            ]
        )
        return chosen_columns(inside(self.circuit, self.scores, self.roots, drawing(lambda _: next(parts))))


CASES = {
    "handwritten formulas": (derivation_circuit, arithmetic(), 7, 35),
    "programs": (sentence_circuit, PROGRAMS, 5, 33),
    "one derivation of an ambiguous sentence": (sentence_circuit, DANGLING_ELSE, 8, 12),
    "all derivations of it": (derivation_circuit, DANGLING_ELSE, 8, 12),
    "many derivations": (derivation_circuit, CATALAN, 6, 8),
    "empty parts": (sentence_circuit, NULLABLE_LIST, 6, 32),
    "no levels": (derivation_circuit, arithmetic(), 1, 5),
    "one example": (derivation_circuit, arithmetic(), 3, 1),
    "no examples": (derivation_circuit, arithmetic(), 3, 0),
}


@pytest.fixture(params=CASES.values(), ids=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return Case.of(*request.param)


def test_best_columns(case: Case, kernel: Callable[[], None]) -> None:
    want = best_columns(case.circuit, case.scores, case.roots)
    kernel()
    have = best_columns(case.circuit, case.scores, case.roots)
    assert have.dtype == want.dtype and torch.equal(have, want)
    assert len(want) < 5 or ((want[:, 0] == PAD).any() and (want[:, 0] != PAD).any())


def test_the_first_of_equals_is_the_best(case: Case, kernel: Callable[[], None]) -> None:
    tied = Case(case.circuit, (case.scores / 4).round(), case.roots)
    want = best_columns(tied.circuit, tied.scores, tied.roots)
    kernel()
    assert torch.equal(best_columns(tied.circuit, tied.scores, tied.roots), want)


def test_sampled_columns(case: Case, kernel: Callable[[], None]) -> None:
    kernel()
    size = case.circuit.inner_edges * len(case.scores) + len(case.roots.out)
    noise = exponential(torch.Generator().manual_seed(5))(case.scores.new_empty(size))
    generator = torch.Generator().manual_seed(5)
    have = sampled_columns(case.circuit, case.scores, case.roots, generator)
    assert torch.equal(have, case.drawn(noise))


def test_totals_and_marginals(case: Case, kernel: Callable[[], None]) -> None:
    totals, marginals = case.sums()
    kernel()
    have_totals, have_marginals = case.sums()
    assert torch.allclose(have_totals, totals, rtol=1e-12, atol=1e-12)
    assert torch.allclose(have_marginals, marginals, rtol=1e-12, atol=1e-12)
    assert torch.equal(log_total(case.circuit, case.scores, case.roots), have_totals)


def test_single_precision(kernel: Callable[[], None]) -> None:
    case = Case.of(derivation_circuit, arithmetic(), 5, 20, torch.float32)
    best, (totals, marginals) = best_columns(case.circuit, case.scores, case.roots), case.sums()
    kernel()
    assert torch.equal(best_columns(case.circuit, case.scores, case.roots), best)
    have_totals, have_marginals = case.sums()
    assert have_totals.dtype == have_marginals.dtype == torch.float32
    assert torch.allclose(have_totals, totals, atol=1e-5)
    assert torch.allclose(have_marginals, marginals, atol=1e-5)
    noise = exponential(None)(case.scores.new_empty(case.circuit.inner_edges * 20 + len(case.roots.out)))
    from ngs.parsing.kernels.chart import sampled_columns as by_kernel

    assert torch.equal(by_kernel(case.circuit, case.scores, case.roots, noise), case.drawn(noise))


def test_scores_that_are_no_numbers(kernel: Callable[[], None]) -> None:
    """No sentence and no gradient, as in the plain engine; the other examples do not mind."""
    case = Case.of(derivation_circuit, arithmetic(), 3, 6)
    case.scores[2] = torch.nan
    best, (totals, marginals) = best_columns(case.circuit, case.scores, case.roots), case.sums()
    kernel()
    assert torch.equal(best_columns(case.circuit, case.scores, case.roots), best)
    have_totals, have_marginals = case.sums()
    assert torch.allclose(have_totals, totals)
    assert torch.allclose(have_marginals[[0, 1, 3, 4, 5]], marginals[[0, 1, 3, 4, 5]])
    assert have_marginals[2].isnan().any() and marginals[2].isnan().any()


def test_scores_that_lie_apart_and_padded_roots(kernel: Callable[[], None]) -> None:
    case = Case.of(derivation_circuit, arithmetic(), 5, 9)
    apart = case.scores.transpose(0, 1).contiguous().transpose(0, 1)
    want = best_columns(case.circuit, case.scores, case.roots)
    kernel()
    assert not apart.is_contiguous()
    assert torch.equal(best_columns(case.circuit, apart, case.roots.padded()), want)


def test_what_the_kernel_does_not_take(kernel: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case.of(derivation_circuit, arithmetic(), 3, 2)
    kernel()
    assert chart.walked(case.circuit, case.scores)
    assert not chart.walked(case.circuit, case.scores.half())
    monkeypatch.setattr(chart, "MOST_WALKED", case.circuit.edges - 1)
    assert not chart.walked(case.circuit, case.scores)
