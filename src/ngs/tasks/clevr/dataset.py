"""Questions about scenes as data: compact arrays for hundreds of thousands of them."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ngs.errors import NGSError
from ngs.learning.packed_file import Ragged, flattened
from ngs.tasks.clevr.cues import words_of
from ngs.tasks.clevr.dictionary import Said, modules_of
from ngs.tasks.clevr.program import COLUMN, GRAMMAR, Kind, Program, kind_of, program_of
from ngs.tasks.clevr.scenes import ANSWERS, RELATIONS, Scene
from ngs.tasks.source import dealt

UNKNOWN = 0  # the number of every word outside of the vocabulary

UNKNOWN_WORD = "<unknown>"  # what stands first in a vocabulary; no word of a question looks like it

NO_ANSWER = -1  # in place of an answer's number where the source gives none

_ANSWERS = {text: number for number, text in enumerate((None, *ANSWERS), NO_ANSWER)}


@dataclass(frozen=True)
class QuestionRecord:
    """One question as its source has it."""

    text: str
    scene: int  # its position among the scenes
    answer: str | None
    program: Program | None
    number: int  # what the source calls it


Records = Iterable[QuestionRecord]


@dataclass(frozen=True)
class NotUnderstood:
    """A question that the dictionary has no modules for."""

    index: int  # in its part of the data
    number: int
    text: str
    message: str

    def __str__(self) -> str:
        return f"question {self.number} ({self.text!r}): {self.message}"


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions about some scenes, with what is known of each."""

    lexicon: tuple[str, ...]
    """every word that may occur: first the vocabulary, then what lies outside of it"""
    known: int  # how many words of the lexicon are the vocabulary
    spelling: Ragged  # int32: the words of each question, numbered by the lexicon
    scenes: Tensor  # int32 [question]: which scene it is about
    answers: Tensor  # int8 [question]: which of ANSWERS, or NO_ANSWER
    programs: Ragged
    """int8: columns of MODULES in prefix notation; empty where the source gives no program"""
    modules: Ragged
    """int8: columns of the modules that the dictionary gives; empty where it understood nothing"""
    keywords: Ragged
    """int16 [pair, 2]: a word's position and the column of the module that it speaks of"""
    numbers: Tensor  # int32 [question]: what its source calls it

    @classmethod
    def of(cls, records: Records, vocabulary: Sequence[str] | None = None) -> Questions:
        """The records as arrays, by default with a vocabulary of their own; refused ones have no modules."""
        lexicon: dict[str, int] = {}
        spelling, programs, modules, keywords = _Rows("i"), _Rows("b"), _Rows("b"), _Rows("h", 2)
        scenes, answers, numbers = array("i"), array("b"), array("i")
        for record in records:
            words = words_of(record.text)
            found, said = _understood(words)
            spelling.add(lexicon.setdefault(word, len(lexicon)) for word in words)
            programs.add(GRAMMAR.encode(record.program or ()))
            modules.add(GRAMMAR.encode(found))
            keywords.add(n for word, module in said for n in (word, COLUMN[module]))
            scenes.append(record.scene)
            answers.append(_ANSWERS[record.answer])
            numbers.append(record.number)
        rows = spelling.table(), _tensor(scenes), _tensor(answers), programs.table(), modules.table()
        known = (UNKNOWN_WORD, *sorted(lexicon)) if vocabulary is None else tuple(vocabulary)
        return cls(tuple(lexicon), 0, *rows, keywords.table(), _tensor(numbers)).numbered_by(known)

    def __len__(self) -> int:
        return len(self.scenes)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return self.lexicon[: self.known]

    @cached_property
    def words(self) -> Ragged:
        """int32: the words of each question, numbered by the vocabulary; UNKNOWN for others."""
        flat = self.spelling.flat
        return Ragged(flat.masked_fill(flat >= self.known, UNKNOWN), self.spelling.offsets)

    @property
    def understood(self) -> Tensor:
        """bool [question]: whether the dictionary knew its modules."""
        return self.modules.lengths > 0

    def not_understood(self) -> Iterator[NotUnderstood]:
        """Those without modules, with the reason, for which the dictionary is asked once more."""
        for k in (~self.understood).nonzero().flatten().tolist():
            words, message = self.text_words(k), "understood by now; import it again"
            try:
                modules_of(words)
            except NGSError as error:
                message = str(error)
            yield NotUnderstood(k, int(self.numbers[k]), " ".join(words), message)

    def select(self, questions: Sequence[int] | Tensor) -> Questions:
        rows = torch.as_tensor(questions, dtype=torch.long)
        chosen: dict[str, Any] = {
            name: column.select(rows) if isinstance(column, Ragged) else column[rows]
            for name, column in columns_of(self).items()
        }
        return replace(self, **chosen)

    def numbered_by(self, vocabulary: tuple[str, ...]) -> Questions:
        lexicon = (*vocabulary, *sorted(set(self.lexicon) - set(vocabulary)))
        place = {word: number for number, word in enumerate(lexicon)}
        renumbered = torch.tensor([place[word] for word in self.lexicon], dtype=torch.int32)
        flat = renumbered[self.spelling.flat.long()]
        return replace(
            self, lexicon=lexicon, known=len(vocabulary), spelling=Ragged(flat, self.spelling.offsets)
        )

    # One question

    def text_words(self, k: int) -> tuple[str, ...]:
        return tuple(self.lexicon[number] for number in self.spelling.row(k).tolist())

    def answer(self, k: int) -> str | None:
        number = int(self.answers[k])
        return None if number == NO_ANSWER else ANSWERS[number]

    def program(self, k: int) -> Program | None:
        return program_of(self.programs.row(k).tolist()) or None

    def modules_of(self, k: int) -> tuple[str, ...]:
        """What the dictionary gives, in the order of MODULES."""
        return program_of(self.modules.row(k).tolist())

    def kind(self, k: int) -> Kind | None:
        """By its program, else by its modules; None where there are neither."""
        modules = self.program(k) or self.modules_of(k)
        return kind_of(modules) if modules else None


