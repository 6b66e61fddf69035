"""The mistakes are those of the network, and corrections agree with the reference and with enumeration."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import exp
from pathlib import Path

import pytest
import torch

from ngs.grammar.padding import PAD
from ngs.parsing.independent import independent
from ngs.parsing.sentence import parse, recognises
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import evaluate
from ngs.search.back_search import ChainSettings
from ngs.search.one_step import one_step
from ngs.tasks.hwf.dataset import GRAMMAR, HandwrittenFormulas, as_ink
from ngs.tasks.hwf.preparation import load_network
from ngs.tasks.hwf.report.report import POSTERIOR, FormulaSearches
from ngs.tasks.report.searches import MULTI_STEP, ONE_STEP, Fate
from tests.documents import rows_of
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


def read_one_by_one(folder: Path, data: HandwrittenFormulas) -> list[tuple[str, str]]:
    """(written, read) of each test formula, without batches and tables."""
    network, pairs = load_network(folder), []
    for k, rows in enumerate(data.test.where.tolist()):
        with torch.inference_mode():
            scores = network(as_ink(data.images[[row for row in rows if row != PAD]])).log_softmax(-1)
        pairs.append((data.sentence(data.test, k), "".join(independent(GRAMMAR, scores[None]).best()[0])))
    return pairs


def test_the_confusions_are_those_of_the_network(formulas: Reported) -> None:
    pairs = read_one_by_one(formulas.run, formulas.data)
    counts = Counter(pair for written, read in pairs for pair in zip(written, read, strict=True))
    header, *rows = rows_of(formulas.text, "confusion")
    assert len(rows) == 14
    for symbol, row in zip(GRAMMAR.symbols, rows, strict=True):
        for other, cell in zip(GRAMMAR.symbols, row[1:15], strict=True):
            assert int(cell or 0) == counts[symbol, other]
        assert int(row[15]) == sum(n for (written, _), n in counts.items() if written == symbol)
    assert header[1:] == [*"+−×÷0123456789", "of", "right"]


def test_the_mistakes_are_those_of_the_network(formulas: Reported) -> None:
    one_by_one, shown = read_one_by_one(formulas.run, formulas.data), formulas.shown
    wrong = [(written, read) for written, read in one_by_one if written != read]

    def value(formula: str) -> Value:
        return evaluate(parse(GRAMMAR, formula), Arithmetic)

    lucky = sum(value(written) == value(read) for written, read in wrong)
    assert (len(shown.exam.wrong), len(shown.exam.lucky)) == (len(wrong) - lucky, lucky)
    some = shown.wrong + shown.lucky
    assert len(some) == min(len(wrong), 24)
    for each in some:
        assert ("".join(each.true), "".join(each.read)) in wrong
        assert each.answer == value("".join(each.true))
        assert each.value == value("".join(each.read))


def test_lucky_mistakes_have_a_place() -> None:
    found = readings_of(*[SPURIOUS] * 30, *[LUCKY] * 8, FINE)
    wrong, lucky = found.mistakes(24, 6)
    assert (len(found.wrong), len(found.lucky), len(wrong), len(lucky)) == (30, 8, 18, 6)
    assert all(each.value == each.answer for each in lucky)
    few = readings_of(*[SPURIOUS] * 3, *[LUCKY] * 8)
    wrong, lucky = few.mistakes(24, 6)
    assert (len(few.wrong), len(few.lucky), len(wrong), len(lucky)) == (3, 8, 3, 8)
    assert wrong[0].p_read[2] == pytest.approx(0.9)
    assert wrong[0].p_true[2] == pytest.approx(0.05)


def test_the_most_confident_mistake_is_the_first() -> None:
    sure, unsure = ("4", [{"1": 0.9, "4": 0.05}]), ("4", [{"1": 0.5, "4": 0.4}])
    first, second = readings_of(unsure, sure).mistakes(2, 0)[0]
    assert [each.p_read[0] for each in (first, second)] == pytest.approx([0.9, 0.5])


# Corrections


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
