"""CLEVR programs one at a time: every module, the undefined, what does not type-check, the shared data."""

import random
from itertools import combinations

import pytest

from ngs import UNDEFINED, NGSError, ParseError, evaluate, parse, recognises
from ngs.grammar.grammar import Grammar
from ngs.grammar.multisets import symbol_classes
from ngs.reasoning.semantics import interpret
from ngs.tasks.clevr.execution import Step, execute, modules, spoken, trace
from ngs.tasks.clevr.program import clevr, clevr_tidy
from ngs.tasks.clevr.scenes import ANSWERS, ATTRIBUTES, MOST_OBJECTS, RELATIONS, Scene, Thing
from ngs.tasks.clevr.semantics import ProgramSemantics, Unique, lenient, strict
from tests.tasks.clevr.official_files import published_data
from tests.tasks.clevr.programs import random_programs


def random_scene(rng: random.Random, size: int | None = None) -> Scene:
    """Any objects in any relations, possible or not."""
    size = rng.randint(1, MOST_OBJECTS) if size is None else size
    things = (Thing(**{name: rng.choice(values) for name, values in ATTRIBUTES.items()}) for _ in range(size))
    relations = {
        name: tuple(frozenset(k for k in range(size) if rng.random() < 0.4) for _ in range(size))
        for name in RELATIONS
    }
    return Scene(tuple(things), relations, {})


