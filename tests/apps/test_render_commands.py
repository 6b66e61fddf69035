"""`ngs data render`, run as a user runs it."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ngs.tasks.pictures.picture_folder import read_folder
from tests.apps.commands import done, ngs, refused
from tests.tasks.pictures.picture_folders import few


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pictures") / "new"
    result = done("data", "render", "--out", out, "--number", "3", "--seed", "5")
    assert "3 pictures in images/, their scenes in scenes.json" in result.output
    assert f"ngs data import {out / 'images'} --scenes {out / 'scenes.json'}" in result.output
    return out


def test_pictures_and_scenes_belong_together(rendered: Path) -> None:
    scenes = json.loads((rendered / "scenes.json").read_text())["scenes"]
    names = [scene["image_filename"] for scene in scenes]
    assert names == sorted(path.name for path in (rendered / "images").iterdir()) and len(names) == 3
    assert [scene["image_index"] for scene in scenes] == [0, 1, 2]
    for name in names:
        with Image.open(rendered / "images" / name) as image:
            assert (image.size, image.mode) == ((480, 320), "RGB")


def test_the_folder_can_be_brought_in(rendered: Path) -> None:
    data = read_folder(rendered / "images", rendered / "scenes.json", name="mine")
    pictures = [data.train, data.test]
    scenes = [scene for part in pictures for scene in part.scenes]
    assert len(scenes) == 3
    for part in pictures:
        for scene, visible in zip(part.scenes, part.visible, strict=True):
            assert (visible[: len(scene.things)] >= 150).all(), "what is hidden was taken out"


def test_what_is_written_is_not_what_training_draws_from_the_same_seed(rendered: Path) -> None:
    written = json.loads((rendered / "scenes.json").read_text())["scenes"]
    pairs = [
        ([scene["camera_location"] for scene in written], few().cameras.tolist()),
        (
            [thing["3d_coords"] for scene in written for thing in scene["objects"]],
            [thing.position for scene in few().scenes for thing in scene.things],
        ),
    ]
    for ours, theirs in pairs:
        apart = np.abs(np.array(ours)[:, None] - np.array(theirs)).max(-1)
        assert apart.min() > 1e-4


def test_scenes_of_a_file_are_rendered_again_with_other_lamps(rendered: Path, tmp_path: Path) -> None:
    packed = tmp_path / "scenes.json.gz"
    packed.write_bytes(gzip.compress((rendered / "scenes.json").read_bytes()))
    out = tmp_path / "again"
    done("data", "render", "--out", out, "--scenes", packed, "--number", "1", "--seed", "9")
    (one,) = json.loads((out / "scenes.json").read_text())["scenes"]
    first = json.loads((rendered / "scenes.json").read_text())["scenes"][0]
    assert one == first
    ours, theirs = (
        np.array(Image.open(folder / "images" / one["image_filename"])).astype(int)
        for folder in (out, rendered)
    )
    assert 0.5 < np.abs(ours - theirs).mean() < 20


def test_what_cannot_be_done_is_said(rendered: Path, tmp_path: Path) -> None:
    assert "is not an empty folder; give --out another name" in refused("data", "render", "--out", rendered)
    file, begun = tmp_path / "scenes.json", ("data", "render", "--out", tmp_path / "x", "--scenes")
    file.write_text(json.dumps({"scenes": []}))
    assert "holds no scenes" in refused(*begun, file)
    nameless = json.loads((rendered / "scenes.json").read_text())
    del nameless["scenes"][0]["image_filename"]
    file.write_text(json.dumps(nameless))
    assert "scene 0: image_filename is ''" in refused(*begun, file)
    assert "holds 3 scenes, and --number is 4" in refused(*begun, rendered / "scenes.json", "--number", "4")
    assert not (tmp_path / "x").exists(), "nothing is begun that cannot be finished"


@pytest.mark.parametrize(
    "options, code, message",
    [
        (("--seed", "-1"), 2, "--seed"),
        (("--seed", str(2**64)), 2, "--seed"),
        (("--device", "foo"), 1, "the device is 'foo', which PyTorch does not know; give cpu or cuda"),
        (("--device", "meta"), 1, "give --device cpu"),
        (("--device", "cpu:1"), 1, "give --device cpu"),
        (("--device", "cuda:99"), 1, "give --device cpu"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    options: tuple[str, ...], code: int, message: str, tmp_path: Path
) -> None:
    result = ngs("data", "render", "--out", tmp_path / "x", *options)
    assert result.exit_code == code and isinstance(result.exception, SystemExit), result.exception
    assert message in " ".join(result.output.replace("│", " ").split())
    assert not (tmp_path / "x").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    for out in (tmp_path / "file", tmp_path / "file" / "x"):
        told = refused("data", "render", "--out", out, "--number", "1")
        assert str(out) in told and "give --out" in told
    assert (tmp_path / "file").read_text() == "no folder"


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), OSError(28, "No space left on device")], ids=repr)
@pytest.mark.parametrize("was_there", [True, False])
def test_an_interrupted_folder_is_begun_anew(
    fault: BaseException, was_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "x"
    if was_there:
        out.mkdir()

    def stop(self: Image.Image, path: Path) -> None:
        assert path.parent.is_dir() and not (out / "images").exists()
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(Image.Image, "save", stop)
        result = ngs("data", "render", "--out", out, "--number", "1")
    assert result.exit_code != 0
    if isinstance(fault, OSError):
        assert "cannot be written: No space left on device; give --out" in result.output
    assert out.exists() == was_there and (not was_there or not any(out.iterdir()))


def test_what_a_killed_process_left_is_begun_anew(tmp_path: Path) -> None:
    left = tmp_path / "x" / ".unfinished" / "images"
    left.mkdir(parents=True)
    (left / "rendered_000007.png").touch()
    done("data", "render", "--out", tmp_path / "x", "--number", "1")
    files = sorted(path.relative_to(tmp_path / "x").as_posix() for path in (tmp_path / "x").rglob("*"))
    assert files == ["images", "images/rendered_000000.png", "scenes.json"]
