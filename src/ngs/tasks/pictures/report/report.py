"""The report of a run that sees scenes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, NamedTuple

from markupsafe import Markup
from torch import Tensor

from ngs.tasks.clevr.program_text import description
from ngs.tasks.clevr.scene_sampling import HEIGHT, WIDTH
from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures.picture_file import as_image
from ngs.tasks.pictures.rendered_pictures import RENDERED
from ngs.tasks.pictures.report.gallery import Mistaken, SceneGallery
from ngs.tasks.pictures.seen_scene import values_of
from ngs.tasks.report.report import Card, Report
from ngs.tasks.report.sections import Section, address_of, confusion_table, render

QUALITY = 88
"""Of the JPEG of a picture."""
MEASURES = {
    "found": "recall: objects found",
    "precision": "precision: of objects seen, there",
    **{name: f"{name} right, of objects found" for name in ATTRIBUTES},
    "relations": "pairwise relations right",
    "pictures_right": "pictures wholly right",
}


class SceneReport(Report):
    """What is seen, what is confused, and pictures in which something was not seen as it is."""

    shown: SceneGallery
    task: ClassVar[str] = "Seeing scenes"
    examples: ClassVar[str] = "pictures"
    tested_on = "objects"
    right: ClassVar[str] = "objects found with all four attributes right"
    labels: ClassVar[Mapping[str, str]] = {
        "precision": "of the objects seen are there",
        "relations": "pairwise relations right",
    }
    curves: ClassVar[Mapping[str, str]] = {
        "objects_right": "objects",
        "found": "objects found",
        "relations": "relations",
        "pictures_right": "pictures",
    }
    accuracy_title: ClassVar[str] = "What is seen"
    remark = (
        "An object is found where a box that is seen and its own box share half of the area that either "
        "covers. Relations are counted over all pairs of objects; a pair with a missed object counts as "
        "wrong."
    )

    @property
    def supervision(self) -> str:
        config = self.config
        made = f"{config.rendered:,} pictures rendered from sampled scenes"
        choosing = f"but for the {config.validation:.0%} that choose the network"
        if config.data == RENDERED:
            return f"Trained on {made} ({choosing}), of which everything is known."
        return (
            f"Trained on {made}, then on imported pictures ({choosing}) among them, of all of which "
            "everything is known."
        )

    @property
    def planned(self) -> str:
        config = self.config
        return f" of {config.steps + (config.rendered_steps if config.data != RENDERED else 0):,}"

    @property
    def tested(self) -> list[str]:
        return [f"test part, {self.shown.scores.total.pictures:,} pictures"]

    def tables(self) -> Iterator[Markup]:
        columns = {"found": "found", "relations": "relations", "pictures_right": "pictures"}
        first = ("in picture", "objects", "all right")
        yield self.test.table("by objects in the picture", "by_objects", columns, first)
        total = self.shown.scores.total
        distances = {"mean": total.position_error, "95% are within": total.position_error_95}
        yield render(
            "tasks/pictures/report/measures.html", parts=self.parts, measures=MEASURES, distances=distances
        )

    def more(self) -> Iterator[Section]:
        tables = {
            name: confusion_table(counts, ATTRIBUTES[name]) for name, counts in self.shown.confusions.items()
        }
        title, folder = "Which attributes are confused", "tasks/pictures/report"
        yield self.section("confusions", title, f"{folder}/confusions.html", tables=tables)
        cards = list(map(card, self.shown.shown))
        yield self.section("mistakes", "Mistakes", f"{folder}/mistakes.html", cards=cards)


class Fault(NamedTuple):
    """What went wrong with an object, and the frame around it."""

    kind: str
    """true: missed; seen: not there; both: taken for something else"""
    what: str
    words: str
    frame: str
    """what the frame says"""
    box: Tensor

    @property
    def sides(self) -> dict[str, str]:
        left, top, right, bottom = self.box.tolist()
        sides = {"x": left, "y": top, "width": max(right - left, 0), "height": max(bottom - top, 0)}
        return {name: f"{side:.1f}" for name, side in sides.items()}


def card(mistaken: Mistaken) -> Card:
    """The picture with its frames, and what went wrong in words."""
    outcome = mistaken.outcome
    counts = {
        ("warn", "missed"): len(outcome.missed),
        ("bad", "not there"): len(outcome.false),
        ("warn", "wrong"): sum(map(bool, outcome.wrong.values())),
    }
    body = render(
        "tasks/pictures/report/picture.html",
        name=mistaken.name,
        address=address_of(as_image(mistaken.picture), "jpeg", quality=QUALITY),
        faults=list(faults_of(mistaken)),
        width=WIDTH,
        height=HEIGHT,
    )
    badges = tuple((kind, f"{n} {name}") for (kind, name), n in counts.items() if n)
    return Card(mistaken.name, body, badges)


def faults_of(mistaken: Mistaken) -> Iterator[Fault]:
    """Every object that was not seen as it is, and what is none."""
    outcome, things = mistaken.outcome, mistaken.outcome.scene.things
    for k in outcome.missed:
        words = description(things[k])
        yield Fault("true", "missed", words, words, mistaken.boxes[k])
    for k in outcome.false:
        words = seen_words(mistaken, k)
        sure = f"{words} ({float(outcome.seen.scores[k]):.0%} sure)"
        yield Fault("seen", "not there", sure, words, outcome.seen.boxes[k])
    for k, attributes in outcome.wrong.items():
        if attributes:
            seen = outcome.matches[k]
            words = seen_words(mistaken, seen)
            told = f"{description(things[k])}, taken for {words}"
            yield Fault("both", f"wrong {' and '.join(attributes)}", told, words, outcome.seen.boxes[seen])


def seen_words(mistaken: Mistaken, k: int) -> str:
    """What object k of those seen was taken for."""
    values = values_of(mistaken.outcome.seen)
    return " ".join(values[attribute][k] for attribute in ATTRIBUTES)
