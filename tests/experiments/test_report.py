"""The report of a run says what the run recorded and what can be counted again, and needs nothing else."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from html import unescape
from html.parser import HTMLParser
from itertools import product
from math import exp
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ngs.errors import DataError, NGSError
from ngs.experiments.config import TrainHWF
from ngs.experiments.figures import POINTS, VARIABLES, Html, charts, curve, element
from ngs.experiments.gallery import (
    MULTI_STEP,
    ONE_STEP,
    POSTERIOR,
    Corrections,
    Fate,
    Gallery,
    corrections,
    gallery,
    mistakes,
)
from ngs.experiments.record import METRICS, read_rows
from ngs.experiments.report import commands, page, read_run, wilson, write_report
from ngs.experiments.run import BEST, CONFIG, EARLY, ENVIRONMENT, RESULT, load_network, train
from ngs.learning.examples import Examples
from ngs.learning.reasoner import Reasoner, reasoner
from ngs.learning.scores import read_all
from ngs.parsing.decode import PAD, best
from ngs.parsing.sentence import parse, recognises
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import evaluate
from ngs.search.multi_step import Walk
from ngs.search.one_step import one_step
from ngs.tasks.hwf import packed
from ngs.tasks.hwf.dataset import GRAMMAR, HandwrittenFormulas, as_ink
from ngs.tasks.hwf.embedded import embedded

VOID = {"meta", "link", "img", "br", "hr", "input"}
"""HTML elements without an end."""
EVIL = "<script>alert('&')</script>"


@pytest.fixture(scope="session")
def data() -> HandwrittenFormulas:
    return embedded(train=60, test=40, lengths={1: 0.2, 3: 0.4, 5: 0.4}, train_writers=6, test_writers=4)


@pytest.fixture(scope="session")
def run(data: HandwrittenFormulas, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run on a small data set that was packed."""
    folder = tmp_path_factory.mktemp("runs")
    packed.write(folder / "small.ngs", data)
    config = TrainHWF(
        data=str(folder / "small.ngs"), steps=20, batch_size=16, validation=0.1, validate_every=10
    )
    for _ in train(config, folder / "run"):
        pass
    return folder / "run"


@pytest.fixture(scope="session")
def text(run: Path) -> str:
    return write_report(run).read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def shown(run: Path) -> Gallery:
    return gallery(run, read_run(run).config)


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    shutil.copytree(run, tmp_path / "copy", ignore=shutil.ignore_patterns("tensorboard", "*.html"))
    return tmp_path / "copy"


