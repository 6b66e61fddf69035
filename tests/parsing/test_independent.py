"""Decoding random grammars, ambiguous ones included, over ragged batches, against all their sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from ngs.errors import BudgetError, ParseError, ShapeError
from ngs.grammar.grammar import Grammar
from ngs.parsing.decode import PAD, Sentences, best, k_best, log_partition, marginals, sample
from ngs.parsing.earley import parse_aligned
from ngs.parsing.sentence import parse
from tests.enumeration import sentences
from tests.grammars import ARITHMETIC, DANGLING_ELSE, NAMED, NULLABLE_LIST, PALINDROMES, grammars, lattices

SEED = 1966

# Between one and five trees for a sentence of four symbols.
AMBIGUOUS = Grammar.parse("""
    s: s s -> pair
        | "a" | "b" "b"
        | "a" "b" -> other
""")


@dataclass(frozen=True)
class Case:
    """A ragged batch; behind the end of an example its scores are NaN."""

    grammar: Grammar
    scores: Tensor
    """[batch, time, symbol]"""
    lengths: list[int]

    def sentences(self, example: int) -> tuple[Tensor, Tensor]:
        """The columns [sentence, time] and log-probabilities of all sentences of the example's length."""
        length = self.lengths[example]
        columns = torch.tensor([self.grammar.encode(s) for s in sentences(self.grammar, length)])
        return columns, self.scores[example, torch.arange(length), columns].sum(-1)


@st.composite
def cases(draw: st.DrawFn, *, impossible: float = 0.1) -> Case:
    grammar = draw(grammars())
    known = [n for n in range(1, 6) if sentences(grammar, n)]
    assume(known)
    lengths = draw(st.lists(st.sampled_from(known), min_size=1, max_size=4))
    time = max(lengths) + draw(st.integers(0, 1))
    scores = draw(lattices(grammar, time, batch=len(lengths), impossible=impossible))
    return Case(grammar, padded(scores, lengths, math.nan), lengths)


def padded(scores: Tensor, lengths: list[int], value: float) -> Tensor:
    behind = torch.arange(scores.shape[1]) >= torch.tensor(lengths)[:, None]
    return scores.masked_fill(behind[..., None], value)


