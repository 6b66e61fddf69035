"""What stands on the page of a run that answers questions about scenes: a headline and sections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ngs.experiments.config import TrainCLEVR
from ngs.experiments.counted import COUNTED
from ngs.experiments.report.corrections import MULTI_STEP, ONE_STEP
from ngs.experiments.report.headline import headline, title
from ngs.experiments.report.markup import (
    Html,
    badge,
    card,
    chance,
    element,
    joined,
    note,
    percent,
    table_head,
    table_line,
)
from ngs.experiments.report.outcome import Run, Shares
from ngs.experiments.report.programs import Working, differing, program_table
from ngs.experiments.report.question_corrections import CorrectedQuestion, JudgedCorrections, Verdict
from ngs.experiments.report.question_gallery import QuestionExam, QuestionGallery
from ngs.experiments.report.questions import Answered, Sample
from ngs.experiments.report.recorded import Section, about, page_sections
from ngs.experiments.report.scene_drawing import drawing

NO_PROGRAMS = "This data set has no programs: nobody can say here which right answers have the right reasons."


def question_sections(run: Run[TrainCLEVR], data: str, shown: QuestionGallery | None) -> Iterator[Section]:
    """Those about a network only where there is one."""
    if shown is None:
        return page_sections(run, data, "questions")
    first = ("accuracy", "Accuracy by kind and length", _accuracy(run, shown))
    then = [
        ("mistakes", "Mistakes", _mistakes(run, shown)),
        ("corrections", "Corrections, right and spurious", _corrections(run, shown)),
    ]
    return page_sections(run, data, "questions", [first], then)


# The headline


def question_head(run: Run[TrainCLEVR], data: str, shown: QuestionGallery | None) -> Iterator[Html]:
    """What was learned how, and how well: the top of the page."""
    lede = _supervision(run.config)
    of = f" of {run.config.steps:,}"
    yield from title(run, data, task="Answering questions about scenes", lede=lede, of=of)
    if shown is None:
        return
    step = shown.exam.step if run.result is None else run.result.chosen_step
    examples = "questions" if run.result is not None or shown.exam.sample.is_all else "questions of it"
    labels = {"programs": "programs identical to the true ones", "equivalent": "programs equivalent to them"}
    test = _test_shares(run, shown)
    yield headline(run, step, test, examples, labels)
    yield element("p", NO_PROGRAMS if test.labels["equivalent"] is None else EQUIVALENT, class_="of")


EQUIVALENT = (
    "Programs are equivalent where they differ only in the order of filters, or of the two sides of a "
    "symmetric module, or in where the filter of an intersection stands."
)


def _supervision(config: TrainCLEVR) -> str:
    """What the network was told in training, and what the programs do here."""
    if config.method == "supervised":
        return "Trained with the program of every question: the ceiling of what answers alone can teach."
    return (
        "Trained from answers alone: the network saw questions, the modules that a dictionary finds in their "
        "words, scenes and answers, never how the modules belong together. No program was used in training; "
        "on this page, programs only judge."
    )


def _test_shares(run: Run[TrainCLEVR], shown: QuestionGallery) -> Shares:
    """As recorded, or as read now where the run is unfinished."""
    return _read_now(shown.exam) if run.result is None else run.result.test


def _read_now(exam: QuestionExam) -> Shares:
    return Shares.of(exam.scores.as_facts(), COUNTED[TrainCLEVR.task])


# Accuracy


GROUPS = {"by_kind": ("kind of question", "kind"), "by_length": ("length of the program", "modules")}
"""What the questions are told apart by, in the words of a caption and in a word."""


def _accuracy(run: Run[TrainCLEVR], shown: QuestionGallery) -> Iterator[Html]:
    exam, test = shown.exam, _test_shares(run, shown)
    yield about(
        run, shown.data, f"test part, {test.examples:,} questions", f"the network of step {exam.step:,}"
    )
    tables = [_shares_table(*called, test.groups[group], test) for group, called in GROUPS.items()]
    yield element("div", *(element("div", table, class_="card wide") for table in tables), class_="pair")
    if run.result is not None:
        yield element("p", _of_validation(run.result.validation), class_="of")
    if exam.not_understood:
        yield note(
            f"The dictionary does not understand {exam.not_understood:,} questions of the test part: they "
            f"count as wrong in a result, and are not among the questions shown below."
        )
    now = _read_now(exam)
    if exam.sample.is_all and now.right != test.right:
        yield note(
            f"Read again for this page, on the CPU, {now.right:,} of {now.examples:,} answers of the test "
            f"part are right, and the sections below show these readings. The record says {test.right:,} of "
            f"{test.examples:,}: another device or precision rounds otherwise, or the data has changed."
        )


def _shares_table(called: str, column: str, groups: Mapping[str, Shares], total: Shares) -> Html:
    def line(name: str, part: Shares, class_: str | None = None) -> Html:
        low, high = part.interval
        bar = element("span", element("i", style=f"--share:{100 * (part.answers or 0):.1f}%"), class_="bar")
        answers = joined(bar, percent(part.answers), element("small", f"{low:.1%} to {high:.1%}"))
        programs = [percent(part.labels[name]) for name in ("equivalent", "programs")]
        return table_line(name, [f"{part.examples:,}", answers, *programs], class_)

    caption = element(
        "caption", f"by {called}", element("small", ": what is right, with 95% intervals (Wilson)")
    )
    body = element("tbody", *(line(*part) for part in groups.items()), line("all", total, "sum"))
    head = table_head(column, "number", "answers", "equivalent", "identical")
    return element("table", caption, head, body, class_="numbers shares")


def _of_validation(part: Shares) -> str:
    programs = part.labels["equivalent"]
    told = "" if programs is None else f", {percent(programs)} of the programs equivalent to the true ones"
    return (
        f"On the validation part, {part.examples:,} questions held out from training, by which the network "
        f"was chosen: {percent(part.answers)} of the answers right{told}."
    )


# Mistakes


def _mistakes(run: Run[TrainCLEVR], shown: QuestionGallery) -> Iterator[Html]:
    exam, found = shown.exam, shown.exam.mistakes
    yield about(run, shown.data, f"test part, {_counted(exam.sample)}", f"{found.wrong:,} wrong answers")
    if exam.sample.labelled:
        meant = "Right answers by programs that do not mean what the true ones mean"
        yield element("p", f"Wrong answers: {found.wrong:,}. {meant}: {found.lucky:,}.")
    else:
        yield note(NO_PROGRAMS)
    if not found.shown_wrong and not found.shown_lucky:
        yield element("p", "There is no mistake to be shown.")
        return
    yield element("p", HOW_TO_READ)
    lists = {
        "Wrong answers": (found.shown_wrong, found.wrong),
        "Right by luck": (found.shown_lucky, found.lucky),
    }
    for name, (some, of) in lists.items():
        if some:
            yield element("h3", f"{name} ", element("small", f"{len(some)} of {of:,}"))
            yield element("div", *map(_mistake, some), class_="questions")


HOW_TO_READ = (
    "A drawing shows the scene from above: circles are spheres, squares cubes, hexagons cylinders, and what "
    "has an inner line is of metal. Beside it are programs, to be read from the bottom up, with the objects "
    "that each module gives; rings in a program's colour are around those that its answer is about. p is the "
    "network's probability of a program."
)


def _counted(sample: Sample) -> str:
    number = len(sample.questions)
    return f"{number:,} questions" if sample.is_all else f"{number:,} of {sample.of:,} questions"


def _mistake(answered: Answered) -> Html:
    lucky = answered.read.answer == answered.answer
    told = badge("warn", "right answer by luck") if lucky else badge("bad", "wrong answer")
    return _card([told], answered, [_read(answered), *_true(answered)])


def _read(answered: Answered) -> Working:
    true = answered.true
    marked = frozenset[int]() if true is None else differing(answered.read.program, true.program)
    return Working("read", "read", answered.read, marked, f"p {chance(answered.p)}")


def _true(answered: Answered) -> list[Working]:
    return [] if answered.true is None else [Working("true", "true", answered.true)]


def _card(badges: Sequence[Html], answered: Answered, workings: Sequence[Working]) -> Html:
    kind = "" if answered.kind is None else f", {answered.kind}"
    rings = {working.colour: working.about for working in workings}
    scene = element("div", drawing(answered.scene, rings), class_="seen")
    asked = element("p", answered.text, " ", element("b", answered.answer), class_="asked")
    tables = element("div", scene, *map(program_table, workings), class_="workings")
    return card(badges, f"question {answered.number}{kind}", asked, tables)


# Corrections


VERDICTS = {
    Verdict.TRUE: badge("good", "corrected"),
    Verdict.SPURIOUS: badge("warn", "spurious"),
    Verdict.UNJUDGED: badge("warn", "answer found"),
    Verdict.NONE: badge("bad", "none found"),
}
MEANINGS = {
    Verdict.TRUE: "1-BS finds a program that means what the true one means",
    Verdict.SPURIOUS: "1-BS finds the right answer by a program that means something else",
    Verdict.UNJUDGED: "1-BS finds the right answer; nobody knows the true program",
    Verdict.NONE: "1-BS finds nothing",
}


def _corrections(run: Run[TrainCLEVR], shown: QuestionGallery) -> Iterator[Html]:
    practice, found = shown.practice, shown.practice.corrections
    part = f"training part, {_counted(practice.sample)}"
    yield about(run, shown.data, part, f"the network of step {practice.step:,}")
    if found is None:
        yield element("p", "No answer in this sample is wrong: there is nothing to correct.")
        return
    labelled = practice.sample.labelled
    if not labelled:
        yield note(NO_PROGRAMS)
    yield element("p", _what_happens(found, practice.step, labelled))
    verdicts = [each for each in Verdict if (each is Verdict.UNJUDGED) != labelled or each is Verdict.NONE]
    table = _verdicts_table(found, verdicts, run.config.walk_steps)
    yield element("div", table, class_="card wide")
    yield element("p", _edits(run.config), *[MARKED] * labelled)
    for each, some in found.shown.items():
        if some:
            count = element("small", f"{len(some)} of {found.verdicts[ONE_STEP][each]:,}")
            yield element("h3", f"{MEANINGS[each]} ", count)
            yield element("div", *map(_correction, some), class_="questions")


def _what_happens(found: JudgedCorrections, step: int, labelled: bool) -> str:
    lucky = (
        f"; {found.lucky:,} more are right by programs that mean something else than the true ones"
        if labelled
        else ""
    )
    return (
        f"What learning from answers has to go by. At step {step:,} the network gives {found.wrong:,} wrong "
        f"answers to these {found.examples:,} questions{lucky}. A search is told the network's probabilities "
        f"and the answer, and proposes a program with that answer. Where it does not mean what the question "
        f"asks, the correction is spurious: to train towards it is to learn a mistake. Only the true program "
        f"can tell, and no search sees it."
    )


def _edits(config: TrainCLEVR) -> str:
    moves = config.grammar == "tidy" and config.moves
    more = (
        ", moves one filter to another noun phrase, or turns a chain of noun phrases round" if moves else ""
    )
    return (
        f"1-BS sets out from the program that was read and takes the likeliest that is one change away: it "
        f"switches two modules that take and give the same{more}. m-BS is a random walk of such changes. "
    )


MARKED = "Marked below: in what was read, where the true program differs; in a correction, what is new."


def _verdicts_table(found: JudgedCorrections, verdicts: Sequence[Verdict], walk_steps: int) -> Html:
    names = {ONE_STEP: "1-BS", MULTI_STEP: f"m-BS, {walk_steps} steps"}

    def line(search: str) -> Html:
        counts = [found.verdicts[search][each] for each in verdicts]
        cells = [joined(f"{n:,}", element("small", f"{n / found.wrong:.1%}")) for n in counts]
        return table_line(names[search], cells)

    return element(
        "table",
        element("caption", f"What becomes of {found.wrong:,} wrong answers"),
        table_head("search", *(VERDICTS[each] for each in verdicts)),
        element("tbody", *map(line, found.verdicts)),
        class_="numbers",
    )


def _correction(corrected: CorrectedQuestion) -> Html:
    answered, fix = corrected.answered, corrected.correction
    fixed = []
    if fix is not None:
        changed = differing(fix.program, answered.read.program)
        fixed = [Working("1-BS", "fixed", fix, changed, f"p {chance(corrected.p)}")]
    return _card([VERDICTS[corrected.verdict]], answered, [_read(answered), *fixed, *_true(answered)])
