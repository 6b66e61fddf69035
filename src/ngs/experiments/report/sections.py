"""What stands on the page of a run that reads handwritten formulas: a headline and sections."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from ngs.experiments.config import TrainHWF
from ngs.experiments.counted import COUNTED
from ngs.experiments.hwf import PRETRAIN_STEPS
from ngs.experiments.report.corrections import MULTI_STEP, ONE_STEP, POSTERIOR, Corrected, Fate, Fates
from ngs.experiments.report.formulas import confusion_table, corrected_formula, misread_formula
from ngs.experiments.report.gallery import Exam, Gallery, Practice
from ngs.experiments.report.headline import headline, title
from ngs.experiments.report.markup import (
    Html,
    badge,
    card,
    element,
    joined,
    note,
    number,
    percent,
    sign,
    table_head,
    table_line,
)
from ngs.experiments.report.mistakes import Misreading
from ngs.experiments.report.outcome import Run, Shares
from ngs.experiments.report.recorded import Section, about, page_sections
from ngs.explanations.drawing import as_svg
from ngs.grammar.padding import PAD
from ngs.learning.examples import Examples, Pool
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.one_step import one_step
from ngs.tasks.hwf.dataset import GRAMMAR

DRAWN = 5
"""Symbols of the correction that is drawn, where there is one so short: of more it would be very wide."""


def sections(run: Run[TrainHWF], data: str, shown: Gallery | None) -> Iterator[Section]:
    """Those about a network only where there is one."""
    if shown is None:
        return page_sections(run, data, "formulas")
    first = ("accuracy", "Accuracy by length", _accuracy(run, shown))
    then = [
        ("confusions", "Which symbols are confused", _confusions(run, shown)),
        ("mistakes", "Mistakes", _mistakes(run, shown)),
        ("corrections", "Corrections, right and spurious", _corrections(run, shown)),
    ]
    return page_sections(run, data, "formulas", [first], then)


# The headline


def head(run: Run[TrainHWF], data: str, shown: Gallery | None) -> Iterator[Html]:
    """What was learned how, and how well: the top of the page."""
    of = ", pre-training included" if run.config.pretrain else f" of {run.config.steps:,}"
    lede = _supervision(run.config)
    yield from title(run, data, task="Reading handwritten formulas", lede=lede, of=of)
    if shown is not None:
        step = shown.exam.step if run.result is None else run.result.chosen_step
        labels = {"formula": "whole formulas right", "symbol": "symbols right"}
        yield headline(run, step, _test_shares(run, shown), "formulas", labels)
    imported = (
        f" Tolerance {run.tolerance:g}: how far a stated result was from the exact one on import, at most."
    )
    exactly = "Answers are exact fractions and are compared exactly."
    yield element("p", exactly + (imported if run.tolerance else ""), class_="of")


def _supervision(config: TrainHWF) -> str:
    """What the network was told in training, and what the labels do here."""
    if config.method == "supervised":
        return "Trained with the label of every symbol: the ceiling of what answers alone can teach."
    seen = "the network saw images and what each formula comes to, never which symbols it shows"
    if config.pretrain:
        return (
            f"Pre-trained with the labels of {config.pretrain_formulas:,} formulas, until "
            f"{config.pretrain:.0%} of their symbols were right (or for {PRETRAIN_STEPS:,} steps); from then "
            f"on {seen}. On this page, labels only judge."
        )
    return (
        f"Trained from answers alone: {seen}. No label was used in training; on this page, labels only judge."
    )


def _test_shares(run: Run[TrainHWF], shown: Gallery) -> Shares:
    """As recorded, or as read now where the run is unfinished."""
    return _read_now(shown) if run.result is None else run.result.test


def _read_now(shown: Gallery) -> Shares:
    return Shares.of(shown.exam.scores.as_facts(), COUNTED[TrainHWF.task])


# Accuracy


def _accuracy(run: Run[TrainHWF], shown: Gallery) -> Iterator[Html]:
    yield about(run, shown.data, f"the network of step {shown.exam.step:,}")
    parts = {"test part": _test_shares(run, shown)}
    if run.result is not None:
        parts["validation part"] = run.result.validation
    tables = [element("div", _shares_table(*part), class_="card wide") for part in parts.items()]
    yield element("div", *tables, class_="pair")
    now = _read_now(shown)
    if now != parts["test part"]:
        yield note(
            f"Read again for this page, on the CPU, {now.right:,} of {now.examples:,} answers of the test "
            f"part are right, and the sections below show these readings. The record says "
            f"{parts['test part'].right:,} of {parts['test part'].examples:,}: another device or precision "
            f"rounds otherwise, or the data has changed."
        )


def _shares_table(name: str, shares: Shares) -> Html:
    def line(length: str, part: Shares, class_: str | None = None) -> Html:
        low, high = part.interval
        answers = joined(percent(part.answers), element("small", f"{low:.1%} to {high:.1%}"))
        cells = f"{part.examples:,}", answers, *map(percent, part.labels.values())
        return table_line(length, cells, class_)

    return element(
        "table",
        element("caption", name, element("small", ": what is right, with 95% intervals (Wilson)")),
        table_head("length", "number", "answers", "formulas", "symbols"),
        element(
            "tbody", *(line(*part) for part in shares.groups["by_length"].items()), line("all", shares, "sum")
        ),
        class_="numbers",
    )


# Confusions and mistakes


def _confusions(run: Run[TrainHWF], shown: Gallery) -> Iterator[Html]:
    counts = shown.exam.confusion
    total, wrong = int(counts.sum()), int(counts.sum() - counts.diag().sum())
    yield about(run, shown.data, f"test part, {total:,} symbols", f"{wrong:,} misread")
    yield element("p", "Rows: what is written. Columns: what was read, inside the grammar. ", _most(counts))
    yield element("div", confusion_table(counts, GRAMMAR.symbols), class_="card wide")


def _most(counts: Tensor) -> str:
    """The most frequent confusions in words."""
    names = [sign(symbol) for symbol in GRAMMAR.symbols]
    pairs = [
        (n, names[k], names[j])
        for k, row in enumerate(counts.tolist())
        for j, n in enumerate(row)
        if n and j != k
    ]
    most = sorted(pairs, key=lambda pair: -pair[0])[:5]
    said = ", ".join(f"{true} as {read} ({n:,})" for n, true, read in most)
    return f"Most often: {said}." if most else "No symbol was misread."


def _mistakes(run: Run[TrainHWF], shown: Gallery) -> Iterator[Html]:
    exam, found = shown.exam, shown.exam.mistakes
    part = f"test part, {len(exam.examples):,} formulas"
    yield about(run, shown.data, part, f"{found.total:,} misread")
    if not found.total:
        yield element("p", "Every formula of the test part was read as it is written.")
        return
    yield element(
        "p",
        f"Formulas of the test part that are not read as they are written: {found.total:,}, of which "
        f"{found.lucky:,} with the right answer all the same. Shown: {len(found.shown)}, the most confident "
        f"mistakes first. p is the network's probability of the symbol that was read, and of the one that is "
        f"written.",
    )
    yield element("div", *(_mistake(each, exam) for each in found.shown), class_="cards")


def _mistake(misreading: Misreading, exam: Exam) -> Html:
    luck = badge("warn", "right answer by luck") if misreading.lucky else badge("bad", "wrong answer")
    formula = misread_formula(misreading, images(exam.examples, misreading))
    return card([luck], exam.names[misreading.number], formula)


def images(examples: Examples, misreading: Misreading) -> Tensor:
    """Of the symbols of a formula, [symbol, height, width]."""
    assert isinstance(examples.inputs, Pool), "a formula's symbols are seen one by one"
    rows = examples.inputs.where[misreading.number]
    return examples.inputs.inputs[rows[rows != PAD]]


# Corrections


FATES = {
    Fate.TRUE: badge("good", "corrected"),
    Fate.SPURIOUS: badge("warn", "spurious"),
    Fate.NONE: badge("bad", "none found"),
}
MEANINGS = {
    Fate.TRUE: "1-BS finds what is written",
    Fate.SPURIOUS: "1-BS finds the right answer, but not what is written",
    Fate.NONE: "1-BS finds nothing",
}


def _corrections(run: Run[TrainHWF], shown: Gallery) -> Iterator[Html]:
    practice, found = shown.practice, shown.practice.corrections
    part = f"training part, {len(practice.examples):,} of {practice.formulas:,} formulas"
    yield about(run, shown.data, part, f"the network of step {practice.step:,}")
    if found is None:
        yield element("p", "No answer in this sample is wrong: there is nothing to correct.")
        return
    yield element(
        "p",
        f"What learning from answers has to go by. At step {practice.step:,} the network gives "
        f"{found.wrong:,} wrong answers to these {found.examples:,} formulas; {found.lucky:,} more are "
        f"misread, but have the right answer. A search is told the network's probabilities and the answer, "
        f"and proposes a formula with that answer. Where it is not what is written, the correction is "
        f"spurious: to train towards it is to learn a mistake. Only the labels can tell, and no search sees "
        f"them.",
    )
    yield element("div", _fates_table(found, run.config.walk_steps), class_="card wide")
    kind = "exact" if found.exact else "approximate, with a beam of values"
    yield element(
        "p",
        f"1-BS takes the likeliest change of one symbol, m-BS a random walk of such changes. The posterior "
        f"({kind}) knows every formula with the right answer; to learn from it is to learn from all of "
        f"them, weighted by p(formula | image, answer). For what is written, that is {found.p_written:.3f} "
        f"on average over these wrong answers. Bars below show it.",
    )
    for fate, some in found.shown.items():
        if some:
            count = element("small", f"{len(some)} of {found.fates[ONE_STEP][fate]:,}")
            yield element("h3", f"{MEANINGS[fate]} ", count)
            yield element("div", *(_correction(each, practice) for each in some), class_="cards")
    yield from _drawing(found)


def _fates_table(found: Fates, walk_steps: int) -> Html:
    names = {
        ONE_STEP: "1-BS",
        MULTI_STEP: f"m-BS, {walk_steps} steps",
        POSTERIOR: "posterior, its likeliest",
    }

    def line(search: str) -> Html:
        counts = [found.fates[search][fate] for fate in Fate]
        cells = [joined(f"{n:,}", element("small", f"{n / found.wrong:.1%}")) for n in counts]
        return table_line(names[search], cells)

    return element(
        "table",
        element("caption", f"What becomes of {found.wrong:,} wrong answers"),
        table_head("search", *FATES.values()),
        element("tbody", *map(line, found.fates)),
        class_="numbers",
    )


def _correction(corrected: Corrected, practice: Practice) -> Html:
    badges = [FATES[corrected.fate]]
    if corrected.fate is not Fate.TRUE and corrected.posterior_right:
        badges += [Html(" "), badge("good", "posterior right")]
    formula = corrected_formula(corrected, images(practice.examples, corrected.misreading))
    return card(badges, f"answer {number(corrected.misreading.answer)}", formula)


def _drawing(found: Fates) -> Iterator[Html]:
    """One correction step by step: a spurious one where there is one, and not too long."""
    fixed = [*found.shown[Fate.SPURIOUS], *found.shown[Fate.TRUE]]
    short = [each for each in fixed if len(each.misreading.read) <= DRAWN]
    for each in (short or fixed)[:1]:
        misreading = each.misreading
        correction = one_step(GRAMMAR, Arithmetic, misreading.log_probs, misreading.answer, misreading.read)
        yield element("h3", "One correction, step by step ", FATES[each.fate])
        yield element(
            "p",
            f"How 1-BS makes {number(misreading.answer)} of {''.join(map(sign, misreading.read))}: the "
            f"answer enters at the top, every node is told what it should have been, and the likeliest "
            f"change that gives the answer wins.",
        )
        yield element("div", Html(as_svg(correction)), class_="card wide drawing")
