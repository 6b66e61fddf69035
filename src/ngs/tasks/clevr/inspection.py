"""What a data set holds: how much of what, what the dictionary makes of it, and if its answers are right."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from torch import Tensor

from ngs.tasks.clevr.batched_execution import SceneTables, execute_batch
from ngs.tasks.clevr.dataset import NO_ANSWER, NotUnderstood, Questions, VisualQuestions
from ngs.tasks.clevr.examples import counts_of
from ngs.tasks.clevr.program import Kind
from ngs.tasks.clevr.scenes import ANSWERS, RELATIONS, Scene

NOT_KNOWN = "not known"  # in place of an answer or a kind that the source does not tell


@dataclass(frozen=True)
class Count:
    of: str
    train: int
    validation: int


@dataclass(frozen=True)
class PartInspection:
    questions: int
    scenes: int  # that the questions are about
    with_program: int
    with_answer: int
    not_understood: tuple[NotUnderstood, ...]
    same_modules: int  # questions whose program has exactly the modules that the dictionary gives
    other_modules: tuple[int, ...]  # the numbers of those whose program has others
    right_answers: int  # questions whose program gives the recorded answer
    wrong_answers: tuple[int, ...]  # the numbers of those whose program gives another, or none


@dataclass(frozen=True)
class Inspection:
    name: str
    scenes: int
    vocabulary: tuple[str, ...]  # of the training questions
    new_words: Mapping[str, int]
    """words of validation questions outside of the vocabulary, and how often they occur"""
    train: PartInspection
    validation: PartInspection
    repeated: tuple[int, ...]
    """the numbers of validation questions that are asked in training, about an equal scene"""
    kinds: tuple[Count, ...]
    lengths: tuple[Count, ...]  # of programs
    answers: tuple[Count, ...]
    objects: tuple[Count, ...]  # scenes by their number of objects


def inspect(data: VisualQuestions) -> Inspection:
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
        kinds=_counts((map(part.kind, range(len(part))) for part in parts), Kind),
        lengths=_counts((str(n) for n in part.programs.lengths.tolist() if n) for part in parts),
        answers=_counts((map(part.answer, range(len(part))) for part in parts), ANSWERS),
        objects=_counts(
            (str(len(data.scenes[k].things)) for k in set(part.scenes.tolist())) for part in parts
        ),
    )


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


def _counts(parts: Iterable[Iterable[str | None]], order: Iterable[str] | None = None) -> tuple[Count, ...]:
    """How often each occurs in the two parts, in the given order or by number, and last what is unknown."""
    train, validation = (Counter(each or NOT_KNOWN for each in part) for part in parts)
    names = sorted(train | validation, key=int) if order is None else [*order, NOT_KNOWN]
    return tuple(
        Count(name, train[name], validation[name]) for name in names if train[name] or validation[name]
    )


def _new_words(questions: Questions) -> dict[str, int]:
    flat = questions.spelling.flat
    counted = Counter(flat[flat >= questions.known].tolist())
    return {questions.lexicon[number]: count for number, count in counted.most_common()}


def _repeated(data: VisualQuestions) -> tuple[int, ...]:
    """A question is its words and what programs can see of its scene: attributes and relations."""

    def visible(scene: Scene) -> object:
        attributes = (tuple(thing.attributes.values()) for thing in scene.things)
        return *attributes, *(scene.relations[relation] for relation in RELATIONS)

    distinct: dict[object, int] = {}
    alike = [distinct.setdefault(visible(scene), len(distinct)) for scene in data.scenes]
    tested = {alike[k] for k in data.validation.scenes.tolist()}

    def keys(questions: Questions) -> Iterator[tuple[int, tuple[str, ...]]]:
        return ((alike[scene], questions.text_words(k)) for k, scene in enumerate(questions.scenes.tolist()))

    seen = {key for key in keys(data.train) if key[0] in tested}
    numbers = data.validation.numbers.tolist()
    return tuple(number for number, key in zip(numbers, keys(data.validation), strict=True) if key in seen)
