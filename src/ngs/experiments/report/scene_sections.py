"""What stands on the page of a run that sees scenes: a headline and sections."""

from __future__ import annotations

from collections.abc import Iterator

from ngs.experiments.config import TrainScenes
from ngs.experiments.counted import COUNTED
from ngs.experiments.report.formulas import confusion_table
from ngs.experiments.report.headline import headline, title
from ngs.experiments.report.markup import (
    Html,
    badge,
    card,
    element,
    joined,
    note,
    percent,
    table_head,
    table_line,
)
from ngs.experiments.report.outcome import Run, Shares
from ngs.experiments.report.picture_figure import figure, told_faults
from ngs.experiments.report.recorded import Section, about, page_sections
from ngs.experiments.report.scene_gallery import Mistaken, SceneGallery
from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures.rendered_pictures import RENDERED


def scene_sections(run: Run[TrainScenes], data: str, shown: SceneGallery | None) -> Iterator[Section]:
    """Those about a network only where there is one."""
    if shown is None:
        return page_sections(run, data, "pictures")
    first = ("accuracy", "What is seen", _accuracy(run, shown))
    then = [
        ("confusions", "Which attributes are confused", _confusions(run, shown)),
        ("mistakes", "Mistakes", _mistakes(run, shown)),
    ]
    return page_sections(run, data, "pictures", [first], then)


# The headline


def scene_head(run: Run[TrainScenes], data: str, shown: SceneGallery | None) -> Iterator[Html]:
    """What was learned how, and how well: the top of the page."""
    config = run.config
    steps = config.steps + (config.rendered_steps if config.data != RENDERED else 0)
    yield from title(run, data, task="Seeing scenes", lede=_supervision(config), of=f" of {steps:,}")
    if shown is None:
        return
    step = shown.step if run.result is None else run.result.chosen_step
    labels = {"precision": "of the objects seen are there", "relations": "pairwise relations right"}
    right = "objects found with all four attributes right"
    yield headline(run, step, _test_shares(run, shown), "objects", labels, right)
    yield element("p", MATCHED, class_="of")


MATCHED = (
    "An object is found where a box that is seen and its own box share half of the area that either covers. "
    "Relations are counted over all pairs of objects; a pair with a missed object counts as wrong."
)


def _supervision(config: TrainScenes) -> str:
    made = f"{config.rendered:,} pictures rendered from sampled scenes"
    choosing = f"but for the {config.validation:.0%} that choose the network"
    if config.data == RENDERED:
        return f"Trained on {made} ({choosing}), of which everything is known."
    return (
        f"Trained on {made}, then on imported pictures ({choosing}) among them, of all of which "
        "everything is known."
    )


def _test_shares(run: Run[TrainScenes], shown: SceneGallery) -> Shares:
    """As recorded, or as seen now where the run is unfinished."""
    return _seen_now(shown) if run.result is None else run.result.test


def _seen_now(shown: SceneGallery) -> Shares:
    return Shares.of(shown.marks.as_facts(), COUNTED[TrainScenes.task])


# Accuracy


def _accuracy(run: Run[TrainScenes], shown: SceneGallery) -> Iterator[Html]:
    test = _test_shares(run, shown)
    pictures = f"test part, {shown.marks.total.pictures:,} pictures"
    yield about(run, shown.data, pictures, f"the network of step {shown.step:,}")
    tables = [_objects_table(test), _measures_table(run, shown, test)]
    yield element("div", *(element("div", table, class_="card wide") for table in tables), class_="pair")
    now = _seen_now(shown)
    if now.right != test.right:
        yield note(
            f"Seen again for this page, on the CPU, {now.right:,} of {now.examples:,} objects of the test "
            f"part are right, and the sections below show these. The record says {test.right:,}: another "
            f"device or precision rounds otherwise, or the data has changed."
        )


def _objects_table(test: Shares) -> Html:
    def line(name: str, part: Shares, class_: str | None = None) -> Html:
        low, high = part.interval
        right = joined(percent(part.answers), element("small", f"{low:.1%} to {high:.1%}"))
        others = [percent(part.labels[label]) for label in ("found", "relations", "pictures_right")]
        return table_line(name, [f"{part.examples:,}", right, *others], class_)

    caption = element(
        "caption", "by objects in the picture", element("small", ", with 95% intervals (Wilson)")
    )
    groups = test.groups["by_objects"].items()
    body = element("tbody", *(line(*group) for group in groups), line("all", test, "sum"))
    head = table_head("in picture", "objects", "all right", "found", "relations", "pictures")
    return element("table", caption, head, body, class_="numbers")


def _measures_table(run: Run[TrainScenes], shown: SceneGallery, test: Shares) -> Html:
    """Precision, recall, attributes and distances, on the test part and where the network was chosen."""
    names = {
        "found": "recall: objects found",
        "precision": "precision: of objects seen, there",
        **{name: f"{name} right, of objects found" for name in ATTRIBUTES},
        "relations": "pairwise relations right",
        "pictures_right": "pictures wholly right",
    }
    parts = [test] if run.result is None else [test, run.result.validation]
    lines = [table_line(what, [percent(part.labels[name]) for part in parts]) for name, what in names.items()]
    total, blank = shown.marks.total, [""] * (len(parts) - 1)
    for what, error in (("mean", total.position_error), ("95% are within", total.position_error_95)):
        told = "–" if error is None else f"{error:.3f}"
        lines.append(table_line(f"distance on the ground, {what}", [told, *blank]))
    head = table_head("", *("test part", "validation part")[: len(parts)])
    caption = element("caption", "precision, recall, attributes, places")
    return element("table", caption, head, element("tbody", *lines), class_="numbers")


# Confusions and mistakes


def _confusions(run: Run[TrainScenes], shown: SceneGallery) -> Iterator[Html]:
    yield about(run, shown.data, f"test part, {shown.marks.total.found:,} objects found")
    yield element("p", "Rows: what is there. Columns: what it was taken for.")
    tables = {
        name: element(
            "div", element("h3", name), confusion_table(counts, ATTRIBUTES[name]), class_="card wide"
        )
        for name, counts in shown.confusions.items()
    }
    yield tables.pop("color")  # too wide to stand beside another
    yield element("div", *tables.values(), class_="pair")


def _mistakes(run: Run[TrainScenes], shown: SceneGallery) -> Iterator[Html]:
    pictures = shown.marks.total.pictures
    yield about(run, shown.data, f"test part, {pictures:,} pictures", f"{shown.mistaken:,} not wholly right")
    if not shown.shown:
        yield element("p", "In every picture of the test part, everything was seen as it is.")
        return
    yield element("p", HOW_TO_READ)
    yield element("div", *map(_mistake, shown.shown), class_="cards")


HOW_TO_READ = (
    "Pictures in which something is missed, made up or taken for something else, those with the most such "
    "objects first. Frames: green around objects that were missed, red around what is seen and is not there, "
    "orange around objects with a wrong attribute. Point at a frame to read what it is about."
)


def _mistake(mistaken: Mistaken) -> Html:
    outcome = mistaken.outcome
    badges = []
    for kind, name, number in (
        ("warn", "missed", len(outcome.missed)),
        ("bad", "not there", len(outcome.false)),
        ("warn", "wrong", sum(map(bool, outcome.wrong.values()))),
    ):
        if number:
            badges += [badge(kind, f"{number} {name}"), Html(" ")]
    words = element("ul", *told_faults(mistaken), class_="faults")
    return card(badges, mistaken.name, figure(mistaken), words)
