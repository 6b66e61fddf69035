"""Small archives in the layout of the published one, and where the published ones are looked for."""

import io
import json
import os
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[3]
TRAIN, TEST = "data/expr_train.json", "data/expr_test.json"
IMAGES = "data/Handwritten_Math_Symbols"


def published(name: str) -> Path:
    """A published archive, from where NGS_DATA points or ../shared/data; skips the test where it is not."""
    folder = Path(os.environ.get("NGS_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / name).is_file():
        pytest.skip(f"needs {name}, which is not in {folder}; let NGS_DATA name the folder that has it")
    return folder / name


def picture(seed: int, width: int = 45, height: int = 45, mode: str = "L", form: str = "JPEG") -> bytes:
    """An image file, another for each seed."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(file, form)
    return file.getvalue()


def entry(name: str, sentence: str, images: Sequence[str], result: Any) -> dict[str, Any]:
    return {"id": name, "img_paths": list(images), "expr": sentence, "res": result}


def sound_lists() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Three formulas to learn from and one to be tested on."""
    train = [
        entry("train_0", "4", ["4/a.jpg"], 4),
        entry("train_1", "2*3", ["2/a.jpg", "times/a.jpg", "3/a.jpg"], 6),
        entry("train_2", "2/3", ["2/b.jpg", "div/a.jpg", "3/a.jpg"], 0.66667),
    ]
    return train, [entry("test_0", "4-2", ["4/c.jpg", "-/a.jpg", "2/c.jpg"], 2)]


def sound_files() -> dict[str, bytes]:
    return files_of(*sound_lists())


def files_of(train: Sequence[Any], test: Sequence[Any]) -> dict[str, bytes]:
    """The files of an archive with these lists; every image that they name is there."""
    named = (
        image
        for listed in (*train, *test)
        if isinstance(listed, dict) and isinstance(listed.get("img_paths"), list)
        for image in listed["img_paths"]
    )
    files = {TRAIN: json.dumps(train).encode(), TEST: json.dumps(test).encode()}
    return files | {f"{IMAGES}/{image}": picture(k) for k, image in enumerate(dict.fromkeys(named))}


def zipped(path: Path, files: Mapping[str, bytes] | Sequence[tuple[str, bytes]]) -> Path:
    pairs = list(files.items()) if isinstance(files, Mapping) else files
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # a name given twice
        for name, content in pairs:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return path


def unpacked(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder
