"""Distributions over random languages, ambiguous ones included, on ragged batches, against all sentences."""

import math
from collections import Counter
from collections.abc import Callable

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from ngs.errors import BudgetError, ParseError, ShapeError
from ngs.grammar.grammar import Grammar
from ngs.grammar.padding import PAD
from ngs.parsing.earley import parse_aligned
from ngs.parsing.independent import Independent, independent
from ngs.parsing.sentence import Sentences, parse
from tests.enumeration import sentences
from tests.grammars import ARITHMETIC, DANGLING_ELSE, NULLABLE_LIST, PALINDROMES, grammars
from tests.parsing.batches import SEED, Batch, batches, entropy_of, marginals_of, random_scores, seeded

# Between one and five trees for a sentence of four symbols.
AMBIGUOUS = Grammar.parse("""
    s: s s -> pair
        | "a" | "b" "b"
        | "a" "b" -> other
""")

QUANTITIES: list[Callable[[Independent], Tensor]] = [
    lambda p: p.log_z,
    lambda p: p.marginals,
    lambda p: p.entropy,
    lambda p: p.topk(3).log_probs,
]


def check_sentence(batch: Batch, found: Sentences, example: int) -> float:
    """The sentence found is one of the language, of positive probability, or nothing if there is none."""
    ranking = batch.ranking(example)
    length, have = batch.lengths[example], found.symbols[example].tolist()
    if not ranking:
        assert have == [PAD] * len(have)
        assert found.log_probs[example] == -math.inf
        assert found[example] == ()
        return -math.inf
    assert have[length:] == [PAD] * (len(have) - length)
    assert found[example] == batch.grammar.decode(have[:length])
    assert found.tree(example) == parse(batch.grammar, found[example])
    log_p = ranking[tuple(have[:length])]
    assert found.log_probs[example].item() == pytest.approx(log_p)
    return log_p


def check_single(batch: Batch, quantity: Callable[[Independent], Tensor]) -> None:
    """Single precision gives nearly the same."""
    have = quantity(batch.p(torch.float32))
    assert have.dtype == torch.float32
    torch.testing.assert_close(have.double(), quantity(batch.p()), rtol=1e-4, atol=1e-4)


@given(batches())
def test_the_best_is_the_best_of_all_sentences_and_the_one_earley_finds(batch: Batch) -> None:
    found = batch.p().best()
    assert found.symbols.shape == batch.scores.shape[:2]
    check_single(batch, lambda p: p.best().log_probs)
    for example, length in enumerate(batch.lengths):
        have = check_sentence(batch, found, example)
        assert have == pytest.approx(batch.sentences(example)[1].max().item())
        scores = batch.scores[example, :length]
        if have == -math.inf:
            with pytest.raises(ParseError, match="probability zero"):
                parse_aligned(batch.grammar, scores)
        else:
            assert parse_aligned(batch.grammar, scores).log_prob == pytest.approx(have)


@given(batches())
def test_sums_are_over_sentences_each_counted_once(batch: Batch) -> None:
    scores, p = batch.scores.clone().requires_grad_(), batch.p()
    have = independent(batch.grammar, scores, batch.lengths).log_z
    assert have.shape == p.entropy.shape == (len(batch.lengths),)
    assert torch.autograd.grad(have.sum(), scores)[0].equal(p.marginals)
    for quantity in QUANTITIES:
        check_single(batch, quantity)
    for example in range(len(batch.lengths)):
        symbols, log_probs = batch.sentences(example)
        total = log_probs.logsumexp(0).item()
        assert have[example].item() == pytest.approx(total, abs=1e-9)
        assert p.found[example] == (total > -math.inf)
        assert p.entropy[example].item() == pytest.approx(entropy_of(log_probs), abs=1e-9)
        wanted = marginals_of(batch.scores[example], symbols, log_probs)
        torch.testing.assert_close(p.marginals[example], wanted, rtol=1e-9, atol=1e-9)


@given(batches(), st.integers(0, 2**32 - 1))
def test_a_sample_is_a_possible_sentence_and_its_generator_makes_it_again(batch: Batch, seed: int) -> None:
    found, again = (batch.p().sample(torch.Generator().manual_seed(seed)) for _ in range(2))
    for example in range(len(batch.lengths)):
        check_sentence(batch, found, example)
    assert again.symbols.equal(found.symbols)
    assert again.log_probs.equal(found.log_probs)


@given(batches(), st.data())
def test_selected_rows_are_those_rows(batch: Batch, data: st.DataObject) -> None:
    """In any order and number."""
    rows = torch.tensor(
        data.draw(st.lists(st.integers(0, len(batch.lengths) - 1), max_size=5)), dtype=torch.long
    )
    whole, some = batch.p(), batch.p().select(rows)
    assert len(some) == len(rows)
    for quantity in QUANTITIES:
        torch.testing.assert_close(quantity(some), quantity(whole)[rows])
    assert some.best().symbols.equal(whole.best().symbols[rows])


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
    scores = random_scores(grammar, time).to(dtype)
    symbols, log_probs = Batch(grammar, scores, [time]).sentences(0)
    wanted = dict(zip(map(tuple, symbols.tolist()), (number * log_probs.softmax(0)).tolist(), strict=True))
    drawn = independent(grammar, scores.expand(number, -1, -1)).sample(seeded())
    have = Counter(map(tuple, drawn.symbols.tolist()))
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
    p, generator = independent(ARITHMETIC, torch.zeros(64, 5, 7)), seeded()
    first, second = (p.sample(generator) for _ in range(2))
    assert not first.symbols.equal(second.symbols)
    torch.manual_seed(SEED)
    third = p.sample()
    assert not third.symbols.equal(p.sample().symbols)
    torch.manual_seed(SEED)
    assert third.symbols.equal(p.sample().symbols)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("grammar", [ARITHMETIC, AMBIGUOUS])
