"""The mistakes are those of the network, read again one by one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import torch

from ngs.grammar.padding import PAD
from ngs.parsing.independent import independent
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import evaluate
from ngs.tasks.hwf.dataset import GRAMMAR, HandwrittenFormulas, as_ink
from ngs.tasks.hwf.preparation import load_network
from tests.documents import rows_of
from tests.experiments.report.reports import Reported
from tests.experiments.report.wrong_answers import FINE, LUCKY, SPURIOUS, readings_of


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
