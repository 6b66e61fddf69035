"""Strips, folders and lines in image files of all kinds, and what is refused."""

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from ngs.errors import DataError
from ngs.tasks.hwf.dataset import GRAMMAR, SIDE
from ngs.tasks.hwf.formula_reading import MOST_SYMBOLS, Box
from ngs.tasks.hwf.pictures import load_picture, natural_order, read_formula
from ngs.tasks.hwf.segmentation import Grey
from tests.tasks.hwf.written_lines import formula_in, written_line, written_symbols

SENTENCE = "5/1-2"


def knows_nothing(ink: torch.Tensor) -> torch.Tensor:
    return torch.zeros(len(ink), len(GRAMMAR.symbols))


def strip(sentence: str = SENTENCE) -> Grey:
    return np.concatenate(list(written_symbols(sentence).numpy()), axis=1)


def saved(path: Path, image: Grey | Image.Image, **options: object) -> Path:
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(path, **options)
    return path


# Kinds of pictures


def transparent(grey: Grey, ink: int) -> Image.Image:
    """Strokes of one colour on nothing."""
    level = np.full_like(grey, ink)
    return Image.fromarray(np.stack([level, level, level, 255 - grey], -1), "RGBA")


def palette_with_a_transparent_paper(grey: Grey) -> Image.Image:
    image = Image.fromarray(grey).quantize(256)
    image.info["transparency"] = int(np.asarray(image)[0, 0])
    return image


KINDS: dict[str, tuple[str, Callable[[Grey], Image.Image]]] = {
    "grey": ("x.png", Image.fromarray),
    "colours": ("x.png", lambda grey: Image.fromarray(grey).convert("RGB")),
    "opaque": ("x.png", lambda grey: Image.fromarray(grey).convert("RGBA")),
    "black on nothing": ("x.png", lambda grey: transparent(grey, 0)),
    "white on nothing": ("x.png", lambda grey: transparent(grey, 255)),
    "grey on nothing": ("x.png", lambda grey: transparent(grey, 0).convert("LA")),
    "palette": ("x.gif", lambda grey: Image.fromarray(grey).quantize(256)),
    "palette on nothing": ("x.png", palette_with_a_transparent_paper),
    "16 bits": ("x.png", lambda grey: Image.fromarray(grey.astype(np.uint16) * 257)),
    "32 bits": ("x.tiff", lambda grey: Image.fromarray(grey.astype(np.int32) * 257)),
    "floats": ("x.tiff", lambda grey: Image.fromarray((grey / 255).astype(np.float32))),
    "white on black": ("x.png", lambda grey: Image.fromarray(255 - grey)),
    "bitmap": ("x.bmp", Image.fromarray),
    "portable": ("x.pgm", Image.fromarray),
    "lossless": ("x.webp", Image.fromarray),
}


@pytest.mark.parametrize("kind", KINDS)
def test_any_kind_of_picture_is_read_as_dark_on_white(kind, tmp_path) -> None:
    name, make = KINDS[kind]
    options = {"lossless": True} if name.endswith("webp") else {}
    found = load_picture(saved(tmp_path / name, make(strip()), **options))
    assert found.dtype == np.uint8
    assert np.abs(found.astype(int) - strip()).max() <= 2


@pytest.mark.parametrize("mode", ["1", "CMYK", "L", "RGB"])
def test_coarse_pictures_are_read_too(mode, tmp_path) -> None:
    name = "x.png" if mode == "1" else "x.jpg"
    found = load_picture(saved(tmp_path / name, Image.fromarray(strip()).convert(mode, dither=0)))
    assert ((found < 128) == (strip() < 128)).mean() > 0.98


def test_a_photograph_is_turned_as_its_camera_says(tmp_path) -> None:
    turned = Image.fromarray(strip()).rotate(90, expand=True)
    exif = Image.Exif()
    exif[0x0112] = 6  # turn it clockwise to see it upright
    assert (load_picture(saved(tmp_path / "x.png", turned, exif=exif)) == strip()).all()


# Strips


def test_a_strip_is_cut_into_its_symbols(tmp_path) -> None:
    symbols = read_formula(saved(tmp_path / "x.png", strip()), knows_nothing)
    assert torch.equal(symbols.images, written_symbols(SENTENCE))
    assert symbols.boxes[1] == Box(SIDE, 0, 2 * SIDE, SIDE)
    single = read_formula(saved(tmp_path / "y.png", strip("7")), knows_nothing)
    assert torch.equal(single.images, written_symbols("7"))


def test_a_larger_strip_is_read_if_it_is_called_one(tmp_path, network) -> None:
    large = Image.fromarray(strip()).resize((5 * 90, 90))
    path = saved(tmp_path / "x.png", large)
    symbols = read_formula(path, network, line=False)
    assert symbols.images.shape == (5, SIDE, SIDE)
    assert symbols.boxes[-1] == Box(360, 0, 450, 90)
    assert formula_in(symbols) == SENTENCE


def test_a_line_of_the_size_of_a_strip_is_read_if_it_is_called_a_line(tmp_path, network) -> None:
    page = written_line("6-2")[15 : 15 + SIDE]
    page = np.pad(page, ((0, 0), (0, -page.shape[1] % SIDE)), constant_values=255)
    path = saved(tmp_path / "x.png", page)
    assert "--line" in refusal(path)  # as a strip it has an empty square
    assert formula_in(read_formula(path, network, line=True)) == "6-2"


# Folders


def folder(path: Path, images, names) -> Path:
    path.mkdir()
    for image, name in zip(images, names, strict=True):
        saved(path / name, image.numpy())
    return path


