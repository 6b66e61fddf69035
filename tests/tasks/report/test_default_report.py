"""Any task with a grammar and answers has a report: its sentences as text, spurious corrections marked."""

from dataclasses import replace
from math import prod
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from ngs.grammar.grammar import arithmetic
from ngs.learning.examples import Examples
from ngs.learning.metrics import read_all
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.semantics import evaluate
from ngs.search.back_search import ChainSettings
from ngs.search.reasoner import reasoner
from ngs.tasks.report.readings import Readings
from ngs.tasks.report.report import TEST, AnswersReport, Gallery, Shares, wilson
from ngs.tasks.report.searches import Searches
from ngs.tasks.trainable import MetricsView
from tests.documents import Document, said

SUMS = arithmetic()
TASK: Any = SimpleNamespace(metrics=MetricsView())
CONFIG = SimpleNamespace(data="sums", method="1-bs", steps=9, walk_steps=3, validation=0.1)
WRITTEN = ("1 + 2", "3", "2 + 2")
READ = ("1 + 1", "3", "3 + 1")
"""one wrong answer, one right, one right by luck"""


def gallery(*, labelled: bool, shown: bool) -> Gallery:
    """By a network whose inputs are what it says: 2 is next likely after 1, 1 after everything else."""
    written, read = ([SUMS.encode(each.split()) for each in some] for some in (WRITTEN, READ))
    scores = torch.eye(len(SUMS.symbols)) * 5 + torch.arange(len(SUMS.symbols)) * 0.1
    inputs = [scores[symbols] for symbols in read]
    answers = [evaluate(parse(SUMS, each.split()), Arithmetic) for each in WRITTEN]
    examples = Examples.of(inputs, answers, written if labelled else None)
    task, network = reasoner(SUMS, Arithmetic, examples), nn.Identity()
    of = len(WRITTEN)
    more = (Arithmetic, lambda seen: f"<seen {len(seen)}>") if shown else ()
    found = Readings(SUMS, task, network, read_all(network, task), of, range(of), *more)
    searches = Searches.of(found, ChainSettings(), 0)
    return Gallery("sums", 1, found, *found.mistakes(24, 6), 1, found, searches)


def words(shown: Gallery) -> str:
    shares = Shares.of(shown.scores.as_facts(), MetricsView())
    report = AnswersReport(TASK, CONFIG, shown, {TEST: shares})
    accuracy = report.section("accuracy", "Accuracy", now=shares, differs=False)
    return said("".join(section.body for section in (accuracy, *report.more())))


def test_mistakes_and_corrections_are_told() -> None:
    told = words(gallery(shown=True, labelled=True))
    assert "Wrong answers: 1. 1 more are misread, but have the right answer." in told
    assert "example 1 <seen 3> true 1 + 2 = 3 read 1 + 1 = 2 p(read)" in told
    assert "right answer by luck example 3 <seen 3> true 2 + 2 = 4 read 3 + 1 = 4" in told
    assert "What becomes of 1 wrong answers" in told
    assert "answer 3 <seen 3> read 1 + 1 = 2 1-BS" in told


def test_nobody_judges_without_labels() -> None:
    told = words(gallery(shown=False, labelled=False))
    assert told.count("This data set has no labels") == 2
    assert "answer found answer 3 read 1 + 1 1-BS" in told
    assert "spurious answer" not in told and "by luck" not in told


def test_a_spurious_correction_is_marked() -> None:
    shown = gallery(shown=False, labelled=True)
    (fate,) = shown.corrections.fates["1-BS"]
    (each,) = shown.corrections.shown(1)[fate]
    marked = {"true": "corrected answer 3", "spurious": "spurious answer 3"}
    assert (each.correction == tuple("1+2")) == (fate.value == "true")
    assert marked[fate.value] in words(shown)


def test_symbols_that_depend_on_each_other_have_one_probability() -> None:
    shown = gallery(shown=False, labelled=True)
    whole = replace(shown.exam, reading=replace(shown.exam.reading, log_probs=None))
    (each,), _ = whole.mistakes(1, 0)
    (alone,) = shown.wrong
    assert each.p_read == pytest.approx([prod(alone.p_read)])
    assert "p(read)" in words(replace(shown, exam=whole, wrong=(each,)))


def test_markup_of_a_task_is_escaped() -> None:
    shown = gallery(shown=True, labelled=True)
    report = AnswersReport(TASK, CONFIG, shown, {})
    text = "".join(section.body for section in report.more())
    assert "&lt;seen 3&gt;" in text
    assert Document(text).tags["seen"] == 0


# Intervals


@given(st.integers(1, 1000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_the_interval_ends_where_the_share_is_z_errors_away(counts: tuple[int, int]) -> None:
    right, of = counts
    low, high = wilson(right, of)
    assert 0 <= low <= right / of + 1e-12 and right / of - 1e-12 <= high <= 1
    for end in (low, high):
        if 1e-9 < end < 1 - 1e-9:
            error = (end * (1 - end) / of) ** 0.5
            assert abs(right / of - end) == pytest.approx(1.95996398454 * error, abs=1e-9)
