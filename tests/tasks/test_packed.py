"""Packed files of every task: what a schema declares is checked, tensor by tensor and column by column."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from ngs.errors import DataError
from ngs.learning import tensor_file
from ngs.learning.packed_file import Column, Format, Group
from ngs.tasks.clevr import official
from ngs.tasks.clevr import packed as clevr_packed
from ngs.tasks.hwf import packed as hwf_packed
from ngs.tasks.pictures import picture_packed
from tests.tasks.clevr.official_files import sound_files, written
from tests.tasks.hwf.datasets import dataset
from tests.tasks.pictures.picture_folders import small_data

FORMATS = {"hwf": hwf_packed.FORMAT, "clevr": clevr_packed.FORMAT, "pictures": picture_packed.FORMAT}
READ: dict[str, Callable[[Path], object]] = {
    "hwf": hwf_packed.read,
    "clevr": clevr_packed.read,
    "pictures": picture_packed.read,
}


@pytest.fixture(scope="module", params=FORMATS)
def packed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "hwf":
        shown = [("1", 0), ("+", 10), ("2", 20), ("2", 30)]
        hwf_packed.write(folder / "x", dataset(shown, [("1+2", [0, 1, 2]), ("2", [3])], [("2", [2])]))
    elif request.param == "clevr":
        clevr_packed.write(folder / "x", official.read(written(folder / "official", sound_files())).data)
    else:
        picture_packed.write(folder / "x", small_data(folder))
    return request.param, folder / "x"


def refusal(task: str, path: Path) -> str:
    with pytest.raises(DataError) as refused:
        READ[task](path)
    assert str(refused.value).startswith(str(path)) and FORMATS[task].remedy in str(refused.value)
    return str(refused.value)


def columns(group: Group, before: str = "") -> Iterator[tuple[str, Column]]:
    for name, each in group.columns.items():
        if isinstance(each, Group):
            yield from columns(each, f"{before}{name}.")
        else:
            yield f"{before}{name}", each


def spoiled(packed: tuple[str, Path], tmp_path: Path, changes: dict[str, Tensor | None]) -> str:
    """The refusal of the file where some tensors are others, or missing."""
    task, path = packed
    kind = FORMATS[task].kind
    tensors, facts = tensor_file.load(path, kind, "")
    changed: dict[str, Any] = {**tensors, **changes}
    tensor_file.save(tmp_path / "x", kind, {name: t for name, t in changed.items() if t is not None}, facts)
    return refusal(task, tmp_path / "x")


def tensors_of(packed: tuple[str, Path]) -> dict[str, Tensor]:
    return tensor_file.load(packed[1], FORMATS[packed[0]].kind, "")[0]


def test_a_tensor_that_is_missing_or_of_another_type_or_size_is_refused(packed, tmp_path) -> None:
    for name, tensor in tensors_of(packed).items():
        assert f"the tensor {name} is missing" in spoiled(packed, tmp_path, {name: None})
        assert f"{name} is torch.bfloat16" in spoiled(packed, tmp_path, {name: tensor.bfloat16()})
        told = spoiled(packed, tmp_path, {name: tensor[None]})
        assert f"{name} is {tensor.dtype} with {tensor.ndim + 1} dimensions" in told
        spoiled(packed, tmp_path, {name: tensor[:-1]})


def test_what_lies_outside_of_its_range_is_refused(packed, tmp_path) -> None:
    for name, column in columns(FORMATS[packed[0]].whole):
        tensor = tensors_of(packed)[name].clone()
        if column.texts:
            tensor = torch.zeros(3, dtype=torch.uint8)
            assert f"{name} is no list of texts" in spoiled(packed, tmp_path, {name: tensor})
        elif column.dtype.is_floating_point:
            assert f"{name} has what is no number" in spoiled(packed, tmp_path, {name: tensor * torch.nan})
        elif column.low is not None:
            info = torch.iinfo(column.dtype)
            below = [column.low - 1] if column.low > info.min else []
            for number in (*below, *([] if column.high is None else [info.max])):
                tensor.view(-1)[-1] = number
                assert f"{name} has " in spoiled(packed, tmp_path, {name: tensor})


def test_rows_that_do_not_add_up_are_refused(packed, tmp_path) -> None:
    for name, tensor in tensors_of(packed).items():
        if name.endswith(".offsets"):
            for offsets in (tensor.flip(0), tensor + 1):
                told = spoiled(packed, tmp_path, {name: offsets})
                assert f"the rows of {name.removesuffix('.offsets')} do not add up" in told


def test_changed_cut_and_foreign_files_are_told_apart(packed, tmp_path) -> None:
    task, path = packed
    kind: Format = FORMATS[task]
    assert kind.is_at(path) and not any(other.is_at(path) for other in FORMATS.values() if other is not kind)
    content = path.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")  # behind the header
    for at in range(begin, len(content), max(97, len(content) // 50)):
        (tmp_path / "x").write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert "damaged" in refusal(task, tmp_path / "x")
        (tmp_path / "x").write_bytes(content[:at])
        assert f"cut short, or not {kind.kind}" in refusal(task, tmp_path / "x")
    (tmp_path / "text").write_text("questions")
    save_file({"weight": torch.zeros(3)}, tmp_path / "weights")
    for description in ("7", "[" * 100_000, '{"kind": "something"}'):
        save_file({"weight": torch.zeros(3)}, tmp_path / "other", {"description": description})
        assert not kind.is_at(tmp_path / "other")
        assert "is something" in refusal(task, tmp_path / "other")
    for name in ("text", "weights", "none", "."):
        assert not kind.is_at(tmp_path / name)
        refusal(task, tmp_path / name)
