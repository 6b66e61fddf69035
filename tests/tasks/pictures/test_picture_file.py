"""Pictures that people give: those that can be seen are read, all others refused with a reason."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from ngs.errors import DataError
from ngs.tasks.clevr.scene_sampling import scenes
from ngs.tasks.pictures.camera import drawn_cameras
from ngs.tasks.pictures.picture_file import (
    LEAST_SPREAD,
    as_image,
    as_tensor,
    pixels_of,
    read_encoded,
    read_picture,
    tint_spread,
)
from ngs.tasks.pictures.rendered_pictures import without_others
from ngs.tasks.pictures.rendering.renderer import render


def coloured(width: int = 480, height: int = 320) -> Image.Image:
    """Smooth, so that resampling and JPEG change little."""
    x, y = np.meshgrid(np.linspace(0, 1, width), np.linspace(0, 1, height))
    return Image.fromarray((255 * np.stack([x, y, 1 - x], -1)).astype(np.uint8))


def saved(image: Image.Image, path: Path, **options: object) -> Path:
    image.save(path, **options)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as refused:
        read_picture(path)
    assert str(path) in str(refused.value)
    return str(refused.value)


def apart(path: Path) -> float:
    """The mean difference between what is read and `coloured`."""
    read = read_picture(path)
    assert read.shape == (3, 320, 480) and read.dtype == torch.uint8
    return float((read.int() - as_tensor(coloured()).int()).abs().float().mean())


@pytest.mark.parametrize("ending", ["png", "jpg", "webp", "bmp", "tif"])
def test_a_picture_is_read_whatever_its_format(ending: str, tmp_path: Path) -> None:
    assert apart(saved(coloured(), tmp_path / f"x.{ending}")) < 2


@pytest.mark.parametrize("size", [(960, 640), (240, 160), (481, 320), (1440, 960)], ids=str)
def test_another_size_of_the_same_shape_is_resampled(size: tuple[int, int], tmp_path: Path) -> None:
    assert apart(saved(coloured(*size), tmp_path / "x.png")) < 2


@pytest.mark.parametrize("mode", ["RGBA", "P"])
def test_opaque_pictures_in_other_modes_are_fine(mode: str, tmp_path: Path) -> None:
    read = read_picture(saved(coloured().convert(mode), tmp_path / "x.png"))
    true = as_tensor(coloured().convert(mode).convert("RGB"))
    assert torch.equal(read, true)


def converted(*modes: str) -> Image.Image:
    image = coloured()
    for mode in modes:
        image = image.convert(mode)
    return image


def with_a_hole() -> Image.Image:
    image = coloured().convert("RGBA")
    image.putpixel((3, 4), (1, 2, 3, 254))
    return image


REFUSED = [
    *(
        (coloured(*size), f"it is {size[0]}x{size[1]} pixels, and pictures of 480x320 or of the same shape")
        for size in ((320, 480), (480, 480), (500, 320), (640, 400))
    ),
    (coloured(120, 80), "too few to tell objects apart"),
    *((converted("L", mode), "it is grey") for mode in ("L", "1", "LA", "I;16", "RGB")),
    (with_a_hole(), "transparent"),
]


@pytest.mark.parametrize("image, message", REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_seen_in_is_refused(image: Image.Image, message: str, tmp_path: Path) -> None:
    assert message in refusal(saved(image, tmp_path / "x.png"))


@cache
def rendered(number: int, **changes: str) -> list[Image.Image]:
    """Pictures of sampled scenes with such objects; of none where nothing is said of them."""
    sampled = scenes(number, np.random.default_rng(0))
    made = [
        replace(each, things=tuple(replace(thing, **changes) for thing in each.things))
        if changes
        else without_others(each, [])
        for each in sampled
    ]
    generator = torch.Generator().manual_seed(0)
    images = render(made, drawn_cameras(number, generator), generator).images
    return [as_image(image) for image in images]


@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_an_empty_floor_is_in_colour(ending: str, tmp_path: Path) -> None:
    for image in rendered(6):
        assert tint_spread(image) > LEAST_SPREAD
        assert read_picture(saved(image, tmp_path / f"x.{ending}")).shape == (3, 320, 480)


def test_gray_rubber_is_in_colour(tmp_path: Path) -> None:
    for image in rendered(2, color="gray", material="rubber"):
        assert tint_spread(image) > LEAST_SPREAD + 0.3
        read_picture(saved(image, tmp_path / "x.png"))


def changed(grey: np.ndarray, *places: object) -> np.ndarray:
    grey = grey.copy()
    for place in places:
        grey[place] = (255, 0, 0) if place == (7, 9) else (255, 240, 240)
    return grey


NEARLY_GREY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "grey": lambda grey: grey,
    "an odd pixel": lambda grey: changed(grey, (7, 9)),
    "an odd frame": lambda grey: changed(grey, 0, (slice(None), 0)),
    "noise": lambda grey: grey + np.random.default_rng(0).normal(0, 4, grey.shape),
    "faint sepia": lambda grey: grey * (1, 0.98, 0.95),
    "sepia": lambda grey: grey * (1.07, 0.87, 0.69),
    "blueprint": lambda grey: grey * (0.6, 0.8, 1),
}


@pytest.mark.parametrize("ending", ["png", "jpg"])
@pytest.mark.parametrize("kind", NEARLY_GREY)
def test_a_picture_of_one_tint_is_grey(kind: str, ending: str, tmp_path: Path) -> None:
    for image in rendered(2, material="metal"):
        grey = np.asarray(image.convert("L").convert("RGB"), dtype=float)
        spoiled = Image.fromarray(NEARLY_GREY[kind](grey).clip(0, 255).astype(np.uint8))
        assert "it is grey" in refusal(saved(spoiled, tmp_path / f"x.{ending}"))
        assert tint_spread(image) > 2 * LEAST_SPREAD, "it was not grey before"


def turned(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


@pytest.mark.parametrize("orientation, back", [(3, 180), (6, 90), (8, 270)])
def test_a_picture_is_turned_as_its_camera_says(orientation: int, back: int, tmp_path: Path) -> None:
    image = coloured().rotate(back, expand=True)
    assert apart(saved(image, tmp_path / "x.jpg", exif=turned(orientation), quality=95)) < 2


def test_a_picture_that_is_upright_is_refused_if_it_is_then_turned(tmp_path: Path) -> None:
    assert "it is 320x480 pixels" in refusal(saved(coloured(), tmp_path / "x.jpg", exif=turned(6)))


def test_a_file_that_is_no_sound_picture_is_refused(tmp_path: Path) -> None:
    path = saved(coloured(), tmp_path / "x.png")
    content = path.read_bytes()
    for kept in (0.0, 0.01, 0.3, 0.9):
        path.write_bytes(content[: int(kept * len(content))])
        assert ("it is no picture" if kept < 0.1 else "damaged") in refusal(path)
    middle = len(content) // 2
    path.write_bytes(content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :])
    assert "damaged" in refusal(path)
    assert "there is no such file" in refusal(tmp_path / "missing.png")
    assert "this is a folder" in refusal(tmp_path)


def test_encoded_pictures_keep_their_bytes(tmp_path: Path) -> None:
    path = saved(coloured(), tmp_path / "x.jpg", quality=95)
    content = read_encoded(path)
    assert content == path.read_bytes()
    found, true = pixels_of(torch.tensor(list(content), dtype=torch.uint8)), as_tensor(Image.open(path))
    assert torch.equal(found, true) and pixels_of(found) is found
    assert np.array_equal(np.asarray(as_image(found)), np.asarray(Image.open(path)))


def test_encoded_pictures_are_upright_and_have_the_very_size(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"x.png: it is 960x640 pixels, and the pixel coordinates of scenes"):
        read_encoded(saved(coloured(960, 640), tmp_path / "x.png"))
    with pytest.raises(DataError, match=r"x.jpg: it is stored turned or mirrored"):
        read_encoded(saved(coloured(), tmp_path / "x.jpg", exif=turned(3)))
    read_encoded(saved(coloured(), tmp_path / "x.jpg", exif=turned(1)))
