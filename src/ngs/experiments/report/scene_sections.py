"""The page of a run that sees scenes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from torch import Tensor

from ngs.experiments.report.markup import (
    Html,
    address_of,
    badge,
    card,
    confusion_table,
    element,
    percent,
    table_head,
    table_line,
)
from ngs.experiments.report.scene_gallery import Mistaken, SceneGallery, scene_gallery
from ngs.experiments.report.sections import Section, TaskPage, shares_table
from ngs.tasks.clevr.program_text import description
from ngs.tasks.clevr.scene_sampling import HEIGHT, WIDTH
from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures.picture_file import as_image
from ngs.tasks.pictures.rendered_pictures import RENDERED
from ngs.tasks.pictures.seen_scene import values_of

QUALITY = 88
"""Of the JPEG of a picture."""
MEASURES = {
    "found": "recall: objects found",
    "precision": "precision: of objects seen, there",
    **{name: f"{name} right, of objects found" for name in ATTRIBUTES},
    "relations": "pairwise relations right",
    "pictures_right": "pictures wholly right",
}
HOW_TO_READ = (
    "Pictures in which something is missed, made up or taken for something else, those with the most such "
    "objects first. Frames: green around objects that were missed, red around what is seen and is not there, "
    "orange around objects with a wrong attribute. Point at a frame to read what it is about."
)


class ScenePage(TaskPage):
    shown: SceneGallery
    read = staticmethod(scene_gallery)
    task: ClassVar[str] = "Seeing scenes"
    examples: ClassVar[str] = "pictures"
    tested_on = "objects"
    right: ClassVar[str] = "objects found with all four attributes right"
    labels: ClassVar[Mapping[str, str]] = {
        "precision": "of the objects seen are there",
        "relations": "pairwise relations right",
    }
    accuracy_title: ClassVar[str] = "What is seen"

    def supervision(self) -> str:
        config = self.run.config
        made = f"{config.rendered:,} pictures rendered from sampled scenes"
        choosing = f"but for the {config.validation:.0%} that choose the network"
        if config.data == RENDERED:
            return f"Trained on {made} ({choosing}), of which everything is known."
        return (
            f"Trained on {made}, then on imported pictures ({choosing}) among them, of all of which "
            "everything is known."
        )

    def planned(self) -> str:
        config = self.run.config
        return f" of {config.steps + (config.rendered_steps if config.data != RENDERED else 0):,}"

    def remark(self) -> str:
        return (
            "An object is found where a box that is seen and its own box share half of the area that either "
            "covers. Relations are counted over all pairs of objects; a pair with a missed object counts as "
            "wrong."
        )

    def tested(self) -> Iterable[str]:
        return [f"test part, {self.shown.scores.total.pictures:,} pictures"]

    def tables(self) -> Iterator[Html]:
        head = ("in picture", "objects", "all right", "found", "relations", "pictures")
        labels = ("found", "relations", "pictures_right")
        groups = self.test.groups["by_objects"]
        yield shares_table("by objects in the picture", head, groups, self.test, labels)
        yield self._measures()

    def _measures(self) -> Html:
        """Precision, recall, attributes and distances, on the test part and where the network was chosen."""
        parts = {"test part": self.test}
        if self.run.result is not None:
            parts["validation part"] = self.run.result.validation
        lines = [
            table_line(what, [percent(part.by_name[name]) for part in parts.values()])
            for name, what in MEASURES.items()
        ]
        total, blank = self.shown.scores.total, [""] * (len(parts) - 1)
        for what, error in (("mean", total.position_error), ("95% are within", total.position_error_95)):
            told = "–" if error is None else f"{error:.3f}"
            lines.append(table_line(f"distance on the ground, {what}", [told, *blank]))
        caption = element("caption", "precision, recall, attributes, places")
        return element("table", caption, table_head("", *parts), element("tbody", *lines), class_="numbers")

    def more(self) -> Iterator[Section]:
        yield "confusions", "Which attributes are confused", self.confusions()
        yield "mistakes", "Mistakes", self.mistakes()

    def confusions(self) -> Iterator[Html]:
        yield self.about(f"test part, {self.shown.scores.total.found:,} objects found")
        yield element("p", "Rows: what is there. Columns: what it was taken for.")
        tables = {
            name: element(
                "div", element("h3", name), confusion_table(counts, ATTRIBUTES[name]), class_="card wide"
            )
            for name, counts in self.shown.confusions.items()
        }
        yield tables.pop("color")  # too wide to stand beside another
        yield element("div", *tables.values(), class_="pair")

    def mistakes(self) -> Iterator[Html]:
        yield self.about(*self.tested(), f"{self.shown.mistaken:,} not wholly right")
        if not self.shown.shown:
            yield element("p", "In every picture of the test part, everything was seen as it is.")
            return
        yield element("p", HOW_TO_READ)
        yield element("div", *map(_mistake, self.shown.shown), class_="cards")


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


def figure(mistaken: Mistaken) -> Html:
    """The picture, with a frame around every object that was not seen as it is, and around what is none."""
    outcome = mistaken.outcome
    wrong = {true for true, attributes in outcome.wrong.items() if attributes}
    true = [_frame(mistaken.boxes[k], "true", description(outcome.scene.things[k])) for k in outcome.missed]
    seen = [_frame(outcome.seen.boxes[k], "seen", seen_words(mistaken, k)) for k in outcome.false]
    both = [
        _frame(outcome.seen.boxes[outcome.matches[k]], "both", seen_words(mistaken, outcome.matches[k]))
        for k in sorted(wrong)
    ]
    image = element(
        "image",
        href=address_of(as_image(mistaken.picture), "jpeg", quality=QUALITY),
        width=WIDTH,
        height=HEIGHT,
    )
    told = f"{mistaken.name}, with frames around what was not seen as it is"
    return element(
        "svg",
        image,
        *true,
        *seen,
        *both,
        class_="picture",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        **{"aria-label": told},
    )


def told_faults(mistaken: Mistaken) -> Iterator[Html]:
    """What went wrong with each object, in words."""
    outcome = mistaken.outcome
    for k in outcome.missed:
        yield _line("true", "missed", description(outcome.scene.things[k]))
    for k in outcome.false:
        yield _line(
            "seen", "not there", f"{seen_words(mistaken, k)} ({float(outcome.seen.scores[k]):.0%} sure)"
        )
    for k, attributes in outcome.wrong.items():
        if attributes:
            own, taken = description(outcome.scene.things[k]), seen_words(mistaken, outcome.matches[k])
            yield _line("both", f"wrong {' and '.join(attributes)}", f"{own}, taken for {taken}")
    if not (outcome.missed or outcome.false or any(outcome.wrong.values())):
        yield _line("both", "wrong relation", "all objects are right, but not where they stand to each other")


def seen_words(mistaken: Mistaken, k: int) -> str:
    """What object k of those seen was taken for."""
    values = values_of(mistaken.outcome.seen)
    return " ".join(values[attribute][k] for attribute in ATTRIBUTES)


def _line(kind: str, what: str, words: str) -> Html:
    return element("li", element("b", what), f": {words}", class_=kind)


def _frame(box: Tensor, kind: str, words: str) -> Html:
    left, top, right, bottom = box.tolist()
    sides = {"x": left, "y": top, "width": max(right - left, 0), "height": max(bottom - top, 0)}
    shown = {name: f"{side:.1f}" for name, side in sides.items()}
    return element("rect", element("title", words), class_=f"frame {kind}", **shown)
