"""The page of a run that answers questions about scenes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from ngs.experiments.report.corrections import Fate
from ngs.experiments.report.markup import Html, chance, element, note, percent
from ngs.experiments.report.programs import Working, about_objects, differing, program_table
from ngs.experiments.report.question_readings import Answered, CorrectedQuestion
from ngs.experiments.report.scene_drawing import drawing
from ngs.experiments.report.sections import AnswersPage, shares_table

GROUPS = {"by_kind": ("kind of question", "kind"), "by_length": ("length of the program", "modules")}
"""What the questions are told apart by, in the words of a caption and in a word."""


class QuestionPage(AnswersPage):
    task: ClassVar[str] = "Answering questions about scenes"
    examples: ClassVar[str] = "questions"
    labels: ClassVar[Mapping[str, str]] = {
        "programs": "programs identical to the true ones",
        "equivalent": "programs equivalent to them",
    }
    accuracy_title: ClassVar[str] = "Accuracy by kind and length"
    cards: ClassVar[str] = "questions"
    read_as: ClassVar[str] = "program"
    lucky: ClassVar[str] = "right by programs that mean something else than the true ones"
    spurious: ClassVar[str] = "does not mean what the question asks"
    judge: ClassVar[str] = "the true program can tell, and no search sees it"
    unlabelled: ClassVar[str] = (
        "This data set has no programs: nobody can say here which right answers have the right reasons."
    )
    how_to_read: ClassVar[str] = (
        "A drawing shows the scene from above: circles are spheres, squares cubes, hexagons cylinders, and "
        "what has an inner line is of metal. Beside it are programs, to be read from the bottom up, with the "
        "objects that each module gives; rings in a program's colour are around those that its answer is "
        "about. p is the network's probability of a program."
    )
    meanings: ClassVar[Mapping[Fate, str]] = {
        Fate.TRUE: "1-BS finds a program that means what the true one means",
        Fate.SPURIOUS: "1-BS finds the right answer by a program that means something else",
        Fate.UNJUDGED: "1-BS finds the right answer; nobody knows the true program",
        Fate.NONE: "1-BS finds nothing",
    }
    few: ClassVar[int] = 3

    def supervision(self) -> str:
        if self.run.config.method == "supervised":
            return "Trained with the program of every question: the ceiling of what answers alone can teach."
        return (
            "Trained from answers alone: the network saw questions, the modules that a dictionary finds in "
            "their words, scenes and answers, never how the modules belong together. No program was used in "
            "training; on this page, programs only judge."
        )

    @property
    def tested_on(self) -> str:
        return "questions" if self.run.result is not None or self.is_all else "questions of it"

    def remark(self) -> str:
        if self.test.by_name["equivalent"] is None:
            return self.unlabelled
        return (
            "Programs are equivalent where they differ only in the order of filters, or of the two sides of "
            "a symmetric module, or in where the filter of an intersection stands."
        )

    def tested(self) -> Iterable[str]:
        return [f"test part, {self.test.examples:,} questions"]

    def tables(self) -> Iterator[Html]:
        for group, (called, column) in GROUPS.items():
            head = (column, "number", "answers", "equivalent", "identical")
            parts = self.test.groups[group]
            yield shares_table(f"by {called}", head, parts, self.test, ("equivalent", "programs"))

    def asides(self) -> Iterator[Html]:
        if self.run.result is not None:
            part = self.run.result.validation
            programs = part.by_name["equivalent"]
            told = (
                ""
                if programs is None
                else f", {percent(programs)} of the programs equivalent to the true ones"
            )
            yield element(
                "p",
                f"On the validation part, {part.examples:,} questions held out from training, by which the "
                f"network was chosen: {percent(part.answers)} of the answers right{told}.",
                class_="of",
            )
        if unread := self.shown.exam.not_understood:
            yield note(
                f"The dictionary does not understand {unread:,} questions of the test part: they count as "
                f"wrong in a result, and are not among the questions shown below."
            )

    def searches(self) -> Iterator[str]:
        config = self.run.config
        moves = config.grammar == "tidy" and config.moves
        more = (
            ", moves one filter to another noun phrase, or turns a chain of noun phrases round"
            if moves
            else ""
        )
        yield (
            f"1-BS sets out from the program that was read and takes the likeliest that is one change away: "
            f"it switches two modules that take and give the same{more}. m-BS is a random walk of such "
            f"changes. "
        )
        if self.shown.practice.labelled:
            yield "Marked: in what was read, where the true program differs; in a correction, what is new."

    def told(self, each: Answered | CorrectedQuestion) -> tuple[str, *tuple[Html, ...]]:
        answered = each if isinstance(each, Answered) else each.answered
        read, true = answered.read, answered.true
        marked = frozenset[int]() if true is None else differing(read.program, true.program)
        workings = [Working("read", "read", read, marked, f"p {chance(answered.p)}")]
        if isinstance(each, CorrectedQuestion) and each.correction is not None:
            changed = differing(each.correction.program, read.program)
            workings.append(Working("1-BS", "fixed", each.correction, changed, f"p {chance(each.p)}"))
        if true is not None:
            workings.append(Working("true", "true", true))
        kind = "" if answered.kind is None else f", {answered.kind}"
        rings = {working.colour: about_objects(working.executed.steps) for working in workings}
        scene = element("div", drawing(answered.scene, rings), class_="seen")
        asked = element("p", answered.text, " ", element("b", answered.answer), class_="asked")
        tables = element("div", scene, *map(program_table, workings), class_="workings")
        return f"question {answered.number}{kind}", asked, tables
