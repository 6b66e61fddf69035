"""Packed files: what is written is read, what is not whole is refused, and nothing is half-written."""

import errno
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
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
    """Names of formulas and sources of images may be anything."""
    train = replace(
        drawn.train, answers=(answer, *drawn.train.answers[1:]), names=(text, *drawn.train.names[1:])
    )
    given_data = replace(drawn, name="häß 1", train=train, sources=(text, *drawn.sources[1:]))
    packed.write(tmp_path / "x.ngs", given_data)
    assert same(packed.load(str(tmp_path / "x.ngs")), given_data)


def test_each_length_is_divided_by_the_same_share_in_the_order_of_published_results() -> None:
    data = embedded(train=200, test=1)
    formulas = data.examples(data.train)
    first, rest = (part.inputs.where[:, 0].tolist() for part in divided(formulas, 0.25, seed=0))
    firsts = formulas.inputs.where[:, 0].tolist()  # the image of its first symbol is a formula's own
    assert first[:3] == [firsts[k] for k in (13, 16, 19)]
    assert sorted(first + rest) == firsts
    lengths, chosen = (Counter(formulas.lengths[np.isin(firsts, some)]) for some in (firsts, first))
    assert chosen == {n: number // 4 for n, number in lengths.items()}


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


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's table of mapped files")
def test_images_stay_in_the_file(tmp_path, data) -> None:
    packed.write(tmp_path / "x.ngs", data)
    read = packed.read(tmp_path / "x.ngs")
    mapped = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if "x.ngs" in line]
    spans = [[int(end, 16) for end in line[0].split("-")] for line in mapped]
    assert any(low <= read.images.data_ptr() < high for low, high in spans)
    read.images.zero_()  # of this process alone
    assert same(packed.read(tmp_path / "x.ngs"), data)


def test_another_version_is_refused(tmp_path, data, monkeypatch) -> None:
    monkeypatch.setattr(tensor_file, "VERSION", "0")
    packed.write(tmp_path / "x.ngs", data)
    monkeypatch.undo()
    assert "is of version 0, and 1 is needed" in refusal(tmp_path / "x.ngs")


def changed(data: HandwrittenFormulas, part: str, **changes: Any) -> HandwrittenFormulas:
    return replace(data, **{part: replace(getattr(data, part), **changes)})


@pytest.mark.parametrize("where", [[[0, -1, 0]], [[-1]]])
def test_formulas_with_gaps_are_neither_written_nor_read(tmp_path, data, where, monkeypatch) -> None:
    path, spoiled = tmp_path / "x.ngs", changed(data, "test", where=torch.tensor(where))
    with pytest.raises(DataError, match="test: a formula is empty, or has a gap"):
        packed.write(path, spoiled)
    assert os.listdir(tmp_path) == []
    monkeypatch.setattr(Format, "faults", lambda *_: iter(()))
    packed.write(path, spoiled)
    monkeypatch.undo()
    assert "test: a formula is empty, or has a gap" in refusal(path)


@pytest.mark.parametrize("answer", [Fraction(2**63), Fraction(1, 2**63), Fraction(-(2**70))])
def test_answers_beyond_64_bits_are_refused(tmp_path, data, answer) -> None:
    with pytest.raises(DataError, match=r"x\.ngs cannot be written: .* more than 64 bits"):
        packed.write(tmp_path / "x.ngs", changed(data, "test", answers=(answer,)))


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("error, told", [(FULL, DataError), (KeyboardInterrupt(), KeyboardInterrupt)])
@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_a_failed_write_leaves_what_was_there(tmp_path, data, monkeypatch, fails, error, told) -> None:
    def failing(*_: object) -> None:
        raise error

    path = tmp_path / "x.ngs"
    for there in ([], ["x.ngs"]):
        with monkeypatch.context() as patch:
            patch.setattr(os, fails, failing)
            with pytest.raises(told) as raised:
                packed.write(path, replace(data, name="other"))
        assert told is not DataError or "x.ngs cannot be written: No space left" in str(raised.value)
        assert os.listdir(tmp_path) == there
        packed.write(path, data)
    assert same(packed.read(path), data)


WRITE_AND_BE_KILLED = """
import os, signal, sys
from collections import Counter
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
