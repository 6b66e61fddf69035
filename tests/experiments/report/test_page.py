"""The page needs nothing else, is the same every time, and shows what files say, for runs of all kinds."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ngs.errors import DataError, NGSError
from ngs.experiments.record import METRICS, read_rows
from ngs.experiments.report.outcome import read_run
from ngs.experiments.report.page import page, write_report
from ngs.tasks.clevr.dataset import Questions
from ngs.tasks.clevr.report.report import QuestionReport
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.run_folder import BEST, CONFIG, EARLY, ENVIRONMENT, RESULT
from tests.documents import Document, facts, said
from tests.experiments.report.reports import Reported, copied, with_data
from tests.experiments.training import task_of

EVIL = "<script>alert('&')</script>"


def test_the_page_needs_nothing_else(reported: Reported) -> None:
    document = Document(reported.text)
    assert document.tags["script"] == document.tags["iframe"] == document.tags["object"] == 0
    links = [value for _, name, value in document.attributes if name in ("src", "href", "xlink:href")]
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    outside = {value for _, _, value in document.attributes if "//" in value and value[:5] != "data:"}
    assert outside <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"url\((?!#)|@import", reported.text)
    assert len(reported.text.encode()) < 400_000
    names = Counter(value for _, name, value in document.attributes if name == "id")
    assert set(names.values()) == {1}
    assert {link[1:] for link in links if link[0] == "#"} <= set(names)


def test_light_and_dark_share_the_drawings(reported: Reported) -> None:
    assert "prefers-color-scheme: dark" in reported.text
    assert "var(--series-1)" in reported.text


def test_the_same_run_gives_the_same_bytes(reported: Reported, tmp_path: Path) -> None:
    path = write_report(reported.run, out=tmp_path / "new" / "again.html")
    assert path == tmp_path / "new" / "again.html"
    assert path.read_text(encoding="utf-8") == reported.text


def test_what_comes_from_files_is_escaped(reported: Reported, copy: Path, tmp_path: Path) -> None:
    data = replace(reported.data, name=EVIL)
    if hasattr(data, "scenes"):
        data = replace(data, scenes=tuple(replace(scene, name=EVIL) for scene in data.scenes))
    else:
        data = replace(data, test=replace(data.test, names=tuple(EVIL for _ in data.test.names)))
    with_data(copy, reported, data, tmp_path / "evil.ngs")
    (copy / ENVIRONMENT).write_text(json.dumps({"device": EVIL, EVIL: [EVIL], "packages": {EVIL: EVIL}}))
    rows = [row | {"lesson": f"{EVIL} ${k}", EVIL: 0.5} for k, row in enumerate(read_rows(copy / METRICS))]
    (copy / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = facts(copy / RESULT)
    for group in read_run(copy).task.metrics.groups:
        result["test"][group][EVIL] = next(iter(result["test"][group].values()))
    (copy / RESULT).write_text(json.dumps(result))
    text = write_report(copy).read_text(encoding="utf-8")
    assert Document(text).tags["script"] == 0
    words = said(text)
    assert f"posterior on {EVIL}" in words
    assert words.count(EVIL) > 15


def test_words_of_questions_are_escaped(questions: Reported) -> None:
    evil = replace(questions.shown.wrong[0], text=EVIL)
    text = page(read_run(questions.run), replace(questions.shown, wrong=(evil,)))
    assert Document(text).tags["script"] == 0
    assert EVIL in said(text)


def test_a_page_that_cannot_be_written_is_named(formulas: Reported, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("hello")
    with pytest.raises(DataError, match="cannot be written"):
        write_report(formulas.run, out=tmp_path / "file" / "report.html")


# Runs of all kinds


def test_an_unfinished_run(reported: Reported, copy: Path) -> None:
    (copy / RESULT).unlink()
    words = said(page(read_run(copy), reported.shown))
    steps = read_run(copy).config.steps
    assert f"Unfinished: {steps} steps of {steps}, and no result yet." in words
    number = f"{len(reported.shown.exam)} {reported.report.examples}"
    assert f"answers right, test part ({number})" in words
    assert "peak memory –" in words
    assert "95% interval" in words


def test_a_run_without_a_network(copy: Path) -> None:
    for name in (RESULT, BEST, EARLY):
        (copy / name).unlink()
    text = write_report(copy).read_text(encoding="utf-8")
    assert "unfinished" in said(text)
    assert 'id="curves"' in text
    assert 'id="mistakes"' not in text
    assert text.count("<svg") >= 6


def test_a_run_that_has_only_begun(copy: Path) -> None:
    for path in copy.iterdir():
        if path.name != CONFIG:
            path.unlink()
    assert "Nothing is on record yet." in said(write_report(copy).read_text(encoding="utf-8"))


def test_without_the_early_network_the_best_is_corrected(reported: Reported, copy: Path) -> None:
    config = read_run(copy).config
    assert reported.shown.early_step == config.validate_every
    (copy / EARLY).unlink()
    other = task_of(config).report().read(task_of(config), copy, config)
    assert other.early_step == other.step == facts(copy / RESULT)["chosen_step"]


def test_nothing_is_wrong(reported: Reported) -> None:
    nothing = replace(reported.shown, wrong=(), lucky=(), corrections=None)
    words = said(page(read_run(reported.run), nothing))
    assert "There is no mistake to be shown." in words
    assert "there is nothing to correct" in words


def test_a_result_that_does_not_fit_the_network_is_told(reported: Reported, copy: Path) -> None:
    result = facts(copy / RESULT)
    result["test"][read_run(copy).task.metrics.answers] = 1.0
    (copy / RESULT).write_text(json.dumps(result))
    number = result["test"]["examples"]
    assert f"The record says {number} of {number}" in said(page(read_run(copy), reported.shown))


def test_a_large_test_part_is_sampled(
    questions: Reported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QuestionReport, "examined", 10)
    run = read_run(copied(questions.run, tmp_path / "copy"))
    few = run.task.report().read(run.task, run.folder, run.config)
    words = said(page(run, few))
    assert "test part, 10 of 100 questions" in words
    assert "answers right, test part (100 questions)" in words
    assert "answers right, test part (10 of 100 questions)" in said(page(replace(run, result=None), few))


def test_questions_that_nobody_understands_are_told(questions: Reported) -> None:
    shown = replace(questions.shown, exam=replace(questions.shown.exam, not_understood=3))
    assert "does not understand 3 questions of the test part" in said(page(read_run(questions.run), shown))


def test_data_without_labels_is_not_judged(questions: Reported, tmp_path: Path) -> None:
    def bare(part: Questions) -> Questions:
        nothing = torch.zeros_like(part.programs.offsets)
        return replace(part, programs=replace(part.programs, flat=part.programs.flat[:0], offsets=nothing))

    given, copy = questions.data, copied(questions.run, tmp_path / "copy")
    data = replace(given, train=bare(given.train), validation=bare(given.validation))
    with_data(copy, questions, data, tmp_path / "bare.ngs")
    (copy / RESULT).unlink()
    text = write_report(copy).read_text(encoding="utf-8")
    words = said(text)
    assert words.count("This data set has no labels") == 2
    assert "up to equivalence – test part" in words
    assert "1-BS finds the right answer; nobody knows the true program" in words
    assert 'class="working true"' not in text
    assert ">right answer by luck<" not in text
    assert ">spurious<" not in text


@pytest.mark.parametrize(
    "config, told",
    [
        (TrainHWF(method="supervised"), "Trained with the label of every example"),
        (TrainHWF(method="mapo", pretrain=0.5), "Pre-trained with the labels of 100 formulas, until 50%"),
        (TrainHWF(method="1-bs"), "Trained from answers alone: the network saw images"),
        (TrainCLEVR(method="supervised"), "Trained with the label of every example"),
        (TrainCLEVR(method="1-bs"), "Trained from answers alone: the network saw questions"),
    ],
)
def test_the_page_says_which_labels_were_used(
    formulas: Reported, config: TrainHWF | TrainCLEVR, told: str
) -> None:
    assert told in said(page(replace(read_run(formulas.run), task=task_of(config), config=config), None))


# Files that cannot be read


@pytest.mark.parametrize("name", ["nowhere", "empty", "file"])
def test_foreign_folders_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("hello")
    with pytest.raises(DataError, match=re.escape(str(tmp_path / name))):
        write_report(tmp_path / name)


@pytest.mark.parametrize(
    "name, content",
    [
        (CONFIG, '{"task": "chess"}'),
        (RESULT, '{"test": 1}'),
        (RESULT, "[]"),
        (RESULT, "{"),
        (ENVIRONMENT, "[1]"),
        (METRICS, "[1]\n"),
        (METRICS, '{"step": "one", "seconds": 2}\n'),
    ],
)
def test_damaged_files_are_named(copy: Path, name: str, content: str) -> None:
    (copy / name).write_text(content)
    with pytest.raises(NGSError, match=re.escape(str(copy / name))):
        write_report(copy)
