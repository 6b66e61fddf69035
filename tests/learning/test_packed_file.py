"""Data sets in files: what has the layout that was declared is written and read, all else is refused."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from ngs.errors import DataError
from ngs.learning import tensor_file
from ngs.learning.packed_file import Column, Format, Group, Ragged, as_bytes, flattened, texts


def too_many(contents: Mapping[str, Any], facts: Any) -> Iterator[str]:
    if facts["step"] != 3:
        yield f"{len(contents)} contents are of step {facts['step']}"
        raise AssertionError("the first fault is enough")


FORMAT = Format(
    "some data",
    "make another",
    Group(
        {
            "words": texts("words"),
            "places": Column(torch.float32, ("things", 2)),
            "kinds": Column(torch.int8, ("things",), 0, 3),
            "sayings": Column(torch.int16, (None,), 0, "words", rows="things", least=1),
        },
        [too_many],
    ),
)
FACTS = {"name": "few", "step": 3}


def tensors() -> dict[str, Tensor]:
    return {
        "words": as_bytes(["red", "häß\n"]),
        "places": torch.zeros(3, 2),
        "kinds": torch.tensor([0, 2, 1], dtype=torch.int8),
        "sayings": torch.tensor([0, 1, 1, 0], dtype=torch.int16),
        "sayings.offsets": torch.tensor([0, 1, 3, 4]),
    }


def test_what_has_the_layout_is_written_and_read(tmp_path: Path) -> None:
    given = tensors()
    rows = Ragged(given.pop("sayings"), given.pop("sayings.offsets"))
    FORMAT.save(tmp_path / "x", {**given, "sayings": rows, "words": ("red", "häß\n")}, FACTS)
    read, facts = FORMAT.load(tmp_path / "x")
    assert facts == FACTS and FORMAT.is_at(tmp_path / "x") and not FORMAT.is_at(tmp_path)
    assert read["words"] == ("red", "häß\n")
    again = flattened(read)
    assert all(torch.equal(again[name], tensor) for name, tensor in tensors().items())


@pytest.mark.parametrize(
    "change, facts, fault",
    [
        ({"kinds": None}, {}, "the tensor kinds is missing"),
        ({"kinds": torch.zeros(3)}, {}, "kinds is torch.float32 with 1 dimensions, and torch.int8 with 1"),
        ({"kinds": torch.zeros(4, dtype=torch.int8)}, {}, "kinds is [4], and [3] is needed"),
        ({"kinds": torch.full((3,), 3, dtype=torch.int8)}, {}, "kinds has 3 to 3, and 0 to below 3 can be"),
        ({"places": torch.zeros(3, 4)}, {}, "places is [3, 4], and [3, 2] is needed"),
        ({"places": torch.full((3, 2), torch.nan)}, {}, "places has what is no number"),
        ({"words": torch.zeros(2, dtype=torch.uint8)}, {}, "words is no list of texts"),
        ({"words": as_bytes(["red"])}, {}, "sayings has 0 to 1, and 0 to below 1 can be"),
        ({"sayings.offsets": torch.tensor([0, 1, 1, 4])}, {}, "the rows of sayings do not add up"),
        ({"sayings.offsets": torch.tensor([0, 1, 4])}, {}, "the rows of sayings do not add up"),
        ({"sayings.offsets": torch.zeros(0, dtype=torch.int64)}, {}, "the rows of sayings do not add up"),
        ({}, {"name": "a\nb"}, r"the name 'a\nb' cannot be printed"),
        ({}, {"step": 4}, "4 contents are of step 4"),
    ],
)
def test_what_has_a_fault_is_neither_written_nor_read(
    change: dict[str, Tensor | None], facts: dict[str, Any], fault: str, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    spoiled = {name: tensor for name, tensor in {**tensors(), **change}.items() if tensor is not None}
    with pytest.raises(DataError) as refused:
        FORMAT.save(path, spoiled, FACTS | facts)
    assert f"{path} cannot be written: {fault}" in str(refused.value) and not path.exists()
    tensor_file.save(path, FORMAT.kind, spoiled, FACTS | facts)
    with pytest.raises(DataError) as refused:
        FORMAT.load(path)
    told = str(refused.value)
    assert f"is no proper data set: {fault}" in told and told.endswith("; make another")
