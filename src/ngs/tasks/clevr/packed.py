"""Questions about scenes in one file: tensors mapped into memory, with a checksum over all that it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from ngs.errors import DataError
from ngs.learning import packed_file
from ngs.learning.packed_file import Column, texts, under, within
from ngs.tasks.clevr import packed_scenes
from ngs.tasks.clevr.dataset import NO_ANSWER, Questions, VisualQuestions, tensors_of
from ngs.tasks.clevr.embedded import embedded
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.clevr.scenes import ANSWERS
from ngs.tasks.source import EMBEDDED, packed_at

PARTS = ("train", "validation")


def _questions_layout(part: str) -> packed_file.Layout:
    questions, words = f"{part} questions", f"{part} words"
    return within(
        part,
        {
            "lexicon": texts(words),
            "scenes": Column(torch.int32, (questions,), 0, "scenes"),
            "answers": Column(torch.int8, (questions,), NO_ANSWER, len(ANSWERS)),
            "numbers": Column(torch.int32, (questions,)),
            "spelling": Column(torch.int32, (None,), 0, words, rows=questions),
            "programs": Column(torch.int8, (None,), 0, len(MODULES), rows=questions),
            "modules": Column(torch.int8, (None,), 0, len(MODULES), rows=questions),
            "keywords": Column(torch.int16, (None, 2), rows=questions),
        },
    )


def _faults(contents: Mapping[str, Any], facts: Mapping[str, Any]) -> Iterator[str]:
    yield from packed_scenes.faults(contents)
    known = facts.get("known")
    for part in PARTS:
        own = under(contents, part)
        words, keywords = len(own["lexicon"]), own["keywords"]
        if type(known) is not int or not 0 < known <= words:
            yield f"the {part} questions have {words} words, {known} of them in the vocabulary"
        position, module = keywords.flat.long().unbind(1)
        lengths = own["spelling"].lengths.repeat_interleave(keywords.lengths)
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
    if data.validation.known != data.train.known:
        raise DataError(f"{path} cannot be written: the two parts have different vocabularies")
    contents = packed_scenes.contents_of(data.scenes)
    for part, questions in zip(PARTS, (data.train, data.validation), strict=True):
        contents |= within(part, {**tensors_of(questions), "lexicon": questions.lexicon})
    FORMAT.save(path, contents, {"name": data.name, "known": data.train.known})


def load(source: str) -> VisualQuestions:
    """The data set of a packed file, or the embedded one."""
    return embedded() if source == EMBEDDED else read(packed_at(source, EMBEDDED, "FOLDER"))


def read(path: Path) -> VisualQuestions:
    """The data set in the file `path`, checked; its questions stay in the file until they are used."""
    contents, facts = FORMAT.load(path)
    parts = (Questions(known=facts["known"], **under(contents, part)) for part in PARTS)
    return VisualQuestions(facts["name"], tuple(packed_scenes.scenes_of(contents)), *parts)