def lattice_of(grammar: Grammar, time: int, *, seed: int = 0) -> Tensor:
    """One example [1, time, symbol] of moderately peaked scores."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(1, time, len(grammar.symbols), generator=generator, dtype=torch.float64).log_softmax(
        -1
    )


def check_sentence(case: Case, found: Sentences, example: int) -> float:
    """The sentence found is one of the language, of positive probability, or nothing if there is none."""
    columns, log_probs = case.sentences(example)
    length, have = case.lengths[example], found.columns[example].tolist()
    if log_probs.max() == -math.inf:
        assert have == [PAD] * len(have)
        assert found.log_probs[example] == -math.inf
        assert found[example] == ()
        return -math.inf
    assert have[length:] == [PAD] * (len(have) - length)
    number = columns.tolist().index(have[:length])
    assert found[example] == case.grammar.decode(have[:length])
    assert found.tree(example) == parse(case.grammar, found[example])
    assert found.log_probs[example].item() == pytest.approx(log_probs[number].item())
    assert log_probs[number] > -math.inf
    return float(log_probs[number])


def check_single(case: Case, quantity: Callable[..., Tensor], wanted: Tensor) -> None:
    """Single precision gives nearly the same."""
    have = quantity(case.grammar, case.scores.float(), case.lengths)
    assert have.dtype == torch.float32
    torch.testing.assert_close(have.double(), wanted, rtol=1e-4, atol=1e-4)


@given(cases())
def test_the_best_is_the_best_of_all_sentences_and_the_one_earley_finds(case: Case) -> None:
    found = best(case.grammar, case.scores, case.lengths)
    assert found.columns.shape == case.scores.shape[:2]
    check_single(case, lambda *args: best(*args).log_probs, found.log_probs)
    for example, length in enumerate(case.lengths):
        _, log_probs = case.sentences(example)
        have = check_sentence(case, found, example)
        assert have == pytest.approx(log_probs.max().item())
        lattice = case.scores[example, :length]
        if have == -math.inf:
            with pytest.raises(ParseError, match="probability zero"):
                parse_aligned(case.grammar, lattice)
        else:
            assert parse_aligned(case.grammar, lattice).log_prob == pytest.approx(have)


@given(cases())
def test_sums_are_over_sentences_each_counted_once(case: Case) -> None:
    scores = case.scores.clone().requires_grad_()
    have = log_partition(case.grammar, scores, case.lengths)
    assert have.shape == (len(case.lengths),)
    posterior = marginals(case.grammar, case.scores, case.lengths)
    assert torch.autograd.grad(have.sum(), scores)[0].equal(posterior)
    check_single(case, log_partition, have)
    check_single(case, marginals, posterior)
    for example, length in enumerate(case.lengths):
        columns, log_probs = case.sentences(example)
        total = log_probs.logsumexp(0)
        assert have[example].item() == pytest.approx(total.item(), abs=1e-9)
        wanted = torch.zeros(case.scores.shape[1:], dtype=torch.float64)
        if total > -math.inf:
            one_hot = torch.nn.functional.one_hot(columns, len(case.grammar.symbols)).double()
            wanted[:length] = ((log_probs - total).exp()[:, None, None] * one_hot).sum(0)
        torch.testing.assert_close(posterior[example], wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("grammar", [*NAMED.values(), AMBIGUOUS], ids=[*NAMED, "ambiguous"])
def test_named_grammars_agree_with_enumeration(grammar: Grammar) -> None:
    for time in range(1, 7):
        if not sentences(grammar, time):
            continue
        case = Case(grammar, lattice_of(grammar, time, seed=time), [time])
        _, log_probs = case.sentences(0)
        assert check_sentence(case, best(grammar, case.scores), 0) == pytest.approx(log_probs.max().item())
        assert log_partition(grammar, case.scores).item() == pytest.approx(log_probs.logsumexp(0).item())
        assert marginals(grammar, case.scores).sum(-1).flatten().tolist() == pytest.approx([1.0] * time)


@given(cases(), st.integers(0, 2**32 - 1))
def test_a_sample_is_a_possible_sentence_and_its_generator_makes_it_again(case: Case, seed: int) -> None:
    def drawn() -> Sentences:
        generator = torch.Generator().manual_seed(seed)
        return sample(case.grammar, case.scores, case.lengths, generator=generator)

    found = drawn()
    for example in range(len(case.lengths)):
        check_sentence(case, found, example)
    again = drawn()
    assert again.columns.equal(found.columns)
    assert again.log_probs.equal(found.log_probs)


@pytest.mark.parametrize(
    "grammar, time",
    [
        (ARITHMETIC, 1),
        (ARITHMETIC, 3),
        (AMBIGUOUS, 4),
        (AMBIGUOUS, 5),
        (DANGLING_ELSE, 7),
        (NULLABLE_LIST, 5),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_samples_follow_the_posterior(grammar: Grammar, time: int, dtype: torch.dtype) -> None:
    number = 20_000
    lattice = lattice_of(grammar, time).to(dtype)
    columns, log_probs = Case(grammar, lattice, [time]).sentences(0)
    wanted = dict(zip(map(tuple, columns.tolist()), (number * log_probs.softmax(0)).tolist(), strict=True))
    generator = torch.Generator().manual_seed(SEED)
    drawn = sample(grammar, lattice.expand(number, -1, -1), generator=generator)
    have = Counter(map(tuple, drawn.columns.tolist()))
    assert set(have) <= set(wanted)
    rare = {sentence for sentence, expected in wanted.items() if expected < 5}
    pairs = [(have[sentence], expected) for sentence, expected in wanted.items() if sentence not in rare]
    if rare:
        pairs.append((sum(have[s] for s in rare), sum(wanted[s] for s in rare)))
    error = sum((seen - expected) ** 2 / expected for seen, expected in pairs)
    freedom = len(pairs) - 1
    most = freedom + 5 * math.sqrt(2 * freedom)  # five standard deviations
    assert error <= most, f"chi-square {error:.1f} with {freedom} degrees of freedom, seed {SEED}"
    distance = sum(abs(have[s] - expected) for s, expected in wanted.items()) / (2 * number)
    bound = math.sqrt(len(wanted) / number)  # twice the expected distance, or more
    assert distance < bound, f"total variation {distance:.4f} over {len(wanted)} sentences, seed {SEED}"


def test_a_generator_goes_on_and_none_is_the_global_one() -> None:
    scores = torch.zeros(64, 5, 7)
    generator = torch.Generator().manual_seed(SEED)
    first, second = (sample(ARITHMETIC, scores, generator=generator) for _ in range(2))
    assert not first.columns.equal(second.columns)
    torch.manual_seed(SEED)
    third = sample(ARITHMETIC, scores)
    assert not third.columns.equal(sample(ARITHMETIC, scores).columns)
    torch.manual_seed(SEED)
    assert third.columns.equal(sample(ARITHMETIC, scores).columns)


@given(cases(impossible=0.0))
def test_the_gradient_of_the_sum_is_that_of_finite_differences(case: Case) -> None:
    scores = padded(case.scores, case.lengths, 0.0).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda scores: log_partition(case.grammar, scores, case.lengths), scores, fast_mode=True
    )


@pytest.mark.parametrize("grammar", [ARITHMETIC, AMBIGUOUS, DANGLING_ELSE, NULLABLE_LIST])
def test_every_derivative_of_the_sum_is_that_of_finite_differences(grammar: Grammar) -> None:
    known = [n for n in range(1, 6) if sentences(grammar, n)]
    scores = lattice_of(grammar, 5).repeat(len(known), 1, 1).requires_grad_()
    assert torch.autograd.gradcheck(lambda scores: log_partition(grammar, scores, known), scores)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("grammar", [ARITHMETIC, AMBIGUOUS])
def test_half_precision_is_read_as_single(grammar: Grammar, dtype: torch.dtype) -> None:
    lengths = [5, 3, 1]
    half = lattice_of(grammar, 5).to(dtype).expand(3, -1, -1)
    single = half.float()
    for decoder in (best, lambda *args: k_best(*args, k=3), lambda *args: sample(*args, generator=seeded())):
        have, wanted = decoder(grammar, half, lengths), decoder(grammar, single, lengths)
        assert have.columns.equal(wanted.columns)
        assert have.log_probs.dtype == torch.float32
        assert have.log_probs.equal(wanted.log_probs)
    for quantity in (log_partition, marginals):
        have = quantity(grammar, half, lengths)
        assert have.dtype == torch.float32
        assert have.equal(quantity(grammar, single, lengths))


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(SEED)


@given(grammars(), st.integers(1, 5))
def test_of_equally_likely_sentences_one_is_chosen_and_always_the_same(grammar: Grammar, time: int) -> None:
    words = sentences(grammar, time)
    assume(words)
    flat = torch.full((3, time, len(grammar.symbols)), -0.5)
    found = best(grammar, flat)
    assert found[0] in words
    assert found.columns.tolist() == [found.columns[0].tolist()] * 3
    assert found.log_probs.tolist() == pytest.approx([-0.5 * time] * 3)
    assert best(grammar, flat).columns.equal(found.columns)


def test_nothing_is_possible() -> None:
    scores = torch.zeros(3, 3, 7)
    scores[1, 1, ARITHMETIC.encode("+-*/")] = -math.inf  # nothing but a digit in the middle
    for found in (best(ARITHMETIC, scores), sample(ARITHMETIC, scores)):
        assert found.log_probs.tolist() == [0.0, -math.inf, 0.0]
        assert found.columns[1].tolist() == [PAD] * 3
        assert [len(found[example]) for example in range(3)] == [3, 0, 3]
        with pytest.raises(ParseError, match="not a sentence"):
            found.tree(1)
    assert log_partition(ARITHMETIC, scores)[1] == -math.inf
    assert marginals(ARITHMETIC, scores).sum((1, 2)).tolist() == pytest.approx([3.0, 0.0, 3.0])


def test_one_impossible_symbol_is_never_chosen() -> None:
    scores = torch.zeros(500, 3, 7)
    scores[:, 0, ARITHMETIC.encode("12")] = -math.inf
    scores[:, 1, ARITHMETIC.encode("+-")] = -math.inf
    drawn = sample(ARITHMETIC, scores, generator=seeded())
    assert {drawn[example][:2] for example in range(500)} == {("0", "*"), ("0", "/")}
    assert best(ARITHMETIC, scores)[0][0] == "0"
    assert marginals(ARITHMETIC, scores)[0, 0].tolist() == pytest.approx([0, 0, 0, 0, 1, 0, 0])


def test_the_score_of_the_best_can_be_differentiated() -> None:
    scores = lattice_of(ARITHMETIC, 3).requires_grad_()
    found = best(ARITHMETIC, scores)
    found.log_probs.sum().backward()
    wanted = torch.nn.functional.one_hot(found.columns, 7).double()
    assert scores.grad is not None
    assert scores.grad.equal(wanted)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_marginals_need_no_gradients_of_the_caller(mode: type[torch.no_grad]) -> None:
    scores = lattice_of(ARITHMETIC, 3)
    wanted = marginals(ARITHMETIC, scores)
    with mode():
        have = marginals(ARITHMETIC, scores + 0.0)
        torch.testing.assert_close(have, wanted)
        assert best(ARITHMETIC, scores).columns.shape == (1, 3)
    assert not wanted.requires_grad


def test_any_real_scores_will_do() -> None:
    scores = 10 * torch.randn(1, 3, 7, generator=seeded(), dtype=torch.float64) + 50
    case = Case(ARITHMETIC, scores, [3])
    _, totals = case.sentences(0)
    assert best(ARITHMETIC, scores).log_probs.item() == pytest.approx(totals.max().item())
    assert log_partition(ARITHMETIC, scores).item() == pytest.approx(totals.logsumexp(0).item())
    shifted = marginals(ARITHMETIC, scores + 1_000)
    torch.testing.assert_close(shifted, marginals(ARITHMETIC, scores))


def test_lengths_may_be_a_tensor_a_list_or_left_out() -> None:
    scores = lattice_of(ARITHMETIC, 3).expand(2, -1, -1)
    full = best(ARITHMETIC, scores)
    for lengths in ([3, 3], (3, 3), torch.tensor([3, 3]), torch.tensor([3, 3], dtype=torch.int32)):
        assert best(ARITHMETIC, scores, lengths).columns.equal(full.columns)


def test_best_does_not_ask_for_ambiguity() -> None:
    """Palindromes of length 41 have 2^20 prefixes that differ: too many to count sentences, none to parse."""
    scores = torch.zeros(1, 41, 2)
    scores[0, :30, 1] = 1.0
    word = best(PALINDROMES, scores)[0]
    assert word == word[::-1] and word.count("b") >= 38
    with pytest.raises(BudgetError, match=r"too many to tell whether a sentence has one tree.*`best`"):
        log_partition(PALINDROMES, scores)


def test_one_sentence_of_many_is_asked_for_by_all_its_numbers() -> None:
    ranked = k_best(PALINDROMES, torch.zeros(2, 3, 2), k=2)
    assert len(ranked[1, 0]) == 3
    with pytest.raises(ShapeError, match=r"for k best give \[example, rank\]"):
        ranked[1]
