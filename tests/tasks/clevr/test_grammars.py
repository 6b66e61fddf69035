"""The grammars of CLEVR's programs: their symbols, members, and one tree for each sentence."""

from itertools import pairwise

import pytest

from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import normal_form
from ngs.grammar.rules import Nonterminal, Symbol, Terminal
from ngs.grammar.validation import nullable
from ngs.tasks.clevr.program import clevr, clevr_tidy
from ngs.tasks.clevr.scenes import ATTRIBUTES
from tests.enumeration import sentences


def trees(grammar: Grammar, program: str) -> int:
    sentence = program.split()
    return normal_form(grammar).count(len(sentence), sentence)


def first(grammar: Grammar, symbol: Symbol) -> list[str]:
    """The terminals that can begin `symbol`, once for each way."""
    if isinstance(symbol, Terminal):
        return [symbol.name]
    return [name for rule in grammar.by_head[symbol] for name in first(grammar, rule.body[0])]


both_grammars = pytest.mark.parametrize("grammar", [clevr(), clevr_tidy()], ids=["clevr", "clevr tidy"])


@both_grammars
def test_reads_back_and_has_no_empty_parts(grammar: Grammar) -> None:
    assert Grammar.parse(str(grammar)) == grammar
    assert nullable(grammar.rules) == set()
    assert grammar.start == Nonterminal("start")


SIGNATURES = {
    "filter": {f"filter_{name}[{value}]" for name, values in ATTRIBUTES.items() for value in values},
    "relation": {f"relate[{side}]" for side in ("left", "right", "front", "behind")}
    | {f"same_{attribute}" for attribute in ATTRIBUTES},
    "query": {f"query_{attribute}" for attribute in ATTRIBUTES},
    "equality": {f"equal_{attribute}" for attribute in ATTRIBUTES},
    "comparison": {"equal_integer", "greater_than", "less_than"},
    "set_operation": {"intersect", "union"},
}


def test_clevr_has_one_rule_for_each_signature() -> None:
    for name, modules in SIGNATURES.items():
        rules = clevr().by_head[Nonterminal(name)]
        assert {rule.body for rule in rules} == {(Terminal(module),) for module in modules}
        assert all(rule.renames for rule in rules)


def test_clevr_has_forty_symbols() -> None:
    alone = {"scene", "unique", "count", "exist"}
    assert set(clevr().symbols) == alone.union(*SIGNATURES.values())
    assert len(clevr().symbols) == 40
    assert len(SIGNATURES["filter"]) == 15
    assert sum(symbol.startswith("relate[") for symbol in clevr().symbols) == 4
    assert sum("[" not in symbol for symbol in clevr().symbols) == 21


def test_clevr_functions_and_the_modules_they_take() -> None:
    shown = {rule.function: f"{rule.head}: {rule}" for rule in clevr().rules if rule.function}
    assert shown == {
        "scene": 'objects: "scene" -> scene',
        "apply_filter": "objects: filter objects -> apply_filter",
        "relate": "objects: relation object -> relate",
        "combine": "objects: set_operation objects objects -> combine",
        "unique": 'object: "unique" objects -> unique',
        "count": 'integer: "count" objects -> count',
        "query": "concept: query object -> query",
        "exist": 'truth: "exist" objects -> exist',
        "compare": "truth: comparison integer integer -> compare",
        "equal": "truth: equality concept concept -> equal",
    }


@both_grammars
def test_programs_are_unambiguous_as_the_next_symbol_decides(grammar: Grammar) -> None:
    for head in grammar.by_head:
        found = first(grammar, head)
        assert len(found) == len(set(found))


PROGRAMS = [  # one for each kind of question of the dataset
    "count filter_shape[cube] filter_material[metal] filter_color[cyan] filter_size[large] scene",
    "exist filter_color[green] relate[front] unique filter_color[green] filter_size[large] scene",
    "query_size unique filter_shape[cube] relate[behind] unique filter_color[cyan] "
    "relate[front] unique filter_color[green] scene",
    "query_size unique filter_color[brown] relate[right] unique filter_size[small] relate[right] unique "
    "filter_size[large] relate[behind] unique filter_shape[sphere] filter_material[metal] scene",
    "exist filter_shape[sphere] same_color unique filter_shape[cube] filter_material[rubber] scene",
    "equal_material query_material unique filter_color[cyan] scene query_material unique "
    "filter_shape[cylinder] relate[left] unique filter_size[small] scene",
    "greater_than count filter_color[gray] filter_size[small] scene count filter_size[large] scene",
    "query_size unique filter_material[metal] intersect relate[behind] unique filter_color[cyan] scene "
    "relate[right] unique filter_shape[sphere] scene",
    "count filter_color[blue] union filter_shape[cube] scene filter_material[rubber] scene",
]


@both_grammars
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_of_the_dataset_have_one_tree(program: str, grammar: Grammar) -> None:
    assert trees(grammar, program) == 1


@pytest.mark.parametrize(
    "program",
    [
        "",
        "scene",
        "count",
        "unique scene",
        "count unique scene",
        "query_color scene",
        "relate[left] unique scene",
        "count relate[left] scene",
        "count scene scene",
        "union scene scene",
        "equal_integer count scene",
        "equal_color count scene count scene",
        "scene filter_color[red] count",  # postfix
    ],
)
def test_what_is_no_clevr_program(program: str) -> None:
    assert trees(clevr(), program) == 0


def test_clevr_programs_of_two_to_four_modules() -> None:
    two = 2  # count|exist scene
    three = 2 * 15 + 4  # count|exist filter scene, query unique scene
    four = 2 * (15**2 + 2 + 8) + 4 * 15  # of two filters, two scenes, a relation; query of a filter
    assert [len(sentences(clevr(), length)) for length in range(5)] == [0, 0, two, three, four]


def is_tidy(program: tuple[str, ...]) -> bool:
    """Shape, material, colour, size: each at most once before what is described."""
    order = ("filter_shape", "filter_material", "filter_color", "filter_size")
    places = [order.index(name) if (name := m.partition("[")[0]) in order else -1 for m in program]
    return all(after == -1 or before < after for before, after in pairwise(places))


def test_tidy_programs_have_the_same_columns() -> None:
    assert clevr_tidy().symbols == clevr().symbols


@pytest.mark.parametrize("length", range(6))
def test_tidy_programs_are_the_clevr_programs_that_are_tidy(length: int) -> None:
    every = sentences(clevr(), length)
    tidy = [program for program in every if is_tidy(program)]
    assert sorted(sentences(clevr_tidy(), length)) == sorted(tidy)
    assert (len(tidy) < len(every)) == (length > 3)


@pytest.mark.parametrize(
    "program",
    [
        "count filter_color[red] filter_color[red] scene",
        "count filter_color[red] filter_color[blue] scene",
        "count filter_size[small] filter_shape[cube] scene",
        "exist union scene filter_color[red] filter_material[metal] scene",
    ],
)
def test_programs_that_are_not_tidy(program: str) -> None:
    assert trees(clevr(), program) == 1
    assert trees(clevr_tidy(), program) == 0
