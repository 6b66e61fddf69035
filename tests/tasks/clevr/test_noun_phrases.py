"""Noun phrases: putting filters in order and mirroring branches, against lists of modules."""

from collections.abc import Iterable
from itertools import groupby
from random import Random

import pytest
import torch

from ngs.reasoning.operation import UNDEFINED
from ngs.tasks.clevr.execution import execute
from ngs.tasks.clevr.language import ORDER
from ngs.tasks.clevr.noun_phrases import NounPhrases
from ngs.tasks.clevr.program import Program
from tests.tasks.clevr.official_files import published_data
from tests.tasks.clevr.programs import (
    arranged,
    decoded,
    encoded,
    exchanged,
    random_programs,
    random_set,
    recognised,
)
from tests.tasks.clevr.test_execution import random_scene, random_source

PHRASES = NounPhrases()


def is_filter(module: str) -> bool:
    return module.startswith("filter_")


def in_order(program: Iterable[str]) -> Program:
    """With the filters of each noun phrase sorted by attribute."""
    runs = (list(run) for _, run in groupby(program, is_filter))
    key = {f"filter_{name}": place for place, name in enumerate(ORDER)}
    return tuple(m for run in runs for m in sorted(run, key=lambda m: key.get(m.partition("[")[0], 0)))


def check_they_mean_the_same(pairs: Iterable[tuple[Program, Program]], rng: Random) -> None:
    """On random scenes, small ones too, where `unique` is often defined."""
    values = []
    for one, other in pairs:
        for scene in [random_scene(rng, rng.randint(1, 4)), random_scene(rng)]:
            values.append(execute(one, scene))
            assert execute(other, scene) == values[-1], (one, other, scene)
    assert sum(value is not UNDEFINED for value in values) > len(values) / 10


def test_phrases_are_numbered_by_what_stands_before_them() -> None:
    filters = ["filter_color[red]", "filter_size[small]"]
    program = ["exist", *filters, "relate[left]", "unique", "filter_shape[cube]", "scene"]
    assert PHRASES.numbers(encoded([program], extra=1)).tolist() == [[0, 1, 1, 1, 2, 3, 3, 4]]


def test_tidying_orders_filters_and_changes_no_meaning() -> None:
    rng = random_source()
    programs = random_programs(rng, 400, 25, tidy=False)
    columns = encoded(programs, extra=1)
    tidy = PHRASES.in_order(columns)
    made = decoded(tidy)
    assert made == [in_order(program) for program in programs] != programs
    assert torch.equal(PHRASES.in_order(tidy), tidy)
    assert torch.equal(tidy.sort(1).values, columns.sort(1).values)
    check_they_mean_the_same(zip(programs, made, strict=True), rng)


def test_tidy_is_what_the_tidy_grammar_recognises() -> None:
    programs = random_programs(random_source(), 600, 20, tidy=False)
    for some in (programs, [in_order(program) for program in programs]):
        known = [recognised("tidy", program) for program in some]
        assert PHRASES.are_in_order(encoded(some)).tolist() == known
        assert True in known and False in known


def test_where_no_attribute_repeats_tidying_leads_into_the_tidy_grammar() -> None:
    rng = random_source()
    programs = random_programs(rng, 300, 20)
    untidy = [untidied(program, rng) for program in programs]
    assert decoded(PHRASES.in_order(encoded(untidy))) == programs != untidy


def untidied(program: Program, rng: Random) -> Program:
    """With the filters of each noun phrase in any order."""
    runs = [[*run] for _, run in groupby(program, is_filter)]
    return tuple(m for run in runs for m in (rng.sample(run, len(run)) if is_filter(run[0]) else run))


def test_every_shared_training_program_is_tidy() -> None:
    columns = published_data().train.programs.padded().long()
    assert len(columns) == 25_000
    assert PHRASES.are_in_order(columns).all() and torch.equal(PHRASES.in_order(columns), columns)


def test_a_chain_turns_round() -> None:
    chain = ["filter_color[red]", "relate[left]", "unique", "relate[behind]", "unique", "filter_size[large]"]
    back = ["filter_size[large]", "relate[behind]", "unique", "relate[left]", "unique", "filter_color[red]"]
    found = decoded(PHRASES.turns(encoded([["exist", *chain, "scene"]])).symbols)
    assert ("exist", *back, "scene") in found and len(found) == 3


def test_mirroring_exchanges_branches_and_changes_no_meaning() -> None:
    rng = random_source()
    programs = random_programs(rng, 600, 18)
    columns = encoded(programs, extra=1)
    other = PHRASES.mirrored(columns)
    made = decoded(other)
    assert made == [exchanged(program) for program in programs]
    assert sum(one != other for one, other in zip(made, programs, strict=True)) > 50
    assert torch.equal(PHRASES.mirrored(other), columns)
    check_they_mean_the_same(zip(programs, made, strict=True), rng)


@pytest.mark.parametrize("module", ["greater_than", "less_than"])
def test_what_is_not_symmetric_is_not_mirrored(module: str) -> None:
    columns = encoded([[module, "count", "scene", "count", "filter_color[red]", "scene"]])
    assert torch.equal(PHRASES.mirrored(columns), columns)


def test_meanings_are_the_same_for_mirrored_and_untidied_programs_and_no_others() -> None:
    """Over all tidy programs of some modules, and of modules that differ."""
    rng = random_source()
    sets = [random_set(rng, 4, tidy=True) for _ in range(6)]
    programs = [
        (*head, module, *between, *one, *between, *other)
        for head, module, between in (
            (["exist"], "union", []),
            (["count", "filter_color[red]"], "intersect", []),
            ([], "equal_integer", ["count"]),
            ([], "less_than", ["count"]),
        )
        for one in sets
        for other in sets
    ]
    programs += [
        z for program in programs[:8] for z, _ in zip(arranged("tidy", program), range(300), strict=False)
    ]
    programs += [untidied(program, rng) for program in programs]
    names = PHRASES.meanings(encoded(programs)).tolist()
    classes = [min(in_order(program), in_order(exchanged(program))) for program in programs]
    assert len(set(classes)) < len(set(programs))
    assert len(set(names)) == len(set(classes)) == len(set(zip(names, classes, strict=True)))
