"""Arranging symbols: all arrangements and what is legal along one, against taking one step at a time."""

from __future__ import annotations

from itertools import islice
from math import factorial, prod

import pytest
import torch

from ngs.grammar.padding import PAD
from ngs.parsing.arrangement import AnyOrder, arrangements, legal_along, without
from tests.tasks.clevr.programs import LANGUAGES, arranged, counts_of, decoded, encoded, random_programs
from tests.tasks.clevr.test_execution import random_source

MANY_WAYS = (
    *("exist", "filter_color[red]", "relate[left]", "unique", "filter_shape[cube]"),
    *("relate[right]", "unique", "filter_size[small]", "scene"),
)
"""54 of them are tidy."""


@pytest.mark.parametrize("name", LANGUAGES)
def test_arrangements_are_those_found_one_by_one(name: str) -> None:
    at_most = 40
    programs = [("exist", "scene"), MANY_WAYS, *random_programs(random_source(), 80, 9)]
    found = arrangements(LANGUAGES[name], counts_of(programs), at_most)
    for row, program in enumerate(programs):
        want = list(islice(arranged(name, program), at_most + 1))
        assert found.complete[row] == (len(want) <= at_most), program
        have = decoded(found.columns[found.rows == row])
        assert sorted(have) == sorted(want if len(want) <= at_most else []), program
    assert found.complete.any() and not found.complete.all()
    assert (found.rows.diff() >= 0).all()


def test_as_many_as_were_asked_for_are_not_too_many() -> None:
    counts = torch.tensor([[2, 1, 1], [4, 0, 0], [1, 1, 0]])  # 12, 1 and 2 orders
    for at_most, complete in ((12, [True, True, True]), (11, [False, True, True]), (1, [False, True, False])):
        found = arrangements(AnyOrder(), counts, at_most)
        assert found.complete.tolist() == complete
        ways = [number * kept for number, kept in zip((12, 1, 2), complete, strict=True)]
        assert torch.bincount(found.rows, minlength=3).tolist() == ways


def test_any_order_has_multinomially_many() -> None:
    rng = random_source()
    counts = torch.tensor([[rng.randint(0, 2) for _ in range(4)] for _ in range(20)])
    found = arrangements(AnyOrder(), counts, 10_000)
    ways = [factorial(sum(each)) // prod(map(factorial, each)) for each in counts.tolist()]
    assert found.complete.all()
    assert torch.bincount(found.rows, minlength=20).tolist() == ways
    assert len(set(map(tuple, torch.cat([found.rows[:, None], found.columns], 1).tolist()))) == sum(ways)


def test_of_nothing_there_is_one_arrangement_and_for_nobody_none() -> None:
    found = arrangements(AnyOrder(), torch.tensor([[0, 0], [1, 0]]), 5)
    assert found.columns.tolist() == [[PAD], [0]] and found.rows.tolist() == [0, 1]
    nobody = arrangements(AnyOrder(), torch.zeros((0, 2), dtype=torch.long), 5)
    assert nobody.columns.shape == (0, 0) and nobody.complete.shape == (0,)


@pytest.mark.parametrize("name", LANGUAGES)
def test_legal_along_is_one_step_at_a_time(name: str) -> None:
    """Also along what is no sentence."""
    rng = random_source()
    sound = random_programs(rng, 60, 14)
    programs = [*sound, *(tuple(rng.sample(program, len(program))) for program in sound)]
    columns, counts = encoded(programs, extra=2), counts_of(programs)
    along = legal_along(LANGUAGES[name], counts, columns)
    left, last = counts, torch.full((len(programs),), PAD)
    for step, following in enumerate(columns.unbind(1)):
        assert torch.equal(along[:, step], LANGUAGES[name].legal(left, last))
        left, last = without(left, following), following
    assert not left.any()


def test_padding_takes_nothing() -> None:
    left = torch.tensor([[1, 2], [1, 2], [0, 1]])
    assert without(left, torch.tensor([1, PAD, 1])).tolist() == [[1, 1], [1, 2], [0, 0]]
    assert left.tolist() == [[1, 2], [1, 2], [0, 1]]
