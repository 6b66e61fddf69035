"""Folders of images: matched to their scenes, cut into two parts, packed; what does not fit is refused."""

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
from tests.tasks.clevr.official_files import published
from tests.tasks.pictures.picture_folders import PICTURES, few, image_folder, released

Spoiling = Callable[[Path], Any]
NAMES = tuple(f"rendered_{k:06d}.png" for k in range(PICTURES))


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


def read(folder: Path, listing: str | None = None) -> PictureData:
    """With the images of a listing kept aside."""
    held_out = None if listing is None else folder / "listing.txt"
    if held_out is not None:
        held_out.write_text(listing)
    return read_folder(folder / "images", folder / "scenes.json", name="few", held_out=held_out)


def refusal(folder: Path, listing: str | None = None) -> str:
    with pytest.raises(DataError) as refused:
        read(folder, listing)
    return str(refused.value)


def scenes(change: Callable[[list[Any]], Any]) -> Spoiling:
    """What changes the scenes in the file of a folder."""

    def spoil(folder: Path) -> None:
        path = folder / "scenes.json"
        facts = json.loads(path.read_text())
        change(facts["scenes"])
        path.write_text(json.dumps(facts))

    return spoil


# What is read


def test_images_meet_their_scenes_wherever_they_lie(original: Path) -> None:
    told: list[tuple[int, int]] = []
    data = read_folder(
        original / "images",
        original / "scenes.json",
        name="few",
        progress=lambda done, images: told.append((done, images)),
    )
    assert told == [(6, 6)]  # scenes are looked at several at a time
    assert (data.name, len(data.train), len(data.test)) == ("few", 5, 1)
    for part in (data.train, data.test):
        for k, name in enumerate(part.names):
            own = NAMES.index(Path(name).name)
            assert name == f"{'odd' if own % 2 else 'even'}/{NAMES[own]}"
            assert torch.equal(part.decoded(np.array([k])), few().decoded(np.array([own])))
            assert part.cameras[k].tolist() == pytest.approx(few().cameras[own].tolist(), abs=0.01)
            assert (part.boxes[k] - few().boxes[own]).abs().max() <= 1  # a rounded pixel moves the camera
            assert [t.shape for t in part.scenes[k].things] == [t.shape for t in few().scenes[own].things]


def test_the_same_folder_has_the_same_digest_and_another_has_not(original: Path, folder: Path) -> None:
    assert read(original).digest == read(folder).digest
    scenes(lambda given: given[0]["objects"][0].update(color="cyan", material="rubber"))(folder)
    assert read(original).digest != read(folder).digest


def test_a_camera_that_is_given_is_taken(original: Path, folder: Path) -> None:
    """Where it explains the pixels of the objects, or where these are left out."""
    cameras = few().cameras.tolist()
    scenes(lambda given: [s.update(camera_location=c) for s, c in zip(given, cameras, strict=True)])(folder)
    taken, fitted = read(folder).train.cameras, read(original).train.cameras
    assert all(camera in cameras for camera in taken.tolist())
    assert not torch.equal(taken, fitted) and torch.allclose(taken, fitted, atol=0.01)

    def move(given: list[Any]) -> None:
        for scene in given:
            scene.update(camera_location=[7.0, -6.5, 5.25])
            for thing in scene["objects"]:
                del thing["pixel_coords"]

    scenes(move)(folder)
    assert read(folder).train.cameras.tolist() == [[7.0, -6.5, 5.25]] * 5


def test_scenes_may_be_compressed_and_more_than_there_are_images(folder: Path) -> None:
    content = (folder / "scenes.json").read_bytes()
    (folder / "scenes.json.gz").write_bytes(gzip.compress(content))
    (folder / "images" / "even" / NAMES[0]).unlink()
    data = read_folder(folder / "images", folder / "scenes.json.gz", name="fewer")
    assert len(data.train) + len(data.test) == 5


def test_hidden_files_and_other_files_are_passed_over(folder: Path) -> None:
    (folder / "images" / ".cache").mkdir()
    for other in ("notes.txt", ".cache/x.png"):
        (folder / "images" / other).write_text("no picture")
    assert len(list(images_in(folder / "images"))) == 6


# Parts


def test_a_list_says_which_are_tested_on(folder: Path) -> None:
    """All pictures of a scene are in one part."""
    picture = Image.open(folder / "images" / "odd" / NAMES[3])
    picture.save(folder / "images" / "even" / f"{Path(NAMES[3]).stem}.jpg")
    data = read(folder, f"# kept aside\n{NAMES[3]}\n\n{Path(NAMES[1]).stem}\n")
    stems = [Path(name).stem for name in data.test.names]
    assert sorted(stems) == [Path(NAMES[k]).stem for k in (1, 3, 3)] and len(data.train) == 4


def test_the_list_that_comes_with_the_package_is_used_where_it_fits(folder: Path) -> None:
    names = held_out_names()
    assert len(names) == len(set(names)) == 40 and names == sorted(names)
    assert all(name.startswith("CLEVR_train_") and name.endswith(".png") for name in names)
    (folder / "images" / "even" / NAMES[0]).rename(folder / "images" / names[7])
    scenes(lambda given: given[0].update(image_filename=names[7]))(folder)
    assert read(folder).test.names == (names[7],)


def test_the_list_is_every_fifth_of_the_released_images_and_no_render_shows_one() -> None:
    images = published() / "images"
    if not images.is_dir():
        pytest.skip(f"needs {images}")
    real = sorted(path.name for path in (images / "real").iterdir())
    assert held_out_names() == real[4::5]
    renders = {path.stem for path in (images / "renders").iterdir()}
    assert not renders & {Path(name).stem for name in held_out_names()}


