"""The page about a run on questions says what was recorded and shows what is wrong, for runs of all kinds."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ngs.errors import NGSError
from ngs.experiments.record import read_rows
from ngs.experiments.report.gallery import Gallery, gallery
from ngs.experiments.report.outcome import read_run
from ngs.experiments.report.page import page, write_report
from ngs.experiments.report.question_readings import QuestionReadings
from ngs.experiments.report.setup import commands
from ngs.learning import tensor_file
from ngs.tasks.clevr import packed
from ngs.tasks.clevr.dataset import Questions, VisualQuestions
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.run_folder import A_NETWORK, BEST, CONFIG, DATA, EARLY, ENVIRONMENT, METRICS, RESULT
from tests.experiments.report.documents import Document, facts, rows_of, said

EVIL = "<script>alert('&')</script>"


def shares(part: dict[str, float]) -> list[str]:
    return [f"{part['equivalent']:.2%}", f"{part['programs']:.2%}"]


def test_the_headline_is_the_result(question_run: Path, question_text: str) -> None:
    result, words = facts(question_run / RESULT), said(question_text)
    test = result["test"]
    right = round(test["answers"] * test["examples"])
    assert f"{test['answers']:.2%} {right} of 100; 95% interval" in words
    assert f"programs identical to the true ones {test['programs']:.2%} test part" in words
    assert f"programs equivalent to them {test['equivalent']:.2%} test part" in words
    assert f"training {result['training_seconds']:,.1f} s" in words
    assert f"chosen step {result['chosen_step']} of 6" in words
    assert "No program was used in training" in words
    assert f"validation part, {result['validation']['examples']} questions held out" in words


def test_the_tables_are_the_result(question_run: Path, question_text: str) -> None:
    test = facts(question_run / RESULT)["test"]
    by_kind = rows_of(question_text, "numbers shares")
    by_length = rows_of(question_text.split("</table>", 1)[1], "numbers shares")
    for (head, *rows), group in ((by_kind, "by_kind"), (by_length, "by_length")):
        assert head[1:] == ["number", "answers", "equivalent", "identical"]
        assert [row[0] for row in rows] == [*test[group], "all"]
        for row, part in zip(rows, [*test[group].values(), test], strict=True):
            assert row[1] == str(part["examples"])
            assert row[2].startswith(f"{part['answers']:.2%}")
            assert row[3:] == shares(part)
    assert len(test["by_kind"]) >= 7


def test_every_section_says_what_its_numbers_are_about(question_text: str) -> None:
    abouts = [said(p) for p in re.findall(r'<p class="of">.*?</p>', question_text) if "data set <b>" in p]
    assert len(abouts) == 4
    for about in abouts:
        assert about.startswith("data set synthetic method posterior")


def test_the_cards_are_the_mistakes(question_text: str, question_shown: Gallery) -> None:
    found, corrected = question_shown, question_shown.corrections.shown(3)
    assert question_text.count(">wrong answer</span>") == len(found.wrong) > 0
    assert question_text.count(">right answer by luck</span>") == len(found.lucky)
    cards = len(found.wrong + found.lucky) + sum(map(len, corrected.values()))
    assert Document(question_text).tags["article"] == cards
    assert question_text.count('<svg class="scene"') == cards
    words = said(question_text)
    each = found.wrong[0]
    assert f"{each.text} {each.answer}" in words
    assert f"question {each.number}, {each.kind}" in words
    assert f"Wrong answers: {len(found.exam.wrong)}." in words
    assert f"What becomes of {len(question_shown.practice.wrong)} wrong answers" in words


def test_the_page_needs_nothing_else(question_text: str) -> None:
    document = Document(question_text)
    assert document.tags["script"] == document.tags["iframe"] == document.tags["img"] == 0
    links = [value for _, name, value in document.attributes if name in ("src", "href", "xlink:href")]
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"url\((?!#)|@import", question_text)
    names = Counter(value for _, name, value in document.attributes if name == "id")
    assert set(names.values()) == {1}
    assert len(question_text.encode()) < 400_000


def test_the_same_run_gives_the_same_bytes(question_run: Path, question_text: str, tmp_path: Path) -> None:
    path = write_report(question_run, out=tmp_path / "again.html")
    assert path.read_text(encoding="utf-8") == question_text


# Runs of all kinds


def with_data(copy: Path, data: VisualQuestions, path: Path) -> Path:
    """The run, as if it had learned from other data."""
    packed.write(path, data)
    (copy / CONFIG).write_text(json.dumps(facts(copy / CONFIG) | {"data": str(path)}))
    tensors, kept = tensor_file.load(copy / BEST, A_NETWORK, "")
    clones = {name: tensor.clone() for name, tensor in tensors.items()}
    tensor_file.save(copy / BEST, A_NETWORK, clones, kept | {DATA: packed.read(path).digest})
    return copy


def test_what_comes_from_files_is_escaped(
    question_copy: Path, questions: VisualQuestions, tmp_path: Path
) -> None:
    evil = tuple(scene if k else replace(scene, name=EVIL) for k, scene in enumerate(questions.scenes))
    with_data(question_copy, replace(questions, name=EVIL, scenes=evil), tmp_path / "evil.ngs")
    (question_copy / ENVIRONMENT).write_text(json.dumps({"device": EVIL}))
    rows = [row | {"lesson": EVIL, EVIL: 0.5} for row in read_rows(question_copy / METRICS)]
    (question_copy / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = facts(question_copy / RESULT)
    result["test"]["by_kind"][EVIL] = result["test"]["by_kind"]["one hop"]
    (question_copy / RESULT).write_text(json.dumps(result))
    text = write_report(question_copy).read_text(encoding="utf-8")
    assert Document(text).tags["script"] == 0
    assert f"posterior on {EVIL}" in said(text)


def test_words_of_questions_are_escaped(question_run: Path, question_shown: Gallery) -> None:
    evil = replace(question_shown.wrong[0], text=EVIL)
    text = page(read_run(question_run), replace(question_shown, wrong=(evil,)))
    assert Document(text).tags["script"] == 0
    assert EVIL in said(text)


def test_data_without_programs_is_not_judged(
    question_copy: Path, questions: VisualQuestions, tmp_path: Path
) -> None:
    def bare(part: Questions) -> Questions:
        nothing = torch.zeros_like(part.programs.offsets)
        return replace(part, programs=replace(part.programs, flat=part.programs.flat[:0], offsets=nothing))

    data = replace(questions, train=bare(questions.train), validation=bare(questions.validation))
    with_data(question_copy, data, tmp_path / "bare.ngs")
    (question_copy / RESULT).unlink()
    text = write_report(question_copy).read_text(encoding="utf-8")
    words = said(text)
    assert words.count("This data set has no programs") == 3
    assert "programs equivalent to them – test part" in words
    assert "1-BS finds the right answer; nobody knows the true program" in words
    assert 'class="working true"' not in text
    assert ">right answer by luck<" not in text
    assert ">spurious<" not in text


def test_an_unfinished_run(question_copy: Path, question_shown: Gallery) -> None:
    (question_copy / RESULT).unlink()
    words = said(page(read_run(question_copy), question_shown))
    assert "Unfinished: 6 steps of 6, and no result yet." in words
    assert "answers right, test part (100 questions)" in words
    assert "peak memory –" in words


def test_a_large_test_part_is_sampled(question_copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QuestionReadings, "examined", 10)
    run = read_run(question_copy)
    few = gallery(question_copy, run.task, run.config)
    words = said(page(run, few))
    assert "test part, 10 of 100 questions" in words
    assert "answers right, test part (100 questions)" in words
    assert "answers right, test part (10 questions of it)" in said(page(replace(run, result=None), few))


def test_a_run_without_a_network(question_copy: Path) -> None:
    for name in (RESULT, BEST, EARLY):
        (question_copy / name).unlink()
    text = write_report(question_copy).read_text(encoding="utf-8")
    assert "unfinished" in said(text)
    assert 'id="curves"' in text
    assert 'id="mistakes"' not in text


def test_a_run_that_has_only_begun(question_copy: Path) -> None:
    for path in question_copy.iterdir():
        if path.name != CONFIG:
            path.unlink()
    assert "Nothing is on record yet." in said(write_report(question_copy).read_text(encoding="utf-8"))


def test_nothing_is_wrong(question_run: Path, question_shown: Gallery) -> None:
    nothing = replace(question_shown, wrong=(), lucky=(), corrections=None)
    words = said(page(read_run(question_run), nothing))
    assert "There is no mistake to be shown." in words
    assert "there is nothing to correct" in words


def test_questions_that_nobody_understands_are_told(question_run: Path, question_shown: Gallery) -> None:
    shown = replace(question_shown, exam=replace(question_shown.exam, not_understood=3))
    assert "does not understand 3 questions of the test part" in said(page(read_run(question_run), shown))


def test_a_result_that_does_not_fit_the_network_is_told(question_copy: Path, question_shown: Gallery) -> None:
    result = facts(question_copy / RESULT)
    result["test"]["answers"] = 1.0
    (question_copy / RESULT).write_text(json.dumps(result))
    assert "The record says 100 of 100" in said(page(read_run(question_copy), question_shown))


@pytest.mark.parametrize("content", ['{"test": 1}', "[]", "{"])
def test_damaged_results_are_named(question_copy: Path, content: str) -> None:
    (question_copy / RESULT).write_text(content)
    with pytest.raises(NGSError, match=re.escape(str(question_copy / RESULT))):
        write_report(question_copy)


def test_supervision_is_told(question_run: Path) -> None:
    run = replace(read_run(question_run), config=TrainCLEVR(method="supervised"))
    assert "Trained with the program of every question" in said(page(run, None))


def test_the_command_names_the_task() -> None:
    assert next(commands("clevr", {"copies": False})) == "ngs train clevr --no-copies --out again"
