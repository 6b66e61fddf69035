"""What modules mean: the functions that the grammars name, against both executors."""

from __future__ import annotations

from random import Random

import pytest
import torch

from ngs import UNDEFINED, evaluate, parse
from ngs.grammar.grammar import Grammar
from ngs.reasoning.semantics import interpret
from ngs.tasks.clevr.batched_execution import UNDEFINED_ANSWER, SceneTables, execute_batch
from ngs.tasks.clevr.execution import execute, spoken
from ngs.tasks.clevr.grammars import clevr, clevr_tidy
from ngs.tasks.clevr.program import Program
from ngs.tasks.clevr.scenes import ANSWERS, Scene
from ngs.tasks.clevr.semantics import ProgramSemantics, Unique, lenient, strict
from tests.tasks.clevr.programs import encoded, random_programs
from tests.tasks.clevr.test_execution import SCENE, random_scene, random_source

both_grammars = pytest.mark.parametrize("grammar", [clevr(), clevr_tidy()], ids=["free", "tidy"])
both_meanings = pytest.mark.parametrize("unique", [strict, lenient])


def examples(rng: Random, grammar: Grammar, number: int) -> tuple[list[Program], list[Scene]]:
    programs = random_programs(rng, number, 14, tidy=grammar == clevr_tidy())
    return programs, [random_scene(rng, rng.choice([1, 2, 3, 4, None])) for _ in programs]


@both_grammars
def test_the_semantics_has_every_function_that_the_grammar_names(grammar: Grammar) -> None:
    interpret(grammar, ProgramSemantics(SCENE))


@both_grammars
@both_meanings
def test_the_reasoning_tree_gives_what_execution_gives(grammar: Grammar, unique: Unique) -> None:
    found = []
    for program, scene in zip(*examples(random_source(), grammar, 200), strict=True):
        found.append(evaluate(parse(grammar, program), ProgramSemantics(scene, unique)))
        executed = execute(program, scene, unique=unique)
        assert found[-1] == executed and type(found[-1]) is type(executed), (program, scene)
    assert 0 < found.count(UNDEFINED) < 180


@both_grammars
@both_meanings
def test_the_reasoning_tree_gives_what_batched_execution_gives(grammar: Grammar, unique: Unique) -> None:
    programs, scenes = examples(random_source(), grammar, 200)
    answers = execute_batch(SceneTables.of(scenes, unique), encoded(programs), torch.arange(200))
    for program, scene, answer in zip(programs, scenes, answers.tolist(), strict=True):
        value = spoken(evaluate(parse(grammar, program), ProgramSemantics(scene, unique)))
        assert (UNDEFINED if answer == UNDEFINED_ANSWER else ANSWERS[answer]) == value, (program, scene)