def test_a_folder_is_read_in_the_order_of_its_numbers(tmp_path) -> None:
    images = written_symbols(SENTENCE)
    path = folder(tmp_path / "x", images, ["s1.png", "s2.png", "s10.png", "s11.bmp", "S20.png"])
    (path / ".hidden").write_text("not looked at")
    symbols = read_formula(path, knows_nothing)
    assert torch.equal(symbols.images, images) and symbols.boxes == ()


def test_symbols_of_other_sizes_are_fitted_into_the_box(tmp_path, network) -> None:
    path = tmp_path / "x"
    path.mkdir()
    for k, image in enumerate(written_symbols(SENTENCE).numpy()):
        page = Image.new("L", (300, 250), 255)
        page.paste(Image.fromarray(image).resize((30 + 40 * k, 30 + 40 * k)), (10 * k, 5))
        saved(path / f"{k}.png", page)
    symbols = read_formula(path, network)
    assert formula_in(symbols) == SENTENCE
    for image in symbols.images:
        low, high = (image < 128).nonzero().aminmax(dim=0)
        assert (high - low).max() >= SIDE - 3


def test_names_are_ordered_as_people_do() -> None:
    names = ["10", "9b", "9a", "B1", "a2", "a10", "a1.5"]
    assert sorted(names, key=natural_order) == ["9a", "9b", "10", "a1.5", "a2", "a10", "B1"]


# Lines


def test_any_other_picture_is_a_line(tmp_path, network) -> None:
    symbols = read_formula(saved(tmp_path / "x.jpg", written_line("9*4+1")), network)
    assert formula_in(symbols) == "9*4+1"
    assert len(symbols.boxes) == 5


# Refusals


def refusal(path: Path, line: bool | None = None) -> str:
    with pytest.raises(DataError) as caught:
        read_formula(path, knows_nothing, line=line)
    message = str(caught.value)
    assert message.startswith(str(path)) and "\n" not in message
    return message


def test_what_is_no_picture_is_refused(tmp_path) -> None:
    assert refusal(tmp_path / "none.png").endswith("there is no such file")
    path = saved(tmp_path / "x.png", strip())
    half = path.read_bytes()[: path.stat().st_size // 2]
    for content, why in ((half, "the picture is damaged"), (b"text", "no picture"), (b"", "no picture")):
        path.write_bytes(content)
        assert why in refusal(path)


@pytest.mark.parametrize(
    "width, height, why",
    [
        (5000, 4001, "it is 5000x4001 pixels, and at most 20,000,000"),
        (20_001, 1, "it is 20001x1 pixels, and at most 20,000,000"),
        (2**30, 2**30, "it is far larger than 20,000,000 pixels"),
    ],
)
def test_too_large_a_picture_is_refused_before_it_is_decoded(width, height, why, tmp_path) -> None:
    content = bytearray(saved(tmp_path / "x.png", strip()).read_bytes())
    content[16:24] = struct.pack(">II", width, height)  # of the header, whose checksum comes behind it
    content[29:33] = struct.pack(">I", zlib.crc32(content[12:29]))
    (tmp_path / "x.png").write_bytes(content)
    assert why in refusal(tmp_path / "x.png")


def test_pictures_without_ink_are_refused(tmp_path) -> None:
    for name, size in (("line", (120, 300)), ("strip", (SIDE, 3 * SIDE))):
        for level in (0, 130, 255):
            path = saved(tmp_path / f"{name}.png", np.full(size, level, dtype=np.uint8))
            assert "there is no ink in it" in refusal(path)
    gap = strip()
    gap[:, SIDE : 2 * SIDE] = 255
    assert "symbol 2 of 5: there is no ink in it" in refusal(saved(tmp_path / "gap.png", gap))
    nothing = Image.new("RGBA", (90, 60), (0, 0, 0, 0))
    assert "there is no ink in it" in refusal(saved(tmp_path / "nothing.png", nothing))


def test_what_cannot_be_a_strip_is_refused(tmp_path) -> None:
    message = refusal(saved(tmp_path / "x.png", written_line("6-2")), line=False)
    assert "it is 191x75 pixels, and a strip is a row of squares" in message and "--line" in message


def test_too_many_symbols_are_refused(tmp_path) -> None:
    long = np.tile(strip("7"), (1, MOST_SYMBOLS + 2))
    assert f"{MOST_SYMBOLS + 2} symbols are in it" in refusal(saved(tmp_path / "x.png", long))
    images = written_symbols("7").expand(MOST_SYMBOLS + 1, -1, -1)
    path = folder(tmp_path / "many", images, [f"{k}.png" for k in range(len(images))])
    assert f"there are {MOST_SYMBOLS + 1} files in this folder" in refusal(path)


def test_a_folder_with_anything_else_in_it_is_refused(tmp_path) -> None:
    assert "there are no images in this folder" in refusal(tmp_path)
    saved(tmp_path / "1.png", strip("7"))
    saved(tmp_path / "4.png", np.full((SIDE, SIDE), 255, dtype=np.uint8))
    assert "4.png: there is no ink in it" in refusal(tmp_path)
    (tmp_path / "3.txt").write_text("seven")
    assert "3.txt: it is no picture" in refusal(tmp_path)
    (tmp_path / "2").mkdir()
    assert "2: this is a folder" in refusal(tmp_path)


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path, monkeypatch) -> None:
    def forbidden(self: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", forbidden)
    assert "cannot be read: Permission denied" in refusal(tmp_path)
