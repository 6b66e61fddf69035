"""Corrections of arrangements: one step against trying all, many steps against their distribution."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, lgamma, log

import pytest
import torch
from torch import Tensor

from ngs.grammar.constraint import Given, enumerate_sentences
from ngs.parsing.decode import PAD
from ngs.search.arrangement import (
    Candidates,
    Edits,
    _State,
    distinct,
    drawn_along,
    farthest,
    fingerprints,
    joined,
    likeliest,
    multi_step,
    one_step,
    places,
    switches,
    walk_along,
)
from ngs.search.multi_step import Walk
from ngs.tasks.clevr.noun_phrases import SWITCHES, TIDY_EDITS, TIDY_SWITCHES
from tests.tasks.clevr.programs import LANGUAGES, counts_of, encoded, random_programs
from tests.tasks.clevr.test_execution import random_source

EDITS = {
    "switches": SWITCHES,
    "switches in three ways": Edits(lambda z: joined(*[SWITCHES.results(z)] * 3), SWITCHES.counts),
    "tidy switches": TIDY_SWITCHES,
    "tidy edits": TIDY_EDITS,
}


def candidates(rows: Sequence[int], columns: Sequence[Sequence[int]]) -> Candidates:
    return Candidates(torch.tensor(rows, dtype=torch.long), torch.tensor(columns))


def listed(found: Candidates) -> list[tuple[int, ...]]:
    return [(row, *columns) for row, columns in zip(found.rows.tolist(), found.columns.tolist(), strict=True)]


def test_joined_keeps_rows_in_order() -> None:
    one, other = candidates([0, 2, 2], [[1], [2], [3]]), candidates([0, 1, 2], [[4], [5], [6]])
    assert listed(joined(one, other)) == [(0, 1), (0, 4), (1, 5), (2, 2), (2, 3), (2, 6)]


def test_distinct_keeps_one_of_each_in_every_row() -> None:
    rng = random_source()
    rows = sorted(rng.choices(range(20), k=500))
    columns = [rng.choices([PAD, 0, 1, 2], k=3) for _ in rows]
    found = listed(distinct(candidates(rows, columns)))
    assert sorted(found) == sorted({(row, *each) for row, each in zip(rows, columns, strict=True)})
    assert [each[0] for each in found] == sorted(each[0] for each in found)
    none = Candidates(torch.empty(0, dtype=torch.long), torch.empty((0, 3), dtype=torch.long))
    assert len(distinct(none)) == 0


def test_symbols_tell_how_many_switches_there_are_at_the_most() -> None:
    programs = random_programs(random_source(), 60, 14)
    number = SWITCHES.number(encoded(programs))
    assert SWITCHES.among(counts_of(programs)).most == number.max() > 3
    for k in range(5):
        assert SWITCHES.among(counts_of(programs[k : k + 1]).to(torch.int8)).most == number[k]
    assert SWITCHES.among(counts_of(programs)[:0]).most == 0


@pytest.mark.parametrize("mean", [1e-3, 0.1, 1.0, 3.5, 40.0])
def test_the_farthest_is_exceeded_next_to_never(mean: float) -> None:
    def beyond(number: int) -> float:
        """P(more than that), by its first terms: the others are smaller and smaller."""
        return sum(exp(k * log(mean) - mean - lgamma(k + 1)) for k in range(number + 1, number + 200))

    assert beyond(farthest(mean)) < 2**-53
    assert farthest(mean) == 1 or beyond(farthest(mean) - 3) > 2**-53


def test_places_count_within_rows() -> None:
    assert places(torch.tensor([0, 0, 3, 3, 3, 7])).tolist() == [0, 1, 0, 1, 2, 0]
    assert places(torch.empty(0, dtype=torch.long)).tolist() == []


def test_selected_and_renamed_candidates() -> None:
    found = candidates([0, 0, 1], [[1], [2], [3]])
    assert listed(found.select(torch.tensor([True, False, True]))) == [(0, 1), (1, 3)]
    assert listed(found.of(torch.tensor([4, 9]))) == [(4, 1), (4, 2), (9, 3)]


def test_fingerprints_tell_all_orders_apart() -> None:
    """Symbols and places both matter, padding too; the same sentence has the same one."""
    grid = torch.cartesian_prod(*[torch.arange(-1, 6)] * 6)
    names = fingerprints(grid)
    assert names.unique().shape == (7**6,)
    assert torch.equal(fingerprints(grid[5:9]), names[5:9])


def test_switches_exchange_different_symbols_of_one_group() -> None:
    groups = torch.tensor([0, 0, 1, 1, 2])
    found = listed(switches(torch.tensor([[0, 2, 1, 0, 4], [3, 3, 0, PAD, PAD], [2, 3, 1, 0, PAD]]), groups))
    assert sorted(found) == sorted(
        [
            *((0, 1, 2, 0, 0, 4), (0, 0, 2, 0, 1, 4)),  # not the two zeros
            *((2, 3, 2, 1, 0, PAD), (2, 2, 3, 0, 1, PAD)),
        ]
    )


def test_a_random_edit_is_any_edit_and_fails_where_its_result_does_not_count() -> None:
    groups = torch.tensor([0, 0, 0, 1])
    edits = Edits(lambda columns: switches(columns, groups), lambda columns: columns[:, 0] != 2)
    columns = torch.tensor([[0, 1, 2], [3, 3, 3], [0, 1, 3]])
    draws = torch.tensor([0.0, 0.34, 0.67, 1 - 2**-24])  # the last is as near to 1 as can be
    each = [edits.wander(columns, torch.tensor([1, 1, 0]), draw.repeat(1, 3)) for draw in draws]
    assert [made.tolist()[0] for made in each] == [[1, 0, 2], [0, 1, 2], [0, 2, 1], [0, 2, 1]]
    assert all(made.tolist()[1:] == [[3, 3, 3], [0, 1, 3]] for made in each)
    assert edits.number(columns).tolist() == [3, 0, 1]


def test_empty_sentences_stay_as_they_are() -> None:
    empty = torch.empty((3, 0), dtype=torch.long)
    right = torch.zeros(3, dtype=torch.bool)
    ends = multi_step(
        empty,
        SWITCHES,
        lambda rows, _: torch.zeros(len(rows)),
        lambda rows, _: right[rows],
        NEAR,
        torch.Generator(),
    )
    assert ends.columns.shape == (3, 0) and not ends.right.any()


def test_switches_travel_to_other_processes() -> None:
    columns = encoded(random_programs(random_source(), 5, 12))
    there = pickle.loads(pickle.dumps(SWITCHES))
    assert torch.equal(there.results(columns).columns, SWITCHES.results(columns).columns)


def test_a_walk_is_one_edit_after_the_other() -> None:
    rng = random_source()
    columns = encoded(random_programs(rng, 200, 12), extra=1)
    distance = torch.tensor([rng.randrange(4) for _ in columns])
    draws = torch.rand((3, 200), generator=torch.Generator().manual_seed(rng.randrange(2**32)))
    for edits in EDITS.values():
        step = columns
        for k, draw in enumerate(draws):
            step = edits.wander(step, (k < distance).long(), draw[None])
        assert torch.equal(edits.wander(columns, distance, draws), step)
        assert torch.equal(step[distance == 0], columns[distance == 0]) and not torch.equal(step, columns)


@pytest.mark.parametrize("name", EDITS)
def test_ways_count_the_edits_that_lead_there(name: str) -> None:
    columns = encoded(random_programs(random_source(), 40, 12))
    made = EDITS[name].results(columns)
    want = [
        int((each == made.columns[made.rows == row]).all(1).sum())
        for row, each in zip(made.rows, made.columns, strict=True)
    ]
    assert EDITS[name].ways(columns[made.rows], made.columns).tolist() == want
    assert (max(want) > 1) == (name != "switches")
    assert not EDITS[name].ways(columns, torch.full_like(columns, PAD)).any()
    assert "tidy" in name or not EDITS[name].ways(columns, columns).any()  # tidied, it may be as it was
    counts = [int((made.rows == row).sum()) for row in range(len(columns))]
    assert EDITS[name].number(columns).tolist() == counts


@dataclass(frozen=True)
class Table:
    """Any log p and any judge, told by the sentence and its row."""

    seed: int

    def log_probs(self, rows: Tensor, columns: Tensor) -> Tensor:
        return 3 * self._noise(rows, columns, 1)

    def judge(self, rows: Tensor, columns: Tensor) -> Tensor:
        return self._noise(rows, columns, 2) > 0.8

    def _noise(self, rows: Tensor, columns: Tensor, purpose: int) -> Tensor:
        # Other roots of the time than of the symbol: of symbols that change places, no two sums are alike.
        weights = torch.arange(1, columns.shape[1] + 1).double() ** 0.7
        mixed = (columns + 2).double().sqrt() * weights * purpose + self.seed % 1000
        return torch.sin(100 * mixed.sin().sum(1) + rows)


@pytest.mark.parametrize("name", EDITS)
def test_one_step_is_the_likeliest_right_neighbour(name: str) -> None:
    rng = random_source()
    table, edits = Table(rng.randrange(2**32)), EDITS[name]
    columns = encoded(random_programs(rng, 120, 12), extra=1)
    found = one_step(columns, edits, table.log_probs, table.judge)
    kinds = []
    for row in range(len(columns)):
        here, alone = torch.tensor([row]), columns[row : row + 1]
        around = edits.neighbours(alone).columns
        rows = here.expand(len(around))
        right = around[table.judge(rows, around)]
        if table.judge(here, alone):
            want, kind = alone[0], "right"
        elif len(right):
            want, kind = right[table.log_probs(rows[: len(right)], right).argmax()], "corrected"
        else:
            want, kind = torch.full_like(alone[0], PAD), "not found"
        assert torch.equal(found.columns[row], want)
        assert (bool(found.found[row]), bool(found.right[row])) == (kind != "not found", kind == "right")
        kinds.append(kind)
    assert set(kinds) == {"right", "corrected", "not found"}


def test_the_likeliest_of_no_candidates() -> None:
    none = Candidates(torch.empty(0, dtype=torch.long), torch.empty((0, 3), dtype=torch.long))
    assert len(likeliest(none, torch.empty(0))) == 0


def test_candidates_that_are_not_alone() -> None:
    found = candidates([0, 1, 1, 4, 7, 7, 7], [[1], [2], [3], [4], [5], [6], [7]])
    assert listed(found.of_several()) == [(1, 2), (1, 3), (7, 5), (7, 6), (7, 7)]


PROGRAM = (
    *("exist", "filter_color[red]", "relate[left]", "unique", "filter_shape[cube]"),
    *("relate[left]", "unique", "filter_color[blue]", "scene"),
)
NEAR = Walk(steps=8, back_search=0.5, distance=1.5, epsilon=0.2)
FAR = Walk(steps=8, back_search=0.8, distance=3.0, epsilon=1.0)


@dataclass(frozen=True)
class Space:
    """The arrangements that edits lead to from one of them, with random log p and judge."""

    sentences: Tensor
    """[sentence, time], by rising fingerprint"""
    log_p: Tensor
    right: Tensor

    @classmethod
    def of(cls, name: str, seed: int, right: float = 0.15) -> Space:
        """`right` is the share of sentences that are; where it is small, some have none beside them."""
        edits = EDITS[name]
        language = LANGUAGES["tidy" if "tidy" in name else "grammar"]
        every = enumerate_sentences(language, Given(multiset=counts_of([PROGRAM])), 1000).sentences
        reached, number = encoded([PROGRAM]), 0
        while len(reached) > number:
            number = len(reached)
            reached = torch.cat([reached, edits.neighbours(reached).columns]).unique(dim=0)
        assert 5 < number <= len(every) < 100
        generator = torch.Generator().manual_seed(seed)
        log_p = torch.randn(number, generator=generator).log_softmax(0)
        reached = reached[fingerprints(reached).argsort()]
        return cls(reached, log_p, torch.rand(number, generator=generator).argsort() < right * number)

    def numbers(self, columns: Tensor) -> Tensor:
        return torch.searchsorted(fingerprints(self.sentences), fingerprints(columns))

    def log_probs(self, _: Tensor, columns: Tensor) -> Tensor:
        return self.log_p[self.numbers(columns)]

    def judge(self, _: Tensor, columns: Tensor) -> Tensor:
        return self.right[self.numbers(columns)]

    def shares(self, walk: Walk) -> Tensor:
        """p'(z|x,y) [sentence]."""
        q = (self.right + walk.epsilon) * self.log_p.exp()
        return q / q.sum()

    def distance(self, first: Tensor, edits: Edits, walk: Walk, seed: int) -> float:
        """The total variation between p' and where chains end that begin in sentences `first` [chain]."""
        generator = torch.Generator().manual_seed(seed)
        start = self.sentences[first]
        ends = multi_step(start, edits, self.log_probs, self.judge, walk, generator)
        assert torch.equal(ends.right, self.judge(ends.right, ends.columns)) and ends.found is ends.right
        found = torch.bincount(self.numbers(ends.columns), minlength=len(self.log_p)) / len(first)
        return float((found - self.shares(walk)).abs().sum() / 2)