def random_source() -> random.Random:
    """Another sequence each time; a failing test shows its seed."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    return random.Random(seed)


# Objects from left to right: 0 and 1 in front, 2 and 3 behind them.
SCENE = Scene(
    (
        Thing("large", "red", "metal", "cube"),
        Thing("small", "red", "rubber", "sphere"),
        Thing("large", "blue", "rubber", "sphere"),
        Thing("small", "gray", "metal", "cube"),
    ),
    {
        "left": tuple(frozenset(range(k)) for k in range(4)),
        "right": tuple(frozenset(range(k + 1, 4)) for k in range(4)),
        "front": (frozenset(), frozenset(), frozenset({0, 1}), frozenset({0, 1})),
        "behind": (frozenset({2, 3}), frozenset({2, 3}), frozenset(), frozenset()),
    },
    {},
)

BLUE = "unique filter_color[blue] scene"
GRAY = "unique filter_color[gray] scene"

CASES = {
    "count scene": "4",
    "count filter_color[red] scene": "2",
    "count filter_color[cyan] scene": "0",
    "count filter_size[large] scene": "2",
    "count filter_material[rubber] filter_color[red] scene": "1",
    "count filter_shape[cylinder] scene": "0",
    "exist filter_shape[cube] scene": "yes",
    "exist filter_shape[cube] filter_color[blue] scene": "no",
    f"query_size {BLUE}": "large",
    f"query_color {BLUE}": "blue",
    f"query_material {BLUE}": "rubber",
    f"query_shape {BLUE}": "sphere",
    f"count relate[left] {BLUE}": "2",
    f"count relate[right] {BLUE}": "1",
    f"count relate[front] {BLUE}": "2",
    f"count relate[behind] {BLUE}": "0",
    f"query_color unique relate[right] {BLUE}": "gray",
    f"query_color unique same_shape {BLUE}": "red",
    f"query_color unique same_size {BLUE}": "red",
    f"query_size unique same_material {BLUE}": "small",
    f"count same_color {BLUE}": "0",
    f"count intersect relate[left] {GRAY} relate[front] {BLUE}": "2",
    f"count intersect relate[left] {BLUE} relate[right] {BLUE}": "0",
    f"count union relate[left] {BLUE} relate[right] {BLUE}": "3",
    f"count union union {'filter_color[blue] scene'} {'filter_color[gray] scene'} scene": "4",
    f"equal_color query_color {BLUE} query_color {GRAY}": "no",
    f"equal_size query_size {BLUE} query_size {BLUE}": "yes",
    f"equal_shape query_shape {BLUE} query_shape {GRAY}": "no",
    f"equal_material query_material {BLUE} query_material {GRAY}": "no",
    f"equal_size query_shape {BLUE} query_shape {BLUE}": "yes",
    "equal_integer count filter_color[red] scene count filter_size[large] scene": "yes",
    "equal_integer count filter_color[red] scene count scene": "no",
    "less_than count filter_color[red] scene count scene": "yes",
    "less_than count scene count scene": "no",
    "greater_than count filter_color[red] scene count scene": "no",
    "greater_than count scene count filter_color[red] scene": "yes",
}


@pytest.mark.parametrize("program", CASES)
def test_a_program_gives_what_it_gives_by_hand(program: str) -> None:
    have = spoken(execute(program.split(), SCENE))
    assert have == CASES[program]
    assert have in ANSWERS


def test_the_cases_have_every_module_of_every_family() -> None:
    written_out = {"filter_color", "filter_shape", "filter_size", "filter_material"}
    used = {module for program in CASES for module in program.split()}
    assert {name.split("[")[0] for name in used} == {name.split("[")[0] for name in modules()}
    assert {name for name in modules() if name.split("[")[0] not in written_out} <= used
    assert set(modules()) == set(clevr().symbols)


def test_values_are_what_their_types_say() -> None:
    assert execute(("count", "scene"), SCENE) == 4
    assert execute(("exist", "scene"), SCENE) == "yes"
    assert execute(("query_color", *BLUE.split()), SCENE) == "blue"


@pytest.mark.parametrize(
    ("description", "by_strict", "by_lenient"),
    [
        ("filter_color[blue]", "blue", "blue"),
        ("filter_color[red]", None, "red"),
        ("filter_color[cyan]", None, None),
    ],
)
def test_the_meaning_of_unique(description: str, by_strict: str | None, by_lenient: str | None) -> None:
    program = ("query_color", "unique", description, "scene")
    assert execute(program, SCENE) == execute(program, SCENE, unique=strict) == (by_strict or UNDEFINED)
    assert execute(program, SCENE, unique=lenient) == (by_lenient or UNDEFINED)


def test_lenient_is_the_first_object() -> None:
    assert execute(["query_size", "unique", "filter_color[red]", "scene"], SCENE, unique=lenient) == "large"
    assert lenient(frozenset({7, 2, 9})) == 2
    assert lenient(frozenset()) is strict(frozenset()) is strict(frozenset({7, 2})) is UNDEFINED


@pytest.mark.parametrize(
    "program",
    [
        "exist relate[left] unique scene",
        "count union scene relate[left] unique scene",
        "count union relate[left] unique scene scene",
        "equal_color query_color unique scene query_color unique scene",
        "less_than count same_size unique filter_shape[cylinder] scene count scene",
    ],
)
def test_undefined_in_undefined_out(program: str) -> None:
    value = execute(program.split(), SCENE)
    assert value is UNDEFINED
    assert spoken(value) is UNDEFINED


def test_a_trace_has_the_value_of_every_step() -> None:
    red = Step("filter_color[red]", frozenset({0, 1}), (Step("scene", frozenset(range(4)), ()),))
    cube = Step("filter_shape[cube]", frozenset({0}), (red,))
    want = Step("query_size", "large", (Step("unique", 0, (cube,)),))
    assert trace(["query_size", "unique", "filter_shape[cube]", "filter_color[red]", "scene"], SCENE) == want


def test_a_trace_tells_where_a_program_becomes_undefined() -> None:
    program = ["count", "relate[left]", "unique", "filter_color[red]", "scene"]
    relate = trace(program, SCENE).arguments[0]
    (unique,) = relate.arguments
    assert (relate.value, unique.value, unique.arguments[0].value) == (UNDEFINED, UNDEFINED, {0, 1})
    assert trace(program, SCENE, unique=lenient).arguments[0].arguments[0].value == 0


def test_the_first_argument_comes_first() -> None:
    first, second = trace(
        ["less_than", "count", "scene", "count", "filter_color[red]", "scene"], SCENE
    ).arguments
    assert (first.value, second.value) == (4, 2)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("count", "position 0: count still needs a set of objects where the program ends"),
        ("less_than count scene", "position 0: less_than still needs an integer where the program ends"),
        ("union", "union still needs a set of objects and a set of objects"),
        ("count scene scene", "position 2: the program is complete before `scene`; leave that out"),
        ("count union scene scene count scene", "position 4: the program is complete before `count`"),
        (
            "query_color unique query_color unique scene",
            "position 1: unique needs a set of objects, and `query_color` gives a concept",
        ),
        ("query_color scene", "position 0: query_color needs an object, and `scene` gives a set of objects"),
        (
            "equal_color query_color unique scene count scene",
            "position 0: equal_color needs a concept, and `count` gives an integer",
        ),
        ("less_than exist scene count scene", "less_than needs an integer, and `exist` gives a truth value"),
        ("unique scene", "gives an integer, a concept or a truth value, and `unique` gives an object"),
        ("filter_color[red] scene", "gives a set of objects"),
        (
            "count filter_color[pink] scene",
            r"position 1: 'filter_color\[pink\]' is no module; the modules are",
        ),
        ("", "the program is empty"),
    ],
)
def test_what_does_not_type_check_is_refused(program: str, message: str) -> None:
    with pytest.raises(ParseError, match=message) as error:
        execute(program.split(), SCENE)
    assert isinstance(error.value, NGSError)
    with pytest.raises(ParseError, match=message):
        trace(program.split(), SCENE, unique=lenient)


def test_programs_of_the_grammar_are_those_that_type_check() -> None:
    rng = random_source()
    for program in random_programs(rng, 60, 12, tidy=False):
        shuffled = tuple(rng.sample(program, len(program)))
        assert recognises(clevr(), program)
        assert recognises(clevr(), shuffled) == type_checks(shuffled)


def type_checks(program: tuple[str, ...]) -> bool:
    try:
        execute(program, SCENE)
    except ParseError:
        return False
    return True


def test_a_long_program_is_no_problem() -> None:
    assert execute(("count", *["filter_color[red]"] * 20_000, "scene"), SCENE) == 2
    assert execute(("count", *["union"] * 5_000, *["scene"] * 5_001), SCENE) == 4


@pytest.mark.parametrize("size", [1, MOST_OBJECTS])
def test_the_smallest_and_the_largest_scene(size: int) -> None:
    thing = Thing("small", "red", "rubber", "cube")
    scene = Scene((thing,) * size, {name: (frozenset(),) * size for name in RELATIONS}, {})
    assert execute(("count", "scene"), scene) == size
    assert execute(["count", "same_size", "unique", "scene"], scene, unique=lenient) == size - 1
    assert (execute(["query_shape", "unique", "scene"], scene) == "cube") == (size == 1)


def test_modules_of_one_type_are_the_classes_of_the_grammar() -> None:
    """The ten rows of the supplement's table of modules, and how many modules each of them has."""
    classes = dict(zip(clevr().symbols, symbol_classes(clevr()), strict=True))
    for (one, first), (other, second) in combinations(modules().items(), 2):
        same = (first.takes, first.gives) == (second.takes, second.gives)
        assert same == (classes[one] == classes[other])
    sizes = {module: [*classes.values()].count(number) for module, number in classes.items()}
    rows = {
        **{"scene": 1, "unique": 1, "count": 1, "exist": 1, "filter_size[small]": 15, "relate[left]": 8},
        **{"query_size": 4, "equal_size": 4, "equal_integer": 3, "intersect": 2},
    }
    assert {module: sizes[module] for module in rows} == rows and len(set(classes.values())) == len(rows)


