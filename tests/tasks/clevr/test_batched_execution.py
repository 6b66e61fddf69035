"""CLEVR programs on tensors: the same answers as one at a time, on any program, any scene, any device."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from ngs import UNDEFINED, DataError, ParseError, ShapeError
from ngs.grammar.padding import PAD
from ngs.reasoning.operation import Special
from ngs.tasks.clevr.batched_execution import UNDEFINED_ANSWER, SceneTables, execute_batch
from ngs.tasks.clevr.execution import execute, spoken
from ngs.tasks.clevr.program import clevr
from ngs.tasks.clevr.scenes import ANSWERS, MOST_OBJECTS, RELATIONS, Scene, Thing
from ngs.tasks.clevr.semantics import Objects, Unique, lenient, strict
from tests.tasks.clevr.official_files import published_data
from tests.tasks.clevr.programs import encoded, random_programs
from tests.tasks.clevr.test_execution import CASES, SCENE, random_scene, random_source

MODULES = clevr().symbols
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def by_reference(program: Sequence[str], scene: Scene, unique: Unique) -> int:
    try:
        answer = spoken(execute(program, scene, unique=unique))
    except ParseError:
        return UNDEFINED_ANSWER
    return UNDEFINED_ANSWER if answer is UNDEFINED else ANSWERS.index(str(answer))


def check_engines_agree(
    programs: Sequence[Sequence[str]], scenes: Sequence[Scene], of: Sequence[int], unique: Unique
) -> list[int]:
    """Both engines on every device give the same answers, which are returned."""
    want = [by_reference(program, scenes[k], unique) for program, k in zip(programs, of, strict=True)]
    for device in DEVICES:
        tables = SceneTables.of(scenes, unique).to(device)
        have = execute_batch(tables, encoded(programs).to(device), torch.tensor(of, device=device))
        assert have.dtype == torch.int64
        for program, scene, one, other in zip(programs, of, have.tolist(), want, strict=True):
            assert one == other, (program, scenes[scene])
    return want


def random_scenes(rng: random.Random, number: int) -> list[Scene]:
    return [
        random_scene(rng, 1),
        random_scene(rng, MOST_OBJECTS),
        *(random_scene(rng) for _ in range(number)),
    ]


@pytest.mark.parametrize("unique", [strict, lenient])
@pytest.mark.parametrize("part", ["train", "validation"])
def test_every_program_of_the_shared_data_gives_its_answer(part: str, unique: Unique) -> None:
    """Where `unique` is strictly defined, it is leniently the same."""
    data = published_data()
    questions, tables = getattr(data, part), SceneTables.of(data.scenes, unique)
    found = execute_batch(tables, questions.programs.padded(), questions.scenes.long())
    assert torch.equal(found, questions.answers.long())


def test_programs_give_what_they_give_by_hand() -> None:
    programs = [case.split() for case in CASES]
    answers = execute_batch(SceneTables.of([SCENE]), encoded(programs), torch.zeros(len(programs), dtype=int))
    assert [ANSWERS[answer] for answer in answers.tolist()] == list(CASES.values())


def last(objects: Objects) -> int | Special:
    """One more meaning of `unique`."""
    return max(objects, default=UNDEFINED)


@pytest.mark.parametrize("unique", [strict, lenient, last])
def test_engines_agree_on_programs_that_type_check(unique: Unique) -> None:
    rng = random_source()
    scenes = random_scenes(rng, 30)
    programs = random_programs(rng, 2_000, 25, tidy=False)
    of = [rng.randrange(len(scenes)) for _ in programs]
    answers = check_engines_agree(programs, scenes, of, unique)
    defined = sum(answer != UNDEFINED_ANSWER for answer in answers) / len(answers)
    assert 0.1 < defined < 0.95
    assert len(set(answers)) > 20


def test_engines_agree_on_what_does_not_type_check() -> None:
    """Permutations of programs, programs cut off or doubled, and modules in any order."""
    rng = random_source()
    scenes = random_scenes(rng, 10)
    sound = random_programs(rng, 700, 12, tidy=False)
    programs = [
        *(rng.sample(program, len(program)) for program in sound),
        *(program[: rng.randint(0, len(program))] for program in sound),
        *(program + rng.choice(sound) for program in sound),
        *(rng.choices(MODULES, k=rng.randint(1, 8)) for _ in sound),
        *(rng.choices(["scene", "union", "count", "less_than"], k=rng.randint(2, 9)) for _ in sound),
    ]
    of = [rng.randrange(len(scenes)) for _ in programs]
    answers = check_engines_agree(programs, scenes, of, strict)
    assert 0 < sum(answer != UNDEFINED_ANSWER for answer in answers) < len(answers) / 2


@pytest.mark.parametrize("time", range(1, 9))
def test_engines_agree_on_every_order_of_scenes_and_unions(time: int) -> None:
    """All stacks there are, the deepest included: too deep, emptied, and emptied twice."""
    kinds = ("scene", "union", "count")
    programs = [[kinds[number // 3**k % 3] for k in range(time)] for number in range(3**time)]
    answers = check_engines_agree(programs, [SCENE], [0] * len(programs), strict)
    # `count` before every binary tree: as many as the Catalan numbers say
    trees = {2: 1, 4: 1, 6: 2, 8: 5}.get(time, 0)
    assert sum(answer == ANSWERS.index("4") for answer in answers) == trees


@pytest.mark.parametrize("depth", [1, 2, 12, 40])
def test_the_deepest_stack_of_a_length(depth: int) -> None:
    deep = ["count", *["union"] * depth, *["scene"] * (depth + 1)]
    too_deep = [*deep[1:], "scene"]
    assert check_engines_agree([deep, too_deep], [SCENE], [0, 0], strict) == [4, UNDEFINED_ANSWER]


@pytest.mark.parametrize("size", [0, 1, MOST_OBJECTS])
def test_the_smallest_and_the_largest_scene(size: int) -> None:
    thing = Thing("small", "red", "rubber", "cube")
    others = tuple(frozenset(range(size)) - {k} for k in range(size))
    scene = Scene((thing,) * size, {name: others for name in RELATIONS}, {})
    programs = [
        text.split()
        for text in (
            "count scene",
            "exist scene",
            "count filter_color[red] scene",
            "count filter_color[blue] scene",
            "count same_color unique scene",
            "count relate[behind] unique scene",
            "query_material unique scene",
        )
    ]
    for unique in (strict, lenient):
        check_engines_agree(programs, [SCENE, scene], [1] * len(programs), unique)


def test_answers_come_in_the_order_of_the_programs() -> None:
    rng = random_source()
    scenes = random_scenes(rng, 5)
    programs = random_programs(rng, 300, 20, tidy=False)
    of = torch.tensor([rng.randrange(len(scenes)) for _ in programs])
    tables, columns = SceneTables.of(scenes), encoded(programs)
    backwards = execute_batch(tables, columns.flip(0), of.flip(0))
    assert torch.equal(backwards, execute_batch(tables, columns, of).flip(0))


def test_padding_changes_nothing() -> None:
    rng = random_source()
    programs = random_programs(rng, 100, 9, tidy=False)
    tables, of = SceneTables.of([SCENE]), torch.zeros(100, dtype=torch.int64)
    assert torch.equal(
        execute_batch(tables, encoded(programs, 9), of), execute_batch(tables, encoded(programs), of)
    )


def test_padding_inside_a_program_is_no_program() -> None:
    count, scene = map(MODULES.index, ("count", "scene"))
    columns = [
        [count, scene, PAD, PAD],
        [count, PAD, scene, PAD],
        [count, scene, PAD, scene],
        [PAD, count, scene, PAD],
    ]
    have = execute_batch(SceneTables.of([SCENE]), torch.tensor(columns), torch.zeros(4, dtype=torch.int64))
    assert have.tolist() == [4, *[UNDEFINED_ANSWER] * 3]


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (3, 0)])
def test_empty_batches_and_programs(shape: tuple[int, int]) -> None:
    columns, scenes = torch.zeros(shape, dtype=torch.int64), torch.zeros(shape[0], dtype=torch.int64)
    answers = execute_batch(SceneTables.of([SCENE]), columns, scenes)
    assert answers.tolist() == [UNDEFINED_ANSWER] * shape[0]
    assert answers.dtype == torch.int64
    assert execute_batch(SceneTables.of([SCENE]), torch.full((1, 3), PAD), torch.tensor([0])).tolist() == [-1]


def test_what_is_given_is_left_as_it_is() -> None:
    columns, scenes = encoded([["query_color", "unique", "scene"]]), torch.tensor([0])
    before = columns.clone()
    for unique, answer in ((lenient, ANSWERS.index("red")), (strict, UNDEFINED_ANSWER)):
        tables = SceneTables.of([SCENE], unique)
        for _ in range(2):
            assert execute_batch(tables, columns, scenes).tolist() == [answer]
    assert torch.equal(columns, before)


@pytest.mark.parametrize(
    ("columns", "scenes", "message"),
    [
        (
            torch.zeros(3, dtype=torch.int64),
            torch.zeros(3, dtype=torch.int64),
            r"columns \[3\] and scenes \[3\]",
        ),
        (torch.zeros(3, 2, dtype=torch.int64), torch.zeros(2, dtype=torch.int64), r"give \[program, time\]"),
        (
            torch.tensor([[1, 40]]),
            torch.tensor([0]),
            "the columns are from 1 to 40; give numbers from -1 to 39",
        ),
        (torch.tensor([[1, -2]]), torch.tensor([0]), "the columns are from -2 to 1"),
        (torch.tensor([[1, 3]]), torch.tensor([1]), "the scenes are from 1 to 1; give numbers from 0 to 0"),
        (torch.tensor([[1, 3]]), torch.tensor([-1]), "the scenes are from -1 to -1"),
    ],
)
def test_bad_tensors_are_refused(columns: Tensor, scenes: Tensor, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        execute_batch(SceneTables.of([SCENE]), columns, scenes)


def test_scenes_that_do_not_fit_the_tables_are_refused() -> None:
    with pytest.raises(DataError, match="scene 1 has 11 objects; give scenes of at most 10"):
        SceneTables.of([SCENE, random_scene(random.Random(0), 11)])
    pink = replace(SCENE, things=(replace(SCENE.things[0], color="pink"), *SCENE.things[1:]))
    with pytest.raises(DataError, match="scene 0 has an object of color 'pink'; there are gray, red"):
        SceneTables.of([pink])
