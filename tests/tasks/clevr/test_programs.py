"""Tables of programs tell what each module gives, and what differs."""

import pytest

from ngs.tasks.clevr.execution import trace
from ngs.tasks.clevr.program_text import Executed, about_objects
from ngs.tasks.clevr.report.report import Working, differing
from ngs.tasks.clevr.semantics import strict
from ngs.tasks.report.sections import render
from tests.documents import rows_of, said
from tests.tasks.clevr.readers import row

SCENE = row("small red rubber cube", "large red metal sphere", "large blue metal sphere")
RED, CUBE, BLUE = "filter_color[red]", "filter_shape[cube]", "filter_color[blue]"


def table_of(*program: str, marked: frozenset[int] = frozenset()) -> str:
    working = Working("read", "read", Executed.of(program, SCENE, strict), marked, 0.5)
    question = {"text": "", "answer": "", "drawing": "", "workings": [working]}
    return render("tasks/clevr/report/card.html", each=question)


def test_every_module_has_its_value() -> None:
    text = table_of("count", RED, "relate[left]", "unique", BLUE, "scene")
    assert said(text).startswith("read = 2 p .5")
    assert rows_of(text, "program") == [
        ["count", "2"],
        [RED, "{1, 2}"],
        ["relate[left]", "{1, 2}"],
        ["unique", "object 3"],
        [BLUE, "{3}"],
        ["scene", "all 3"],
    ]
    assert "--depth" not in text


def test_two_branches_are_indented() -> None:
    text = table_of("greater_than", "count", RED, "scene", "count", CUBE, BLUE, "scene")
    assert [row[1] for row in rows_of(text, "program")] == [
        *["yes", "2", "{1, 2}", "all 3"],
        *["0", "none", "{3}", "all 3"],
    ]
    assert text.count("--depth:1") == 7


def test_what_is_undefined_is_explained() -> None:
    text = table_of("query_shape", "unique", RED, "scene")
    assert [row[1] for row in rows_of(text, "program")] == ["undefined", "undefined", "{1, 2}", "all 3"]
    assert "`unique` needs exactly one" in said(text)


def test_what_is_no_program_is_listed() -> None:
    text = table_of("scene", "count", marked=frozenset({1}))
    assert rows_of(text, "program") == [["scene", ""], ["count", ""]]
    assert "does not type-check" in said(text)
    assert text.count('class="marked"') == 1


@pytest.mark.parametrize(
    "program, objects",
    [
        (("count", RED, "scene"), {0, 1}),
        (("query_size", "unique", BLUE, "scene"), {2}),
        (
            ("equal_size", "query_size", "unique", BLUE, "scene", "query_size", "unique", CUBE, "scene"),
            {0, 2},
        ),
        (("query_size", "unique", RED, "scene"), set()),
    ],
)
def test_the_objects_that_an_answer_is_about(program: tuple[str, ...], objects: set[int]) -> None:
    assert about_objects(trace(program, SCENE)) == objects


def test_what_is_no_program_is_about_nothing() -> None:
    assert about_objects(None) == frozenset()


def test_what_moved_differs() -> None:
    one = ("count", RED, "relate[left]", "unique", BLUE, "scene")
    other = ("count", "relate[left]", "unique", RED, BLUE, "scene")
    assert (differing(one, other), differing(other, one)) == ({1}, {3})
    assert differing(one, one) == frozenset()
