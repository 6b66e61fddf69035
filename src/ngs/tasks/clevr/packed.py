"""Questions about scenes in one file: tensors mapped into memory, with a checksum over all that it holds."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from ngs.errors import DataError
from ngs.learning.packed_file import Column, Contents, Format, Group, texts
from ngs.tasks.clevr.dataset import NO_ANSWER, Questions, VisualQuestions, columns_of
from ngs.tasks.clevr.embedded import embedded
from ngs.tasks.clevr.packed_scenes import SCENES, contents_of, scenes_of
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.clevr.scenes import ANSWERS
from ngs.tasks.source import EMBEDDED, packed_at

PARTS = ("train", "validation")


def _words(contents: Contents, facts: Mapping[str, Any]) -> Iterator[str]:
    words, known, keywords = len(contents["lexicon"]), facts.get("known"), contents["keywords"]
    if type(known) is not int or not 0 < known <= words:
        yield f"there are {words} words, {known} of them in the vocabulary"
    lengths = contents["spelling"].lengths.repeat_interleave(keywords.lengths)
    if (keywords.flat[:, 0] >= lengths).any():
        yield "a keyword is not among the words of its question"


QUESTIONS = Group(
    {
        "lexicon": texts("words"),
        "scenes": Column(torch.int32, ("questions",), 0, "scenes"),
        "answers": Column(torch.int8, ("questions",), NO_ANSWER, len(ANSWERS)),
        "numbers": Column(torch.int32, ("questions",)),
        "spelling": Column(torch.int32, (None,), 0, "words", rows="questions"),
        "programs": Column(torch.int8, (None,), 0, len(MODULES), rows="questions"),
        "modules": Column(torch.int8, (None,), 0, len(MODULES), rows="questions"),
        "keywords": Column(torch.int16, (None, 2), 0, (1 << 15, len(MODULES)), rows="questions"),
    },
    [_words],
)

FORMAT = Format(
    "a packed data set of questions about scenes",
    "pack official files with `ngs data import FOLDER`",
    Group({**SCENES.columns, **dict.fromkeys(PARTS, QUESTIONS)}, SCENES.rules),
)


def write(path: Path, data: VisualQuestions) -> None:
    """Put `data` into the file `path`, all of it or nothing: what was there stays until all is written."""
    if data.validation.known != data.train.known:
        raise DataError(f"{path} cannot be written: the two parts have different vocabularies")
    parts = {
        part: {**columns_of(questions), "lexicon": questions.lexicon}
        for part, questions in zip(PARTS, (data.train, data.validation), strict=True)
    }
    FORMAT.save(path, {**contents_of(data.scenes), **parts}, {"name": data.name, "known": data.train.known})


def load(source: str) -> VisualQuestions:
    return embedded() if source == EMBEDDED else read(packed_at(source, EMBEDDED, "FOLDER"))


def read(path: Path) -> VisualQuestions:
    """The data set in the file `path`, checked; its questions stay in the file until they are used."""
    contents, facts = FORMAT.load(path)
    parts = (Questions(known=facts["known"], **contents[part]) for part in PARTS)
    return VisualQuestions(facts["name"], tuple(scenes_of(contents)), *parts)
