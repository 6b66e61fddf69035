"""The sections say what the run recorded, for runs of all kinds."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ngs.experiments.record import read_rows
from ngs.experiments.report.curves import charts
from ngs.experiments.report.gallery import Gallery
from ngs.experiments.report.outcome import read_run
from ngs.experiments.report.page import page, write_report
from ngs.experiments.report.setup import commands
from ngs.tasks.hwf.dataset import HandwrittenFormulas
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.run_folder import BEST, CONFIG, EARLY, METRICS, RESULT
from tests.experiments.report.documents import facts, rows_of, said


def test_the_headline_is_the_result(run: Path, text: str) -> None:
    result, words = facts(run / RESULT), said(text)
    test = result["test"]
    right = round(test["calculation"] * test["examples"])
    assert f"{test['calculation']:.2%} {right} of 40; 95% interval" in words
    assert f"whole formulas right {test['formula']:.2%} test part" in words
    assert f"symbols right {test['symbol']:.2%} test part" in words
    assert f"training {result['training_seconds']:,.1f} s" in words
    assert f"chosen step {result['chosen_step']} of 20" in words
    assert f"peak memory {result['peak_memory_mb']:,.0f} MB" in words


def test_the_table_is_the_result(run: Path, text: str) -> None:
    test = facts(run / RESULT)["test"]
    rows = rows_of(text, "numbers shares")[1:]
    assert [row[0] for row in rows] == ["1", "3", "5", "all"]
    for row, part in zip(rows, [*test["by_length"].values(), test], strict=True):
        assert row[1] == str(part["examples"])
        assert row[2].startswith(f"{part['calculation']:.2%}")
        assert row[3:] == [f"{part['formula']:.2%}", f"{part['symbol']:.2%}"]


def test_every_section_says_what_its_numbers_are_about(
    run: Path, data: HandwrittenFormulas, text: str
) -> None:
    result = facts(run / RESULT)
    learned = len(data.train) - result["validation"]["examples"]
    assert f"Tolerance {result['tolerance']:g}: how far a stated result was" in text
    abouts = [said(p) for p in re.findall(r'<p class="of">.*?</p>', text) if "data set <b>" in p]
    assert len(abouts) == 5
    for about in abouts:
        assert about.startswith("data set embedded method posterior")
    parts = [
        "test part, 40 formulas",
        f"test part, {int(data.test.lengths.sum())} symbols",
        f"training part, {learned} formulas",
    ]
    assert [sum(part in about for about in abouts) for part in parts] == [1, 1, 1]
    assert "No label was used in training" in said(text)


# Runs of all kinds


def test_an_unfinished_run(copy: Path) -> None:
    (copy / RESULT).unlink()
    words = said(write_report(copy).read_text(encoding="utf-8"))
    assert "unfinished" in words
    assert "Unfinished: 20 steps of 20, and no result yet." in words
    assert "peak memory –" in words
    assert "95% interval" in words


def test_a_run_without_a_network(copy: Path) -> None:
    for name in (RESULT, BEST, EARLY):
        (copy / name).unlink()
    text = write_report(copy).read_text(encoding="utf-8")
    assert "unfinished" in said(text)
    assert 'id="curves"' in text
    assert 'id="mistakes"' not in text
    assert text.count("<svg") == len(list(charts(read_rows(copy / METRICS), None))) == 6


def test_a_run_that_has_only_begun(copy: Path) -> None:
    for path in copy.iterdir():
        if path.name != CONFIG:
            path.unlink()
    assert "Nothing is on record yet." in said(write_report(copy).read_text(encoding="utf-8"))


def test_nothing_to_correct(run: Path, shown: Gallery) -> None:
    perfect = replace(shown, corrections=None)
    assert "there is nothing to correct" in said(page(read_run(run), perfect))


def test_a_result_that_does_not_fit_the_network_is_told(copy: Path) -> None:
    result = facts(copy / RESULT)
    result["test"]["calculation"] = 1.0
    (copy / RESULT).write_text(json.dumps(result))
    assert "The record says 40 of 40" in said(write_report(copy).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "config, told",
    [
        (TrainHWF(method="supervised"), "Trained with the label of every symbol"),
        (
            TrainHWF(method="mapo", pretrain=0.5),
            "Pre-trained with the labels of 100 formulas, until 50%",
        ),
        (TrainHWF(method="1-bs"), "Trained from answers alone"),
    ],
)
def test_the_page_says_which_labels_were_used(run: Path, config: TrainHWF, told: str) -> None:
    assert told in said(page(replace(read_run(run), config=config), None))


def test_the_command_has_what_is_not_the_default() -> None:
    given = {"data": "a b.ngs", "augment": True, "lengths": (1, 3), "learning_rate": 0.01}
    first, second = commands("hwf", given)
    assert first == (
        "ngs train hwf --data 'a b.ngs' --augment --lengths 1 --lengths 3 --learning-rate 0.01 --out again"
    )
    assert second == "ngs report again"
    assert next(commands("hwf", {"augment": False})) == "ngs train hwf --no-augment --out again"
