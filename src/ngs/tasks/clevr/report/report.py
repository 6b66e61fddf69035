"""The report of a run that answers questions about scenes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from markupsafe import Markup

from ngs.tasks.clevr.report.programs import Working, differing
from ngs.tasks.clevr.report.readings import Answered, CorrectedQuestion, QuestionSearches
from ngs.tasks.clevr.scene_drawing import drawing
from ngs.tasks.report.report import AnswersReport, Card
from ngs.tasks.report.searches import Fate, Searches
from ngs.tasks.report.sections import chance, render

GROUPS = {"by_kind": ("kind of question", "kind"), "by_length": ("length of the program", "modules")}
"""What the questions are told apart by, in the words of a caption and in a word."""


class QuestionReport(AnswersReport):
    """Shows the scenes of questions from above, and programs with what each module gives."""

    task: ClassVar[str] = "Answering questions about scenes"
    examples: ClassVar[str] = "questions"
    labels: ClassVar[Mapping[str, str]] = {
        "programs": "programs identical to the true ones",
        "equivalent": "programs equivalent to them",
    }
    curves: ClassVar[Mapping[str, str]] = {
        "answers": "answers",
        "programs": "programs identical",
        "equivalent": "programs equivalent",
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
    places: ClassVar[tuple[int, int]] = (12, 4)
    few: ClassVar[int] = 3
    searches: ClassVar[type[Searches[Any]]] = QuestionSearches

    @property
    def supervision(self) -> str:
        if self.config.method == "supervised":
            return "Trained with the program of every question: the ceiling of what answers alone can teach."
        return (
            "Trained from answers alone: the network saw questions, the modules that a dictionary finds in "
            "their words, scenes and answers, never how the modules belong together. No program was used in "
            "training; on this page, programs only judge."
        )

    @property
    def tested_on(self) -> str:
        return "questions" if self.told.validation is not None or self.is_all else "questions of it"

    @property
    def remark(self) -> str:
        if self.test.by_name["equivalent"] is None:
            return self.unlabelled
        return (
            "Programs are equivalent where they differ only in the order of filters, or of the two sides of "
            "a symmetric module, or in where the filter of an intersection stands."
        )

    @property
    def tested(self) -> list[str]:
        return [f"test part, {self.test.examples:,} questions"]

    def tables(self) -> list[Markup]:
        columns = {"equivalent": "equivalent", "programs": "identical"}
        return [
            self.test.table(f"by {called}", group, columns, (column, "number", "answers"))
            for group, (called, column) in GROUPS.items()
        ]

    def asides(self) -> Markup:
        unread, validation = self.shown.exam.not_understood, self.told.validation
        return render("tasks/clevr/report/asides.html", validation=validation, not_understood=unread)

    def searched(self) -> str:
        moves = self.config.grammar == "tidy" and self.config.moves
        more = (
            ", moves one filter to another noun phrase, or turns a chain of noun phrases round"
            if moves
            else ""
        )
        marked = "Marked: in what was read, where the true program differs; in a correction, what is new."
        return (
            f"1-BS sets out from the program that was read and takes the likeliest that is one change away: "
            f"it switches two modules that take and give the same{more}. m-BS is a random walk of such "
            f"changes. {marked if self.shown.practice.labelled else ''}"
        )

    def card(self, each: Answered | CorrectedQuestion) -> Card:
        answered = each if isinstance(each, Answered) else each.answered
        kind = "" if answered.kind is None else f", {answered.kind}"
        return Card(f"question {answered.number}{kind}", question(each))


def question(each: Answered | CorrectedQuestion) -> Markup:
    """The scene of a question, and programs: what was read, its correction, and the true one."""
    answered = each if isinstance(each, Answered) else each.answered
    read, true = answered.read, answered.true
    marked = frozenset[int]() if true is None else differing(read.program, true.program)
    workings = [Working("read", "read", read, marked, f"p {chance(answered.p)}")]
    if isinstance(each, CorrectedQuestion) and each.correction is not None:
        changed = differing(each.correction.program, read.program)
        workings.append(Working("1-BS", "fixed", each.correction, changed, f"p {chance(each.p)}"))
    if true is not None:
        workings.append(Working("true", "true", true))
    rings = {working.colour: working.rings for working in workings}
    drawn = drawing(answered.scene, rings)
    return render("tasks/clevr/report/question.html", answered=answered, workings=workings, drawing=drawn)
