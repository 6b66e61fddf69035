"""The sections say what the run recorded."""

import re

from ngs.experiments.report.outcome import read_run
from ngs.experiments.report.page import commands
from ngs.tasks.finding import find
from ngs.tasks.run_folder import RESULT
from tests.documents import Document, facts, rows_of, said
from tests.experiments.report.reports import Reported
from tests.experiments.training import task_of


def test_the_headline_is_the_result(reported: Reported) -> None:
    result, words, config = facts(reported.run / RESULT), said(reported.text), read_run(reported.run).config
    test, answers = result["test"], task_of(config).metrics.answers
    right = round(test[answers] * test["examples"])
    assert f"{test[answers]:.2%} {right} of {test['examples']}; 95% interval" in words
    for name, what in reported.report.labels.items():
        assert f"{what} {test[name]:.2%} test part" in words
    assert f"training {result['training_seconds']:,.1f} s" in words
    assert f"chosen step {result['chosen_step']} of {config.steps}" in words
    assert f"peak memory {result['peak_memory_mb']:,.0f} MB" in words
    assert "No label was used in training" in words
    tolerance = result.get("tolerance")
    assert (f"Tolerance {tolerance or 0:g}: how far a stated result was" in words) == bool(tolerance)


def test_the_tables_are_the_result(reported: Reported) -> None:
    result, counted = facts(reported.run / RESULT), read_run(reported.run).task.metrics
    text = reported.text
    for part in ("test", "validation"):
        for group in counted.groups:
            head, *rows = rows_of(text, "numbers shares")
            text = text.split('<table class="numbers shares">', 1)[1]
            scores = result[part]
            assert head[1:3] == ["number", "answers"]
            assert [row[0] for row in rows] == [*scores[group], "all"]
            for row, each in zip(rows, [*scores[group].values(), scores], strict=True):
                assert row[1] == str(each["examples"])
                assert row[2].startswith(f"{each[counted.answers]:.2%}")
                assert row[3:] == [f"{each[name]:.2%}" for name in reported.report.labels]


def test_every_section_says_what_its_numbers_are_about(reported: Reported) -> None:
    abouts = [said(p) for p in re.findall(r'<p class="of">.*?</p>', reported.text, re.DOTALL)]
    abouts = [about for about in abouts if "data set" in about]
    learned = len(reported.data.train) - facts(reported.run / RESULT)["validation"]["examples"]
    examples = reported.report.examples
    for about in abouts:
        assert about.startswith(f"data set {reported.data.name} method posterior")
    assert sum(f"test part, {len(reported.shown.exam)} {examples}" in about for about in abouts) == 2
    assert sum(f"training part, {learned} {examples}" in about for about in abouts) == 1


def test_the_cards_are_the_mistakes_and_corrections(reported: Reported) -> None:
    found, text = reported.shown, reported.text
    corrected = found.corrections.shown(reported.report.few)
    assert text.count(">wrong answer</span>") == len(found.wrong) > 0
    assert text.count(">right answer by luck</span>") == len(found.lucky)
    cards = len(found.wrong + found.lucky) + sum(map(len, corrected.values()))
    assert Document(text).tags["article"] == cards
    assert text.count('<svg class="scene"') + text.count('class="handwriting" alt') == cards
    words = said(text)
    assert f"Wrong answers: {len(found.exam.wrong)}. {len(found.exam.lucky)} more are misread" in words
    assert f"What becomes of {len(found.practice.wrong)} wrong answers" in words
    assert found.wrong[0].title in words


def test_the_command_has_what_is_not_the_default() -> None:
    given = {"data": "a b.ngs", "augment": True, "lengths": (1, 3), "learning_rate": 0.01}
    first, second = commands(find("hwf"), given)
    assert first == (
        "ngs train hwf --data 'a b.ngs' --augment --lengths 1 --lengths 3 --learning-rate 0.01 --out again"
    )
    assert second == "ngs report again"
    assert next(commands(find("clevr"), {"copies": False})) == "ngs train clevr --no-copies --out again"
