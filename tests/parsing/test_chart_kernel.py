"""The kernel that goes through a circuit in one launch, against the plain engine on a CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

import ngs.kernels
from ngs.grammar.grammar import Grammar
from ngs.grammar.library import arithmetic
from ngs.grammar.normal_form import normal_form
from ngs.grammar.padding import PAD
from ngs.parsing import derivations
from ngs.parsing.chart import drawing, exponential, inside, outside
from ngs.parsing.circuit import Circuit, Edges, derivation_circuit, sentence_circuit
from ngs.parsing.derivations import best_derivation, log_total, sampled_derivation
from tests.grammars import CATALAN, DANGLING_ELSE, NULLABLE_LIST, PREFIX
from tests.kernels import DEVICE, needs_triton, on_any_device, without_warnings

pytestmark = [needs_triton, on_any_device, without_warnings]

Compile = Callable[[Grammar, int, torch.device], Circuit]


@dataclass(frozen=True)
class Case:
    """Examples of all lengths, some of which have no possible sentence, or no root at all."""

    compiled: Compile
    grammar: Grammar
    scores: Tensor
    picked: list[int | None]
    """the root of each example"""

    @classmethod
    def of(
        cls, compiled: Compile, grammar: Grammar, time: int, batch: int, dtype: torch.dtype = torch.float64
    ) -> Case:
        scores = 3 * torch.randn(batch, time, len(grammar.symbols), dtype=dtype)
        scores = scores.masked_fill(torch.rand(scores.shape) < 0.1, -torch.inf)
        scores[1:2, 0] = -torch.inf
        known = normal_form(grammar).lengths(time)
        lengths = [known[k % len(known)] for k in torch.randint(100, (batch,)).tolist()]
        circuit = compiled(grammar, time, scores.device)
        picked = [None if b % 7 == 3 else circuit.root(length) for b, length in enumerate(lengths)]
        return cls(compiled, grammar, scores, picked)

    @property
    def circuit(self) -> Circuit:
        return self.compiled(self.grammar, self.scores.shape[1], self.scores.device)

    @property
    def roots(self) -> Edges:
        return self.circuit.select(self.picked)

    @property
    def noise_size(self) -> int:
        return self.circuit.inner_edges * len(self.scores) + len(self.roots.out)

    def sums(self) -> tuple[Tensor, Tensor]:
        scores = self.scores.clone().requires_grad_()
        totals = log_total(self.circuit, scores, self.roots)
        finite = totals.masked_fill(totals.isneginf(), 0.0)
        return totals.detach().cpu(), torch.autograd.grad(finite.sum(), scores)[0].cpu()

    def best(self) -> Tensor:
        return best_derivation(self.circuit, self.scores, self.roots).cpu()

    def by_kernel(self, monkeypatch: pytest.MonkeyPatch) -> Case:
        """The same where the engine takes the kernel: on the GPU, or from now on everywhere."""
        if DEVICE.type == "cpu":
            monkeypatch.setattr(ngs.kernels, "available", lambda _: True)
        there = replace(self, scores=self.scores.to(DEVICE))
        assert derivations.has_kernel(there.circuit, there.scores)
        return there

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
        flow = outside(inside(self.circuit, self.scores, self.roots, drawing(lambda _: next(parts))))
        return flow.argmax(-1).masked_fill(flow.sum(-1) == 0, PAD)


CASES = {
    "arithmetic": (derivation_circuit, arithmetic(), 7, 35),
    "prefix notation": (sentence_circuit, PREFIX, 5, 33),
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


def test_the_best_derivation(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    want = case.best()
    have = case.by_kernel(monkeypatch).best()
    assert have.dtype == want.dtype and torch.equal(have, want)
    assert len(want) < 5 or ((want[:, 0] == PAD).any() and (want[:, 0] != PAD).any())


def test_the_first_of_equals_is_the_best(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    tied = replace(case, scores=(case.scores / 4).round())
    want = tied.best()
    assert torch.equal(tied.by_kernel(monkeypatch).best(), want)


def test_a_drawn_derivation(case: Case) -> None:
    from ngs.kernels.chart import sampled_columns as by_kernel

    noise = exponential(torch.Generator().manual_seed(5))(case.scores.new_empty(case.noise_size))
    there = replace(case, scores=case.scores.to(DEVICE))
    layout = derivations.kernel_layout(there.circuit)
    have = by_kernel(layout, there.scores, there.roots.parts, noise.to(DEVICE))
    assert torch.equal(have.cpu(), case.drawn(noise))


def test_the_kernel_s_noise_is_drawn_at_once(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    there = case.by_kernel(monkeypatch)
    noise = exponential(torch.Generator(DEVICE).manual_seed(5))(there.scores.new_empty(case.noise_size))
    generator = torch.Generator(DEVICE).manual_seed(5)
    have = sampled_derivation(there.circuit, there.scores, there.roots, generator)
    assert torch.equal(have.cpu(), case.drawn(noise.cpu()))


def test_totals_and_marginals(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    totals, marginals = case.sums()
    there = case.by_kernel(monkeypatch)
    have_totals, have_marginals = there.sums()
    assert torch.allclose(have_totals, totals, rtol=1e-10, atol=1e-10)
    assert torch.allclose(have_marginals, marginals, rtol=1e-10, atol=1e-10)
    assert torch.equal(log_total(there.circuit, there.scores, there.roots).cpu(), have_totals)


def test_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case.of(derivation_circuit, arithmetic(), 5, 20, torch.float32)
    best, (totals, marginals) = case.best(), case.sums()
    there = case.by_kernel(monkeypatch)
    assert torch.equal(there.best(), best)
    have_totals, have_marginals = there.sums()
    assert have_totals.dtype == have_marginals.dtype == torch.float32
    assert torch.allclose(have_totals, totals, atol=1e-5)
    assert torch.allclose(have_marginals, marginals, atol=1e-5)


def test_scores_that_are_no_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sentence and no gradient, as in the plain engine; the other examples do not mind."""
    case = Case.of(derivation_circuit, arithmetic(), 3, 6)
    case.scores[2] = torch.nan
    best, (totals, marginals) = case.best(), case.sums()
    there = case.by_kernel(monkeypatch)
    assert torch.equal(there.best(), best)
    have_totals, have_marginals = there.sums()
    assert torch.allclose(have_totals, totals)
    assert torch.allclose(have_marginals[[0, 1, 3, 4, 5]], marginals[[0, 1, 3, 4, 5]])
    assert have_marginals[2].isnan().any() and marginals[2].isnan().any()


def test_scores_that_lie_apart_and_padded_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case.of(derivation_circuit, arithmetic(), 5, 9)
    want, there = case.best(), case.by_kernel(monkeypatch)
    apart = there.scores.transpose(0, 1).contiguous().transpose(0, 1)
    assert not apart.is_contiguous()
    assert torch.equal(best_derivation(there.circuit, apart, there.roots.padded()).cpu(), want)


def test_what_the_kernel_does_not_take(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case.of(derivation_circuit, arithmetic(), 3, 2).by_kernel(monkeypatch)
    assert not derivations.has_kernel(case.circuit, case.scores.half())
    monkeypatch.setattr(derivations, "MAX_KERNEL_EDGES", case.circuit.edges - 1)
    assert not derivations.has_kernel(case.circuit, case.scores)
