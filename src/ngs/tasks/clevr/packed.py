"""Questions about scenes in one file: tensors mapped into memory, with a checksum over all that it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ngs.errors import DataError
from ngs.learning import packed_file
from ngs.learning.packed_file import Column, as_bytes, as_texts, texts
from ngs.tasks.clevr import packed_scenes
from ngs.tasks.clevr.dataset import NO_ANSWER, Questions, Ragged, VisualQuestions, tensors_of
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.clevr.scenes import ANSWERS

PARTS = ("train", "validation")
_ROWS = ("spelling", "programs", "modules", "keywords")


def _questions_layout(part: str) -> packed_file.Layout:
    questions, words = f"{part} questions", f"{part} words"
    columns = {
        "lexicon": texts(words),
        "scenes": Column(torch.int32, (questions,), 0, "scenes"),
        "answers": Column(torch.int8, (questions,), NO_ANSWER, len(ANSWERS)),
        "numbers": Column(torch.int32, (questions,)),
        "spelling": Column(torch.int32, (None,), 0, words, rows=questions),
        "programs": Column(torch.int8, (None,), 0, len(MODULES), rows=questions),
        "modules": Column(torch.int8, (None,), 0, len(MODULES), rows=questions),
        "keywords": Column(torch.int16, (None, 2), rows=questions),
    }
    return {f"{part}.{name}": column for name, column in columns.items()}


def _faults(tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> Iterator[str]:
    yield from packed_scenes.faults(tensors)
    known = facts.get("known")
    for part in PARTS:
        own = packed_file.under(tensors, part)
        words = len(as_texts(own["lexicon"]))
        if type(known) is not int or not 0 < known <= words:
            yield f"the {part} questions have {words} words, {known} of them in the vocabulary"
        position, module = own["keywords"].long().unbind(1)
        lengths = own["spelling.offsets"].diff().repeat_interleave(own["keywords.offsets"].diff())
        if ((position < 0) | (position >= lengths)).any():
            yield f"a keyword of the {part} questions is not among their words"
        if ((module < 0) | (module >= len(MODULES))).any():
            yield f"a keyword of the {part} questions is of no module"


FORMAT = packed_file.Format(
    "a packed data set of questions about scenes",
    "pack official files with `ngs data import FOLDER`",
    {**packed_scenes.layout(), **_questions_layout("train"), **_questions_layout("validation")},
    _faults,
)


def write(path: Path, data: VisualQuestions) -> None:
    """Put `data` into the file `path`, all of it or nothing: what was there stays until all is written."""
    tensors = packed_scenes.tensors_of(data.scenes)
    for part, questions in zip(PARTS, (data.train, data.validation), strict=True):
        tensors |= {f"{part}.{name}": tensor for name, tensor in tensors_of(questions).items()}
        tensors[f"{part}.lexicon"] = as_bytes(questions.lexicon)
    facts = {"name": data.name, "known": data.train.known}
    if data.validation.known != data.train.known:
        raise DataError(f"{path} cannot be written: the two parts have different vocabularies")
    FORMAT.save(path, tensors, facts)


def read(path: Path) -> VisualQuestions:
    """The data set in the file `path`, checked; its questions stay in the file until they are used."""
    tensors, facts = FORMAT.load(path)
    train, validation = (_questions(packed_file.under(tensors, part), facts["known"]) for part in PARTS)
    return VisualQuestions(facts["name"], tuple(packed_scenes.scenes_of(tensors)), train, validation)


def _questions(own: Mapping[str, Tensor], known: int) -> Questions:
    spelling, programs, modules, keywords = (Ragged(own[name], own[f"{name}.offsets"]) for name in _ROWS)
    scenes, answers, numbers = (own[name] for name in ("scenes", "answers", "numbers"))
    lexicon = as_texts(own["lexicon"])
    return Questions(lexicon, known, spelling, scenes, answers, programs, modules, keywords, numbers)
