"""Long lists in JSON files, read element by element."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ngs.errors import DataError
from ngs.tasks import json_list
from ngs.tasks.json_list import elements, whole

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(
    st.lists(VALUES, max_size=4),
    st.dictionaries(st.text(max_size=3), VALUES, max_size=2),
    st.sampled_from([None, 0, 3]),
    st.integers(1, 9),
    st.booleans(),
)
def test_all_elements_are_read_whatever_the_layout(
    tmp_path, monkeypatch, values, others, indent, chunk, last
) -> None:
    """Cut anywhere: a chunk of a few characters ends within numbers, texts and marks."""
    monkeypatch.setattr(json_list, "CHUNK", chunk)
    content = {**others, "items": values} if last else {"items": values, **others}
    path = tmp_path / "x.json"
    path.write_text("\n " + json.dumps(content, indent=indent) + " \n", encoding="utf-8")
    assert list(elements(path, "items")) == list(enumerate(values))


def test_compressed_files_are_known_by_their_content(tmp_path) -> None:
    for name in ("x.json.gz", "x.json"):
        (tmp_path / name).write_bytes(gzip.compress(b'{"items": [1, 2]}'))
        assert [value for _, value in elements(tmp_path / name, "items")] == [1, 2]
    (tmp_path / "y.json.gz").write_bytes(b'{"items": [1, 2]}')
    with pytest.raises(DataError, match=r"y\.json\.gz: it is called \.gz, but is not compressed by gzip"):
        list(elements(tmp_path / "y.json.gz", "items"))


def test_text_before_the_fault_has_been_read(tmp_path) -> None:
    (tmp_path / "x.json").write_text('{"items": [{"a": 1}, {"a": ')
    reading = elements(tmp_path / "x.json", "items")
    assert next(reading) == (0, {"a": 1})
    with pytest.raises(DataError, match=r"x\.json: item 1: the file is cut short here"):
        next(reading)


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as refused:
        list(elements(path, "items"))
    assert str(refused.value).startswith(f"{path}: ")
    return str(refused.value)


@pytest.mark.parametrize("content", ['{"items": [{"a": "bc"}, {"d": [10, 2.5]}]}'])
def test_a_file_cut_anywhere_is_refused(tmp_path, content) -> None:
    path = tmp_path / "x.json"
    for length in range(len(content)):
        path.write_text(content[:length])
        assert "cut short" in refusal(path)
        path.write_bytes(gzip.compress(content[:length].encode()))
        assert "cut short" in refusal(path)
    compressed = gzip.compress(content.encode())
    for length in range(2, len(compressed)):
        path.write_bytes(compressed[:length])
        refusal(path)


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "an object with the list 'items' is needed, got the end: it is cut short"),
        ("[1]", "an object with the list 'items' is needed, got '[1]'"),
        ("{}", "one list 'items' is needed, and the object holds nothing"),
        ('{"other": 1}', "one list 'items' is needed, and the object holds 'other'"),
        ('{"items": [], "items": []}', "one list 'items' is needed, and the object holds 'items', 'items'"),
        ('{"items": {}}', "a list in brackets is needed, got '{}}'"),
        ('{"items": [1 2]}', "item 0: a comma or ] behind it is needed, got '2]}'"),
        ('{"items": [1, ]}', "item 1: no proper JSON, Expecting value, got ']}'"),
        ('{"items": [{"a" 1}]}', "item 0: no proper JSON, Expecting ':' delimiter"),
        ('{"items": [NaN]}', "item 0: no proper JSON, NaN is no number of JSON"),
        ('{"items": [' + "[" * 100_000 + "]}", "item 0: no proper JSON"),
        ('{"items": [1]} more', "more text follows the end: 'more'; remove it"),
        ('{"a" 1, "items": []}', "a colon behind 'a' is needed, got '1, \"items\": []}'"),
        ('{"items": [] 5}', "a comma or } behind 'items' is needed, got '5}'"),
        ('{5: 1, "items": []}', "a key in quotes is needed, got 5"),
    ],
)
def test_what_is_no_such_list_is_refused(tmp_path, content, message) -> None:
    (tmp_path / "x.json").write_text(content)
    assert message in refusal(tmp_path / "x.json")


def test_what_cannot_be_read_is_refused(tmp_path) -> None:
    (tmp_path / "x.json").write_bytes(b'{"items": ["\xff"]}')
    assert "no UTF-8 text" in refusal(tmp_path / "x.json")
    damaged = bytearray(gzip.compress(json.dumps({"items": list(range(1000))}).encode()))
    damaged[len(damaged) // 2] ^= 0xFF
    (tmp_path / "x.json").write_bytes(damaged)
    refusal(tmp_path / "x.json")
    for path in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(DataError, match="cannot be read: "):
            whole(path)


def test_a_fault_is_found_before_the_whole_file_is_in_memory(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(json_list, "CHUNK", 100)
    monkeypatch.setattr(json_list, "LARGEST", 1_000)
    (tmp_path / "x.json").write_text('{"items": [{"a": 1} x' + " " * 1_000_000 + "]}")
    assert "item 0: a comma or ] behind it is needed, got 'x" in refusal(tmp_path / "x.json")
