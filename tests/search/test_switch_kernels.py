"""Back-search by switches on a GPU: the kernels against the engine that can be read, along the same draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import pytest
import torch
from torch import Tensor

from ngs.gpu import HAS_TRITON
from ngs.parsing.decode import PAD
from ngs.search.arrangement import Corrected, Drawn, drawn_along, multi_step, one_step, walk_along
from ngs.search.multi_step import Walk
from ngs.tasks.clevr.batched_execution import SceneTables, judged_batch
from ngs.tasks.clevr.noun_phrases import SWITCHES
from ngs.tasks.clevr.semantics import Unique, lenient, strict
from tests.search.test_arrangement import CHAINS, FAR, LIMIT, NEAR, Space, Table, drawn
from tests.tasks.clevr.programs import counts_of, encoded, random_programs
from tests.tasks.clevr.test_execution import random_scene, random_source

pytestmark = pytest.mark.skipif(
    not (torch.cuda.is_available() and HAS_TRITON), reason="needs a GPU and Triton"
)
GPU = torch.device("cuda")

Told = Callable[[Tensor, Tensor], Tensor]


def from_afar(function: Told) -> Told:
    """A function of tensors on the CPU, for those on the GPU: both engines are told the very same."""
    return lambda rows, columns: function(rows.cpu(), columns.cpu()).to(GPU)


def moved(draws: Drawn) -> Drawn:
    return Drawn(*(getattr(draws, each.name).to(GPU) for each in fields(draws)))


def assert_same(here: Corrected, there: Corrected) -> None:
    for each in fields(Corrected):
        assert torch.equal(getattr(here, each.name), getattr(there, each.name).cpu())


def log_probs_of(table: Table) -> Told:
    return lambda rows, columns: table.log_probs(rows, columns).float()


def judge_of(table: Table, above: float) -> Told:
    """The higher, the fewer are right; log p has to decide among several where it is low."""
    return lambda rows, columns: table._noise(rows, columns, 2) > above


@pytest.mark.parametrize("above", [-2.0, 0.0, 0.8, 0.95, 2.0])
@pytest.mark.parametrize("rows", [1, 7, 64, 150])
def test_one_step_is_that_of_the_other_engine(rows: int, above: float) -> None:
    rng = random_source()
    table = Table(rng.randrange(2**32))
    columns = encoded(random_programs(rng, rows, 14), extra=1)
    told = log_probs_of(table), judge_of(table, above)
    there = one_step(columns.to(GPU), SWITCHES, *map(from_afar, told))
    assert_same(one_step(columns, SWITCHES, *told), there)


WALKS = [NEAR, FAR, Walk(steps=10), Walk(steps=6, epsilon=1e-3, distance=2.0, back_search=0.3), Walk(steps=0)]


@pytest.mark.parametrize("known", [True, False], ids=["at most so many", "as many as there are"])
@pytest.mark.parametrize("above", [0.0, 0.8, 0.95])
@pytest.mark.parametrize("walk", WALKS)
def test_chains_are_those_of_the_other_engine(walk: Walk, above: float, known: bool) -> None:
    from ngs.search.kernels import switch_walk

    rng = random_source()
    table, programs = Table(rng.randrange(2**32)), random_programs(rng, 64, 14)
    columns = encoded(programs, extra=1)
    switches = SWITCHES.among(counts_of(programs)) if known else SWITCHES
    told = log_probs_of(table), judge_of(table, above)
    draws = list(drawn_along(walk, columns, torch.Generator().manual_seed(rng.randrange(2**32))))
    here = walk_along(columns, SWITCHES, *told, walk, draws)
    start = columns.to(GPU)
    there = switch_walk.walk_along(start, switches, *map(from_afar, told), walk, map(moved, draws))
    assert_same(here, there)
    assert torch.equal(start.cpu(), columns)
    assert torch.equal(here.columns, columns) == (walk.steps == 0)


def test_sentences_without_switches_and_impossible_ones() -> None:
    """No candidates at all; log p = -inf and no number: chains stay inside the tables, and where they are."""
    walk = Walk(steps=4)
    columns = torch.tensor([[0, PAD, PAD], [5, 5, PAD]])
    told: tuple[Told, Told] = (
        lambda rows, _: torch.zeros(len(rows)),
        lambda rows, _: rows == 1,
    )
    ends = multi_step(columns.to(GPU), SWITCHES, *map(from_afar, told), walk, torch.Generator(GPU))
    assert torch.equal(ends.columns.cpu(), columns) and ends.found.tolist() == [False, True]
    programs = encoded(random_programs(random_source(), 30, 12)).to(GPU)
    for log_p in (-torch.inf, torch.nan):
        strange: tuple[Told, Told] = (
            lambda rows, _, log_p=log_p: torch.full((len(rows),), log_p),
            lambda _, columns: columns.sum(1) % 2 == columns[:, 1] % 2,
        )
        ends = multi_step(programs, SWITCHES, *map(from_afar, strange), walk, torch.Generator(GPU))
        assert torch.equal(ends.columns, programs)
    nothing = programs[:0]
    assert (
        multi_step(nothing, SWITCHES, *map(from_afar, told), walk, torch.Generator(GPU)).columns.numel() == 0
    )


@pytest.mark.parametrize("walk", [NEAR, FAR], ids=["near", "far"])
def test_chains_keep_the_distribution_of_the_paper(walk: Walk) -> None:
    seed = random_source().randrange(2**32)
    space = Space.of("switches", seed, right=0.15 if walk is NEAR else 0.05)
    start = space.sentences[drawn(space.shares(walk), CHAINS)].to(GPU)
    told = from_afar(space.log_probs), from_afar(space.judge)
    ends = multi_step(start, SWITCHES, *told, walk, torch.Generator(GPU).manual_seed(seed))
    columns = ends.columns.cpu()
    assert torch.equal(ends.right.cpu(), space.judge(columns, columns)) and ends.found is ends.right
    assert not torch.equal(columns, start.cpu())
    shares = torch.bincount(space.numbers(columns), minlength=len(space.log_p)) / CHAINS
    assert float((shares - space.shares(walk)).abs().sum() / 2) < LIMIT


@pytest.mark.parametrize("unique", [strict, lenient])
def test_programs_are_judged_by_the_answers_to_their_questions(unique: Unique) -> None:
    rng = random_source()
    tables = SceneTables.of([random_scene(rng) for _ in range(20)])
    columns = encoded(random_programs(rng, 600, 14), extra=2)
    scenes, answers = torch.randint(20, (50,)), torch.randint(-1, 4, (50,))
    questions = torch.randint(50, (600,))
    here = judged_batch(tables, columns, questions, scenes, answers, unique)
    given = (each.to(GPU) for each in (columns, questions, scenes, answers))
    assert torch.equal(here, judged_batch(tables.to(GPU), *given, unique).cpu())
    assert here.any() and not here.all()
