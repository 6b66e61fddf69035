"""Corrections are told apart by the labels, and agree with the reference and with enumeration."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import exp

import pytest
import torch
from torch import nn

from ngs.experiments.report.corrections import MULTI_STEP, ONE_STEP, POSTERIOR, Fate, Fates, corrections
from ngs.experiments.report.gallery import Gallery
from ngs.learning.metrics import read_all
from ngs.parsing.sentence import parse, recognises
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.semantics import evaluate
from ngs.search.back_search import ChainSettings
from ngs.search.one_step import one_step
from ngs.search.reasoner import Reasoner
from ngs.tasks.hwf.dataset import GRAMMAR
from tests.experiments.report.wrong_answers import (
    FINE,
    HOPELESS,
    LUCKY,
    RESCUED,
    SPURIOUS,
    TRUE,
    part_of,
)


def corrected(part: Reasoner, limit: int = 6) -> Fates:
    reading = read_all(nn.Identity(), part)
    return corrections(reading, part, ChainSettings(), torch.Generator().manual_seed(0), limit)


def test_corrections_are_told_apart() -> None:
    found = corrected(part_of(TRUE, SPURIOUS, FINE, RESCUED, HOPELESS, LUCKY))
    assert (found.examples, found.wrong, found.lucky) == (6, 4, 1)
    assert found.fates[ONE_STEP] == {Fate.TRUE: 1, Fate.SPURIOUS: 2, Fate.NONE: 1}
    assert found.fates[POSTERIOR] == {Fate.TRUE: 3, Fate.SPURIOUS: 1}
    assert sum(found.fates[MULTI_STEP].values()) == 4
    assert found.exact
    (true,), (hopeless,) = found.shown[Fate.TRUE], found.shown[Fate.NONE]
    assert (true.correction, true.alternatives) == (("4",), ((("4",), 1.0),))
    assert hopeless.correction is None
    assert hopeless.posterior_right
    rescued, spurious = found.shown[Fate.SPURIOUS]
    assert ("".join(spurious.correction or ""), spurious.posterior_right) == ("3+2", False)
    assert ("".join(rescued.correction or ""), rescued.posterior_right) == ("5-0", True)
    assert spurious.misreading.written == tuple("2+3")
    assert (spurious.misreading.read, spurious.misreading.value) == (tuple("2+2"), Fraction(4))
    assert spurious.misreading.wrong == (2,)


def test_probabilities_are_those_of_all_formulas_with_the_answer() -> None:
    (each,) = corrected(part_of(SPURIOUS)).shown[Fate.SPURIOUS]
    log_probs = part_of(SPURIOUS).examples.inputs.inputs
    chances = {
        sentence: exp(sum(float(log_probs[t, GRAMMAR.column(symbol)]) for t, symbol in enumerate(sentence)))
        for sentence in product(GRAMMAR.symbols, repeat=3)
        if recognises(GRAMMAR, sentence) and evaluate(parse(GRAMMAR, sentence), Arithmetic) == Fraction(5)
    }
    total = sum(chances.values())
    likeliest = sorted(chances, key=lambda sentence: -chances[sentence])[:3]
    assert [sentence for sentence, _ in each.alternatives][:2] == likeliest[:2]
    assert [p for _, p in each.alternatives] == pytest.approx([chances[z] / total for z in likeliest])
    assert each.p_written == pytest.approx(chances[tuple("2+3")] / total)


def test_shown_corrections_are_those_of_the_reference(shown: Gallery) -> None:
    found = shown.practice.corrections
    assert found is not None
    corrected = [each for some in found.shown.values() for each in some]
    assert corrected
    for each in corrected:
        fix = one_step(GRAMMAR, Arithmetic, each.misreading.log_probs, each.misreading.answer).sentence
        assert fix == each.correction
        fate = Fate.NONE if fix is None else Fate.TRUE if fix == each.misreading.written else Fate.SPURIOUS
        assert fate is each.fate


def test_no_more_are_shown_than_there_is_room_for() -> None:
    found = corrected(part_of(*[TRUE] * 9, *[SPURIOUS] * 5, *[RESCUED] * 5), limit=4)
    assert found.fates[ONE_STEP] == {Fate.TRUE: 9, Fate.SPURIOUS: 10}
    assert {fate: len(some) for fate, some in found.shown.items()} == {
        Fate.TRUE: 4,
        Fate.SPURIOUS: 4,
        Fate.NONE: 0,
    }
    assert Counter(each.posterior_right for each in found.shown[Fate.SPURIOUS]) == {True: 2, False: 2}