# What is refused


def image(folder: Path) -> Path:
    return folder / "images" / "odd" / NAMES[1]


def turn_away(given: list[Any]) -> None:
    """Put the objects of a scene behind the camera."""
    given[4]["camera_location"] = [900, 0, 0.001]
    for thing in given[4]["objects"]:
        del thing["pixel_coords"]
        thing["3d_coords"] = [950, 0, 0.7]


SPOILED: dict[str, tuple[Spoiling, tuple[str, ...]]] = {
    "no scene": (scenes(lambda given: given.pop(2)), ("has no scene for 1 of 6 images", f"even/{NAMES[2]}")),
    "no images": (lambda folder: [path.unlink() for path in [*images_in(folder)]], ("holds no images",)),
    "damaged": (
        lambda folder: image(folder).write_bytes(image(folder).read_bytes()[:2000]),
        (f"images/odd/{NAMES[1]}", "damaged"),
    ),
    "another size": (
        lambda folder: Image.open(image(folder)).resize((240, 160)).save(image(folder)),
        (f"images/odd/{NAMES[1]}: it is 240x160 pixels",),
    ),
    "nothing shows": (
        scenes(turn_away),
        ("the scenes of 1 images have objects, and none of them shows", f"even/{NAMES[4]}"),
    ),
    "two scenes": (
        scenes(lambda given: given.append(given[0])),
        (f"scene 6: image_filename is '{NAMES[0]}'; each scene needs one",),
    ),
}


@pytest.mark.parametrize("what", SPOILED)
def test_a_folder_that_is_spoiled_is_refused(what: str, folder: Path) -> None:
    spoil, messages = SPOILED[what]
    spoil(folder)
    told = refusal(folder)
    assert all(message in told for message in messages), told


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
    scenes(lambda given: change(given[4]))(folder)
    told = refusal(folder)
    assert "scenes.json: scene 4: " in told and message in told


@pytest.mark.parametrize(
    "listing, message",
    [
        ("elsewhere.png", "names images that are not there:\n  elsewhere"),
        ("# nothing\n", "names no image"),
        ("\n".join(NAMES), "some are needed to learn from"),
    ],
)
def test_a_list_that_does_not_fit_is_refused(folder: Path, listing: str, message: str) -> None:
    assert message in refusal(folder, listing)
    with pytest.raises(DataError, match=r"missing.txt cannot be read"):
        read_folder(folder / "images", folder / "scenes.json", name="few", held_out=folder / "missing.txt")


# Packed


def content(data: PictureData) -> tuple[str, ...]:
    return data.name, data.digest, digest_of([data.train, data.test])


def test_what_is_packed_is_read(original: Path, tmp_path: Path) -> None:
    data, path = read(original), tmp_path / "few.ngs"
    picture_packed.write(path, data)
    assert picture_packed.FORMAT.is_at(path) and content(picture_packed.read(path)) == content(data)
    assert content(imported(str(path))) == content(data)
    assert imported(str(path)).digest == content(data)[2]
    tensors, facts = tensor_file.load(path, picture_packed.FORMAT.kind, "")
    tensor_file.save(path, picture_packed.FORMAT.kind, tensors, {**facts, "digest": None})
    with pytest.raises(DataError, match="it has no digest"):
        picture_packed.read(path)


def test_the_digest_is_of_all_that_is_said_of_pictures(original: Path) -> None:
    pictures = read(original).train
    changes = [{name: getattr(pictures, name) + 1} for name in ("cameras", "boxes", "visible")]
    changes += [{}, *({name: getattr(pictures, name)[::-1]} for name in ("names", "scenes", "images"))]
    digests = {digest_of([replace(pictures, **change)]) for change in changes}
    assert len(digests) == len(changes)


def test_rendered_pictures_are_not_packed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="only imported pictures can be packed"):
        picture_packed.write(tmp_path / "x.ngs", PictureData("x", few(), few(), "0"))


def test_other_sources_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.ngs").write_text("nothing")
    assert not picture_packed.FORMAT.is_at(tmp_path / "text.ngs")
    for path, message in (
        (tmp_path / "missing.ngs", "there is no such file; give 'rendered'"),
        (tmp_path, "is not packed yet; first `ngs data import"),
        (tmp_path / "text.ngs", "ngs data import FOLDER --scenes FILE"),
    ):
        with pytest.raises(DataError, match=message):
            imported(str(path))


# Released images


def test_cameras_and_boxes_are_those_that_others_found(tmp_path: Path) -> None:
    """By casting rays at sharp-edged shapes, so up to 3 pixels further at corners."""
    given = published()
    if not (given / "images" / "real").is_dir():
        pytest.skip(f"needs {given / 'images' / 'real'}")
    known = {scene.name: truth for scene, truth in released()}
    names = held_out_names()[:3]
    for name in names:
        shutil.copy(given / "images" / "real" / name, tmp_path / name)
    (tmp_path / "listing.txt").write_text(names[0])
    data = read_folder(
        tmp_path, given / "scenes_train.json.gz", name="three", held_out=tmp_path / "listing.txt"
    )
    assert (data.train.names, data.test.names) == (tuple(names[1:]), tuple(names[:1]))
    for part in (data.train, data.test):
        for k, name in enumerate(part.names):
            truth = known[name]
            count = len(truth["visible_px"])
            assert part.cameras[k].tolist() == pytest.approx(truth["camera_location"], abs=0.02), name
            boxes, visible = torch.tensor(truth["bbox_xyxy"]), torch.tensor(truth["visible_px"])
            assert (part.boxes[k, :count] - boxes).abs().max() <= 5, name
            assert ((part.visible[k, :count] - visible).abs() < 60 + 0.1 * visible).all(), name
