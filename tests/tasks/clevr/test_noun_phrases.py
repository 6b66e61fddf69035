"""Noun phrases: putting filters in order, moving them and mirroring branches, against lists of modules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import combinations, groupby, product
from random import Random

import pytest
import torch

from ngs.grammar.multisets import symbol_classes
from ngs.reasoning.operation import UNDEFINED
from ngs.search.arrangement import Candidates, Edits
from ngs.tasks.clevr.execution import execute
from ngs.tasks.clevr.grammars import clevr
from ngs.tasks.clevr.language import ORDER
from ngs.tasks.clevr.noun_phrases import (
    SWITCHES,
    TIDY_EDITS,
    TIDY_SWITCHES,
    is_tidy,
    meanings,
    mirrored,
    moves,
    phrases,
    tidied,
    turns,
)
from ngs.tasks.clevr.program import MODULES, Program
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

Made = Callable[[Program], Iterable[Program]]
"""What some change makes of a program, a module at a time."""

GROUP = dict(zip(MODULES, symbol_classes(clevr()), strict=True))


def is_filter(module: str) -> bool:
    return module.startswith("filter_")


def in_order(program: Iterable[str]) -> Program:
    """With the filters of each noun phrase sorted by attribute."""
    runs = (list(run) for _, run in groupby(program, is_filter))
    key = {f"filter_{name}": place for place, name in enumerate(ORDER)}
    return tuple(m for run in runs for m in sorted(run, key=lambda m: key.get(m.partition("[")[0], 0)))


def switched(program: Program) -> Iterable[Program]:
    for i, j in combinations(range(len(program)), 2):
        if program[i] != program[j] and GROUP[program[i]] == GROUP[program[j]]:
            changed = list(program)
            changed[i], changed[j] = changed[j], changed[i]
            yield tuple(changed)


def moved(program: Program) -> Iterable[Program]:
    """Each filter to each noun phrase that it is not in, where filters of one attribute keep their order."""
    ends = [k for k, module in enumerate(program) if not is_filter(module)]
    for i, j in product(range(len(program)), ends):
        begin = max((end for end in ends if end < j), default=-1) + 1
        if is_filter(program[i]) and GROUP[program[j]] in CLOSING and not begin <= i < j:
            others = [*program[:i], *program[i + 1 :]]
            place = begin - 1 if i < j else j
            yield in_order([*others[:place], program[i], *others[place:]])


def turned(program: Program) -> Iterable[Program]:
    """Each chain of noun phrases and relations the other way round; for pairs without one, all as it was."""
    ends = [k for k, module in enumerate(program) if GROUP[module] in CLOSING]
    begins = [next(j for j in range(k, -1, -1) if not is_filter(program[j - 1])) for k in ends]
    for a, b in combinations(range(len(ends)), 2):
        filters = [program[begin:end] for begin, end in zip(begins[a : b + 1], ends[a : b + 1], strict=True)]
        relations = [program[end] for end in ends[a:b]]
        if {GROUP[module] for module in relations} == {GROUP["relate[left]"]}:
            related = ((relation, "unique") for relation in reversed(relations))
            chain = zip(reversed(filters), (*related, ()), strict=True)
            inside = (module for parts in chain for part in parts for module in part)
            yield (*program[: begins[a]], *inside, *program[ends[b] :])
        else:
            yield program


CLOSING = {GROUP[module] for module in ("scene", "relate[left]", "union")}


def tidy_switched(program: Program) -> Iterable[Program]:
    return map(in_order, switched(program))


def counted(found: Candidates) -> Counter[tuple[int, Program]]:
    return Counter(zip(found.rows.tolist(), decoded(found.columns), strict=True))


def by_hand(programs: Iterable[Program], *each: Made) -> Counter[tuple[int, Program]]:
    return Counter((row, z) for row, program in enumerate(programs) for made in each for z in made(program))


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
    assert phrases(encoded([program], extra=1)).tolist() == [[0, 1, 1, 1, 2, 3, 3, 4]]


def test_tidying_orders_filters_and_changes_no_meaning() -> None:
    rng = random_source()
    programs = random_programs(rng, 400, 25, tidy=False)
    columns = encoded(programs, extra=1)
    tidy = tidied(columns)
    made = decoded(tidy)
    assert made == [in_order(program) for program in programs] != programs
    assert torch.equal(tidied(tidy), tidy)
    assert torch.equal(tidy.sort(1).values, columns.sort(1).values)
    check_they_mean_the_same(zip(programs, made, strict=True), rng)


def test_tidy_is_what_the_tidy_grammar_recognises() -> None:
    programs = random_programs(random_source(), 600, 20, tidy=False)
    for some in (programs, [in_order(program) for program in programs]):
        known = [recognised("tidy", program) for program in some]
        assert is_tidy(encoded(some)).tolist() == known
        assert True in known and False in known


def test_where_no_attribute_repeats_tidying_leads_into_the_tidy_grammar() -> None:
    rng = random_source()
    programs = random_programs(rng, 300, 20)
    untidy = [untidied(program, rng) for program in programs]
    assert decoded(tidied(encoded(untidy))) == programs != untidy


def untidied(program: Program, rng: Random) -> Program:
    """With the filters of each noun phrase in any order."""
    runs = [[*run] for _, run in groupby(program, is_filter)]
    return tuple(m for run in runs for m in (rng.sample(run, len(run)) if is_filter(run[0]) else run))


def test_every_shared_training_program_is_tidy() -> None:
    columns = published_data().train.programs.padded().long()
    assert len(columns) == 25_000
    assert is_tidy(columns).all() and torch.equal(tidied(columns), columns)


EDITS: dict[str, tuple[Edits, str, tuple[Made, ...]]] = {
    "switches": (SWITCHES, "grammar", (switched,)),
    "tidy switches": (TIDY_SWITCHES, "tidy", (tidy_switched,)),
    "tidy edits": (TIDY_EDITS, "tidy", (tidy_switched, moved, turned)),
}


def test_moves_are_all_there_are() -> None:
    programs = random_programs(random_source(), 60, 16, tidy=False)
    assert counted(moves(encoded(programs, extra=1))) == by_hand(programs, moved)


def test_turns_are_all_there_are() -> None:
    programs = random_programs(random_source(), 100, 20)
    found = counted(turns(encoded(programs, extra=1)))
    assert found == by_hand(programs, turned)
    assert sum(z != programs[row] for row, z in found) > 10


def test_a_chain_turns_round() -> None:
    chain = ["filter_color[red]", "relate[left]", "unique", "relate[behind]", "unique", "filter_size[large]"]
    back = ["filter_size[large]", "relate[behind]", "unique", "relate[left]", "unique", "filter_color[red]"]
    found = decoded(turns(encoded([["exist", *chain, "scene"]])).columns)
    assert ("exist", *back, "scene") in found and len(found) == 3


@pytest.mark.parametrize("name", EDITS)
def test_edits_are_all_there_are_and_neighbours_those_in_the_language(name: str) -> None:
    edits, language, made = EDITS[name]
    programs = random_programs(random_source(), 80, 16, tidy=language == "tidy")
    columns = encoded(programs, extra=1)
    want = by_hand(programs, *made)
    assert counted(edits.results(columns)) == want
    inside = Counter({z: number for z, number in want.items() if recognised(language, z[1])})
    assert counted(edits.neighbours(columns)) == inside
    assert (inside != want) == (language == "tidy")


@pytest.mark.parametrize("name", EDITS)
def test_edits_make_a_symmetric_random_walk(name: str) -> None:
    """As many edits for every order of the same modules, and as many lead to another as lead back."""
    edits, language, _ = EDITS[name]
    rng = random_source()
    bent = 0
    for program in random_programs(rng, 40, 10):
        every = [z for z, _ in zip(arranged(language, program), range(60), strict=False)]
        made = edits.results(encoded(every))
        numbers = torch.bincount(made.rows, minlength=len(every))
        assert (numbers == numbers[0]).all()
        ways = Counter((every[row], z) for (row, z) in counted(edits.neighbours(encoded(every))).elements())
        ways = Counter({(a, b): number for (a, b), number in ways.items() if b in set(every)})
        assert all(ways[other, one] == number for (one, other), number in ways.items())
        bent += any(one != other for one, other in ways)
    assert bent > 3


def test_mirroring_exchanges_branches_and_changes_no_meaning() -> None:
    rng = random_source()
    programs = random_programs(rng, 600, 18)
    columns = encoded(programs, extra=1)
    other = mirrored(columns)
    made = decoded(other)
    assert made == [exchanged(program) for program in programs]
    assert sum(one != other for one, other in zip(made, programs, strict=True)) > 50
    assert torch.equal(mirrored(other), columns)
    check_they_mean_the_same(zip(programs, made, strict=True), rng)


@pytest.mark.parametrize("module", ["greater_than", "less_than"])
def test_what_is_not_symmetric_is_not_mirrored(module: str) -> None:
    columns = encoded([[module, "count", "scene", "count", "filter_color[red]", "scene"]])
    assert torch.equal(mirrored(columns), columns)


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
    names = meanings(encoded(programs)).tolist()
    classes = [min(in_order(program), in_order(exchanged(program))) for program in programs]
    assert len(set(classes)) < len(set(programs))
    assert len(set(names)) == len(set(classes)) == len(set(zip(names, classes, strict=True)))