@pytest.mark.parametrize(("part", "number"), [("train", 25_000), ("validation", 3_000)])
def test_every_program_of_the_shared_data_gives_its_answer(part: str, number: int) -> None:
    data = published_data()
    questions = getattr(data, part)
    scenes = [data.scenes[k] for k in questions.scenes.tolist()]
    wrong = [
        questions.numbers[k]
        for k, scene in enumerate(scenes)
        if spoken(execute(questions.program(k), scene)) != questions.answer(k)
    ]
    assert not wrong and len(scenes) == number


# The reasoning tree


both_grammars = pytest.mark.parametrize("grammar", [clevr(), clevr_tidy()], ids=["free", "tidy"])


@both_grammars
def test_the_semantics_has_every_function_that_the_grammar_names(grammar: Grammar) -> None:
    interpret(grammar, ProgramSemantics(SCENE))


@both_grammars
@pytest.mark.parametrize("unique", [strict, lenient])
def test_the_reasoning_tree_gives_what_execution_gives(grammar: Grammar, unique: Unique) -> None:
    rng, found = random_source(), []
    for program in random_programs(rng, 200, 14, tidy=grammar == clevr_tidy()):
        scene = random_scene(rng, rng.choice([1, 2, 3, 4, None]))
        found.append(evaluate(parse(grammar, program), ProgramSemantics(scene, unique)))
        executed = execute(program, scene, unique=unique)
        assert found[-1] == executed and type(found[-1]) is type(executed), (program, scene)
    assert 0 < found.count(UNDEFINED) < 180
