"""Which module may come next: counting what is left, against the automaton of the grammar."""

from itertools import islice

import pytest
import torch

from ngs.grammar.constraint import Constraint, Given, enumerate_sentences
from ngs.grammar.multiset_constraint import Multiset
from ngs.grammar.padding import PAD
from ngs.tasks.clevr.language import ORDER, RANK
from ngs.tasks.clevr.program import MODULES, clevr, clevr_tidy
from tests.tasks.clevr.official_files import published_data
from tests.tasks.clevr.programs import (
    AUTOMATA,
    LANGUAGES,
    arranged,
    counts_of,
    decoded,
    encoded,
    random_programs,
)
from tests.tasks.clevr.test_execution import random_source

GRAMMARS = {"grammar": clevr(), "tidy": clevr_tidy()}


@pytest.mark.parametrize("uneven", [0.0, 4.0], ids=["fair", "with favourites"])
@pytest.mark.parametrize(("name", "longest", "number"), [("grammar", 40, 200), ("tidy", 22, 200)])
def test_every_step_of_random_walks_is_as_the_automaton_says(
    name: str, longest: int, number: int, uneven: float
) -> None:
    """A walk prefers some modules by chance, so that it also gets where few choices are left."""
    rng = random_source()
    generator = torch.Generator().manual_seed(rng.randrange(2**32))
    programs = random_programs(rng, number, longest, tidy=name == "tidy")
    assert any(sum(module in ("union", "intersect") for module in program) > 1 for program in programs)
    language, reference = LANGUAGES[name], Multiset(GRAMMARS[name])
    known = Given(multiset=counts_of(programs))
    state, exact = language.start(known), reference.start(known)
    liking = torch.rand(known.multiset.shape, generator=generator) ** uneven + 1e-6
    while state.left.any():
        mask = language.mask(state)
        assert torch.equal(mask, reference.mask(exact))
        over = ~mask.any(1)
        symbol = torch.multinomial(mask * liking + over[:, None], 1, generator=generator)[:, 0]
        symbol = symbol.masked_fill(over, PAD)
        state, exact = language.advance(state, symbol), reference.advance(exact, symbol)
    assert reference.accepts(exact).all() and language.accepts(state).all()
    assert not language.mask(state).any()


@pytest.mark.parametrize("name", ["grammar", "tidy"])
def test_many_are_asked_at_once_in_any_shape(name: str) -> None:
    counts = counts_of(random_programs(random_source(), 12, 15))
    last = torch.full((12,), PAD)
    flat = LANGUAGES[name].legal(counts, last)
    assert torch.equal(LANGUAGES[name].legal(counts.view(3, 4, -1), last.view(3, 4)), flat.view(3, 4, -1))
    narrow = LANGUAGES[name].legal(counts.to(torch.int8), last)
    assert torch.equal(narrow, flat)


def test_the_tidy_order_is_shape_material_colour_size() -> None:
    assert ORDER == ("shape", "material", "color", "size")
    ranked = {module: int(rank) for module, rank in zip(MODULES, RANK, strict=True)}
    assert [ranked[f"filter_{name}"] for name in ("shape[cube]", "color[red]", "size[small]")] == [0, 2, 3]
    assert {ranked[module] for module in ("scene", "unique", "relate[left]", "query_color", "union")} == {-1}


@pytest.mark.parametrize("name", ["grammar", "tidy"])
def test_every_program_of_the_shared_data_is_in_the_language(name: str) -> None:
    data = published_data()
    for questions in (data.train, data.validation):
        columns = questions.programs.padded().long()
        counts = torch.nn.functional.one_hot(columns + 1, len(MODULES) + 1).sum(1)[:, 1:]
        assert LANGUAGES[name].contains(Given(multiset=counts), columns).all()


@pytest.mark.parametrize("name", ["grammar", "tidy"])
def test_what_can_be_arranged_is_what_the_automaton_can_complete(name: str) -> None:
    rng = random_source()
    automaton = AUTOMATA[name]
    multisets = []
    for program in random_programs(rng, 150, 10):
        changed = list(program)
        for _ in range(rng.randrange(3)):
            changed[rng.randrange(len(changed))] = rng.choice(MODULES)
        multisets.append([changed.count(module) for module in MODULES])
    want = [automaton.completes_with(automaton.start, dict(enumerate(each))) for each in multisets]
    assert (
        LANGUAGES[name].possible(Given(multiset=torch.tensor(multisets))).tolist() == want
        and len(set(want)) == 2
    )


MANY_WAYS = (
    *("exist", "filter_color[red]", "relate[left]", "unique", "filter_shape[cube]"),
    *("relate[right]", "unique", "filter_size[small]", "scene"),
)
"""54 of them are tidy."""


@pytest.mark.parametrize("name", LANGUAGES)
def test_all_programs_are_those_found_one_by_one(name: str) -> None:
    at_most = 40
    programs = [("exist", "scene"), MANY_WAYS, *random_programs(random_source(), 80, 9)]
    found = enumerate_sentences(LANGUAGES[name], Given(multiset=counts_of(programs)), at_most)
    for row, program in enumerate(programs):
        want = list(islice(arranged(name, program), at_most + 1))
        assert found.complete[row] == (len(want) <= at_most), program
        have = decoded(found.sentences[found.rows == row])
        assert sorted(have) == sorted(want if len(want) <= at_most else []), program
    assert found.complete.any() and not found.complete.all()
    assert (found.rows.diff() >= 0).all()


@pytest.mark.parametrize("name", LANGUAGES)
def test_masks_at_once_are_one_step_at_a_time(name: str) -> None:
    """Also along what is no sentence, or is cut short."""
    rng = random_source()
    sound = random_programs(rng, 60, 14)
    programs = [*sound, *(tuple(rng.sample(program, len(program))) for program in sound)]
    z, language, known = encoded(programs, extra=2), LANGUAGES[name], Given(multiset=counts_of(programs))
    for each in (z, z.masked_fill(torch.arange(z.shape[1]) > 4, PAD)):
        assert torch.equal(language.masks(known, each), Constraint.masks(language, known, each))
        whole = [name == "any order" or AUTOMATA[name].recognises(row[row != PAD].tolist()) for row in each]
        full = (each == z).all(1)
        assert language.contains(known, each).tolist() == (torch.tensor(whole) & full).tolist()
