"""The report of a run that answers questions: scenes from above, and programs with what each module gives."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, ClassVar, NamedTuple

from markupsafe import Markup
from torch import Tensor

from ngs.reasoning.operation import UNDEFINED
from ngs.search.back_search import Corrections
from ngs.tasks.clevr.correction import correct
from ngs.tasks.clevr.dataset import Questions
from ngs.tasks.clevr.examples import Part
from ngs.tasks.clevr.execution import Step, Type, modules
from ngs.tasks.clevr.explanation import drawn_correction
from ngs.tasks.clevr.program import Kind, Program, program_of
from ngs.tasks.clevr.program_text import Executed, about_objects
from ngs.tasks.clevr.reading import QuestionReader
from ngs.tasks.clevr.scene_drawing import drawing
from ngs.tasks.clevr.scenes import Scene
from ngs.tasks.clevr.scores import ProgramScores, outcomes, same_meaning, scores_of
from ngs.tasks.report.readings import Readings, in_turn
from ngs.tasks.report.report import AnswersReport
from ngs.tasks.report.searches import ONE_STEP, Fate, Searches


class Line(NamedTuple):
    """A module in the table of a program."""

    module: str
    value: str
    depth: int
    marked: bool
    undefined: bool = False


@dataclass(frozen=True)
class Working:
    """A program to be shown with what each of its modules gives."""

    name: str
    colour: str  # the class of its table, and of the rings around what it is about
    executed: Executed
    marked: Collection[int] = ()
    p: float | None = None

    @property
    def lines(self) -> Iterator[Line]:
        """What a module works on stands below it; where it takes two values, both are indented."""
        executed = self.executed
        if executed.steps is None:  # it is no tree
            yield from (Line(module, "", 0, k in self.marked) for k, module in enumerate(executed.program))
            return
        for k, (depth, step) in enumerate(_indented(executed.steps, 0)):
            value, marked = value_of(step, executed.scene), k in self.marked
            yield Line(step.module, value, depth, marked, undefined=step.value is UNDEFINED)


def _indented(step: Step, depth: int) -> Iterator[tuple[int, Step]]:
    """In the order of the prefix notation; deeper by one below each module with two branches."""
    yield depth, step
    for argument in step.arguments:
        yield from _indented(argument, depth + (len(step.arguments) > 1))


def value_of(step: Step, scene: Scene) -> str:
    """What a step gave: objects by their numbers in the drawing, anything else as an answer is spoken."""
    if step.value is UNDEFINED:
        return "undefined"
    gives = modules()[step.module].gives
    if gives is Type.OBJECTS:
        everything = len(step.value) == len(scene.things)
        numbers = ", ".join(str(k + 1) for k in sorted(step.value))
        return f"all {len(scene.things)}" if everything else f"{{{numbers}}}" if numbers else "none"
    return f"object {step.value + 1}" if gives is Type.OBJECT else str(step.value)


def differing(program: Program, other: Program) -> frozenset[int]:
    """Positions of `program` that are left when as much as possible of `other` is found in it, in order."""
    kept = SequenceMatcher(a=program, b=other, autojunk=False).get_matching_blocks()
    return frozenset(range(len(program))).difference(*(range(b.a, b.a + b.size) for b in kept))


@dataclass(frozen=True)
class Answered:
    """A question with what was read in it, and what is true."""

    number: int  # what its source calls it
    text: str
    kind: Kind | None
    answer: str
    read: Executed
    p: float  # p(z|x) of the program that was read
    true: Executed | None  # None where nobody knows

    @property
    def scene(self) -> Scene:
        return self.read.scene

    @property
    def title(self) -> str:
        return f"question {self.number}" + ("" if self.kind is None else f", {self.kind}")

    @property
    def workings(self) -> list[Working]:
        if self.true is None:
            return [Working("read", "read", self.read, frozenset(), self.p)]
        marked = differing(self.read.program, self.true.program)
        return [Working("read", "read", self.read, marked, self.p), Working("true", "true", self.true)]

    @property
    def drawing(self) -> Markup:
        return drawing(
            self.scene, {each.colour: about_objects(each.executed.steps) for each in self.workings}
        )


@dataclass(frozen=True)
class CorrectedQuestion(Answered):
    """A question with a wrong answer, and what 1-BS made of it."""

    fate: Fate
    correction: Executed | None
    p_correction: float

    @property
    def workings(self) -> list[Working]:
        read, *true = super().workings
        if self.correction is None:
            return [read, *true]
        changed = differing(self.correction.program, self.read.program)
        return [read, Working("1-BS", "fixed", self.correction, changed, self.p_correction), *true]


@dataclass(frozen=True, eq=False, kw_only=True)
class QuestionReadings(Readings):
    at_once: ClassVar[int] = 32

    reader: QuestionReader
    part: Part
    scenes: Sequence[Scene]
    not_understood: int  # questions of the whole part that nobody can read

    @property
    def questions(self) -> Questions:
        return self.part.questions

    @property
    def scores(self) -> ProgramScores:
        return scores_of(outcomes(self.questions, self.reading.symbols, self.reading.right))

    def means(self, numbers: Sequence[int], z: Tensor) -> list[bool | None]:
        programs = map(program_of, z.tolist())
        return [
            same_meaning(read, self.questions.program(k)) for k, read in zip(numbers, programs, strict=True)
        ]

    def turn(self, number: int) -> tuple[int]:
        """By the kind of question; first those whose kind nobody knows."""
        kind = self.questions.kind(number)
        return (-1 if kind is None else list(Kind).index(kind),)

    def most_confident(self, numbers: list[int]) -> Iterator[int]:
        """Of each kind of question in turn, by p(read)."""
        log_p = self.log_p(numbers, self.reading.symbols[numbers])
        order = log_p.argsort(descending=True, stable=True).tolist()
        return in_turn([numbers[k] for k in order], self.turn)

    def shown(self, number: int) -> Answered:
        questions, z = self.questions, self.reading.symbols[number]
        true, read, answer = questions.program(number), self.executed(number, z), questions.answer(number)
        assert answer is not None, "a part has questions with answers"
        return Answered(
            int(questions.numbers[number]),
            as_text(questions.text_words(number)),
            questions.kind(number),
            answer,
            read,
            self.p(number, z)[0],
            None if true is None else Executed.of(true, read.scene, self.reader.unique),
        )

    def executed(self, number: int, z: Tensor) -> Executed:
        """A program [time] on the scene of a question."""
        scene = self.scenes[int(self.questions.scenes[number])]
        return Executed.of(program_of(z.tolist()), scene, self.reader.unique)


@dataclass(frozen=True, eq=False)
class QuestionSearches(Searches):
    """The wrongly answered questions after both searches."""

    readings: QuestionReadings

    def corrected(self, k: int) -> CorrectedQuestion:
        number, fate, z = self.readings.wrong[k], self.fates[ONE_STEP][k], self.one.z[k]
        found = fate is not Fate.NONE
        return CorrectedQuestion(
            **vars(self.readings.shown(number)),
            fate=fate,
            correction=self.readings.executed(number, z) if found else None,
            p_correction=self.readings.p(number, z)[0] if found else 0.0,
        )

    def example(self, k: int) -> tuple[dict[str, Any], str]:
        """The same with that by m-BS, for JSON, and how 1-BS goes as a drawing (SVG)."""
        answered = self.readings.shown(self.readings.wrong[k])
        text, answer = answered.text, answered.answer
        correction = correct(self.readings.reader, text, answered.scene, answer, few=1)
        facts = {
            "question": text,
            "number": answered.number,
            "answer": answer,
            "true": None if answered.true is None else _text(answered.true.program),
            "read": _text(answered.read.program),
            "value": answered.read.shown,
            "p_read": answered.p,
            "change": correction.search.change,
            "one_step": _found(self.one, k),
            "multi_step": _found(self.several, k),
        }
        return facts, drawn_correction(correction)


def _text(program: Program) -> str:
    return " ".join(program)


def _found(corrections: Corrections, k: int) -> str | None:
    return _text(program_of(corrections.z[k].tolist())) if corrections.found[k] else None


def as_text(words: Sequence[str]) -> str:
    """Words as a sentence; a data set keeps no capitals and no question mark.

    >>> as_text(("there", "is", "a", "cube", ";", "what", "color", "is", "it"))
    'There is a cube; what color is it?'
    """
    text = " ".join(words).replace(" ;", ";").replace(" ,", ",")
    return f"{text[:1].upper()}{text[1:]}?"


class QuestionReport(AnswersReport):
    """Shows the scenes of questions from above, and programs with what each module gives."""

    folder: ClassVar[str] = "tasks/clevr/report"
    sentence: ClassVar[str] = "program"
    cards: ClassVar[str] = "cards questions"
    places: ClassVar[tuple[int, int]] = (12, 4)
    few: ClassVar[int] = 3
    searches: ClassVar[type[Searches]] = QuestionSearches