def drawn(shares: Tensor, number: int) -> Tensor:
    """Numbers [number] that have the given shares as closely as can be."""
    return torch.searchsorted(shares.cumsum(0), (torch.arange(number) + 0.5) / number).clamp(
        max=len(shares) - 1
    )


CHAINS = 3000
LIMIT = 0.06
"""Of 3,000 draws from 18 sentences, up to 0.031 is by chance on average."""


def drift(name: str, walk: Walk, seed: int) -> float:
    """How far chains that begin with the distribution of the paper come away from it."""
    space = Space.of(name, seed, right=0.15 if walk is NEAR else 0.05)
    return space.distance(drawn(space.shares(walk), CHAINS), EDITS[name], walk, seed)


@pytest.mark.parametrize("walk", [NEAR, FAR], ids=["near", "far"])
@pytest.mark.parametrize("name", EDITS)
def test_chains_keep_the_distribution_of_the_paper(name: str, walk: Walk) -> None:
    assert drift(name, walk, random_source().randrange(2**32)) < LIMIT


@pytest.mark.parametrize(("walk", "factor"), [(NEAR, "log_single"), (FAR, "log_wandering")])
def test_chains_that_forget_a_factor_of_the_ratio_do_not(
    monkeypatch: pytest.MonkeyPatch, walk: Walk, factor: str
) -> None:
    """The test above can fail: without the correction's part in Q, or without 1 - lambda."""
    kept = _State.log_wandering if factor == "log_single" else _nothing
    monkeypatch.setattr(_State, factor, lambda self, *given: kept(self, given[-1]))
    assert drift("tidy edits", walk, 100) > 2 * LIMIT