def test_half_precision_is_read_as_single(grammar: Grammar, dtype: torch.dtype) -> None:
    half = random_scores(grammar, 5).to(dtype).expand(3, -1, -1)
    here, there = (independent(grammar, scores, [5, 3, 1]) for scores in (half, half.float()))
    for choice in (Independent.best, lambda p: p.topk(3), lambda p: p.sample(seeded())):
        have, wanted = choice(here), choice(there)
        assert have.symbols.equal(wanted.symbols)
        assert have.log_probs.dtype == torch.float32
        assert have.log_probs.equal(wanted.log_probs)
    for quantity in QUANTITIES:
        assert quantity(here).dtype == torch.float32
        assert quantity(here).equal(quantity(there))


@given(grammars(), st.integers(1, 5))
def test_of_equally_likely_sentences_one_is_chosen_and_always_the_same(grammar: Grammar, time: int) -> None:
    words = sentences(grammar, time)
    assume(words)
    flat = torch.full((3, time, len(grammar.symbols)), -0.5)
    found = independent(grammar, flat).best()
    assert found[0] in words
    assert found.symbols.tolist() == [found.symbols[0].tolist()] * 3
    assert found.log_probs.tolist() == pytest.approx([-0.5 * time] * 3)
    assert independent(grammar, flat).best().symbols.equal(found.symbols)
    ranked, ranks = independent(grammar, flat).topk(4), min(4, len(words))
    assert ranked.log_probs[0].tolist() == pytest.approx([-0.5 * time] * ranks + [-math.inf] * (4 - ranks))
    chosen = {ranked[0, rank] for rank in range(ranks)}
    assert len(chosen) == ranks and chosen <= set(words)


def test_nothing_is_possible() -> None:
    scores = torch.zeros(3, 3, 7)
    scores[1, 1, ARITHMETIC.encode("+-*/")] = -math.inf  # nothing but a digit in the middle
    p = independent(ARITHMETIC, scores)
    for found in (p.best(), p.sample()):
        assert found.log_probs.tolist() == [0.0, -math.inf, 0.0]
        assert found.symbols[1].tolist() == [PAD] * 3
        assert [len(found[example]) for example in range(3)] == [3, 0, 3]
        with pytest.raises(ParseError, match="not a sentence"):
            found.tree(1)
    ranked = p.topk(2)
    assert ranked.log_probs[1].isneginf().all() and (ranked.symbols[1] == PAD).all() and ranked[1, 1] == ()
    assert p.found.tolist() == [True, False, True]
    assert p.log_z[1] == -math.inf and p.entropy[1] == 0
    assert p.marginals.sum((1, 2)).tolist() == pytest.approx([3.0, 0.0, 3.0])


def test_the_score_of_the_best_can_be_differentiated() -> None:
    scores = random_scores(ARITHMETIC, 3).requires_grad_()
    found = independent(ARITHMETIC, scores).best()
    (gradient,) = torch.autograd.grad(found.log_probs.sum(), scores)
    assert gradient.equal(torch.nn.functional.one_hot(found.symbols, 7).double())


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_marginals_need_no_gradients_of_the_caller(mode: type[torch.no_grad]) -> None:
    scores = random_scores(ARITHMETIC, 3)
    wanted = independent(ARITHMETIC, scores).marginals
    with mode():
        p = independent(ARITHMETIC, scores + 0.0)
        torch.testing.assert_close(p.marginals, wanted)
        assert p.best().symbols.shape == (1, 3)
    assert not wanted.requires_grad


def test_any_real_scores_will_do() -> None:
    scores = 10 * torch.randn(1, 3, 7, generator=seeded(), dtype=torch.float64) + 50
    batch = Batch(ARITHMETIC, scores, [3])
    p, (_, totals) = batch.p(), batch.sentences(0)
    assert p.best().log_probs.item() == pytest.approx(totals.max().item())
    assert p.log_z.item() == pytest.approx(totals.logsumexp(0).item())
    torch.testing.assert_close(independent(ARITHMETIC, scores + 1_000).marginals, p.marginals)


def test_lengths_may_be_a_tensor_a_list_or_left_out() -> None:
    scores = random_scores(ARITHMETIC, 3).expand(2, -1, -1)
    full = independent(ARITHMETIC, scores).best()
    for lengths in ([3, 3], (3, 3), torch.tensor([3, 3]), torch.tensor([3, 3], dtype=torch.int32)):
        assert independent(ARITHMETIC, scores, lengths).best().symbols.equal(full.symbols)


def test_best_does_not_ask_for_ambiguity() -> None:
    """Palindromes of length 41 have 2^20 prefixes that differ: too many to count sentences, none to parse."""
    scores = torch.zeros(1, 41, 2)
    scores[0, :30, 1] = 1.0
    p = independent(PALINDROMES, scores)
    word = p.best()[0]
    assert word == word[::-1] and word.count("b") >= 38
    with pytest.raises(BudgetError, match=r"too many to follow them all.*`best`"):
        _ = p.log_z


def test_one_sentence_of_many_is_asked_for_by_all_its_numbers() -> None:
    ranked = independent(PALINDROMES, torch.zeros(2, 3, 2)).topk(2)
    assert len(ranked[1, 0]) == 3
    with pytest.raises(ShapeError, match=r"for k best give \[example, rank\]"):
        ranked[1]
