"""Packed files: what is written is read, what is not whole is refused, and nothing is half-written."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ngs.errors import DataError
from ngs.learning import tensor_file
from ngs.learning.packed_file import Format
from ngs.tasks.hwf import packed
from ngs.tasks.hwf.dataset import HandwrittenFormulas, divided
from ngs.tasks.hwf.embedded import embedded
from tests.tasks.hwf.datasets import dataset, datasets, same


@pytest.fixture
def data() -> HandwrittenFormulas:
    shown = [("1", 0), ("+", 10), ("2", 20), ("2", 30)]
    return dataset(shown, [("1+2", [0, 1, 2]), ("2", [3])], [("2", [2])])


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as refused:
        packed.read(path)
    assert str(path) in str(refused.value)
    return str(refused.value)


ANSWERS = st.builds(Fraction, st.integers(-(2**63), 2**63 - 1), st.integers(1, 2**63 - 1))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(datasets(), st.text(max_size=5), ANSWERS)
def test_what_is_written_is_read(tmp_path, drawn, text, answer) -> None:
    train = replace(drawn.train, answers=(answer, *drawn.train.answers[1:]))
    given_data = replace(drawn, train=train, sources=(text, *drawn.sources[1:]))
    packed.write(tmp_path / "x.ngs", given_data)
    assert same(packed.read(tmp_path / "x.ngs"), given_data)


def test_the_same_data_makes_the_same_file(tmp_path, data) -> None:
    for name in "abcdefgh":
        packed.write(tmp_path / name, data)
    assert len({(tmp_path / name).read_bytes() for name in "abcdefgh"}) == 1


def test_a_packed_file_is_loaded_by_its_path(tmp_path, data) -> None:
    packed.write(tmp_path / "x.ngs", data)
    assert same(packed.load(str(tmp_path / "x.ngs")), data)


def test_each_length_is_divided_by_the_same_share_in_the_order_of_published_results() -> None:
    formulas = embedded(train=200, test=1).train
    first, rest = divided(formulas, 0.25, seed=0)
    lengths = {n: int((formulas.lengths == n).sum()) for n in (1, 3, 5, 7)}
    assert {n: int((first.lengths == n).sum()) for n in lengths} == {n: c // 4 for n, c in lengths.items()}
    assert sorted(first.names + rest.names) == sorted(formulas.names)
    assert first.names[:3] == ("train 13", "train 16", "train 19")


def test_names_may_be_anything(tmp_path, data) -> None:
    odd = ("line\nbreak", 'quote"\\')
    packed.write(tmp_path / "x.ngs", replace(data, name="häß 1", train=replace(data.train, names=odd)))
    read = packed.read(tmp_path / "x.ngs")
    assert (read.name, read.train.names) == ("häß 1", odd)


@pytest.mark.parametrize("images", [1, 2])
def test_tensors_may_be_slices_of_others(tmp_path, images) -> None:
    data = dataset([("1", grey) for grey in range(images)], [("1", [0])], [("1", [images - 1])])
    sliced = replace(
        data,
        columns=torch.stack([data.columns] * 3, 1)[:, 1],
        images=torch.stack([data.images] * 2, 3)[..., 1],
    )
    packed.write(tmp_path / "x.ngs", sliced)
    assert same(packed.read(tmp_path / "x.ngs"), data)


def test_a_part_may_be_empty(tmp_path, data) -> None:
    data = replace(data, test=data.test.select([]))
    packed.write(tmp_path / "x.ngs", data)
    assert same(packed.read(tmp_path / "x.ngs"), data)


def test_folders_are_made_and_permissions_are_the_usual(tmp_path, data) -> None:
    path = tmp_path / "a" / "b" / "x.ngs"
    packed.write(path, data)
    (tmp_path / "usual").touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "usual").stat().st_mode)
    assert os.listdir(path.parent) == ["x.ngs"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's table of mapped files")
def test_images_stay_in_the_file(tmp_path, data) -> None:
    packed.write(tmp_path / "x.ngs", data)
    read = packed.read(tmp_path / "x.ngs")
    mapped = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if "x.ngs" in line]
    spans = [[int(end, 16) for end in line[0].split("-")] for line in mapped]
    assert any(low <= read.images.data_ptr() < high for low, high in spans)
    read.images.zero_()  # of this process alone
    assert same(packed.read(tmp_path / "x.ngs"), data)


def test_every_changed_byte_is_noticed(tmp_path, data) -> None:
    path = tmp_path / "x.ngs"
    packed.write(path, data)
    content = path.read_bytes()
    begin = content.index(b"}}") + 2
    for at in [*range(8, begin, 7), *range(begin, len(content), 97)]:
        changed = bytearray(content)
        changed[at] ^= 0x01
        path.write_bytes(changed)
        refusal(path)


def test_another_version_is_refused(tmp_path, data, monkeypatch) -> None:
    monkeypatch.setattr(tensor_file, "VERSION", "0")
    packed.write(tmp_path / "x.ngs", data)
    monkeypatch.undo()
    assert "is of version 0, and 1 is needed" in refusal(tmp_path / "x.ngs")


def changed(data: HandwrittenFormulas, part: str, **changes: Any) -> HandwrittenFormulas:
    return replace(data, **{part: replace(getattr(data, part), **changes)})


FAULTS = [
    (lambda data: replace(data, columns=data.columns + 10), "columns has 10 to 16, and 0 to below 14"),
    (lambda data: replace(data, sources=("a",)), "sources is [1], and [4] is needed"),
    (lambda data: changed(data, "test", answers=()), "test.numerators is [0], and [1] is needed"),
    (lambda data: changed(data, "test", where=torch.tensor([[4]])), "test.where has 4 to 4"),
    (lambda data: changed(data, "test", where=torch.tensor([[-2]])), "test.where has -2 to -2"),
    (
        lambda data: changed(data, "test", where=torch.tensor([[0, -1, 0]])),
        "test: a formula is empty, or has",
    ),
    (
        lambda data: changed(data, "test", where=torch.tensor([[-1]])),
        "test: a formula is empty, or has a gap",
    ),
]


@pytest.mark.parametrize("spoil, fault", FAULTS)
def test_what_is_no_data_set_is_neither_written_nor_read(tmp_path, data, spoil, fault, monkeypatch) -> None:
    path = tmp_path / "x.ngs"
    with pytest.raises(DataError) as refused:
        packed.write(path, spoil(data))
    assert fault in str(refused.value) and os.listdir(tmp_path) == []
    monkeypatch.setattr(Format, "faults", lambda *_: iter(()))
    packed.write(path, spoil(data))
    monkeypatch.undo()
    assert fault in refusal(path)


@pytest.mark.parametrize("answer", [Fraction(2**63), Fraction(1, 2**63), Fraction(-(2**70))])
def test_answers_beyond_64_bits_are_refused(tmp_path, data, answer) -> None:
    with pytest.raises(DataError, match=r"x\.ngs cannot be written: .* more than 64 bits"):
        packed.write(tmp_path / "x.ngs", changed(data, "test", answers=(answer,)))


def test_a_name_that_cannot_be_printed_is_refused(tmp_path, data) -> None:
    with pytest.raises(DataError, match=r"the name 'a\\ud800' cannot be printed"):
        packed.write(tmp_path / "x.ngs", replace(data, name="a\ud800"))


def test_a_failed_write_leaves_what_was_there(tmp_path, data, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=r"x\.ngs cannot be written: No space left on device"):
        packed.write(tmp_path / "x.ngs", data)
    assert os.listdir(tmp_path) == []
    monkeypatch.undo()
    packed.write(tmp_path / "x.ngs", data)
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(DataError, match="No space left on device"):
        packed.write(tmp_path / "x.ngs", replace(data, name="other"))
    assert os.listdir(tmp_path) == ["x.ngs"]
    assert same(packed.read(tmp_path / "x.ngs"), data)


def test_an_interrupted_write_leaves_nothing(tmp_path, data, monkeypatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        packed.write(tmp_path / "x.ngs", data)
    assert os.listdir(tmp_path) == []


WRITE_AND_BE_KILLED = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path
from ngs.tasks.hwf import packed

path = Path(sys.argv[1])
data = packed.read(path)
os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)
packed.write(path, replace(data, name="other"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills a process with SIGKILL")
def test_a_killed_write_leaves_what_was_there(tmp_path, data) -> None:
    path = tmp_path / "x.ngs"
    packed.write(path, data)
    run = subprocess.run([sys.executable, "-c", WRITE_AND_BE_KILLED, path], capture_output=True, text=True)
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert len(os.listdir(tmp_path)) == 2  # it was killed while the new file was there beside the old one
    assert same(packed.read(path), data)
