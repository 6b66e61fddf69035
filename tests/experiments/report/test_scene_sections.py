"""The page about a run that sees says what was recorded, and shows what was not seen as it is."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ngs.experiments.report.outcome import read_run
from ngs.experiments.report.page import page, write_report
from ngs.tasks.clevr.scenes import ATTRIBUTES, RELATIONS, Scene
from ngs.tasks.pictures.report.report import Mistaken, SceneGallery, SceneReport, confusion, faults
from ngs.tasks.pictures.scene_scores import PictureOutcome, SceneMetrics
from ngs.tasks.pictures.seen_scene import SeenObjects, in_jitters
from ngs.tasks.pictures.trainable import SCENES
from ngs.tasks.report.sections import render
from ngs.tasks.run_folder import BEST, RESULT
from tests.documents import Document, facts, rows_of, said
from tests.experiments.training import train
from tests.tasks.pictures.picture_folders import few, packed_pictures, short_config

pytestmark = pytest.mark.usefixtures("rendering_once")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scene_runs")
    for _ in train(short_config(packed_pictures(folder)), folder / "run"):
        pass
    return folder / "run"


@pytest.fixture(scope="module")
def text(run: Path) -> str:
    return write_report(run).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def shown(run: Path) -> SceneGallery:
    return SceneReport.read(SCENES, run, read_run(run).config)


def test_the_headline_and_the_tables_are_the_result(run: Path, text: str) -> None:
    result, words = facts(run / RESULT), said(text)
    test = result["test"]
    right = round(test["objects_right"] * test["examples"])
    assert f"objects found with all four attributes right, test part ({test['examples']} objects)" in words
    assert f"{right} of {test['examples']}; 95% interval" in words
    assert f"pairwise relations right {test['relations']:.2%} test part" in words
    assert f"chosen step {result['chosen_step']} of 4" in words
    head, *rows = rows_of(text, "numbers shares")
    assert head == ["in picture", "objects", "all right", "found", "relations", "pictures"]
    assert [row[0] for row in rows] == [*test["by_objects"], "all"]
    assert rows[-1][3:] == [f"{test[name]:.2%}" for name in ("found", "relations", "pictures_right")]


def test_what_is_a_share_of_nothing_has_no_number(run: Path, tmp_path: Path) -> None:
    """A picture without objects, as it is recorded: none of its objects is right, and none is wrong."""
    shutil.copytree(run, tmp_path / "run")
    result = facts(run / RESULT)
    empty = Scene((), dict.fromkeys(RELATIONS, ()), {})
    seen = SeenObjects(*(torch.zeros(0, *more) for more in ((), (4,), (), ())), NO_VALUES, torch.zeros(3))
    marks = SceneMetrics.of([PictureOutcome(empty, seen, {})]).as_facts()
    result["test"]["by_objects"]["0"] = json.loads(json.dumps(marks))["by_objects"]["0"]
    (tmp_path / "run" / RESULT).write_text(json.dumps(result))
    rows = rows_of(write_report(tmp_path / "run").read_text(encoding="utf-8"), "numbers shares")
    (row,) = (row for row in rows if row[0] == "0")
    assert row[1:] == ["0", "–0.0% to 100.0%", "–", "–", "100.00%"]


NO_VALUES = {name: torch.zeros(0, len(values)) for name, values in ATTRIBUTES.items()}


def test_the_page_is_whole_and_loads_nothing(text: str) -> None:
    document = Document(text)
    assert document.tags["h2"] == 5
    links = [value for _, name, value in document.attributes if name in ("href", "src")]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert "ngs train scenes" in said(text)


def test_an_unfinished_run_without_a_network_has_a_page_too(run: Path) -> None:
    words = said(page(replace(read_run(run), result=None), None))
    assert "unfinished" in words and "Unfinished: 4 steps of 4" in words and "Mistakes" not in words


def test_the_gallery_is_of_the_chosen_network(run: Path, shown: SceneGallery) -> None:
    assert (shown.data, shown.step) == ("few", facts(run / RESULT)["chosen_step"])
    assert shown.scores.as_facts() == facts(run / RESULT)["test"] and (run / BEST).exists()


def mistaken(
    number: int, *, drop: int | None = None, color: str | None = None, false: bool = False
) -> Mistaken:
    """A picture of which all is seen, but for one object that is missed, has another colour, or is none."""
    scene, boxes = few().scenes[number], few().boxes[number]
    kept = [k for k in range(len(scene.things)) if k != drop]
    things = [scene.things[k] for k in kept]
    if color is not None:
        things[0] = replace(things[0], color=color)
    places = boxes[kept]
    if false:
        things, places = [*things, things[0]], torch.cat([places, torch.tensor([[1.0, 2.0, 30.0, 40.0]])])
    pixels = torch.tensor([thing.pixel for thing in things])
    attributes = {
        name: torch.tensor([[float(getattr(thing, name) == value) for value in values] for thing in things])
        for name, values in ATTRIBUTES.items()
    }
    camera = in_jitters(few().cameras[number])
    seen = SeenObjects(torch.ones(len(things)), places, pixels[:, 0], pixels[:, 1], attributes, camera)
    outcome = PictureOutcome(scene, seen, {true: k for k, true in enumerate(kept)})
    picture = torch.zeros((3, 320, 480), dtype=torch.uint8)
    return Mistaken("some.png", picture, boxes[: len(scene.things)], outcome)


def test_what_is_missed_made_up_or_misjudged_is_framed_and_told() -> None:
    first = few().scenes[0].things[0]
    other = next(c for c in ATTRIBUTES["color"] if c != first.color)
    cases = {
        "true": (mistaken(0, drop=1), "missed :"),
        "seen": (mistaken(0, false=True), "not there :"),
        "both": (mistaken(0, color=other), "wrong color :"),
    }
    for kind, (case, words) in cases.items():
        drawn = render("tasks/pictures/report/card.html", each=case)
        assert drawn.count('class="frame') == 1 and f'class="frame {kind}"' in drawn
        assert words in said(drawn) and faults(case.outcome) == 1
    assert f"taken for {first.size} {other} {first.material} {first.shape}" in said(drawn)
    assert faults(mistaken(0).outcome) == 0


def test_confusions_count_what_was_taken_for_what() -> None:
    first = few().scenes[0].things[0]
    other = next(c for c in ATTRIBUTES["color"] if c != first.color)
    counts = confusion([mistaken(0, color=other).outcome, mistaken(1).outcome], "color")
    assert counts.sum() == len(few().scenes[0].things) + len(few().scenes[1].things)
    colors = ATTRIBUTES["color"]
    assert counts[colors.index(first.color), colors.index(other)] == counts.sum() - counts.diag().sum() == 1
