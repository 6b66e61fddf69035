"""Back-search by tables: the kernels in Triton's interpreter, on a CPU, against the plain engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import product

import pytest
import torch
from torch import Tensor

from ngs.grammar.grammar import Grammar
from ngs.parsing.decode import PAD, best
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.semantics import Meaning
from ngs.search import evaluator as evaluators
from ngs.search.batched import Batch, Fixes, correct
from ngs.search.batched_walk import RandomWalks, State, _log_ratio, walk_batch
from ngs.search.compiled import BUDGET
from ngs.search.evaluator import ABSENT, UNREACHED, evaluator, kernels_of
from ngs.search.multi_step import Draws, Walk
from ngs.tasks.hwf.dataset import GRAMMAR as HWF
from tests.grammars import CATALAN
from tests.kernels import needs_the_interpreter, needs_triton, on_any_device, without_warnings
from tests.search.semantics import random_semantics

pytestmark = [needs_triton, needs_the_interpreter, on_any_device, without_warnings]

# Its first symbol may stand anywhere, and some places have no other symbol: what is read as PAD matters.
LISTS = Grammar.parse("""
    list: item list -> pair | "end" -> stop
    item: "0" -> zero | "1" -> one | "(" item ")" -> twice
""")
LANGUAGES = {
    "HWF, 5": (HWF, Arithmetic, 5),
    "HWF, 7": (HWF, Arithmetic, 7),
    "lists": (LISTS, random_semantics(LISTS, 3), 6),
}
WALKS = [
    Walk(steps=0),
    Walk(steps=1, back_search=0.0, distance=0.7, epsilon=1.0),
    Walk(steps=5),
    Walk(steps=5, back_search=0.5, distance=2.5, epsilon=0.1),
]


@contextmanager
def kernels_taken() -> Iterator[None]:
    """As if the CPU were a GPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluators, "has_kernels", lambda _: True)
        yield


def searches(
    grammar: Grammar, semantics: Meaning, longest: int, seed: int, size: int
) -> tuple[Batch, Tensor]:
    """Some sentences to correct, of all lengths: the likeliest ones; for the last three there is none.

    Of the targets, every fifth cannot be reached; every third lattice has symbols of no probability.
    """
    generator = torch.Generator().manual_seed(seed)
    engine = evaluator(grammar, semantics, longest, BUDGET)
    lengths = torch.tensor([sorted(engine.answers)[k % len(engine.answers)] for k in range(size)])
    scores = 0.5 * torch.randn(size, longest, len(grammar.symbols), generator=generator)
    impossible = torch.rand(scores.shape, generator=generator) < 0.2
    impossible[..., 0] = False
    impossible[torch.arange(size) % 3 > 0] = False
    log_probs = scores.masked_fill(impossible, -torch.inf).log_softmax(-1)
    behind = torch.arange(longest) >= lengths[:, None]
    log_probs = log_probs.masked_fill(behind[..., None], 0.0)
    columns = best(grammar, log_probs, lengths).columns
    columns[-3:] = PAD
    # The answer of another sentence of that length, so that a correction may be near.
    other = best(grammar, scores.flip(-1).log_softmax(-1), lengths).columns
    targets = engine.answer_numbers(engine.values(other.T), lengths)
    targets = torch.where(torch.arange(size) % 5 == 4, UNREACHED, targets)
    return Batch(engine, log_probs, lengths, targets), columns


@pytest.mark.parametrize("language", LANGUAGES)
def test_answers_of_sentences(language: str) -> None:
    """Also of what is no sentence, or PAD throughout."""
    grammar, semantics, longest = LANGUAGES[language]
    search, columns = searches(grammar, semantics, longest, 0, 10)
    drawn = torch.randint(len(grammar.symbols), columns.shape).masked_fill(columns == PAD, PAD)
    for each in (columns, drawn):
        want = search.engine.answers_of(each, search.lengths)
        with kernels_taken():
            assert torch.equal(search.engine.answers_of(each, search.lengths), want)
    assert (search.engine.answers_of(columns, search.lengths)[:-3] != ABSENT).all()


@pytest.mark.parametrize("language", LANGUAGES)
def test_corrections(language: str) -> None:
    search, columns = searches(*LANGUAGES[language], 0, 15)
    assert_corrected_alike(search, columns)
    found = correct(search, columns).found
    assert found.any() and not found.all()


def assert_corrected_alike(search: Batch, columns: Tensor) -> None:
    want = correct(search, columns)
    with kernels_taken():
        have = correct(search, columns)
    for each in fields(Fixes):
        assert torch.equal(getattr(have, each.name), getattr(want, each.name)), each.name


