"""The edits of CLEVR: the contract of `ngs.search.edits`, and the plain ones of `tasks.clevr.correction`."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ngs.parsing.candidates import fingerprints
from ngs.reasoning.operation import Special
from ngs.search.back_search import ChainSettings, back_search
from ngs.search.correction import Edit
from ngs.search.edits import Edits
from ngs.search.one_step import one_step_among
from ngs.tasks.clevr import correction
from ngs.tasks.clevr.batched_execution import SceneTables, execute_batch
from ngs.tasks.clevr.correction import value_of
from ngs.tasks.clevr.execution import execute, spoken
from ngs.tasks.clevr.noun_phrases import rearrangements, switches
from ngs.tasks.clevr.program import GRAMMAR, Program
from ngs.tasks.clevr.scenes import ANSWERS, Scene
from ngs.tasks.clevr.semantics import ProgramSemantics, lenient
from tests.search.edits_contract import (
    Language,
    ListedEdits,
    chains,
    check_chain,
    check_reference,
    check_reversible,
    check_sampled_chains,
    check_single_step,
    check_steps_follow_each_other,
    check_ways,
    reached,
    walks_by_steps,
)
from tests.tasks.clevr.programs import decoded, encoded, random_programs
from tests.tasks.clevr.test_execution import random_scene, random_source

CASES, MOST = 200, 40
Plain = Callable[[Program], Iterable[Edit]]
"""The programs one step away, one after another."""
EDITS: dict[str, tuple[Edits, Plain, str]] = {
    "switches": (switches(), correction.switches, "grammar"),
    "tidy switches": (rearrangements(moves=False), partial(correction.tidy_edits, moves=False), "tidy"),
    "tidy edits": (rearrangements(moves=True), correction.tidy_edits, "tidy"),
}
seeds = st.integers(0, 2**32 - 1)


@dataclass(frozen=True)
class Noise:
    """Any log p, told by the row and the sentence."""

    seed: int

    def score(self, rows: Tensor, z: Tensor) -> Tensor:
        mixed = (fingerprints(z) + 31 * rows + self.seed) * 0x9E3779B97F4A7C1
        mixed = (mixed ^ (mixed >> 31)) * 0x94D049BB133111
        return 4 * (((mixed >> 20) % 2**30 + 0.5) / 2**30).log()


# Against the plain edits


@pytest.mark.parametrize("name", EDITS)
def test_neighbours_are_those_of_the_plain_edits(name: str) -> None:
    edits, plain, language = EDITS[name]
    programs = random_programs(random_source(), CASES, 16, tidy=language == "tidy")
    near = edits.neighbours(encoded(programs, extra=1))
    have = Counter(zip(near.rows.tolist(), decoded(near.symbols), strict=True))
    want = Counter((row, edit.sentence) for row, program in enumerate(programs) for edit in plain(program))
    assert have == want and (max(want.values()) > 1) == (name == "tidy edits")


def answer_near(rng: Random, program: Program, edits: Iterable[Edit], scene: Scene) -> str:
    """What the program or one of its edits gives, or any answer."""
    near = rng.choice([program, *(edit.sentence for edit in edits)])
    value = spoken(execute(near, scene, unique=lenient))
    return rng.choice(ANSWERS) if isinstance(value, Special) or rng.random() < 0.2 else value


@pytest.mark.parametrize("name", EDITS)
def test_one_step_is_that_of_the_reference(name: str) -> None:
    rng, (edits, plain, language) = random_source(), EDITS[name]
    programs = random_programs(rng, CASES, 12, tidy=language == "tidy")
    scenes = [random_scene(rng) for _ in programs]
    answers = [answer_near(rng, z, plain(z), scene) for z, scene in zip(programs, scenes, strict=True)]
    first, score = encoded(programs, extra=1), Noise(rng.randrange(2**31)).score
    tables, numbers = SceneTables.of(scenes, lenient), torch.tensor([*map(ANSWERS.index, answers)])

    def judge(rows: Tensor, z: Tensor) -> Tensor:
        return execute_batch(tables, z, rows) == numbers[rows]

    found = back_search(first, score, edits, judge)
    kinds = Counter[str]()
    for row, program in enumerate(programs):

        def log_p(made: Sequence[Program], row: int = row) -> list[float]:
            z = encoded(made, first.shape[1] - len(made[0]))
            return score(torch.full((len(z),), row), z).tolist()

        semantics, target = ProgramSemantics(scenes[row], lenient), value_of(answers[row])
        want = one_step_among(GRAMMAR, semantics, log_p, target, program, plain(program))
        assert decoded(found.z[row : row + 1]) == [want.sentence or program]
        assert bool(found.found[row]) == (want.sentence is not None)
        kinds["right" if want.is_right else "corrected" if want.sentence else "not found"] += 1
    assert len(kinds) == 3


# The contract


def language_of(name: str, seed: int) -> Language:
    """The programs that edits lead to from a random one, at least two and no more than MOST."""
    rng, (edits, _, grammar) = Random(seed), EDITS[name]
    while True:
        space = reached(edits, encoded(random_programs(rng, 1, 10, shortest=5, tidy=grammar == "tidy")), MOST)
        if space is not None and len(space) > 1:
            return Language.random(edits, space, seed)


@pytest.mark.parametrize("name", EDITS)
@given(chains, seeds)
def test_edits_keep_their_contract(name: str, chain: ChainSettings, seed: int) -> None:
    language = language_of(name, seed)
    walks = walks_by_steps(language)
    check_ways(language)
    check_single_step(language, walks)
    check_reversible(language, walks)
    check_chain(language, walks, chain)
    plain = ListedEdits(EDITS[name][1])
    check_reference(language, plain, lambda z: decoded(torch.tensor([z]))[0], chain)


@pytest.mark.parametrize("name", EDITS)
@settings(max_examples=10)
@given(chains, seeds)
def test_sampled_chains_follow_their_transition_matrix(name: str, chain: ChainSettings, seed: int) -> None:
    language = language_of(name, seed)
    check_sampled_chains(language, walks_by_steps(language), chain, seed)


@pytest.mark.parametrize("name", EDITS)
def test_a_walk_is_one_edit_after_another(name: str) -> None:
    rng = random_source()
    z = encoded(random_programs(rng, CASES, 12), extra=1)
    check_steps_follow_each_other(EDITS[name][0], z, rng.randrange(2**31))