@dataclass(frozen=True, eq=False)
class VisualQuestions:
    """A data set: scenes, and questions about them to learn from and to be tested on."""

    name: str
    scenes: tuple[Scene, ...]
    train: Questions
    validation: Questions  # its words are numbered by the vocabulary of `train`

    @classmethod
    def of(cls, name: str, scenes: Sequence[Scene], train: Records, validation: Records) -> VisualQuestions:
        learned = Questions.of(train)
        return cls(name, tuple(scenes), learned, Questions.of(validation, learned.vocabulary))

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The words of the training questions in order, behind UNKNOWN_WORD."""
        return self.train.vocabulary

    @cached_property
    def digest(self) -> str:
        """Of scenes, questions and answers: tells data sets at the same path apart."""
        hasher = hashlib.sha256()
        for scene in self.scenes:
            hasher.update(repr(scene_content(scene)).encode())
        for part in (self.train, self.validation):
            hasher.update(repr((part.known, part.lexicon)).encode())
            for tensor in flattened(columns_of(part)).values():
                hasher.update(tensor.contiguous().numpy().reshape(-1).view("uint8").data)
        return hasher.hexdigest()


def divided(questions: Questions, share: float, seed: int) -> tuple[Questions, Questions]:
    """A random share of the questions, the same of each number of modules, and the rest."""
    chosen, rest = map(torch.from_numpy, dealt(questions.modules.lengths.numpy(), share, seed))
    return questions.select(chosen), questions.select(rest)


def columns_of(questions: Questions) -> dict[str, Tensor | Ragged]:
    names = ("scenes", "answers", "numbers", "spelling", "programs", "modules", "keywords")
    return {name: getattr(questions, name) for name in names}


def scene_content(scene: Scene) -> tuple[object, ...]:
    """All that a scene holds, as a value that prints the same each time."""
    relations = [sorted(found) for relation in RELATIONS for found in scene.relations[relation]]
    return scene.things, relations, sorted(scene.directions.items()), scene.name


class _Rows:
    """A ragged table while it grows."""

    def __init__(self, code: str, *shape: int) -> None:
        self.flat, self.ends = array(code), array("q", [0])
        self.shape = shape

    def add(self, entries: Iterable[int]) -> None:
        self.flat.extend(entries)
        self.ends.append(len(self.flat) // math.prod(self.shape))

    def table(self) -> Ragged:
        return Ragged(_tensor(self.flat).reshape(-1, *self.shape), _tensor(self.ends))


def _understood(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[Said, ...]]:
    try:
        understood = modules_of(words)
    except NGSError:
        return (), ()
    return understood.modules, understood.keywords


def _tensor(numbers: array[int]) -> Tensor:
    return torch.from_numpy(np.array(numbers))
