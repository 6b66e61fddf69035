"""Long lists in JSON files, read element by element."""

import gzip
import json
from pathlib import Path

import ijson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ngs.errors import DataError
from ngs.tasks import json_list
from ngs.tasks.json_list import elements, whole

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(
    st.lists(VALUES, max_size=4),
    st.dictionaries(st.text(max_size=3), VALUES, max_size=2),
    st.sampled_from([None, 0, 3]),
    st.booleans(),
)
def test_all_elements_are_read_whatever_the_layout(tmp_path, values, others, indent, last) -> None:
    content = {**others, "items": values} if last else {"items": values, **others}
    path = tmp_path / "x.json"
    path.write_text("\ufeff\n " + json.dumps(content, indent=indent) + " \n", encoding="utf-8")
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
        ("", "the file is cut short here"),
        ("[1]", "an object with the list 'items' is needed"),
        ("{}", "one list 'items' is needed, and the object holds nothing"),
        ('{"other": 1}', "one list 'items' is needed, and the object holds 'other'"),
        ('{"items": [], "items": []}', "one list 'items' is needed, and the object holds 'items', 'items'"),
        ('{"items": {}}', "items is no list in brackets"),
        ('{"items": [1 2]}', "item 1: no proper JSON, "),
        ('{"items": [1, ]}', "item 1: no proper JSON, "),
        ('{"items": [{"a" 1}]}', "item 0: no proper JSON, "),
        ('{"items": [NaN]}', "item 0: no proper JSON, "),
        ('{"items": [1]} more', "no proper JSON, "),
        ('{"a" 1, "items": []}', "no proper JSON, "),
        ('{"items": [] 5}', "no proper JSON, "),
        ('{5: 1, "items": []}', "no proper JSON, "),
    ],
)
def test_what_is_no_such_list_is_refused(tmp_path, content, message) -> None:
    (tmp_path / "x.json").write_text(content)
    assert message in refusal(tmp_path / "x.json")


@pytest.mark.parametrize("backend", ["yajl2_c", "python"])
@pytest.mark.parametrize("deep", ["[" * 1_000_000, '{"a":' * 200_000], ids=["lists", "objects"])
def test_brackets_without_end_do_no_harm(tmp_path, monkeypatch, deep, backend) -> None:
    monkeypatch.setattr(json_list.ijson, "basic_parse", ijson.get_backend(backend).basic_parse)
    (tmp_path / "x.json").write_text(f'{{"items": [{deep}')
    assert "item 0: no proper JSON, more than 50 brackets within brackets" in refusal(tmp_path / "x.json")
    (tmp_path / "x.json").write_text(f'{{"others": {deep}')
    assert "no proper JSON, more than 50 brackets" in refusal(tmp_path / "x.json")


def test_what_cannot_be_read_is_refused(tmp_path) -> None:
    (tmp_path / "x.json").write_bytes(b'{"items": ["\xff"]}')
    assert "item 0: no proper JSON, " in refusal(tmp_path / "x.json")
    damaged = bytearray(gzip.compress(json.dumps({"items": list(range(1000))}).encode()))
    damaged[len(damaged) // 2] ^= 0xFF
    (tmp_path / "x.json").write_bytes(damaged)
    refusal(tmp_path / "x.json")
    for path in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(DataError, match="cannot be read: "):
            whole(path)


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(json_list, "LARGEST", 1_000_000)
    (tmp_path / "x.json").write_bytes(gzip.compress(b'{"items": [1, "' + b"a" * 10_000_000))
    assert "item 1: more than 1,000,000 bytes belong together" in refusal(tmp_path / "x.json")
    many = json.dumps({"items": ["a" * 1_000] * 5_000})
    (tmp_path / "x.json").write_bytes(gzip.compress(many.encode()))
    assert len(list(elements(tmp_path / "x.json", "items"))) == 5_000
