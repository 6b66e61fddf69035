"""Which module may come next: counting what is left, against the automaton of the grammar."""

from __future__ import annotations

import pytest
import torch

from ngs.parsing.arrangement import legal_along, without
from ngs.grammar.padding import PAD
from ngs.tasks.clevr.language import ORDER, RANK
from ngs.tasks.clevr.program import MODULES
from tests.tasks.clevr.official_files import published_data
from tests.tasks.clevr.programs import AUTOMATA, LANGUAGES, counts_of, random_programs
from tests.tasks.clevr.test_execution import random_source


@pytest.mark.parametrize("uneven", [0.0, 4.0], ids=["fair", "with favourites"])
@pytest.mark.parametrize(("name", "longest", "number"), [("grammar", 40, 200), ("tidy", 22, 120)])
def test_every_step_of_random_walks_is_as_the_automaton_says(
    name: str, longest: int, number: int, uneven: float
) -> None:
    """A walk prefers some modules by chance, so that it also gets where few choices are left."""
    rng = random_source()
    generator = torch.Generator().manual_seed(rng.randrange(2**32))
    programs = random_programs(rng, number, longest, tidy=name == "tidy")
    assert any(sum(module in ("union", "intersect") for module in program) > 1 for program in programs)
    language, automaton = LANGUAGES[name], AUTOMATA[name]
    left, last, states = counts_of(programs), torch.full((number,), PAD), [automaton.start] * number
    liking = torch.rand(left.shape, generator=generator) ** uneven + 1e-6
    while left.any():
        legal = language.legal(left, last)
        for program, state, rest, found in zip(programs, states, left.tolist(), legal, strict=True):
            exact = automaton.legal_from(state, dict(enumerate(rest)))
            assert found.nonzero().flatten().tolist() == list(exact), (program, rest)
        over = ~legal.any(1)
        last = torch.multinomial(legal * liking + over[:, None], 1, generator=generator)[:, 0]
        last = last.masked_fill(over, PAD)
        left = without(left, last)
        states = [
            q if c == PAD else automaton.advance(q, c) for q, c in zip(states, last.tolist(), strict=True)
        ]
    assert all(automaton.accepts(state) for state in states)
    assert not language.legal(left, last).any()


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
        legal = legal_along(LANGUAGES[name], counts, columns)
        taken = legal.gather(2, columns.clamp(min=0)[..., None])[..., 0]
        assert (taken | (columns == PAD)).all()


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
    assert LANGUAGES[name].arranges(torch.tensor(multisets)).tolist() == want and len(set(want)) == 2
