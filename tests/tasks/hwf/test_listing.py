"""Lists of formulas: every entry at its line, every fault told."""

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngs.errors import DataError
from ngs.tasks.hwf.dataset import value_of
from ngs.tasks.hwf.listing import LONGEST, Entry, as_entry, faults, label, objects

HERE = "list.json, line 3, entry 2"
ENTRIES = st.dictionaries(st.text(max_size=4), st.none() | st.integers() | st.text(max_size=4), max_size=3)
SPACES = st.sampled_from(["", " ", "\n", "\r\n", "\t\n\n "])
INDENTS = st.none() | st.integers(0, 2)


@given(st.lists(st.tuples(SPACES, ENTRIES, INDENTS, SPACES), max_size=5), SPACES)
def test_entries_come_in_order_with_the_lines_where_they_begin(parts, around) -> None:
    text, lines = f"{around}[", []
    for number, (before, entry, indent, behind) in enumerate(parts):
        text += ("," if number else "") + before
        lines.append(1 + text.count("\n"))
        text += json.dumps(entry, indent=indent, ensure_ascii=False) + behind
    found = list(objects(f"{text}]{around}", "list.json"))
    assert [dict(value) for _, value in found] == [entry for _, entry, _, _ in parts]
    assert [place for place, _ in found] == [
        f"list.json, line {n}, entry {k}" for k, n in enumerate(lines, 1)
    ]


@pytest.mark.parametrize(
    "text, where",
    [
        ('\n{"id": 1}', "list.json: a list in brackets is needed"),
        ('[{"id": 1},\n{"id" 1}]', "list.json, line 2, column 7: no proper JSON, Expecting ':'"),
        ('[{"id": 1},\n\n{"id":\n 1}', "list.json, line 4, column 4: no proper JSON, Expecting ','"),
        ("[1]\n[2]", "list.json, line 2, column 1: no proper JSON, Extra data"),
        ("[" + "1" * 5000 + "]", "list.json: no proper JSON, Exceeds the limit"),
        ("[1,\n" + "[" * 100_000, "list.json: no proper JSON"),
    ],
)
def test_text_that_is_no_list_is_refused_at_its_line(text, where) -> None:
    with pytest.raises(DataError) as refused:
        list(objects(text, "list.json"))
    assert str(refused.value).startswith(where)


def given_entry(**changes: Any) -> Any:
    """What the reader makes of one object of a list, here with some of its fields changed."""
    fields = {
        "id": "train_1",
        "img_paths": ["1/a.jpg", "+/b.jpg", "2/c.jpg"],
        "expr": "1+2",
        "res": 3,
    } | changes
    ((_, value),) = objects(json.dumps([fields]), "list.json")
    return value


def test_a_sound_entry_has_no_faults() -> None:
    entry = as_entry(HERE, given_entry(more="unknown keys are no fault"))
    assert entry == Entry(HERE, "train_1", "1+2", ("1/a.jpg", "+/b.jpg", "2/c.jpg"), 3)
    assert list(faults(entry)) == []


@pytest.mark.parametrize(
    "value, what",
    [
        ("text", "an object with id, img_paths, expr and res is needed"),
        ([], "an object with id, img_paths, expr and res is needed"),
        ((("id", "a"), ("id", "b")), "a key is written twice"),
        ((), "id and img_paths and expr and res missing"),
        (given_entry(id=7), "id is 7, and printable text is needed"),
        (given_entry(id=""), "id is '', and printable text is needed"),
        (given_entry(id="a\nb"), r"id is 'a\nb', and printable text is needed"),
        (given_entry(expr=None), "expr is None, and printable text is needed"),
        (given_entry(img_paths="1/a.jpg"), "img_paths is no list of texts"),
        (given_entry(img_paths=["1/a.jpg", None]), "img_paths is no list of texts"),
        (given_entry(res="3"), "res is '3', and a number is needed"),
        (given_entry(res=True), "res is True, and a number is needed"),
        (given_entry(res=None), "res is None, and a number is needed"),
        (given_entry(res=float("nan")), "res is nan, and a number is needed"),
        (given_entry(res=float("inf")), "res is inf, and a number is needed"),
    ],
)
def test_what_an_entry_lacks_is_told(value, what) -> None:
    with pytest.raises(DataError) as refused:
        as_entry(HERE, value)
    assert str(refused.value) == what


@pytest.mark.parametrize(
    "changes, what",
    [
        ({"res": 4}, ["res is 4, but 1+2 is 3"]),
        ({"res": 3.00002}, ["res is 3.00002, but 1+2 is 3"]),
        ({"res": -(10**400)}, ["res is -1000"]),
        ({"expr": "1^2"}, ["expr is '1^2': the grammar has no symbol '^'", "shows +, but expr has ^ there"]),
        ({"expr": "1+-"}, ["expr is '1+-': '1 + -' is not a sentence", "shows 2, but expr has - there"]),
        (
            {"expr": "1/0", "img_paths": ["1/a.jpg", "div/b.jpg", "0/c.jpg"]},
            ["expr is '1/0', which divides by zero and has no result"],
        ),
        ({"expr": "1+2-0"}, ["3 images for the 5 symbols of '1+2-0'"]),
        ({"img_paths": []}, ["0 images for the 3 symbols of '1+2'"]),
        ({"expr": "1+" * 50 + "1"}, ["expr has 101 symbols", "3 images for the 101 symbols of '1+1+"]),
        ({"img_paths": ["7/a.jpg", "+/b.jpg", "2/c.jpg"]}, ["'7/a.jpg' shows 7, but expr has 1 there"]),
        ({"img_paths": ["../a.jpg", "+/b.jpg", "2/c.jpg"]}, ["'../a.jpg' is not '<class>/<file>'"]),
    ],
)
def test_faults_are_told(changes, what) -> None:
    found = list(faults(as_entry(HERE, given_entry(**changes))))
    assert len(found) == len(what)
    for told, expected in zip(found, what, strict=True):
        assert expected in told
        assert len(told) < 200


def test_results_rounded_to_five_decimals_are_sound() -> None:
    changes = {"expr": "2/3", "img_paths": ["2/a.jpg", "div/b.jpg", "3/c.jpg"]}
    assert list(faults(as_entry(HERE, given_entry(**changes, res=0.66667)))) == []
    assert list(faults(as_entry(HERE, given_entry(**changes, res=0.6667)))) == [
        "res is 0.6667, but 2/3 is 2/3"
    ]
    assert value_of("2/3") == Fraction(2, 3)


def test_the_longest_formula_is_read() -> None:
    assert value_of("1+" * (LONGEST // 2) + "1") == LONGEST // 2 + 1


@pytest.mark.parametrize(
    "image, symbol",
    [
        *[("times/a.jpg", "*"), ("div/a.jpg", "/"), ("-/-_1.jpg", "-"), ("0/x", "0")],
        *[
            (bad, None)
            for bad in ("a.jpg", "x/a.jpg", "4/", "4/..", "4/../../x", "4\\a", "/4/a", "4/a\n", "")
        ],
    ],
)
def test_the_folder_of_an_image_is_its_label(image, symbol) -> None:
    assert label(image) == symbol
