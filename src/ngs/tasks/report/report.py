"""What a task says about a run: words for the headline, and sections below it.

`AnswersReport` is the report of any task that is learned from answers. Its readings and searches need a
grammar, a reasoner with its examples and a network; a task may show what its network saw, and put any of the
words otherwise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from markupsafe import Markup

from ngs.grammar.tree import Sentence
from ngs.tasks.report.readings import Misread, other_than
from ngs.tasks.report.searches import MULTI_STEP, ONE_STEP, Fate, Searches
from ngs.tasks.report.sections import Section, chance, number, render, sign
from ngs.tasks.report.shares import Shares


@dataclass(frozen=True)
class Told:
    """What a report is told of a run; there are no scores where there is no network yet."""

    config: Any
    test: Shares | None
    """as recorded, or as read now where the run is unfinished"""
    validation: Shares | None = None
    """as recorded; None where the run is unfinished"""
    now: Shares | None = None
    """of the test part, as read anew for the page"""
    tolerance: float = 0.0
    """of answers, on import; 0 where they are compared as they are"""


class Report(ABC):
    """What a task says about one run; what is about a network is asked only where there is one."""

    task: ClassVar[str]
    """what is learned"""
    examples: ClassVar[str]
    """what is learned from"""
    right: ClassVar[str] = "answers right"
    labels: ClassVar[Mapping[str, str]]
    """shares in the headline, and what is right in each"""
    curves: ClassVar[Mapping[str, str]]
    """shares that are drawn over time, and what is right in each"""
    accuracy_title: ClassVar[str] = "Accuracy by length"

    def __init__(self, told: Told, shown: Any) -> None:
        """`shown` is what the networks of the run make of the data, read anew; None if there are none."""
        self.told, self.shown, self.config = told, shown, told.config
        self.data: str = told.config.data if shown is None else shown.data

    @property
    @abstractmethod
    def supervision(self) -> str:
        """What the network was told in training, and what the labels do here."""

    @property
    def planned(self) -> str:
        """How many steps were to come."""
        return f" of {self.config.steps:,}"

    @property
    def tested_on(self) -> str:
        return self.examples

    @property
    @abstractmethod
    def remark(self) -> str:
        """What counts as right."""

    @property
    def test(self) -> Shares:
        assert self.told.test is not None, "asked only where there is a network"
        return self.told.test

    @property
    def is_all(self) -> bool:
        """Whether all of the test part was read anew."""
        return True

    @property
    def differs(self) -> bool:
        """Whether what was read anew is not what is on record."""
        now, test = self.told.now, self.test
        assert now is not None, "asked only where there is a network"
        return self.is_all and (now.right != test.right or (now.examples == test.examples and now != test))

    @property
    def tested(self) -> list[str]:
        """What the tables are about."""
        return []

    @property
    def parts(self) -> Mapping[str, Shares]:
        """The scores by which the network is judged, and those by which it was chosen."""
        validation = self.told.validation
        return {"test part": self.test} | ({} if validation is None else {"validation part": validation})

    @abstractmethod
    def tables(self) -> Iterable[Markup]:
        """What is right of what."""

    def asides(self) -> str:
        """What else is to be said below the tables of accuracy."""
        return ""

    def accuracy(self) -> Section:
        """How good the network is."""
        return self.section("accuracy", self.accuracy_title, "tasks/report/accuracy.html")

    @abstractmethod
    def more(self) -> Iterable[Section]:
        """Those about the network that stand below its curves."""

    def section(self, name: str, title: str, template: str, **values: object) -> Section:
        """One by a template, which is given this report too."""
        return Section(name, title, render(template, report=self, shown=self.shown, **values))


# Learned from answers


@dataclass(frozen=True, eq=False)
class Gallery:
    """What the networks of a run misread, and what back-search makes of it."""

    data: str
    """the name of the data set"""
    step: int
    """of the best network"""
    exam: Any
    """`Readings` of the test part by it"""
    wrong: tuple[Any, ...]
    lucky: tuple[Any, ...]
    """some of its mistakes, and some of its right answers for wrong reasons"""
    early_step: int
    """of a network that has much to learn"""
    practice: Any
    """`Readings` of training examples by it"""
    corrections: Any
    """`Searches` from there; None where there was nothing to correct"""

    @property
    def scores(self) -> Any:
        return self.exam.scores


Badge = tuple[str, str]
"""Its kind (good, warn, bad), which is its colour; and a word."""
FATES: Mapping[Fate, Badge] = {
    Fate.TRUE: ("good", "corrected"),
    Fate.SPURIOUS: ("warn", "spurious"),
    Fate.UNJUDGED: ("warn", "answer found"),
    Fate.NONE: ("bad", "none found"),
}


class Card(NamedTuple):
    """A mistake or a correction."""

    name: str
    body: Markup
    badges: tuple[Badge, ...] = ()


@dataclass(frozen=True)
class Line:
    """A sentence in a card: a cell for each symbol, with what stands behind them."""

    name: str
    cells: Sequence[tuple[str, str]]
    """text, and class"""
    end: str = ""
    share: float | None = None
    """drawn as a bar"""
    tick: str = ""
    """what a tick behind the bar says"""
    none: str = ""
    """said in place of all cells"""
    last: bool = False
    """whether a line is drawn above"""


class AnswersReport(Report):
    """Accuracy, mistakes and corrections of any task that is learned from answers."""

    shown: Gallery
    task: ClassVar[str] = "Learning from answers"
    examples: ClassVar[str] = "examples"
    labels: ClassVar[Mapping[str, str]] = {"formula": "whole sentences right", "symbol": "symbols right"}
    curves: ClassVar[Mapping[str, str]] = {
        "calculation": "answers",
        "formula": "sentences",
        "symbol": "symbols",
    }
    groups: ClassVar[Mapping[str, str]] = {"by_length": "length"}
    """what examples are told apart by, and the head of its column"""
    cards: ClassVar[str] = "cards"
    """the class of a list of cards"""
    true: ClassVar[str] = "true"
    """what a true sentence is called in a card"""
    read_as: ClassVar[str] = "sentence"
    """what a search proposes"""
    lucky: ClassVar[str] = "misread, but have the right answer"
    spurious: ClassVar[str] = "is not the true one"
    """when a correction is"""
    judge: ClassVar[str] = "the labels can tell, and no search sees them"
    """what alone can tell, and that no search sees it"""
    unlabelled: ClassVar[str] = (
        "This data set has no labels: nobody can say here which right answers have the right reasons."
    )
    """what to say where no labels are known"""
    how_to_read: ClassVar[str] = (
        "The most confident mistakes come first. p is the network's probability of what was read, and of "
        "what is true."
    )
    meanings: ClassVar[Mapping[Fate, str]] = {
        Fate.TRUE: "1-BS finds the true sentence",
        Fate.SPURIOUS: "1-BS finds the right answer, but not the true sentence",
        Fate.UNJUDGED: "1-BS finds the right answer; nobody knows the true sentence",
        Fate.NONE: "1-BS finds nothing",
    }
    """of the fates under 1-BS"""
    examined: ClassVar[int | None] = 5_000
    """test examples that are read anew, at most"""
    places: ClassVar[tuple[int, int]] = (24, 6)
    """mistakes that are shown, at most; and places among them for right answers"""
    few: ClassVar[int] = 6
    """corrections that are shown for each fate, at most"""
    others: ClassVar[Mapping[str, str]] = {}
    """what is compared with both searches, and its name in the table"""
    searches: ClassVar[type[Searches[Any]]] = Searches

    @property
    def supervision(self) -> str:
        if self.config.method == "supervised":
            return "Trained with the label of every example: the ceiling of what answers alone can teach."
        return (
            f"Trained from answers alone: the network saw {self.examples} and their answers, never the "
            f"hidden sentences. No label was used in training; on this page, labels only judge."
        )

    @property
    def remark(self) -> str:
        return "Answers are exact and are compared exactly."

    @property
    def is_all(self) -> bool:
        return bool(self.shown.exam.is_all)

    def tables(self) -> Iterable[Markup]:
        columns = {name: self.curves[name] for name in self.labels}
        for name, part in self.parts.items():
            for group, column in self.groups.items():
                yield part.table(name, group, columns, (column, "number", "answers"))

    def more(self) -> Iterator[Section]:
        yield self.mistakes()
        yield self.corrections()

    def mistakes(self) -> Section:
        """The most confident ones."""
        lists = {
            name: [self.card(each)._replace(badges=(badge,)) for each in some]
            for name, badge, some in (
                ("Wrong answers", ("bad", "wrong answer"), self.shown.wrong),
                ("Right by luck", ("warn", "right answer by luck"), self.shown.lucky),
            )
        }
        return self.section("mistakes", "Mistakes", "tasks/report/mistakes.html", lists=lists)

    def corrections(self) -> Section:
        """What 1-BS and m-BS make of wrong answers, and which corrections are spurious."""
        found, title = self.shown.corrections, "Corrections, right and spurious"
        labelled = self.shown.practice.labelled
        fates = [each for each in Fate if each is Fate.NONE or (each is Fate.UNJUDGED) != labelled]
        some = {} if found is None else found.shown(self.few)
        return self.section(
            "corrections",
            title,
            "tasks/report/corrections.html",
            found=found,
            heads=[FATES[fate] for fate in fates],
            names={MULTI_STEP: f"{MULTI_STEP}, {self.config.walk_steps} steps", **self.others},
            counts={
                name: [each.count(fate) for fate in fates]
                for name, each in ({} if found is None else found.compared).items()
            },
            lists=[
                (
                    self.meanings.get(fate, ""),
                    list(map(self.corrected, few)),
                    found.fates[ONE_STEP].count(fate),
                )
                for fate, few in some.items()
            ],
            detail="" if found is None else self.in_detail(some),
        )

    def searched(self) -> str:
        """What the searches do."""
        return (
            "1-BS takes the likeliest change of the sentence that was read, m-BS a random walk of such "
            "changes."
        )

    def in_detail(self, some: Mapping[Fate, Sequence[Any]]) -> str:
        """What is shown below the corrections."""
        return ""

    # Cards

    def corrected(self, each: Any) -> Card:
        """The card of a correction."""
        card = self.card(each)
        return card._replace(badges=(FATES[each.fate], *card.badges))

    def card(self, each: Any) -> Card:
        """The card of a mistake or of a correction."""
        if isinstance(each, Misread):
            readings, misread, lines, name = self.shown.exam, each, self.mistake(each), each.name
        else:
            readings, misread, lines = self.shown.practice, each.misread, self.correction(each)
            name = f"answer {number(misread.answer)}"
        picture = readings.picture(misread.number)
        return Card(name, render("tasks/report/card.html", picture=picture, lines=list(lines)))

    def mistake(self, misread: Misread) -> Iterator[Line]:
        """What is true, what was read, and how sure the network was where it erred."""
        if misread.true is not None:
            yield Line(self.true, cells(misread.true), equals(misread.answer))
        else:
            yield Line("answer", [], number(misread.answer))
        yield self._read(misread)
        for name, z, p in (("read", misread.read, misread.p_read), (self.true, misread.true, misread.p_true)):
            if z is not None and len(p) == len(z):
                shown = [chance(each) if t in misread.wrong else "" for t, each in enumerate(p)]
                yield Line(f"p({name})", [(text, "p") for text in shown])
            elif p:  # for all symbols
                yield Line(f"p({name})", [], chance(p[0]))

    def correction(self, each: Any) -> Iterator[Line]:
        """What was read, and how 1-BS and others would have it."""
        misread, fixed = each.misread, each.correction
        yield self._read(misread)
        if fixed is None:
            yield Line(ONE_STEP, [], none=f"no single change gives {number(misread.answer)}")
        else:
            yield Line(ONE_STEP, cells(fixed, misread.true, misread.read), equals(misread.answer))
        yield from self.alternatives(each)

    def alternatives(self, each: Any) -> Iterator[Line]:
        """What a card of a correction shows below it."""
        true = each.misread.true
        if true is not None:
            yield Line(self.true, cells(true), last=True)

    def _read(self, misread: Misread) -> Line:
        line = Line("read", cells(misread.read, misread.true))
        return line if misread.value is None else replace(line, end=equals(misread.value))


def equals(value: Any) -> str:
    return f"= {number(value)}"


def cells(
    sentence: Sentence, true: Sentence | None = None, before: Sentence | None = None
) -> list[tuple[str, str]]:
    """A cell for each symbol: marked where it is not the true one, and where it is not what was before."""
    wrong = () if true is None else other_than(true, sentence)
    new = () if before is None else other_than(before, sentence)

    def marks(t: int) -> Iterator[str]:
        yield "sign"
        if t in wrong:
            yield "wrong"
        if t in new:
            yield "changed" if t in wrong or true is None else "right"

    return [(sign(symbol), " ".join(marks(t))) for t, symbol in enumerate(sentence)]
