"""Tensors in a file: what comes back is what was saved, or a refusal that names the file."""

import stat
from pathlib import Path
from random import Random

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from ngs.errors import DataError
from ngs.learning import tensor_file
from ngs.learning.tensor_file import load, replacing, save

KIND, REMEDY = "a test file", "make another"
FACTS = {"step": 3, "best": {"calculation": 0.5}, "names": ["ü", "b"]}


def tensors() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(3, 4, generator=generator)
    return {
        "table": table,
        "turned": table.T,  # a view: shares memory with the first, and is not contiguous
        "half": table.bfloat16(),
        "double": table.double(),
        "numbers": torch.arange(5),
        "small": torch.arange(4, dtype=torch.int16),
        "flags": torch.tensor([True, False]),
        "scalar": torch.tensor(2.5),
        "nothing": torch.zeros(0, 3),
        "image": torch.randn(2, 1, 3, 3, generator=generator).to(memory_format=torch.channels_last),
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "file.safetensors"
    save(path, KIND, tensors(), FACTS)
    return path


def test_what_is_loaded_is_what_was_saved(path: Path) -> None:
    found, facts = load(path, KIND, REMEDY)
    assert facts == FACTS
    assert found.keys() == tensors().keys()
    for name, tensor in tensors().items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)


def test_the_same_content_makes_the_same_file(path: Path, tmp_path: Path) -> None:
    save(tmp_path / "again", KIND, dict(reversed(tensors().items())), dict(reversed(FACTS.items())))
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_what_is_loaded_is_ones_own(path: Path) -> None:
    found, _ = load(path, KIND, REMEDY)
    found["table"].zero_()
    assert torch.equal(load(path, KIND, REMEDY)[0]["table"], tensors()["table"])


def test_any_damaged_byte_is_noticed(path: Path) -> None:
    content = path.read_bytes()
    seed = 0
    print(f"seed {seed}")
    random = Random(seed)
    header = 8 + int.from_bytes(content[:8], "little")
    for place in [*range(0, header, 3), *random.sample(range(header, len(content)), 60)]:
        damaged = bytearray(content)
        damaged[place] ^= 1 << random.randrange(8)
        path.write_bytes(damaged)
        try:
            found, facts = load(path, KIND, REMEDY)
        except DataError as error:
            assert str(path) in str(error)
        else:  # a change that means the same: another space between two names
            assert facts == FACTS
            assert all(torch.equal(found[name], tensor) for name, tensor in tensors().items())


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_file_cut_short_is_refused(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DataError, match=r"file\.safetensors is cut short, or not a test file.*make another"):
        load(path, KIND, REMEDY)


def test_other_files_are_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a test file, not a checkpoint; make another"):
        load(path, "a checkpoint", REMEDY)
    save_file({"a": torch.zeros(1)}, tmp_path / "foreign")
    with pytest.raises(DataError, match="foreign is something else, not a test file"):
        load(tmp_path / "foreign", KIND, REMEDY)
    (tmp_path / "notes.txt").write_text("a shopping list, long enough to look like a header " * 9)
    with pytest.raises(DataError, match=r"notes\.txt is cut short, or not a test file"):
        load(tmp_path / "notes.txt", KIND, REMEDY)
    with pytest.raises(DataError, match="none: there is no such file"):
        load(tmp_path / "none", KIND, REMEDY)
    with pytest.raises(DataError, match=str(tmp_path)):
        load(tmp_path, KIND, REMEDY)


def test_a_file_is_replaced_whole_or_not_at_all(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(RuntimeError, match="power cut"), replacing(path) as stage:
        stage.write_text("half of it")
        raise RuntimeError("power cut")
    assert path.read_bytes() == before
    save(path, KIND, {"a": torch.ones(1)}, {})
    assert load(path, KIND, REMEDY)[0]["a"] == 1
    assert [each.name for each in path.parent.iterdir()] == [path.name]  # nothing is left lying about


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="cannot be written"):
        save(tmp_path / "file" / "below", KIND, {}, {})


def test_a_full_disk_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise SafetensorError("I/O error: No space left on device")

    before = path.read_bytes()
    monkeypatch.setattr(tensor_file, "save_file", full)
    with pytest.raises(DataError, match="cannot be written: I/O error: No space left on device; give a path"):
        save(path, KIND, tensors(), FACTS)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_others_may_read_what_is_written(path: Path) -> None:
    plain = path.parent / "plain"
    plain.write_text("")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
