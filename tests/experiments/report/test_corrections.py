"""Corrections are told apart by the labels, and agree with the reference and with enumeration."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import exp

import pytest
import torch

from ngs.parsing.sentence import parse, recognises
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.semantics import evaluate
from ngs.search.back_search import ChainSettings
from ngs.search.one_step import one_step
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.report.report import POSTERIOR, FormulaSearches
from ngs.tasks.report.searches import MULTI_STEP, ONE_STEP, Fate
from tests.experiments.report.reports import Reported
from tests.experiments.report.wrong_answers import (
    FINE,
    HOPELESS,
    LUCKY,
    RESCUED,
    SPURIOUS,
    TRUE,
    part_of,
    readings_of,
)


def corrected(*formulas: tuple[str, list[dict[str, float]]]) -> FormulaSearches:
    return FormulaSearches.of(readings_of(*formulas), ChainSettings(), 0)


def test_corrections_are_told_apart() -> None:
    found = corrected(TRUE, SPURIOUS, FINE, RESCUED, HOPELESS, LUCKY)
    assert (len(found.readings), found.readings.wrong, found.readings.lucky) == (6, [0, 1, 3, 4], [5])
    assert found.compared[ONE_STEP] == [Fate.TRUE, Fate.SPURIOUS, Fate.SPURIOUS, Fate.NONE]
    assert found.compared[POSTERIOR] == [Fate.TRUE, Fate.SPURIOUS, Fate.TRUE, Fate.TRUE]
    assert len(found.compared[MULTI_STEP]) == 4
    assert found.exact
    shown = found.shown(6)
    (true,), (hopeless,) = shown[Fate.TRUE], shown[Fate.NONE]
    assert (true.correction, true.alternatives) == (("4",), ((("4",), 1.0),))
    assert hopeless.correction is None
    assert hopeless.posterior_right
    rescued, spurious = shown[Fate.SPURIOUS]
    assert ("".join(spurious.correction or ""), spurious.posterior_right) == ("3+2", False)
    assert ("".join(rescued.correction or ""), rescued.posterior_right) == ("5-0", True)
    assert spurious.misread.true == tuple("2+3")
    assert (spurious.misread.read, spurious.misread.value) == (tuple("2+2"), Fraction(4))
    assert spurious.misread.wrong == (2,)


def test_probabilities_are_those_of_all_formulas_with_the_answer() -> None:
    (each,) = corrected(SPURIOUS).shown(6)[Fate.SPURIOUS]
    log_probs = part_of(SPURIOUS).examples.inputs.inputs
    chances = {
        sentence: exp(sum(float(log_probs[t, k]) for t, k in enumerate(GRAMMAR.encode(sentence))))
        for sentence in product(GRAMMAR.symbols, repeat=3)
        if recognises(GRAMMAR, sentence) and evaluate(parse(GRAMMAR, sentence), Arithmetic) == Fraction(5)
    }
    total = sum(chances.values())
    likeliest = sorted(chances, key=lambda sentence: -chances[sentence])[:3]
    assert [sentence for sentence, _ in each.alternatives][:2] == likeliest[:2]
    assert [p for _, p in each.alternatives] == pytest.approx([chances[z] / total for z in likeliest])
    assert each.p_written == pytest.approx(chances[tuple("2+3")] / total)


def test_shown_corrections_are_those_of_the_reference(formulas: Reported) -> None:
    found = formulas.shown.corrections
    assert found.readings.wrong
    for k, number in enumerate(found.readings.wrong):
        each = found.corrected(k)
        log_probs = found.readings.distribution(torch.tensor([number])).log_probs[0, : len(each.misread.read)]
        fix = one_step(GRAMMAR, Arithmetic, log_probs, each.misread.answer).sentence
        assert fix == each.correction == found.readings.correction(number).sentence
        fate = Fate.NONE if fix is None else Fate.TRUE if fix == each.misread.true else Fate.SPURIOUS
        assert fate is each.fate


def test_no_more_are_shown_than_there_is_room_for() -> None:
    found = corrected(*[TRUE] * 9, *[SPURIOUS] * 5, *[RESCUED] * 5)
    assert Counter(found.fates[ONE_STEP]) == {Fate.TRUE: 9, Fate.SPURIOUS: 10}
    shown = found.shown(4)
    assert {fate: len(some) for fate, some in shown.items() if some} == {Fate.TRUE: 4, Fate.SPURIOUS: 4}
    assert Counter(each.posterior_right for each in shown[Fate.SPURIOUS]) == {True: 2, False: 2}
