"""Archives in the published layout: read whole, or refused with every faulty formula named."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from ngs.errors import DataError
from ngs.tasks.faults import SHOWN
from ngs.tasks.hwf import archive
from ngs.tasks.hwf.dataset import GRAMMAR, HandwrittenFormulas
from tests.tasks.hwf.archives import (
    IMAGES,
    TEST,
    TRAIN,
    entry,
    files_of,
    picture,
    sound_files,
    sound_lists,
    unpacked,
    zipped,
)


def refusal(path: Path, *, skip_faulty: bool = False) -> str:
    with pytest.raises(DataError) as refused:
        archive.read(path, skip_faulty=skip_faulty)
    return str(refused.value)


def sentences(data: HandwrittenFormulas) -> list[str]:
    return [data.sentence(part, k) for part in (data.train, data.test) for k in range(len(part))]


def moved(files: dict[str, bytes], folder: str) -> dict[str, bytes]:
    return {name.replace("data/", folder, 1): content for name, content in files.items()}


def test_an_archive_is_read(tmp_path) -> None:
    seen: list[tuple[int, int]] = []
    path = zipped(tmp_path / "HWF.zip", sound_files())
    reading = archive.read(path, progress=lambda done, images: seen.append((done, images)))
    data = reading.data
    assert data.name == "HWF" and reading.left_out == ()
    assert sentences(data) == ["4", "2*3", "2/3", "4-2"]
    assert data.train.answers == (4, 6, Fraction(2, 3)) and data.test.answers == (2,)
    assert data.train.names == ("train_0", "train_1", "train_2") and data.test.names == ("test_0",)
    assert data.train.where.tolist() == [[0, -1, -1], [1, 2, 3], [4, 5, 3]]
    assert data.sources[:4] == ("4/a.jpg", "2/a.jpg", "times/a.jpg", "3/a.jpg")
    assert GRAMMAR.decode(data.columns.tolist()) == tuple("42*32/4-2")
    assert seen == [(k, 9) for k in range(1, 10)]
    assert data.images.shape == (9, 45, 45) and data.images.dtype == torch.uint8


def test_images_are_the_pixels_of_their_files(tmp_path) -> None:
    files = sound_files()
    files[f"{IMAGES}/4/a.jpg"] = picture(1, mode="RGB", form="PNG")
    files[TRAIN] = b"\xef\xbb\xbf" + files[TRAIN]  # a byte order mark
    data = archive.read(unpacked(tmp_path / "HWF", files)).data
    unpacked_image = tmp_path / "HWF" / IMAGES / "2" / "a.jpg"
    assert data.images[1].tolist() == np.asarray(Image.open(unpacked_image)).tolist()
    grey = np.random.default_rng(1).integers(0, 256, (45, 45), dtype=np.uint8)
    assert data.images[0].tolist() == grey.tolist()


@pytest.mark.parametrize("folder", ["", "data/", "other name/", "HWF/data/"])
def test_the_layout_is_found_where_it_lies(tmp_path, folder) -> None:
    files = moved(sound_files(), folder) | {"README.txt": b"more", "__MACOSX/data/._expr_train.json": b"more"}
    from_zip = archive.read(zipped(tmp_path / "x.zip", files)).data
    from_folder = archive.read(unpacked(tmp_path / "folder.1", files)).data
    assert sentences(from_zip) == sentences(from_folder) == ["4", "2*3", "2/3", "4-2"]
    assert torch.equal(from_zip.images, from_folder.images)
    assert (from_zip.name, from_folder.name) == ("x", "folder.1")


@pytest.mark.parametrize(
    "files, message",
    [
        ({}, "holds no expr_train.json; one data set is needed"),
        ({TRAIN: b"[]"}, f"holds {TRAIN}, but no {TEST}; both are needed"),
        (moved(sound_files(), "a/b/c/"), "holds no expr_train.json; one data set is needed"),
        (
            sound_files() | moved(sound_files(), "a/"),
            "data/expr_train.json and a/expr_train.json; one data set",
        ),
        (sound_files() | {"../x": b""}, "holds '../x', which is no plain path"),
        (sound_files() | {TRAIN: b"\n[\xff]"}, f"{TRAIN}, line 2: no UTF-8 text"),
        (
            sound_files() | {TEST: b'[\n{"id"\n: }]'},
            f"{TEST}, line 3, column 3: no proper JSON, Expecting value",
        ),
        (sound_files() | {TEST: b"[]"}, f"no sound formula in {TEST}; at least one is needed"),
    ],
)
def test_another_layout_is_refused_whatever_is_asked(tmp_path, files, message) -> None:
    path = zipped(tmp_path / "x.zip", files)
    for skip_faulty in (False, True):
        told = refusal(path, skip_faulty=skip_faulty)
        assert message in told and "x.zip" in told


def faulty_at_line_three(changes: dict[str, Any]) -> dict[str, bytes]:
    """Sound files, but for what is changed in the formula train_1, which stands on line 3."""
    train, _ = sound_lists()
    train[1] |= changes
    lines = ",\n".join(json.dumps(listed) for listed in train)
    return sound_files() | {TRAIN: f"[\n{lines}\n]".encode()}


@pytest.mark.parametrize(
    "changes, what",
    [
        ({"res": 7}, "res is 7, but 2*3 is 6"),
        ({"img_paths": ["2/none.jpg", "times/a.jpg", "3/a.jpg"]}, "the image '2/none.jpg' is missing"),
        (
            {"img_paths": ["../../../etc/passwd", "times/a.jpg", "3/a.jpg"]},
            "the image '../../../etc/passwd' is not '<class>/<file>'",
        ),
        ({"id": "train_0"}, f"the id is that of {TRAIN}, line 2, entry 1"),
    ],
)
@pytest.mark.parametrize("packing", [zipped, unpacked])
def test_a_faulty_formula_is_named_with_file_and_line(tmp_path, packing, changes, what) -> None:
    path = packing(tmp_path / "x.zip", faulty_at_line_three(changes))
    told = refusal(path)
    name = changes.get("id", "train_1")
    assert f"{TRAIN}, line 3, entry 2 ({name}): " in told and what in told
    assert "1 faulty formula;" in told and "--skip-faulty" in told
    reading = archive.read(path, skip_faulty=True)
    assert sentences(reading.data) == ["4", "2/3", "4-2"]
    assert "times/a.jpg" not in reading.data.sources  # only formulas that are left out use it
    assert any(what in str(problem) for problem in reading.left_out)


def test_an_entry_that_cannot_be_read_is_named_by_its_number(tmp_path) -> None:
    train, test = sound_lists()
    path = zipped(tmp_path / "x.zip", files_of([*train, {"id": "train_3"}, 7], test))
    told = refusal(path)
    assert f"{TRAIN}, line 1, entry 4: img_paths and expr and res missing" in told
    assert f"{TRAIN}, line 1, entry 5: an object with id, img_paths, expr and res is needed" in told
    assert len(archive.read(path, skip_faulty=True).data.train) == 3


def test_an_id_of_both_lists_is_told(tmp_path) -> None:
    train, test = sound_lists()
    test.append(entry("train_2", "4", ["4/c.jpg"], 4))
    told = refusal(zipped(tmp_path / "x.zip", files_of(train, test)))
    assert f"{TEST}, line 1, entry 2 (train_2): the id is that of {TRAIN}, line 1, entry 3" in told


ABSURD = picture(0, form="PNG")[:16] + (60_000).to_bytes(4, "big") * 2 + picture(0, form="PNG")[24:]
"""A small file that claims 60,000 x 60,000 pixels."""


@pytest.mark.parametrize(
    "content, what",
    [
        (picture(0, 44, 45), "is 44x45 pixels, and 45x45 are needed"),
        (picture(0, 45, 46, form="PNG"), "is 45x46 pixels, and 45x45 are needed"),
        (picture(0, mode="RGBA", form="PNG"), "is in the colours RGBA, and grey or RGB is needed"),
        (picture(0, form="BMP"), "cannot be read as JPEG or PNG"),
        (picture(0, form="PNG")[:500], "cannot be read as JPEG or PNG"),
        (b"", "cannot be read as JPEG or PNG"),
        (b"no picture", "cannot be read as JPEG or PNG"),
        (ABSURD, "cannot be read"),
    ],
)
def test_a_faulty_image_is_named_with_each_formula_that_uses_it(tmp_path, content, what) -> None:
    path = zipped(tmp_path / "x.zip", sound_files() | {f"{IMAGES}/3/a.jpg": content})
    told = refusal(path)
    assert "2 faulty formulas;" in told
    for number in (2, 3):
        assert f"{TRAIN}, line 1, entry {number} (train_{number - 1}): the image '3/a.jpg' {what}" in told
    reading = archive.read(path, skip_faulty=True)
    assert sentences(reading.data) == ["4", "4-2"] and len(reading.left_out) == 2


@pytest.mark.parametrize(
    "name, at, told",
    [
        (f"{IMAGES}/times/a.jpg", 300, "entry 2 (train_1): the image 'times/a.jpg' cannot be read"),
        (TRAIN, 20, f"x.zip: '{TRAIN}' is damaged in the archive"),
    ],
)
def test_what_is_damaged_in_the_archive_is_named(tmp_path, name, at, told) -> None:
    path = zipped(tmp_path / "x.zip", sound_files())
    content = bytearray(path.read_bytes())
    content[content.index(name.encode()) + len(name) + at] ^= 0xFF
    path.write_bytes(content)
    message = refusal(path, skip_faulty=name == TRAIN)
    assert told in message and "damaged" in message


def test_many_problems_are_counted_in_the_order_of_the_lists(tmp_path) -> None:
    train = [entry(f"train_{k}", "4", ["4/a.jpg"], 5) for k in range(30)]
    told = refusal(zipped(tmp_path / "x.zip", files_of(train, [entry("test_0", "4", ["4/a.jpg"], 5)])))
    lines = told.splitlines()
    assert "31 faulty formulas" in lines[0]
    assert [f"entry {k} " in line for k, line in enumerate(lines[1:-1], 1)] == [True] * SHOWN
    assert lines[-1] == "  ... and 11 more"


def test_nothing_sound_is_refused(tmp_path) -> None:
    train, test = sound_lists()
    test[0]["res"] = 7
    path = zipped(tmp_path / "x.zip", files_of(train, test))
    assert f"no sound formula in {TEST}" in refusal(path, skip_faulty=True)


def test_what_is_to_be_read_here(tmp_path) -> None:
    path = zipped(tmp_path / "x.zip", sound_files())
    assert archive.is_archive(path) and archive.is_archive(path.rename(tmp_path / "x"))
    assert archive.is_archive(tmp_path) and archive.is_archive(tmp_path / "none.ZIP")
    (tmp_path / "y").write_bytes(b"")
    assert not archive.is_archive(tmp_path / "y") and not archive.is_archive(tmp_path / "none")