def facts(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


class Document(HTMLParser):
    """Checks that tags are closed in order; collects attributes and the text of table cells."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.said: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, self.getpos()

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.said.append(data)


def said(text: str) -> str:
    """What a reader sees, on one line."""
    return " ".join(" ".join(Document(text).said).split())


def rows_of(text: str, class_: str) -> list[list[str]]:
    """The cells of the first table of this class, row by row."""
    match = re.search(rf'<table class="{class_}">(.*?)</table>', text, re.DOTALL)
    assert match is not None
    rows = re.findall(r"<tr.*?</tr>", match[1], re.DOTALL)
    return [
        [unescape(re.sub("<.*?>", "", c)) for c in re.findall(r"<t[hd].*?</t[hd]>", r, re.DOTALL)]
        for r in rows
    ]


# The page


def test_the_page_needs_nothing_else(text: str) -> None:
    document = Document(text)
    assert document.tags["script"] == document.tags["iframe"] == document.tags["object"] == 0
    links = [value for _, name, value in document.attributes if name in ("src", "href", "xlink:href")]
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    outside = {
        value for _, name, value in document.attributes if "//" in value and not value.startswith("data:")
    }
    assert outside == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert not re.search(r"url\((?!#)|@import", text)
    assert len(text.encode()) < 400_000


def test_every_reference_has_its_one_target(text: str) -> None:
    document = Document(text)
    names = Counter(value for _, name, value in document.attributes if name == "id")
    assert set(names.values()) == {1}
    links = {value[1:] for _, name, value in document.attributes if "href" in name and value[0] == "#"}
    clips = {value[5:-1] for _, name, value in document.attributes if name == "clip-path"}
    assert clips
    assert links | clips <= set(names)


def test_light_and_dark_share_the_drawings(text: str) -> None:
    assert "prefers-color-scheme: dark" in text
    assert "var(--series-1)" in text
    assert not [colour for colour in VARIABLES if colour in text]


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
    rows = rows_of(text, "numbers")[1:]
    assert [row[0] for row in rows] == ["1", "3", "5", "all"]
    for row, part in zip(rows, [*test["by_length"].values(), test], strict=True):
        assert row[1] == str(part["examples"])
        assert row[2].startswith(f"{part['calculation']:.2%}")
        assert row[3:] == [f"{part['formula']:.2%}", f"{part['symbol']:.2%}"]


def test_every_section_says_what_its_numbers_are_about(
    run: Path, data: HandwrittenFormulas, text: str
) -> None:
    result = facts(run / RESULT)
    tolerance = f"tolerance {result['tolerance']:g}"
    learned = len(data.train) - result["validation"]["examples"]
    abouts = [said(p) for p in re.findall(r'<p class="of">.*?</p>', text) if "data set <b>" in p]
    assert len(abouts) == 5
    for about in abouts:
        assert about.startswith("data set embedded method posterior")
        assert about.endswith(tolerance)
    parts = [
        "test part, 40 formulas",
        f"test part, {int(data.test.lengths.sum())} symbols",
        f"training part, {learned} of {learned} formulas",
    ]
    assert [sum(part in about for about in abouts) for part in parts] == [1, 1, 1]
    assert "No label was used in training" in said(text)


def test_the_same_run_gives_the_same_bytes(run: Path, text: str, tmp_path: Path) -> None:
    path = write_report(run, out=tmp_path / "new" / "again.html")
    assert path == tmp_path / "new" / "again.html"
    assert path.read_text(encoding="utf-8") == text


# What can be counted again


def read_one_by_one(folder: Path, data: HandwrittenFormulas) -> list[tuple[str, str]]:
    """(written, read) of each test formula, without batches and tables."""
    network, pairs = load_network(folder), []
    for k, rows in enumerate(data.test.where.tolist()):
        with torch.inference_mode():
            scores = network(as_ink(data.images[[row for row in rows if row != PAD]])).log_softmax(-1)
        pairs.append((data.sentence(data.test, k), "".join(best(GRAMMAR, scores[None])[0])))
    return pairs


def test_the_confusions_are_those_of_the_network(run: Path, data: HandwrittenFormulas, text: str) -> None:
    pairs = read_one_by_one(run, data)
    counts = Counter(pair for written, read in pairs for pair in zip(written, read, strict=True))
    header, *rows = rows_of(text, "confusion")
    assert len(rows) == 14
    for symbol, row in zip(GRAMMAR.symbols, rows, strict=True):
        for other, cell in zip(GRAMMAR.symbols, row[1:15], strict=True):
            assert int(cell or 0) == counts[symbol, other]
        assert int(row[15]) == sum(n for (written, _), n in counts.items() if written == symbol)
    assert header[1:] == [*"+−×÷0123456789", "of", "right"]


def test_the_mistakes_are_those_of_the_network(
    run: Path, data: HandwrittenFormulas, text: str, shown: Gallery
) -> None:
    wrong = [(written, read) for written, read in read_one_by_one(run, data) if written != read]

    def value(formula: str) -> Value:
        return evaluate(parse(GRAMMAR, formula), Arithmetic)

    lucky = sum(value(written) == value(read) for written, read in wrong)
    assert wrong
    assert f"as they are written: {len(wrong)}, of which {lucky} with the right answer" in said(text)
    some = shown.exam.mistakes.shown
    assert len(some) == min(len(wrong), 24)
    for each in some:
        assert ("".join(each.written), "".join(each.read)) in wrong
        assert each.answer == value("".join(each.written))
        assert each.lucky == (value("".join(each.read)) == each.answer)
    cards = text.count(">wrong answer</span>") + text.count(">right answer by luck</span>")
    assert cards == len(some)


@pytest.mark.parametrize("right, of", [(0, 10), (7, 10), (499, 500), (500, 500)])
def test_the_interval_ends_where_the_share_is_z_errors_away(right: int, of: int) -> None:
    low, high = wilson(right, of)
    assert 0 <= low <= right / of <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            assert abs(right / of - end) == pytest.approx(1.959964 * (end * (1 - end) / of) ** 0.5)


# Corrections


def part_of(*formulas: tuple[str, list[dict[str, float]]]) -> Reasoner:
    """Written formulas, with what the network says of each symbol; its inputs are the probabilities."""

    def scores(symbol: dict[str, float]) -> Tensor:
        rest = (1 - sum(symbol.values())) / (len(GRAMMAR.symbols) - len(symbol))
        return torch.tensor([symbol.get(name, rest) for name in GRAMMAR.symbols]).log()

    examples = Examples.of(
        [torch.stack([scores(symbol) for symbol in symbols]) for _, symbols in formulas],
        [evaluate(parse(GRAMMAR, written), Arithmetic) for written, _ in formulas],
        [GRAMMAR.encode(written) for written, _ in formulas],
    )
    return reasoner(GRAMMAR, Arithmetic, examples)


def corrected(part: Reasoner, limit: int = 6) -> Corrections:
    reading = read_all(nn.Identity(), part)
    return corrections(reading, part, Walk(), torch.Generator().manual_seed(0), limit)


TRUE = ("4", [{"1": 0.7, "4": 0.2}])
SPURIOUS = ("2+3", [{"2": 0.6, "3": 0.35}, {"+": 0.9}, {"2": 0.9, "3": 0.05}])
"""read as 2+2; 3+2 is the likelier way to 5"""
RESCUED = ("7-2", [{"1": 0.4, "7": 0.38, "5": 0.1}, {"-": 0.9}, {"0": 0.4, "2": 0.38}])
"""read as 1-0; 5-0 is one change away from 5, and 7-2 is two, but likelier"""
HOPELESS = (
    "7/9-3",
    [{"1": 0.6, "7": 0.3}, {"-": 0.6, "/": 0.3}, {"1": 0.6, "9": 0.3}, {"-": 0.9}, {"3": 0.9}],
)
LUCKY = ("0*5", [{"0": 0.9}, {"*": 0.9}, {"6": 0.6, "5": 0.3}])
FINE = ("8", [{"8": 0.9}])


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
    log_probs = part_of(SPURIOUS).examples.inputs
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
    practice, found = shown.practice, shown.practice.corrections
    assert found is not None
    corrected = [each for some in found.shown.values() for each in some]
    assert corrected
    for each in corrected:
        scores = practice.reading.log_probs[each.misreading.number, : len(each.misreading.read)]
        fix = one_step(GRAMMAR, Arithmetic, scores, each.misreading.answer).sentence
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


def test_lucky_mistakes_have_a_place() -> None:
    part = part_of(*[SPURIOUS] * 30, *[LUCKY] * 8, FINE)
    found = mistakes(read_all(nn.Identity(), part), part.examples, GRAMMAR, 24)
    assert (found.total, found.lucky, len(found.shown)) == (38, 8, 24)
    assert sum(each.lucky for each in found.shown) == 6
    few = part_of(*[SPURIOUS] * 3, *[LUCKY] * 8)
    found = mistakes(read_all(nn.Identity(), few), few.examples, GRAMMAR, 24)
    assert (found.total, found.lucky, len(found.shown)) == (11, 8, 11)
    assert found.shown[0].p_read[2] == pytest.approx(0.9)
    assert found.shown[0].p_written[2] == pytest.approx(0.05)


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


def test_without_the_early_network_the_best_is_corrected(copy: Path, shown: Gallery) -> None:
    assert shown.practice.step == 10
    (copy / EARLY).unlink()
    other = gallery(copy, read_run(copy).config)
    assert other.practice.step == other.exam.step == facts(copy / RESULT)["chosen_step"]


def test_nothing_to_correct(run: Path, shown: Gallery) -> None:
    perfect = replace(shown, practice=replace(shown.practice, corrections=None))
    assert "there is nothing to correct" in said(page(read_run(run), perfect))


def test_a_result_that_does_not_fit_the_network_is_told(copy: Path) -> None:
    result = facts(copy / RESULT)
    result["test"]["calculation"] = 1.0
    (copy / RESULT).write_text(json.dumps(result))
    assert "The record says 40 of 40" in said(write_report(copy).read_text(encoding="utf-8"))


def test_what_comes_from_files_is_escaped(copy: Path, data: HandwrittenFormulas, tmp_path: Path) -> None:
    test = replace(data.test, names=tuple(EVIL for _ in data.test.names))
    packed.write(tmp_path / "evil.ngs", replace(data, name=EVIL, test=test))
    config = facts(copy / CONFIG) | {"data": str(tmp_path / "evil.ngs")}
    (copy / CONFIG).write_text(json.dumps(config))
    (copy / ENVIRONMENT).write_text(json.dumps({"device": EVIL, EVIL: [EVIL], "packages": {EVIL: EVIL}}))
    rows = [row | {"lesson": f"{EVIL} ${k}", EVIL: 0.5} for k, row in enumerate(read_rows(copy / METRICS))]
    (copy / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = write_report(copy).read_text(encoding="utf-8")
    assert Document(text).tags["script"] == 0
    words = said(text)
    assert f"posterior on {EVIL}" in words
    assert words.count(EVIL) > 30


def test_markup_is_what_elements_make() -> None:
    assert element("p", "1 < 2 & 'x'") == "<p>1 &lt; 2 &amp; &#x27;x&#x27;</p>"
    assert element("p", Html("<b>x</b>"), title='"', id=None) == '<p title="&quot;"><b>x</b></p>'


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


def test_a_page_that_cannot_be_written_is_named(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("hello")
    with pytest.raises(DataError, match="cannot be written"):
        write_report(run, out=tmp_path / "file" / "report.html")


@pytest.mark.parametrize(
    "config, told",
    [
        (TrainHWF(method="supervised"), "Trained with the label of every symbol"),
        (
            TrainHWF(method="mapo", pretrain=0.5),
            "Pre-trained with the labels of about 100 formulas, until 50%",
        ),
        (TrainHWF(method="1-bs"), "Trained from answers alone"),
    ],
)
def test_the_page_says_which_labels_were_used(run: Path, config: TrainHWF, told: str) -> None:
    assert told in said(page(replace(read_run(run), config=config), None))


def test_the_command_has_what_is_not_the_default() -> None:
    given = {"data": "a b.ngs", "augment": True, "lengths": (1, 3), "learning_rate": 0.01}
    first, second = commands(given)
    assert first == (
        "ngs train hwf --data 'a b.ngs' --augment --lengths 1 --lengths 3 --learning-rate 0.01 --out again"
    )
    assert second == "ngs report again"
    assert next(commands({"augment": False})) == "ngs train hwf --no-augment --out again"


# Curves


def test_long_curves_are_thinned_by_means() -> None:
    chance = random.Random(0)
    rows = [{"step": k, "loss": chance.random()} for k in range(10 * POINTS)]
    thin = curve("loss", rows, "step", "loss")
    assert len(thin.x) == POINTS
    assert thin.x[0] == 4.5
    assert thin.y[0] == pytest.approx(sum(row["loss"] for row in rows[:10]) / 10)


def test_charts_show_what_was_recorded() -> None:
    score = {"calculation": 0.5, "formula": None, "symbol": 0.75}
    rows = [
        {"step": 1, "seconds": 0.1, "lesson": "pretrain", "loss": 3.0, "learning_rate": 0.1},
        {"step": 2, "seconds": 0.2, "lesson": "mapo", "loss": -1.0, "learning_rate": 0.1, "reward": 0.2},
        {"step": 2, "seconds": 0.2, "validation": score, "test": score},
    ]
    drawn = list(charts(rows, chosen_step=2))
    assert [chart.title for chart in drawn] == [
        *["Validation accuracy", "Test accuracy", "Training loss, nats per formula"] * 2,
        "Measures of the objective",
        "Learning rate",
    ]
    assert said(drawn[0].key) == "answers symbols"
    assert said(drawn[6].key) == "reward"
    assert ">chosen</text>" in drawn[0].svg
    assert ">mapo</text>" in drawn[2].svg
    assert list(charts([], None)) == []
