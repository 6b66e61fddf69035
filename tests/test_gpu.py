"""The engines on a GPU, replayed as CUDA graphs, against the same engines on the CPU."""

import random
from fractions import Fraction

import pytest
import torch

import ngs
from ngs.search.batched import Batch
from ngs.search.batched_walk import walk_batch
from ngs.search.multi_step import Draws, Walk

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

GRAMMAR, ARITHMETIC = ngs.arithmetic_grammar(), ngs.Arithmetic


@pytest.fixture(params=range(3), ids=lambda seed: f"seed {seed}")
def batch(request):
    """Scores, ragged lengths and reachable answers; the same shapes each time, so graphs are replayed."""
    generator = torch.Generator().manual_seed(request.param)
    log_probs = (3 * torch.randn(64, 7, 14, generator=generator, dtype=torch.float64)).log_softmax(-1)
    lengths = torch.tensor(random.Random(request.param).choices([1, 3, 5, 7], k=64))
    drawn = ngs.sample(GRAMMAR, log_probs, lengths, generator=generator)
    values = [ngs.evaluate(drawn.tree(b), ARITHMETIC) for b in range(64)]
    return log_probs, lengths, [Fraction(1) if value is ngs.UNDEFINED else value for value in values]


def test_parsing(batch):
    log_probs, lengths, _ = batch
    on_gpu = log_probs.cuda(), lengths.cuda()
    best, there = ngs.best(GRAMMAR, log_probs, lengths), ngs.best(GRAMMAR, *on_gpu)
    assert torch.equal(best.columns, there.columns.cpu())
    assert torch.allclose(best.log_probs, there.log_probs.cpu())
    ranked, there = ngs.k_best(GRAMMAR, log_probs, lengths, k=4), ngs.k_best(GRAMMAR, *on_gpu, k=4)
    assert torch.equal(ranked.columns, there.columns.cpu())
    total = ngs.log_partition(GRAMMAR, log_probs, lengths)
    assert torch.allclose(total, ngs.log_partition(GRAMMAR, *on_gpu).cpu())
    marginals = ngs.marginals(GRAMMAR, log_probs, lengths)
    assert torch.allclose(marginals, ngs.marginals(GRAMMAR, *on_gpu).cpu())
    drawn = ngs.sample(GRAMMAR, *on_gpu, generator=torch.Generator("cuda").manual_seed(0))
    assert all(ngs.recognises(GRAMMAR, drawn[b]) for b in range(64))


def test_back_search(batch):
    log_probs, lengths, answers = batch
    here = ngs.one_step_batch(GRAMMAR, ARITHMETIC, log_probs, lengths, answers)
    there = ngs.one_step_batch(GRAMMAR, ARITHMETIC, log_probs.cuda(), lengths.cuda(), answers)
    assert torch.equal(here.sentences.columns, there.sentences.columns.cpu())
    assert torch.equal(here.found, there.found.cpu())


def test_walks(batch):
    log_probs, lengths, answers = batch
    walk = Walk(steps=5, back_search=0.5, epsilon=0.1)
    draws = Draws.of(walk, 64, 7, torch.Generator().manual_seed(0))
    columns = ngs.best(GRAMMAR, log_probs, lengths).columns
    on_cpu = Batch.of(GRAMMAR, ARITHMETIC, log_probs, lengths, answers)
    on_gpu = Batch.of(GRAMMAR, ARITHMETIC, log_probs.cuda(), lengths.cuda(), answers)
    here, there = walk_batch(on_cpu, columns, walk, draws), walk_batch(on_gpu, columns.cuda(), walk, draws)
    assert torch.equal(here[0], there[0].cpu())
    assert torch.equal(here[1], there[1].cpu())


def test_posterior(batch):
    log_probs, lengths, answers = batch
    here = ngs.posterior(GRAMMAR, ARITHMETIC, log_probs, lengths, answers)
    there = ngs.posterior(GRAMMAR, ARITHMETIC, log_probs.cuda(), lengths.cuda(), answers)
    assert torch.allclose(here.log_evidence, there.log_evidence.cpu())
    assert torch.allclose(here.marginals, there.marginals.cpu())
    assert torch.equal(here.best().columns, there.best().columns.cpu())
    drawn = there.sample(torch.Generator("cuda").manual_seed(0))
    assert all(ngs.evaluate(drawn.tree(b), ARITHMETIC) == answers[b] for b in range(64))
