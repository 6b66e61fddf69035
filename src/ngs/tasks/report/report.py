"""What a task says about a run: words for the headline, and sections below it.

`AnswersReport` is the report of any task that is learned from answers: its readings and searches need a
grammar, a reasoner with its examples and a network. A task says otherwise what it likes in a template of the
same name in its own folder.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from ngs.tasks.report.searches import Fate, Searches
from ngs.tasks.report.sections import Section, confusion_table, render
from ngs.tasks.run_folder import BEST, EARLY, step_of
from ngs.tasks.trainable import MetricsView, Trainable

TEST, VALIDATION = "test part", "validation part"
PRACTICE = 300
"""Training examples that are corrected, at most."""
MOST = 5
"""Confusions that are told in words."""
WIDEST = 40
"""Symbols of a table of confusions, at most."""
Names = Mapping[str, str]


@dataclass(frozen=True)
class Shares:
    """How many of some examples were right."""

    examples: int
    by_name: Mapping[str, float | None]
    """of right answers first, None where there are no examples; None where nobody knows the labels"""
    groups: Mapping[str, Mapping[str, Shares]]
    """by length, and by kind where there are kinds"""

    @classmethod
    def of(cls, facts: Mapping[str, Any], view: MetricsView) -> Shares:
        """From what the `as_facts` of a task's scores made."""
        shares = {name: None if facts[name] is None else float(facts[name]) for name in view.shares}
        groups = {
            group: {str(name): cls.of(part, view) for name, part in facts.get(group, {}).items()}
            for group in view.groups
        }
        return cls(int(facts["examples"]), shares, groups)

    @property
    def answers(self) -> float | None:
        return next(iter(self.by_name.values()))

    @property
    def right(self) -> int:
        """Answers."""
        return round((self.answers or 0) * self.examples)

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.right, self.examples)


def wilson(right: int, of: int) -> tuple[float, float]:
    """The 95% interval of a share (Wilson 1927): every p within 1.96 of its standard errors of what was seen.

    >>> [round(end, 3) for end in wilson(9, 10)]
    [0.596, 0.982]
    """
    if not of:
        return 0.0, 1.0
    from scipy.stats import binomtest  # here: it is slow to import

    interval = binomtest(right, of).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


class Report(ABC):
    """What a task says about one run; what is about a network is asked only where there is one."""

    folder: ClassVar[str] = "tasks/report"
    """of its own templates"""

    def __init__(self, task: Trainable, config: Any, shown: Any, parts: Mapping[str, Shares]) -> None:
        """`shown` is what `read` made of the run, None if it has no network. `parts` has the scores of the
        TEST part, and of the VALIDATION part where the run is finished."""
        self.view, self.config, self.shown, self.parts = task.metrics, config, shown, parts
        self.data: str = config.data if shown is None else shown.data

    @classmethod
    @abstractmethod
    def read(cls, task: Trainable, folder: Path, settings: Any) -> Any:
        """What the networks of a run make of its data, read anew on the CPU."""

    @property
    def examples(self) -> str:
        """What is learned from."""
        return self.view.examples

    @property
    def right(self) -> str:
        """What is right in the share by which networks are compared."""
        return self.view.shares[self.view.answers]

    @property
    def labels(self) -> Names:
        """The other shares of the headline, and what is right in each."""
        return {name: what for name, what in self.view.shares.items() if name != self.view.answers}

    @property
    def curves(self) -> Names:
        """Shares that are drawn over time, and what is right in each."""
        return {name: what.removesuffix(" right") for name, what in self.view.shares.items()}

    @property
    def planned(self) -> str:
        """How many steps were to come."""
        return f" of {self.config.steps:,}"

    @property
    def test(self) -> Shares:
        return self.parts[TEST]

    @property
    def counted(self) -> str:
        """How many examples were tested."""
        return f"{self.test.examples:,} {self.examples}"

    @property
    def is_all(self) -> bool:
        """Whether all of the test part was read anew."""
        return True

    @abstractmethod
    def more(self) -> Iterable[Section]:
        """Those about the network that stand below its curves."""

    def section(self, name: str, title: str, **values: object) -> Section:
        """One by the template of its name, which is given this report too."""
        templates = [f"{self.folder}/{name}.html", f"tasks/report/{name}.html"]
        return Section(name, title, render(*templates, report=self, shown=self.shown, **values))


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


class AnswersReport(Report):
    """Accuracy, mistakes and corrections of any task that is learned from answers."""

    shown: Gallery
    sentence: ClassVar[str] = "sentence"
    """what is hidden in an example"""
    true: ClassVar[str] = "true"
    """what a true sentence is called in a card"""
    cards: ClassVar[str] = "cards"
    """the class of a list of cards"""
    examined: ClassVar[int | None] = 5_000
    """test examples that are read anew, at most"""
    places: ClassVar[tuple[int, int]] = (24, 6)
    """mistakes that are shown, at most; and places among them for right answers"""
    few: ClassVar[int] = 6
    """corrections that are shown for each fate, at most"""
    searches: ClassVar[type[Searches]] = Searches

    @classmethod
    def read(cls, task: Trainable, folder: Path, settings: Any) -> Gallery:
        """What the networks of a run misread, and what back-search makes of it.

        Training examples by the network of the first validation; by the best if that has nothing to learn.
        """
        prepared: Any = task.prepare(settings, torch.device("cpu"))  # `PreparedAnswers`
        prepared.check(folder)
        exam = prepared.readings(folder, BEST, "test", cls.examined)
        for name in [EARLY] * (folder / EARLY).exists() + [BEST]:
            practice = prepared.readings(folder, name, "train", PRACTICE)
            if practice.wrong:
                break
        found = cls.searches.of(practice, settings.chain, settings.seed) if practice.wrong else None
        best, early = (step_of(folder / each, task.name) for each in (BEST, name))
        wrong, lucky = exam.mistakes(*cls.places)
        return Gallery(prepared.parts.data.name, best, exam, wrong, lucky, early, practice, found)

    @property
    def counted(self) -> str:
        return super().counted if VALIDATION in self.parts else self.number_of(self.shown.exam)

    @property
    def is_all(self) -> bool:
        return len(self.shown.exam) == int(self.shown.exam.of)

    def number_of(self, readings: Any) -> str:
        """How many examples were read, of how many."""
        some, of = len(readings), readings.of
        return f"{some:,} {self.examples}" if some == of else f"{some:,} of {of:,} {self.examples}"

    def more(self) -> Iterator[Section]:
        exam = self.shown.exam
        seen_one_by_one = exam.reading.log_probs is not None
        if exam.labelled and seen_one_by_one and len(exam.grammar.symbols) <= WIDEST:
            yield self.confusions(exam.confusion, exam.grammar.symbols)
        yield self.section("mistakes", "Mistakes")
        labelled = self.shown.practice.labelled
        fates = [each for each in Fate if each is Fate.NONE or (each is Fate.UNJUDGED) != labelled]
        yield self.section("corrections", "Corrections, right and spurious", fates=fates)

    def confusions(self, counts: Tensor, symbols: Sequence[str]) -> Section:
        """How often each symbol [true, read] was read as which."""
        wrong = counts - counts.diag().diag()
        pairs = [(int(wrong[k, j]), symbols[k], symbols[j]) for k, j in wrong.nonzero().tolist()]
        return self.section(
            "confusions",
            "Which symbols are confused",
            total=int(counts.sum()),
            wrong=int(wrong.sum()),
            most=sorted(pairs, key=lambda pair: -pair[0])[:MOST],
            table=confusion_table(counts, symbols),
        )
