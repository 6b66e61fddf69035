"""What a data set holds: how much of what, what the dictionary makes of it, and if its answers are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor

from ngs.learning.packed_file import Ragged
from ngs.tasks.clevr.batched_execution import SceneTables, execute_batch
from ngs.tasks.clevr.dataset import NO_ANSWER, NotUnderstood, Questions, VisualQuestions
from ngs.tasks.clevr.examples import counts_of
from ngs.tasks.clevr.program import MODULES, Kind, kind_of
from ngs.tasks.clevr.scenes import ANSWERS, RELATIONS, Scene

NOT_KNOWN = "not known"
"""In place of an answer or a kind that the source does not tell."""


@dataclass(frozen=True)
class Count:
    """How many questions, or scenes, of each part."""

    of: str
    train: int
    validation: int


@dataclass(frozen=True)
class PartInspection:
    """What `inspect` found in one part."""

    questions: int
    scenes: int
    """that the questions are about"""
    with_program: int
    with_answer: int
    not_understood: tuple[NotUnderstood, ...]
    same_modules: int
    """questions whose program has exactly the modules that the dictionary gives"""
    other_modules: tuple[int, ...]
    """the numbers of those whose program has others"""
    right_answers: int
    """questions whose program gives the recorded answer"""
    wrong_answers: tuple[int, ...]
    """the numbers of those whose program gives another, or none"""


@dataclass(frozen=True)
class Inspection:
    """What `inspect` found."""

    name: str
    scenes: int
    vocabulary: tuple[str, ...]
    """of the training questions"""
    new_words: Mapping[str, int]
    """words of validation questions outside of the vocabulary, and how often they occur"""
    train: PartInspection
    validation: PartInspection
    repeated: tuple[int, ...]
    """the numbers of validation questions that are asked in training, about an equal scene"""
    kinds: tuple[Count, ...]
    lengths: tuple[Count, ...]
    """of programs"""
    answers: tuple[Count, ...]
    objects: tuple[Count, ...]
    """scenes by their number of objects"""


def inspect(data: VisualQuestions) -> Inspection:
    """Counts, repetitions, and checks of modules and answers."""
    parts = (data.train, data.validation)
    tables = SceneTables.of(data.scenes)
    train, validation = (_part(part, tables) for part in parts)
    return Inspection(
        name=data.name,
        scenes=len(data.scenes),
        vocabulary=data.vocabulary[1:],
        new_words=_new_words(data.validation),
        train=train,
        validation=validation,
        repeated=_repeated(data),
        kinds=_counts(map(_kinds, parts), [*Kind, NOT_KNOWN]),
        lengths=_counts((str(n) for n in part.programs.lengths.tolist() if n) for part in parts),
        answers=_counts(map(_answers, parts), [*ANSWERS, NOT_KNOWN]),
        objects=_counts(
            (str(len(data.scenes[k].things)) for k in set(part.scenes.tolist())) for part in parts
        ),
    )


# The questions of one part


def _part(questions: Questions, tables: SceneTables) -> PartInspection:
    programmed, answered = questions.programs.lengths > 0, questions.answers != NO_ANSWER
    comparable, checkable = programmed & questions.understood, programmed & answered
    same = (counts_of(questions.programs) == counts_of(questions.modules)).all(1)
    given = execute_batch(tables, questions.programs.padded(), questions.scenes.long())
    right = given == questions.answers

    def numbers(chosen: Tensor) -> tuple[int, ...]:
        return tuple(questions.numbers[chosen].tolist())

    return PartInspection(
        questions=len(questions),
        scenes=len(set(questions.scenes.tolist())),
        with_program=int(programmed.sum()),
        with_answer=int(answered.sum()),
        not_understood=tuple(questions.not_understood()),
        same_modules=int((comparable & same).sum()),
        other_modules=numbers(comparable & ~same),
        right_answers=int((checkable & right).sum()),
        wrong_answers=numbers(checkable & ~right),
    )


# Counts


def _counts(parts: Iterable[Iterable[str]], order: Sequence[str] | None = None) -> tuple[Count, ...]:
    """How often each occurs in the two parts, in the given order, or else by number."""
    train, validation = map(Counter, parts)
    names = sorted(train | validation, key=int) if order is None else order
    return tuple(
        Count(name, train[name], validation[name]) for name in names if train[name] or validation[name]
    )


def _kinds(questions: Questions) -> Iterator[str]:
    for program, found in zip(_rows(questions.programs), _rows(questions.modules), strict=True):
        columns = program or found
        yield kind_of(MODULES[column] for column in columns) if columns else NOT_KNOWN


def _rows(table: Ragged) -> Iterator[list[int]]:
    flat, offsets = table.flat.tolist(), table.offsets.tolist()
    return (flat[begin:end] for begin, end in pairwise(offsets))


def _answers(questions: Questions) -> Iterator[str]:
    return (NOT_KNOWN if k == NO_ANSWER else ANSWERS[k] for k in questions.answers.tolist())


def _new_words(questions: Questions) -> dict[str, int]:
    flat = questions.spelling.flat
    counted = Counter(flat[flat >= questions.known].tolist())
    return {questions.lexicon[number]: count for number, count in counted.most_common()}


# Repetitions


def _repeated(data: VisualQuestions) -> tuple[int, ...]:
    """A question is its words and what programs can see of its scene: attributes and relations."""

    def visible(scene: Scene) -> object:
        attributes = (tuple(thing.attributes.values()) for thing in scene.things)
        return *attributes, *(scene.relations[relation] for relation in RELATIONS)

    numbers: dict[object, int] = {}
    alike = [numbers.setdefault(visible(scene), len(numbers)) for scene in data.scenes]
    tested = {alike[k] for k in data.validation.scenes.tolist()}
    seen = {key for key in _keys(data.train, alike) if key[0] in tested}
    keys = enumerate(_keys(data.validation, alike))
    return tuple(int(data.validation.numbers[k]) for k, key in keys if key in seen)


def _keys(questions: Questions, alike: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    words, offsets = questions.spelling.flat.numpy(), questions.spelling.offsets.tolist()
    for scene, (begin, end) in zip(questions.scenes.tolist(), pairwise(offsets), strict=True):
        yield alike[scene], words[begin:end].tobytes()