def _nothing(state: _State, _: Walk) -> Tensor:
    return torch.zeros_like(state.log_p)


def test_chains_come_to_the_distribution_of_the_paper_from_anywhere() -> None:
    space = Space.of("switches", 0)
    first = space.shares(NEAR).argmin().expand(1000)
    assert space.distance(first, SWITCHES, replace(NEAR, steps=0), 0) > 0.5
    assert space.distance(first, SWITCHES, replace(NEAR, steps=40), 0) < LIMIT


def test_chains_start_where_they_are_told() -> None:
    space = Space.of("tidy edits", 0)
    ends = multi_step(
        space.sentences, TIDY_EDITS, space.log_probs, space.judge, Walk(steps=0), torch.Generator()
    )
    assert torch.equal(ends.columns, space.sentences) and torch.equal(ends.right, space.right)


@pytest.mark.parametrize("name", EDITS)
def test_chains_are_walks_along_what_is_drawn(name: str) -> None:
    rng = random_source()
    table, seed = Table(rng.randrange(2**32)), rng.randrange(2**32)
    columns = encoded(random_programs(rng, 30, 12))
    told = columns, EDITS[name], table.log_probs, table.judge, NEAR
    draws = list(drawn_along(NEAR, columns, torch.Generator().manual_seed(seed)))
    assert len(draws) == NEAR.steps
    assert all(int(step.distance.max()) <= len(step.edits) for step in draws)
    walked = walk_along(*told, draws)
    ends = multi_step(*told, torch.Generator().manual_seed(seed))
    assert torch.equal(ends.columns, walked.columns) and torch.equal(ends.right, walked.right)