def test_ties_go_to_the_first() -> None:
    search, columns = searches(*LANGUAGES["HWF, 5"], 0, 12)
    flat = replace(search, log_probs=torch.zeros_like(search.log_probs))
    assert_corrected_alike(flat, columns)
    # The sentence itself is impossible: every right edit is infinitely better.
    scores = torch.zeros_like(flat.log_probs).scatter(2, columns.clamp(min=0)[..., None], -torch.inf)
    assert_corrected_alike(replace(flat, log_probs=scores), columns)


def test_what_is_no_sentence_is_corrected_too() -> None:
    search, columns = searches(*LANGUAGES["HWF, 5"], 0, 12)
    broken = torch.where(torch.rand(columns.shape) < 0.2, 0, columns).masked_fill(columns == PAD, PAD)
    assert_corrected_alike(search, broken)
    assert not correct(search, broken).in_language.all()


@pytest.mark.parametrize(
    ("language", "walk"),
    [*product(["HWF, 5", "lists"], WALKS), ("HWF, 7", WALKS[-1])],
    ids=str,
)
def test_walks(language: str, walk: Walk) -> None:
    search, columns = searches(*LANGUAGES[language], 1, 9)
    draws = Draws.of(walk, *columns.shape, torch.Generator().manual_seed(0))
    assert_walked_alike(search, columns, walk, draws)
    assert torch.equal(walk_batch(search, columns, walk, draws)[0], columns) == (walk.steps == 0)


def assert_walked_alike(search: Batch, columns: Tensor, walk: Walk, draws: Draws) -> None:
    want = walk_batch(search, columns, walk, draws)
    with kernels_taken():
        have = walk_batch(search, columns, walk, draws)
    assert torch.equal(have[0], want[0]) and torch.equal(have[1], want[1])


@pytest.mark.parametrize("kind", [0.9, 0.0], ids=["walks", "corrections"])
def test_the_ratio_of_acceptance(kind: float) -> None:
    """To ten digits: draws just below it accept, and just above it do not."""
    walk = Walk(steps=1, back_search=0.4, distance=2.5, epsilon=0.3)
    search, columns = searches(*LANGUAGES["HWF, 5"], 2, 12)
    drawn = Draws.of(walk, *columns.shape, torch.Generator().manual_seed(0))
    drawn = replace(drawn, kind=torch.full_like(drawn.kind, kind))
    proposal = RandomWalks(search.engine.usable[search.lengths], walk.distance, drawn)
    state = State.of(search, columns)
    by_search = (kind < walk.back_search) & state.fixable
    other = State.of(search, torch.where(by_search[:, None], state.fix, proposal.draw(0, columns)))
    log_ratio = _log_ratio(state, other, proposal, walk)
    for shift in (-1e-10, 1e-10):
        draws = replace(drawn, accept=(log_ratio + shift).exp()[None])
        assert_walked_alike(search, columns, walk, draws)
        moved = (walk_batch(search, columns, walk, draws)[0] != columns).any(1)
        assert moved[:-3].any() == (shift < 0)  # where there is no sentence, the ratio is infinite


def test_the_chance_of_a_correction() -> None:
    """It is not rounded to 32 bits, where 0.1 is larger than these draws."""
    walk = Walk(steps=1, back_search=0.1)
    search, columns = searches(*LANGUAGES["HWF, 5"], 0, 6)
    drawn = Draws.of(walk, *columns.shape, torch.Generator().manual_seed(0))
    draws = replace(
        drawn, kind=torch.full_like(drawn.kind, 0.1 + 1e-10), distance=torch.zeros_like(drawn.distance)
    )
    assert_walked_alike(search, columns, walk, draws)
    assert torch.equal(walk_batch(search, columns, walk, draws)[0], columns)


def test_where_there_are_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = torch.zeros(2, 5, dtype=torch.long)
    formulas = evaluator(HWF, Arithmetic, 5, BUDGET)
    ambiguous = evaluator(CATALAN, random_semantics(CATALAN, 0), 5, BUDGET)
    assert kernels_of(formulas, columns) is None
    with kernels_taken():
        assert kernels_of(formulas, columns) is not None
        assert kernels_of(formulas, columns[:0]) is None
        assert kernels_of(formulas, columns[:, :3]) is None
        assert ambiguous.ambiguous and kernels_of(ambiguous, columns) is None
        monkeypatch.setattr(evaluators, "MOST_LOOKUPS", formulas.lookups - 1)
        assert kernels_of(formulas, columns) is None
