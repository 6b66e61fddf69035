"""Questions about scenes in one file: tensors mapped into memory, with a checksum over all that it holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from ngs.errors import DataError
from ngs.learning import tensor_file
from ngs.tasks.clevr import packed_scenes
from ngs.tasks.clevr.dataset import NO_ANSWER, Questions, Ragged, VisualQuestions, tensors_of
from ngs.tasks.clevr.packed_scenes import as_bytes, as_texts, count
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.clevr.scenes import ANSWERS

KIND = "a packed data set of questions about scenes"
REMEDY = "pack official files with `ngs data import FOLDER`"
PARTS = ("train", "validation")

_COLUMNS: Mapping[str, tuple[torch.dtype, int]] = {
    "scenes": (torch.int32, 1),
    "answers": (torch.int8, 1),
    "numbers": (torch.int32, 1),
}
_ROWS: Mapping[str, tuple[torch.dtype, int]] = {
    "spelling": (torch.int32, 1),
    "programs": (torch.int8, 1),
    "modules": (torch.int8, 1),
    "keywords": (torch.int16, 2),
}
_OF_PART = {
    **_COLUMNS,
    **_ROWS,
    **{f"{name}.offsets": (torch.int64, 1) for name in _ROWS},
    "lexicon": (torch.uint8, 1),
}

LAYOUT: tensor_file.Layout = {
    **packed_scenes.LAYOUT,
    **{f"{part}.{name}": layout for part in PARTS for name, layout in _OF_PART.items()},
}
"""The tensors of a file, each with its type and number of dimensions; a lexicon is JSON in UTF-8."""


def is_packed(path: Path) -> bool:
    """Whether a file says that it is of this kind; only its header is read."""
    return stated_kind(path) == KIND


def stated_kind(path: Path) -> str | None:
    """What a packed file says that it is; None where it says nothing."""
    try:
        with safe_open(path, framework="pt") as file:
            description = json.loads((file.metadata() or {}).get("description", "{}"))
    except (SafetensorError, OSError, ValueError, RecursionError):
        return None
    kind = description.get("kind") if isinstance(description, dict) else None
    return kind if isinstance(kind, str) else None


def write(path: Path, data: VisualQuestions) -> None:
    """Put `data` into the file `path`, all of it or nothing: what was there stays until all is written."""
    tensors = packed_scenes.tensors_of(data.scenes)
    for part, questions in zip(PARTS, (data.train, data.validation), strict=True):
        tensors |= {f"{part}.{name}": tensor for name, tensor in tensors_of(questions).items()}
        tensors[f"{part}.lexicon"] = as_bytes(questions.lexicon)
    facts = {"name": data.name, "known": data.train.known}
    if data.validation.known != data.train.known:
        raise DataError(f"{path} cannot be written: the two parts have different vocabularies")
    tensor_file.save_sound(path, KIND, tensors, facts, _faults)


def read(path: Path) -> VisualQuestions:
    """The data set in the file `path`, checked; its questions stay in the file until they are used."""
    tensors, facts = tensor_file.load_sound(path, KIND, REMEDY, _faults)
    train, validation = (_questions(tensors, part, facts["known"]) for part in PARTS)
    return VisualQuestions(facts["name"], tuple(packed_scenes.scenes_of(tensors)), train, validation)


def _questions(tensors: Mapping[str, Tensor], part: str, known: int) -> Questions:
    own = {name: tensors[f"{part}.{name}"] for name in _OF_PART}
    rows = {name: Ragged(own[name], own[f"{name}.offsets"]) for name in _ROWS}
    return Questions(
        as_texts(own["lexicon"]),
        known,
        rows["spelling"],
        own["scenes"],
        own["answers"],
        rows["programs"],
        rows["modules"],
        rows["keywords"],
        own["numbers"],
    )


def _faults(tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> Iterator[str]:
    """What keeps the tensors from being a data set; what comes later relies on what came before."""
    name, known = facts.get("name"), facts.get("known")
    if not isinstance(name, str) or not name.isprintable():
        yield f"the name {name!r} cannot be printed"
    yield from tensor_file.layout_faults(tensors, LAYOUT)
    yield from packed_scenes.faults(tensors)
    for part in PARTS:
        words = count(tensors[f"{part}.lexicon"])
        if words is None or type(known) is not int or not 0 < known <= words:
            yield f"the {part} questions have {words} words, {known} of them in the vocabulary"
        else:
            yield from _faults_of_questions(tensors, part, words)


def _faults_of_questions(tensors: Mapping[str, Tensor], part: str, words: int) -> Iterator[str]:
    own = {name: tensors[f"{part}.{name}"] for name in _OF_PART}
    questions = len(own["scenes"])
    for name in ("answers", "numbers"):
        if len(own[name]) != questions:
            yield f"there are {questions} {part} questions, but {len(own[name])} {name}"
    for name in _ROWS:
        offsets = own[f"{name}.offsets"]
        ends = (0, len(own[name]))
        if (
            len(offsets) != questions + 1
            or (int(offsets[0]), int(offsets[-1])) != ends
            or (offsets.diff() < 0).any()
        ):
            yield f"the {name} of the {part} questions do not add up"
    if own["keywords"].shape[1] != 2:
        yield f"the keywords of the {part} questions are no pairs"
    scenes = len(tensors["scenes.counts"])
    limits = {
        "scenes": (own["scenes"], 0, scenes),
        "answers": (own["answers"], NO_ANSWER, len(ANSWERS)),
        "words": (own["spelling"], 0, words),
        "modules": (torch.cat([own["programs"], own["modules"], own["keywords"][:, 1]]), 0, len(MODULES)),
    }
    for name, (numbers, low, high) in limits.items():
        if len(numbers) and not low <= int(numbers.min()) <= int(numbers.max()) < high:
            given = f"{int(numbers.min())} to {int(numbers.max())}"
            yield f"the {part} questions have {name} {given}, and {low} to {high - 1} can be"
    yield from _faults_of_keywords(own, part)


def _faults_of_keywords(own: Mapping[str, Tensor], part: str) -> Iterator[str]:
    lengths = own["spelling.offsets"].diff().repeat_interleave(own["keywords.offsets"].diff())
    positions = own["keywords"][:, 0].long()
    if ((positions < 0) | (positions >= lengths)).any():
        yield f"a keyword of the {part} questions is not among their words"
