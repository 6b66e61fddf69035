"""`ngs data` with handwritten formulas, run as a user runs it."""

import json
import os
from pathlib import Path

import pytest

from ngs.tasks.hwf import packed
from ngs.tasks.hwf.inspection import inspect
from tests.apps.commands import done, misused, ngs, refused
from tests.tasks.hwf.archives import IMAGES, TRAIN, entry, files_of, picture, sound_files, zipped


@pytest.fixture
def leaking(tmp_path) -> Path:
    """An archive two of whose three test images occur in training, one of them as another symbol."""
    train = [entry(f"train_{k}", "4", [f"4/{k}.jpg"], 4) for k in range(4)]
    train += [entry(f"train_{k}", "7", [f"7/{k}.jpg"], 7) for k in range(4, 8)]
    test = [
        entry("test_0", "4", ["4/8.jpg"], 4),
        entry("test_1", "7", ["7/9.jpg"], 7),
        entry("test_2", "7", ["7/10.jpg"], 7),
    ]
    files = files_of(train, test)
    files[f"{IMAGES}/4/8.jpg"] = files[f"{IMAGES}/4/0.jpg"]
    files[f"{IMAGES}/7/9.jpg"] = files[f"{IMAGES}/4/1.jpg"]
    return zipped(tmp_path / "HWF.zip", files)


def test_an_archive_is_packed(leaking) -> None:
    result = done("data", "import", "HWF.zip")
    assert "data/HWF.ngs: 8 formulas to learn from, 3 to be tested on, 11 images" in result.output
    assert (
        "LEAK: 2 of 3 test images occur in training, pixel by pixel, in 2 of 3 test formulas" in result.output
    )
    assert "LABELS: 7/9.jpg: pixel by pixel what is called 4 elsewhere, 1 times (as 4/1.jpg)" in result.output
    assert "ngs train hwf --data data/HWF.ngs" in result.output
    data = packed.read(Path("data/HWF.ngs"))
    assert data.name == "HWF" and len(data.train) == 8


def test_a_leak_free_split_is_rebuilt_from_an_archive_or_a_packed_file(leaking, tmp_path) -> None:
    result = done("data", "import", "HWF.zip", "--leak-free", "--seed", "3")
    assert "no test image occurs in training" in result.output and "LABELS" not in result.output
    from_archive = packed.read(Path("data/HWF-leak-free-3.ngs"))
    assert from_archive.name == "HWF-leak-free-3" and inspect(from_archive).leaked == ()
    ngs("data", "import", "HWF.zip")
    ngs("data", "import", "data/HWF.ngs", "--leak-free", "--seed", "3", "--out", "again.ngs")
    assert Path("again.ngs").read_bytes() == Path("data/HWF-leak-free-3.ngs").read_bytes()


def test_name_and_path_can_be_given(leaking) -> None:
    result = ngs("data", "import", leaking, "--name", "my [red] data/1")
    assert "data/my-red-data-1.ngs: 8 formulas" in result.output
    assert packed.read(Path("data/my-red-data-1.ngs")).name == "my [red] data/1"
    result = ngs("data", "import", leaking, "--out", "with space.ngs")
    assert "ngs train hwf --data 'with space.ngs'" in result.output
    assert packed.read(Path("with space.ngs")).name == "HWF"


def test_what_exists_is_only_replaced_when_asked(leaking, tmp_path) -> None:
    out = tmp_path / "x.ngs"
    out.write_text("precious")
    told = refused("data", "import", leaking, "--out", out)
    assert told == f"ngs: {out} exists; give another --out, or replace it with --overwrite\n"
    assert out.read_text() == "precious"
    done("data", "import", leaking, "--out", out, "--overwrite")
    assert len(packed.read(out).train) == 8
    assert "is a folder; give --out a file name" in refused("data", "import", leaking, "--out", tmp_path)


@pytest.mark.parametrize(
    "files, message",
    [
        ({"../x": b""}, "'../x', which is no plain path"),
        ({TRAIN: b"[{]"}, f"{TRAIN}, line 1, column 3: no proper JSON"),
        (
            {f"{IMAGES}/4/a.jpg": picture(0, 10, 10)},
            f"{TRAIN}, line 1, entry 1 (train_0): the image '4/a.jpg' is 10x10",
        ),
    ],
)
def test_a_refused_archive_leaves_nothing(tmp_path, files, message) -> None:
    zipped(tmp_path / "bad.zip", sound_files() | files)
    result = refused("data", "import", "bad.zip", lines=1 + ("entry" in message))
    assert result.startswith("ngs: bad.zip") and message in result
    assert os.listdir(tmp_path) == ["bad.zip"]


def test_faulty_formulas_can_be_left_out(tmp_path) -> None:
    zipped(tmp_path / "bad.zip", sound_files() | {f"{IMAGES}/4/a.jpg": b"no image"})
    result = done("data", "import", "bad.zip", "--skip-faulty")
    assert (
        "formulas left out as faulty: 1\n  data/expr_train.json, line 1, entry 1 (train_0)" in result.output
    )
    assert len(packed.read(Path("data/bad.ngs")).train) == 2


def test_inspect_counts_and_finds_leaks(leaking, tmp_path) -> None:
    ngs("data", "import", leaking, "--out", tmp_path / "x.ngs", "--name", "HWF")
    of_archive, of_packed = done("data", "inspect", leaking), done("data", "inspect", tmp_path / "x.ngs")
    assert of_archive.output == of_packed.output
    assert (
        "HWF: 8 formulas to learn from, 3 to be tested on, 11 images, 9 of them distinct" in of_packed.output
    )
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in of_packed.output.splitlines()]
    assert ["1", "8", "3"] in rows and ["all", "8", "3"] in rows
    assert ["4", "4", "1", "4", "1", "4", "1"] in rows
    assert ["7", "4", "2", "4", "2", "6", "1"] in rows
    assert ["all", "8", "3", "8", "3", "9", "2"] in rows
    assert "LEAK: 2 of 3" in of_packed.output


def test_inspect_lists_faulty_formulas(tmp_path) -> None:
    path = zipped(tmp_path / "bad.zip", sound_files() | {f"{IMAGES}/4/a.jpg": b"no image"})
    result = done("data", "inspect", path)
    assert "formulas left out as faulty: 1" in result.output
    (faulty,) = json.loads(ngs("data", "inspect", path, "--json").stdout)["faulty"]
    assert faulty.startswith(f"{TRAIN}, line 1, entry 1 (train_0): the image '4/a.jpg' cannot be read")


def test_inspect_prints_json(leaking) -> None:
    found = json.loads(ngs("data", "inspect", leaking, "--json").stdout)
    assert found["leaked"] == ["4/8.jpg", "7/9.jpg"] and found["faulty"] == []
    assert found["lengths"] == [{"length": 1, "train": 8, "test": 3}]
    assert found["contradictions"][0]["contradicting"] == ["7/9.jpg"]


@pytest.mark.parametrize("command", ["import", "inspect"])
def test_what_cannot_be_read_is_named_in_one_line(tmp_path, command) -> None:
    (tmp_path / "x.ngs").write_text("text")
    for name in ("none.zip", "none.ngs", "x.ngs", ""):
        extra = ["--out", tmp_path / "out.ngs"] if command == "import" else []
        assert str(tmp_path) in refused("data", command, tmp_path / name, *extra)


def test_bad_usage_is_told_apart(leaking) -> None:
    misused("data", "import")
    misused("data", "inspect", leaking, "--no-such-option")
