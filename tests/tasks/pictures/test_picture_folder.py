"""Folders of images: matched to their scenes, cut into two parts, packed; what does not fit is refused."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from ngs.errors import DataError
from ngs.learning import tensor_file
from ngs.tasks.pictures import picture_packed
from ngs.tasks.pictures.picture_folder import held_out_names, images_in, read_folder
from ngs.tasks.pictures.picture_packed import imported
from ngs.tasks.pictures.pictures import PictureData, digest_of
from ngs.tasks.pictures.rendered_pictures import rendered_pictures
from tests.tasks.clevr.official_files import published
from tests.tasks.pictures.picture_folders import CPU, few, image_folder, small_data


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original")
    image_folder(folder)
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """Images and scenes, to be spoiled."""
    shutil.copytree(original, tmp_path / "copy")
    return tmp_path / "copy"


def read(folder: Path, **options: Any) -> PictureData:
    return read_folder(folder / "images", folder / "scenes.json", name="few", **options)


def refusal(folder: Path, **options: Any) -> str:
    with pytest.raises(DataError) as refused:
        read(folder, **options)
    return str(refused.value)


def spoil(folder: Path, change: Callable[[list[Any]], None]) -> None:
    path = folder / "scenes.json"
    facts = json.loads(path.read_text())
    change(facts["scenes"])
    path.write_text(json.dumps(facts))


# What is read


def test_images_meet_their_scenes_wherever_they_lie(original: Path) -> None:
    told: list[tuple[int, int]] = []
    data = read(original, progress=lambda done, images: told.append((done, images)))
    assert told == [(5, 6), (6, 6)]  # scenes are looked at several at a time
    assert (data.name, len(data.train), len(data.test)) == ("few", 5, 1)
    known = {name: k for k, name in enumerate(few().names)}
    for part in (data.train, data.test):
        for k, name in enumerate(part.names):
            own = known[Path(name).name]
            assert name == f"{'odd' if own % 2 else 'even'}/{few().names[own]}"
            assert torch.equal(part.decoded(np.array([k])), few().decoded(np.array([own])))
            assert part.cameras[k].tolist() == pytest.approx(few().cameras[own].tolist(), abs=0.01)
            assert (part.boxes[k] - few().boxes[own]).abs().max() <= 1  # a rounded pixel moves the camera
            assert [t.shape for t in part.scenes[k].things] == [t.shape for t in few().scenes[own].things]


def test_the_same_folder_has_the_same_digest_and_another_has_not(original: Path, folder: Path) -> None:
    assert read(original).digest == read(folder).digest
    spoil(folder, lambda scenes: scenes[0]["objects"][0].update(color="cyan", material="rubber"))
    assert read(original).digest != read(folder).digest


def test_a_camera_that_is_given_is_taken(folder: Path) -> None:
    def give(scenes: list[Any]) -> None:
        for scene in scenes:
            scene.update(camera_location=[7.0, -6.5, 5.25])
            for thing in scene["objects"]:
                del thing["pixel_coords"]  # which tell of another

    spoil(folder, give)
    assert read(folder).train.cameras.tolist() == [[7.0, -6.5, 5.25]] * 5


def test_a_camera_that_explains_the_pixels_is_taken(original: Path, folder: Path) -> None:
    cameras = few().cameras.tolist()
    spoil(folder, lambda scenes: [s.update(camera_location=c) for s, c in zip(scenes, cameras, strict=True)])
    given, fitted = read(folder).train.cameras, read(original).train.cameras
    assert all(camera in cameras for camera in given.tolist())
    assert not torch.equal(given, fitted) and torch.allclose(given, fitted, atol=0.01)


def test_scenes_may_be_compressed_and_more_than_there_are_images(folder: Path) -> None:
    content = (folder / "scenes.json").read_bytes()
    (folder / "scenes.json.gz").write_bytes(gzip.compress(content))
    (folder / "images" / "even" / few().names[0]).unlink()
    data = read_folder(folder / "images", folder / "scenes.json.gz", name="fewer")
    assert len(data.train) + len(data.test) == 5


def test_hidden_files_and_other_files_are_passed_over(folder: Path) -> None:
    (folder / "images" / "notes.txt").write_text("no picture")
    (folder / "images" / ".cache").mkdir()
    (folder / "images" / ".cache" / "x.png").write_text("no picture")
    assert len(images_in(folder / "images")) == 6


# Parts


def test_a_list_says_which_are_tested_on(folder: Path) -> None:
    listing = folder / "listing.txt"
    listing.write_text(f"# kept aside\n{few().names[3]}\n\n{Path(few().names[1]).stem}\n")
    data = read(folder, held_out=listing)
    assert {Path(name).name for name in data.test.names} == {few().names[1], few().names[3]}


def test_all_pictures_of_a_scene_are_in_one_part(folder: Path) -> None:
    name = few().names[3]
    picture = Image.open(folder / "images" / "odd" / name)
    picture.save(folder / "images" / "even" / f"{Path(name).stem}.jpg")
    (folder / "listing.txt").write_text(name)
    data = read(folder, held_out=folder / "listing.txt")
    assert {Path(each).stem for each in data.test.names} == {Path(name).stem} and len(data.test) == 2
    assert len(data.train) == 5


def test_the_list_that_comes_with_the_package_is_used_where_it_fits(folder: Path) -> None:
    name = held_out_names()[7]
    (folder / "images" / "even" / few().names[0]).rename(folder / "images" / name)
    spoil(folder, lambda scenes: scenes[0].update(image_filename=name))
    assert read(folder).test.names == (name,)


def test_the_list_names_forty_released_images_once() -> None:
    names = held_out_names()
    assert len(names) == len(set(names)) == 40 and names == sorted(names)
    assert all(name.startswith("CLEVR_train_") and name.endswith(".png") for name in names)


def test_the_list_is_every_fifth_of_the_released_images_and_no_render_shows_one() -> None:
    images = published() / "images"
    if not images.is_dir():
        pytest.skip(f"needs {images}")
    real = sorted(path.name for path in (images / "real").iterdir())
    assert held_out_names() == real[4::5]
    renders = {path.stem for path in (images / "renders").iterdir()}
    assert not renders & {Path(name).stem for name in held_out_names()}


# What is refused


def test_an_image_without_a_scene_is_refused(folder: Path) -> None:
    spoil(folder, lambda scenes: scenes.pop(2))
    message = refusal(folder)
    assert "has no scene for 1 of 6 images" in message and f"even/{few().names[2]}" in message


def test_a_folder_without_images_is_refused(folder: Path) -> None:
    shutil.rmtree(folder / "images" / "even")
    shutil.rmtree(folder / "images" / "odd")
    assert "holds no images" in refusal(folder)


def test_an_unreadable_image_is_refused(folder: Path) -> None:
    path = folder / "images" / "odd" / few().names[1]
    path.write_bytes(path.read_bytes()[:2000])
    message = refusal(folder)
    assert str(path) in message and "damaged" in message


def test_an_image_of_another_size_is_refused(folder: Path) -> None:
    path = folder / "images" / "odd" / few().names[1]
    Image.open(path).resize((240, 160)).save(path)
    assert f"{path}: it is 240x160 pixels" in refusal(folder)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda scene: [thing.pop("pixel_coords") for thing in scene["objects"]], "has no pixel_coords"),
        (
            lambda scene: [thing.update(pixel_coords=[9, 9, 9]) for thing in scene["objects"]],
            "give it a camera_location",
        ),
        (lambda scene: scene.update(camera_location=[1, 2]), "camera_location is"),
        (lambda scene: scene.update(camera_location=[1, 2, -3]), "the last above 0"),
        (lambda scene: scene.update(camera_location=[1e9, 2, 3]), "numbers up to 1000 are needed"),
        (lambda scene: scene.update(camera_location=[True, 2, 3]), "camera_location[0] is True; a number"),
        (lambda scene: scene.update(camera_location=[0, 0, 10]), "above the origin that it looks at"),
        (lambda scene: scene.update(camera_location=[0.5, -0.5, 10]), "1 or more aside"),
        (lambda scene: scene.update(camera_location=[-7, 6, 5]), "pixels from where their pixel_coords say"),
        (lambda scene: scene["objects"][0].update(color="pink"), "color is 'pink'"),
        (lambda scene: scene.update(objects=[scene["objects"][0]] * 11), "at most 10 are allowed"),
    ],
)
def test_a_scene_that_does_not_fit_is_refused(
    folder: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    spoil(folder, lambda scenes: change(scenes[4]))
    assert "scenes.json: scene 4: " in refusal(folder) and message in refusal(folder)


def test_a_picture_in_which_nothing_shows_is_refused(folder: Path) -> None:
    def turn(scenes: list[Any]) -> None:
        scenes[4]["camera_location"] = [900, 0, 0.001]
        for thing in scenes[4]["objects"]:
            del thing["pixel_coords"]
            thing["3d_coords"] = [950, 0, 0.7]  # behind the camera

    spoil(folder, turn)
    message = refusal(folder)
    assert "the scenes of 1 images have objects, and none of them shows" in message
    assert f"even/{few().names[4]}" in message


def test_two_scenes_of_one_image_are_refused(folder: Path) -> None:
    spoil(folder, lambda scenes: scenes.append(scenes[0]))
    assert "scene 6: image_filename is 'rendered_000000.png'; each scene needs one" in refusal(folder)


@pytest.mark.parametrize(
    "text, message",
    [
        ("elsewhere.png", "names images that are not there:\n  elsewhere"),
        ("# nothing\n", "names no image"),
    ],
)
def test_a_list_that_does_not_fit_is_refused(folder: Path, text: str, message: str) -> None:
    (folder / "listing.txt").write_text(text)
    assert message in refusal(folder, held_out=folder / "listing.txt")


def test_to_keep_everything_aside_is_refused(folder: Path) -> None:
    (folder / "listing.txt").write_text("\n".join(few().names))
    assert "some are needed to learn from" in refusal(folder, held_out=folder / "listing.txt")
    assert "cannot be read" in refusal(folder, held_out=folder / "missing.txt")


# Packed


def same(one: PictureData, other: PictureData) -> bool:
    pairs = [(one.train, other.train), (one.test, other.test)]
    return (one.name, one.digest) == (other.name, other.digest) and all(
        (mine.scenes, mine.names) == (yours.scenes, yours.names)
        and torch.equal(mine.decoded(np.arange(len(mine))), yours.decoded(np.arange(len(yours))))
        and all(torch.equal(getattr(mine, n), getattr(yours, n)) for n in ("cameras", "boxes", "visible"))
        for mine, yours in pairs
    )


def test_what_is_packed_is_read(tmp_path: Path) -> None:
    data, path = small_data(tmp_path), tmp_path / "few.ngs"
    picture_packed.write(path, data)
    assert picture_packed.FORMAT.is_at(path) and same(picture_packed.read(path), data)
    assert same(imported(str(path)), data)


def test_the_digest_is_of_all_that_is_said_of_pictures(tmp_path: Path) -> None:
    pictures = small_data(tmp_path).train
    changes = [{name: getattr(pictures, name) + 1} for name in ("cameras", "boxes", "visible")]
    changes += [{}, {"names": pictures.names[::-1]}, {"scenes": pictures.scenes[::-1]}]
    digests = {digest_of([replace(pictures, **change)]) for change in changes}
    assert len(digests) == len(changes)


def test_a_file_without_a_digest_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "few.ngs"
    picture_packed.write(path, small_data(tmp_path))
    tensors, facts = tensor_file.load(path, picture_packed.FORMAT.kind, "")
    tensor_file.save(path, picture_packed.FORMAT.kind, tensors, {**facts, "digest": None})
    with pytest.raises(DataError, match="it has no digest"):
        picture_packed.read(path)


def test_rendered_pictures_are_not_packed(tmp_path: Path) -> None:
    made = rendered_pictures(1, 0, CPU)
    with pytest.raises(DataError, match="only imported pictures can be packed"):
        picture_packed.write(tmp_path / "x.ngs", PictureData("x", made, made, "0"))


def test_other_sources_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file; give 'rendered'"):
        imported(str(tmp_path / "missing.ngs"))
    with pytest.raises(DataError, match="is not packed yet; first `ngs data import"):
        imported(str(tmp_path))
    (tmp_path / "text.ngs").write_text("nothing")
    assert not picture_packed.FORMAT.is_at(tmp_path / "text.ngs")
    with pytest.raises(DataError, match="ngs data import FOLDER --scenes FILE"):
        imported(str(tmp_path / "text.ngs"))


# Released images


def test_cameras_and_boxes_are_those_that_others_found(tmp_path: Path) -> None:
    """By casting rays at sharp-edged shapes, so up to 3 pixels further at corners."""
    given = published()
    if not (given / "images" / "real").is_dir():
        pytest.skip(f"needs {given / 'images' / 'real'}")
    with gzip.open(given / "objects_train.json.gz", "rt") as file:
        known = {each["image_filename"]: each for each in json.load(file)}
    for name in held_out_names()[:3]:
        shutil.copy(given / "images" / "real" / name, tmp_path / name)
    (tmp_path / "listing.txt").write_text(held_out_names()[0])
    data = read_folder(
        tmp_path, given / "scenes_train.json.gz", name="three", held_out=tmp_path / "listing.txt"
    )
    assert (data.train.names, data.test.names) == (
        tuple(held_out_names()[1:3]),
        tuple(held_out_names()[:1]),
    )
    for part in (data.train, data.test):
        for k, name in enumerate(part.names):
            truth = known[name]
            count = len(truth["visible_px"])
            assert part.cameras[k].tolist() == pytest.approx(truth["camera_location"], abs=0.02), name
            boxes, visible = torch.tensor(truth["bbox_xyxy"]), torch.tensor(truth["visible_px"])
            assert (part.boxes[k, :count] - boxes).abs().max() <= 5, name
            assert ((part.visible[k, :count] - visible).abs() < 60 + 0.1 * visible).all(), name
