"""A picture with boxes around what is there and what was seen, to be put into a page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from io import BytesIO

from torch import Tensor

from ngs.experiments.report.markup import Html, element
from ngs.experiments.report.scene_gallery import Mistaken
from ngs.tasks.clevr.program_text import description
from ngs.tasks.clevr.scene_sampling import HEIGHT, WIDTH
from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures.picture_file import as_image
from ngs.tasks.pictures.seen_scene import values_of

QUALITY = 88
"""Of the JPEG in the page."""


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
    image = element("image", href=_address(mistaken.picture), width=WIDTH, height=HEIGHT)
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


def _address(picture: Tensor) -> str:
    """The picture itself, in the page."""
    file = BytesIO()
    as_image(picture).save(file, format="JPEG", quality=QUALITY)
    return "data:image/jpeg;base64," + b64encode(file.getvalue()).decode()
