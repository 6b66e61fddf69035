"""What stands on the page of a run: a headline and sections, for all tasks; each says it in its own words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from ngs.experiments.report.corrections import MULTI_STEP, ONE_STEP, Fate
from ngs.experiments.report.curves import POINTS, charts
from ngs.experiments.report.gallery import Gallery, gallery
from ngs.experiments.report.markup import (
    Html,
    badge,
    card,
    element,
    joined,
    note,
    percent,
    table_head,
    table_line,
)
from ngs.experiments.report.outcome import Run, Shares
from ngs.experiments.report.setup import setup
from ngs.tasks.trainable import Trainable

Section = tuple[str, str, Iterable[Html]]
"""The name of an anchor, a title, and what stands under it."""
SHARES = ": what is right, with 95% intervals (Wilson)"


class TaskPage(ABC):
    """The page about one run; what is about a network stands there only where there is one."""

    task: ClassVar[str]
    """what is learned"""
    examples: ClassVar[str]
    """what is learned from"""
    right: ClassVar[str] = "answers right"
    labels: ClassVar[Mapping[str, str]]
    """shares in the headline, and what is right in each"""
    accuracy_title: ClassVar[str]
    read: ClassVar[staticmethod[[Path, Trainable, Any], Any]]
    """what the networks in a folder with some configuration make of the data, read anew"""

    def __init__(self, run: Run, shown: Any) -> None:
        """`shown` is what the networks of the run make of the data, read anew; None if there are none."""
        self.run, self.shown = run, shown
        self.data: str = run.config.data if shown is None else shown.data

    def about(self, *more: str) -> Html:
        """What the numbers below are about: data set, method, part."""
        facts = {"data set": self.data, "method": self.run.config.method}
        named = [element("span", f"{name} ", element("b", value)) for name, value in facts.items()]
        return element("p", *named, *(element("span", text) for text in more), class_="of")

    # The headline

    def head(self) -> Iterator[Html]:
        """What was learned how, and how well: the top of the page."""
        run = self.run
        state = [] if run.result else [" ", badge("warn", "unfinished")]
        yield element("p", self.task, class_="eyebrow")
        yield element("h1", run.config.method, element("small", " on "), self.data, *state)
        yield element("p", self.supervision(), class_="lede")
        if run.result is None:
            yield note(
                f"Unfinished: {run.steps:,} steps{self.planned()}, and no result yet. What follows is "
                f"preliminary."
            )
        if self.shown is not None:
            yield element("div", *self._headline(), class_="headline")
            yield element("p", self.remark(), class_="of")

    def _headline(self) -> Iterator[Html]:
        """The numbers of the network on the test part, and what it took."""
        run, test = self.run, self.test
        yield self._answers()
        two = [_tile(what, percent(test.by_name[name]), "test part") for name, what in self.labels.items()]
        yield element("div", *two, class_="card second")
        step = self.shown.step if run.result is None else run.result.chosen_step
        memory = None if run.result is None else run.result.peak_memory_mb
        for tile in (
            _tile("training", f"{run.seconds:,.1f} s", "without validation"),
            _tile("chosen step", f"{step:,}", f"of {run.steps:,}, by validation"),
            _tile("peak memory", "–" if memory is None else f"{memory:,.0f} MB", "of the process"),
        ):
            yield element("div", tile, class_="card")

    def _answers(self) -> Html:
        """The number that counts, with its interval in words and on a line from 0 to 1."""
        test, (low, high) = self.test, self.test.interval
        ends = {"--low": low, "--high": high, "--at": test.answers or 0}
        style = ";".join(f"{name}:{100 * share:.2f}%" for name, share in ends.items())
        parts = element("i", class_="range"), element("i", class_="point")
        interval = f"95% interval {percent(low)} to {percent(high)} (Wilson)"
        return element(
            "div",
            _tile(
                f"{self.right}, test part ({test.examples:,} {self.tested_on})",
                percent(test.answers),
                f"{test.right:,} of {test.examples:,}; {interval}",
            ),
            element("div", *parts, class_="interval", style=style),
            element("div", *(element("span", end) for end in ("0%", "50%", "100%")), class_="scale"),
            class_="card first",
        )

    @abstractmethod
    def supervision(self) -> str:
        """What the network was told in training, and what the labels do here."""

    def planned(self) -> str:
        """How many steps were to come."""
        return f" of {self.run.config.steps:,}"

    @property
    def tested_on(self) -> str:
        return self.examples

    @abstractmethod
    def remark(self) -> str:
        """What counts as right."""

    @cached_property
    def now(self) -> Shares:
        """As read anew for this page."""
        return Shares.of(self.shown.scores.as_facts(), self.run.task.metrics)

    @property
    def test(self) -> Shares:
        """As recorded, or as read now where the run is unfinished."""
        return self.now if self.run.result is None else self.run.result.test

    # Accuracy, and all sections

    def sections(self) -> Iterator[Section]:
        """What counts about the network, how it learned, more about the network, what ran."""
        if self.shown is not None:
            yield "accuracy", self.accuracy_title, self.accuracy()
        yield "curves", "How it learned", self.curves()
        if self.shown is not None:
            yield from self.more()
        yield "setup", "What ran", setup(self.run)

    def curves(self) -> Iterator[Html]:
        run = self.run
        yield self.about(
            f"validation part: {run.config.validation:.0%} of the training {self.examples}, held out"
        )
        drawn = list(charts(run.rows, run.result.chosen_step if run.result else None))
        yield element("div", *drawn, class_="charts") if drawn else note("Nothing is on record yet.")
        if len(run.rows) > POINTS:
            yield element(
                "p", f"Curves of more than {POINTS} records run through means of several.", class_="of"
            )

    @abstractmethod
    def more(self) -> Iterable[Section]:
        """Those about the network that stand below its curves."""

    def accuracy(self) -> Iterator[Html]:
        yield self.about(*self.tested(), f"the network of step {self.shown.step:,}")
        yield element(
            "div", *(element("div", each, class_="card wide") for each in self.tables()), class_="pair"
        )
        yield from self.asides()
        now, test = self.now, self.test
        if self.is_all and (now.right != test.right or (now.examples == test.examples and now != test)):
            yield note(
                f"Read again for this page, on the CPU: {now.right:,} of {now.examples:,} {self.right} on "
                f"the test part, and the sections below show these. The record says {test.right:,} of "
                f"{test.examples:,}: another device or precision rounds otherwise, or the data has changed."
            )

    @property
    def is_all(self) -> bool:
        """Whether all of the test part was read anew."""
        return True

    def tested(self) -> Iterable[str]:
        """What the tables are about."""
        return ()

    @abstractmethod
    def tables(self) -> Iterable[Html]:
        """What is right of what."""

    def asides(self) -> Iterable[Html]:
        """What else is to be said below the tables."""
        return ()


class AnswersPage(TaskPage):
    """The page about a run that learned from answers: mistakes and corrections have the same form for all."""

    shown: Gallery
    read = staticmethod(gallery)
    cards: ClassVar[str] = "cards"
    """the class of a list of cards"""
    read_as: ClassVar[str]
    """what a search proposes"""
    lucky: ClassVar[str]
    """right answers for wrong reasons"""
    spurious: ClassVar[str]
    """when a correction is"""
    judge: ClassVar[str]
    """what alone can tell, and that no search sees it"""
    unlabelled: ClassVar[str] = ""
    """what to say where no labels are known"""
    how_to_read: ClassVar[str]
    meanings: ClassVar[Mapping[Fate, str]]
    """of the fates under 1-BS"""
    few: ClassVar[int]
    """corrections that are shown for each fate, at most"""

    @property
    def is_all(self) -> bool:
        return bool(self.shown.exam.is_all)

    def more(self) -> Iterator[Section]:
        yield "mistakes", "Mistakes", self.mistakes()
        yield "corrections", "Corrections, right and spurious", self.corrections()

    def mistakes(self) -> Iterator[Html]:
        shown, exam = self.shown, self.shown.exam
        wrong, lucky = len(exam.wrong), len(exam.lucky)
        yield self.about(f"test part, {exam.counted}", f"{wrong:,} wrong answers")
        if exam.labelled:
            yield element("p", f"Wrong answers: {wrong:,}. {lucky:,} more are {self.lucky}.")
        else:
            yield note(self.unlabelled)
        if not shown.wrong and not shown.lucky:
            yield element("p", "There is no mistake to be shown.")
            return
        yield element("p", self.how_to_read)
        for name, told, some, of in (
            ("Wrong answers", badge("bad", "wrong answer"), shown.wrong, wrong),
            ("Right by luck", badge("warn", "right answer by luck"), shown.lucky, lucky),
        ):
            yield from self._list(name, [card([told], *self.told(each)) for each in some], of)

    def _list(self, name: str, cards: Sequence[Html], of: int) -> Iterator[Html]:
        if cards:
            yield element("h3", f"{name} ", element("small", f"{len(cards)} of {of:,}"))
            yield element("div", *cards, class_=self.cards)

    def corrections(self) -> Iterator[Html]:
        shown, practice, found = self.shown, self.shown.practice, self.shown.corrections
        step = f"the network of step {shown.early_step:,}"
        yield self.about(f"training part, {practice.counted}", step)
        if found is None:
            yield element("p", "No answer in this sample is wrong: there is nothing to correct.")
            return
        if not practice.labelled:
            yield note(self.unlabelled)
        lucky = f"; {len(practice.lucky):,} more are {self.lucky}" if practice.labelled else ""
        yield element(
            "p",
            f"What learning from answers has to go by. At step {shown.early_step:,} the network gives "
            f"{len(practice.wrong):,} wrong answers to these {len(practice):,} {self.examples}{lucky}. A "
            f"search is told the network's probabilities and the answer, and proposes a {self.read_as} with "
            f"that answer. Where it {self.spurious}, the correction is spurious: to train towards it is to "
            f"learn a mistake. Only {self.judge}.",
        )
        yield element("div", self._fates_table(), class_="card wide")
        yield element("p", *self.searches())
        some = found.shown(self.few)
        for fate, few in some.items():
            cards = [card([FATES[fate], *self.badges(each)], *self.told(each)) for each in few]
            yield from self._list(self.meanings.get(fate, ""), cards, found.fates[ONE_STEP].count(fate))
        yield from self.in_detail(some)

    def _fates_table(self) -> Html:
        wrong, labelled = len(self.shown.practice.wrong), self.shown.practice.labelled
        fates = [each for each in Fate if each is Fate.NONE or (each is Fate.UNJUDGED) != labelled]

        def line(search: str, found: Sequence[Fate]) -> Html:
            counts = map(found.count, fates)
            return table_line(
                search, [joined(f"{n:,}", element("small", f"{n / wrong:.1%}")) for n in counts]
            )

        names = {MULTI_STEP: f"{MULTI_STEP}, {self.run.config.walk_steps} steps"} | self.others
        lines = [line(names.get(name, name), f) for name, f in self.shown.corrections.compared.items()]
        caption = element("caption", f"What becomes of {wrong:,} wrong answers")
        head = table_head("search", *(FATES[each] for each in fates))
        return element("table", caption, head, element("tbody", *lines), class_="numbers")

    others: ClassVar[dict[str, str]] = {}
    """what is compared with both searches, and its name in the table"""

    @abstractmethod
    def searches(self) -> Iterable[str]:
        """What the searches do."""

    @abstractmethod
    def told(self, each: Any) -> tuple[str, *tuple[Html, ...]]:
        """The name and the content of a card, about a mistake or a correction."""

    def badges(self, each: Any) -> Iterable[Html]:
        """What else is to be said of a correction."""
        return ()

    def in_detail(self, some: Mapping[Fate, Sequence[Any]]) -> Iterable[Html]:
        """What is shown below the corrections."""
        return ()


FATES = {
    Fate.TRUE: badge("good", "corrected"),
    Fate.SPURIOUS: badge("warn", "spurious"),
    Fate.UNJUDGED: badge("warn", "answer found"),
    Fate.NONE: badge("bad", "none found"),
}


def shares_table(
    caption: str, head: Sequence[str], groups: Mapping[str, Shares], total: Shares, labels: Sequence[str]
) -> Html:
    """What is right in each group, by the answer and by the labels."""

    def line(name: str, part: Shares, class_: str | None = None) -> Html:
        low, high = part.interval
        bar = element("span", element("i", style=f"--share:{100 * (part.answers or 0):.1f}%"), class_="bar")
        answers = joined(bar, percent(part.answers), element("small", f"{low:.1%} to {high:.1%}"))
        others = [percent(part.by_name[label]) for label in labels]
        return table_line(name, [f"{part.examples:,}", answers, *others], class_)

    body = element("tbody", *(line(*group) for group in groups.items()), line("all", total, "sum"))
    top = element("caption", caption, element("small", SHARES))
    return element("table", top, table_head(*head), body, class_="numbers shares")


def _tile(name: str, value: str, more: str) -> Html:
    return element("dl", element("dt", name), element("dd", value, element("small", more)))
