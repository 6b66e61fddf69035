"""Distributions within a narrower support: a list of candidates, and the sentences that give an answer."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import ngs
from ngs.errors import NGSError
from ngs.grammar.grammar import Grammar
from ngs.grammar.padding import PAD
from ngs.parsing.candidates import Candidates
from tests.parsing.batches import Batch, batches


@st.composite
def candidates_of(draw: st.DrawFn, batch: Batch) -> Candidates:
    """Up to five sequences of symbols for each example, in the language or not, some of them impossible."""
    symbols = st.integers(0, len(batch.grammar.symbols) - 1)
    found = []
    for row, length in enumerate(batch.lengths):
        each = draw(st.lists(st.tuples(*[symbols] * length), max_size=5, unique=True))
        found += [(row, [*z, *[PAD] * (batch.scores.shape[1] - length)]) for z in each]
    sequences = torch.tensor([z for _, z in found], dtype=torch.long).view(-1, batch.scores.shape[1])
    return Candidates(torch.tensor([row for row, _ in found], dtype=torch.long), sequences)


def score_of(batch: Batch, row: int, z: list[int]) -> float:
    """log p(z|x), symbol by symbol."""
    return sum(float(batch.scores[row, t, symbol]) for t, symbol in enumerate(z) if symbol != PAD)


@given(st.data())
def test_scores_are_sums_in_double_precision(data: st.DataObject) -> None:
    batch = data.draw(batches())
    single = Batch(batch.grammar, batch.scores.float(), batch.lengths)
    candidates = data.draw(candidates_of(batch))
    have = single.p(torch.float32).score(candidates.rows, candidates.symbols)
    assert have.dtype == torch.float64
    pairs = zip(candidates.rows.tolist(), candidates.symbols.tolist(), strict=True)
    assert have.tolist() == pytest.approx([score_of(single, *pair) for pair in pairs], rel=1e-12)
    nothing = torch.full_like(candidates.symbols, PAD)
    assert batch.p().score(candidates.rows, nothing).isneginf().all()


@given(st.data(), st.integers(1, 6))
def test_a_list_is_summed_and_ranked_as_by_a_loop(data: st.DataObject, k: int) -> None:
    batch = data.draw(batches(impossible=0.3))
    candidates = data.draw(candidates_of(batch))
    found = batch.p().within(candidates)
    ranked = found.topk(k)
    assert len(found) == len(batch.lengths) and ranked.symbols.shape == (len(found), k, batch.scores.shape[1])
    for row in range(len(found)):
        own = candidates.symbols[candidates.rows == row].tolist()
        scores = {tuple(z): score_of(batch, row, z) for z in own}
        total = torch.tensor([*scores.values(), -math.inf], dtype=torch.float64).logsumexp(0).item()
        assert found.log_z[row].item() == pytest.approx(total)
        wanted = sorted((log_p for log_p in scores.values() if log_p > -math.inf), reverse=True)[:k]
        have = [tuple(z) for z in ranked.symbols[row].tolist()]
        assert ranked.log_probs[row].tolist() == pytest.approx([*wanted, *[-math.inf] * (k - len(wanted))])
        assert [scores[z] for z in have[: len(wanted)]] == pytest.approx(wanted)
        assert len({*have[: len(wanted)]}) == len(wanted)
        assert {*have[len(wanted) :]} <= {(PAD,) * batch.scores.shape[1]}


@given(batches())
def test_the_list_of_all_sentences_is_the_language(batch: Batch) -> None:
    """The same sums and the same gradient as by a chart."""
    scores = batch.scores.clone().requires_grad_()
    language = ngs.independent(batch.grammar, scores, batch.lengths)
    sentences = [batch.sentences(row)[0] for row in range(len(batch.lengths))]
    rows = torch.arange(len(sentences)).repeat_interleave(torch.tensor([len(each) for each in sentences]))
    padded = [torch.nn.functional.pad(z, (0, scores.shape[1] - z.shape[1]), value=PAD) for z in sentences]
    every = Candidates(rows, torch.cat(padded))
    listing = language.within(every)
    torch.testing.assert_close(listing.log_z, language.log_z)
    (gradient,) = torch.autograd.grad(listing.log_z[language.found].sum(), scores)
    torch.testing.assert_close(gradient, language.marginals)
    torch.testing.assert_close(listing.topk(3).log_probs, language.topk(3).log_probs)


def test_rows_of_a_posterior_cannot_be_chosen() -> None:
    grammar = Grammar.parse('s: "a" | "b"')
    p = ngs.independent(grammar, torch.zeros(2, 1, 2))
    with pytest.raises(NGSError, match="the support is narrowed already; choose rows first"):
        replace(p, support=()).select(torch.tensor([0]))
