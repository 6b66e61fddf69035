"""Small official files for tests: two scenes and a few questions, sound until a test spoils them."""

import copy
import gzip
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ngs.tasks.clevr import official
from ngs.tasks.clevr.dataset import VisualQuestions

ROOT = Path(__file__).parents[3]


def published() -> Path:
    """The folder with the official data, where NGS_DATA points or ../shared/data; else the test skips."""
    folder = Path(os.environ.get("NGS_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "clevr" / "questions_val.json.gz").is_file():
        pytest.skip(f"needs clevr/, which is not in {folder}; let NGS_DATA name the folder that has it")
    return folder / "clevr"


@cache
def published_data() -> VisualQuestions:
    """All of it, read once for all tests."""
    return official.read(published()).data


def thing(size: str, color: str, material: str, shape: str, x: float) -> dict[str, Any]:
    return {
        **{"size": size, "color": color, "material": material, "shape": shape},
        **{"3d_coords": [x, 0.5, 0.35], "rotation": 30.5, "pixel_coords": [100, 120, 9.75]},
    }


def scene(image_index: int, *things: dict[str, Any]) -> dict[str, Any]:
    """Its objects stand in a row from left to right, none in front of another."""
    count = len(things)
    return {
        "image_index": image_index,
        "image_filename": f"image_{image_index}.png",
        "objects": list(things),
        "relationships": {
            "left": [list(range(k)) for k in range(count)],
            "right": [list(range(k + 1, count)) for k in range(count)],
            "front": [[] for _ in range(count)],
            "behind": [[] for _ in range(count)],
        },
        "directions": {"left": [-1.0, 0.0, 0.0], "right": [1.0, 0.0, 0.0]},
    }


def step(function: str, *inputs: int, value: str | None = None) -> dict[str, Any]:
    return {"inputs": list(inputs), "function": function, "value_inputs": [] if value is None else [value]}


def question(
    number: int, image_index: int, text: str, answer: str, *program: dict[str, Any]
) -> dict[str, Any]:
    return {
        **{"question_index": number, "image_index": image_index, "question": text},
        **{"answer": answer, "program": list(program)},
    }


def sound_scene() -> dict[str, Any]:
    return scene(
        7,
        thing("small", "red", "rubber", "cube", -1.0),
        thing("large", "blue", "metal", "sphere", 0.0),
        thing("large", "red", "metal", "cylinder", 1.0),
    )


def sound_question() -> dict[str, Any]:
    return question(
        *(3, 7, "How many red things are left of the big blue ball?", "1"),
        step("scene"),
        step("filter_size", 0, value="large"),
        step("filter_color", 1, value="blue"),
        step("filter_shape", 2, value="sphere"),
        step("unique", 3),
        step("relate", 4, value="left"),
        step("filter_color", 5, value="red"),
        step("count", 6),
    )


def sound_files() -> dict[str, Any]:
    """Three questions to learn from and one to be tested on, each part with a scene of its own."""
    count = (step("scene"), step("filter_shape", 0, value="cube"), step("count", 1))
    ask = (step("scene"), step("filter_color", 0, value="blue"), step("unique", 1), step("query_shape", 2))
    return {
        "scenes_train": {"info": {}, "scenes": [sound_scene()]},
        "questions_train": {
            "info": {"split": "train"},
            "questions": [
                question(0, 7, "How many cubes are there?", "1", *count),
                question(1, 7, "What shape is the blue thing?", "sphere", *ask),
                sound_question(),
            ],
        },
        "scenes_val": {"scenes": [scene(0, thing("small", "cyan", "metal", "cube", 0.0))]},
        "questions_val": {"questions": [question(0, 0, "How many cubes are there?", "1", *count)]},
    }


def written(folder: Path, files: dict[str, Any], ending: str = ".json") -> Path:
    for name, content in files.items():
        path, text = folder / f"{name}{ending}", json.dumps(content).encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text) if ending.endswith(".gz") else text)
    return folder


GONE = object()
"""In place of a value that is taken away."""


def spoiled(value: Any, place: str, new: Any) -> Any:
    """A copy of `value` with another value at `place`, such as 'program[3].inputs'."""
    value = copy.deepcopy(value)
    *path, last = [int(key) if key.isdigit() else key for key in re.findall(r"\w+", place)]
    inner = value
    for key in path:
        inner = inner[key]
    if new is GONE:
        del inner[last]
    else:
        inner[last] = new
    return value
