"""Runs that learn to see: two lessons, resumed to the same numbers, kept in a file, asked questions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ngs.errors import DataError, NGSError, ParseError
from ngs.experiments.record import read_rows
from ngs.experiments.run import evaluate_run
from ngs.tasks.clevr.program import Program
from ngs.tasks.clevr.scenes import Scene
from ngs.tasks.clevr.semantics import Unique, strict
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.finding import find
from ngs.tasks.pictures import picture_packed, rendered_pictures, seen_questions
from ngs.tasks.pictures import preparation as scenes
from ngs.tasks.pictures.preparation import PreparedPictures, load_scene_reader, parts_of
from ngs.tasks.pictures.scene_network import SCENE_NETWORKS, SceneNetwork
from ngs.tasks.pictures.seen_questions import Cause, ask_about_pictures
from ngs.tasks.pictures.settings import TrainScenes
from ngs.tasks.pictures.weights import write_weights
from ngs.tasks.results.job import address, data_facts
from ngs.tasks.run_folder import BEST, CONFIG, ENVIRONMENT, METRICS, RESULT
from tests.experiments.training import as_facts, facts_of, finished, train, trained
from tests.tasks.pictures.picture_folders import CPU, few, packed_pictures, short_config, small_data

pytestmark = pytest.mark.usefixtures("rendering_once")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed_pictures(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def done(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; whoever changes something copies it."""
    folder = tmp_path_factory.mktemp("runs") / "done"
    finished(short_config(data), folder)
    return folder


# What a run leaves


def test_the_lessons_are_rendered_pictures_and_then_both(done: Path) -> None:
    rows = read_rows(done / METRICS)
    assert [row["lesson"] for row in rows if "loss" in row] == ["rendered"] * 2 + ["imported"] * 2
    assert [row["step"] for row in rows if "validation" in row] == [1, 2, 3, 4]
    result = json.loads((done / RESULT).read_text())
    assert (result["data"], result["pictures"], result["rendered"]) == ("few", 4, 3)
    assert result["chosen_step"] in (3, 4)  # what rendered pictures taught is not judged alone
    assert {*find("scenes").metrics.shares, "examples", "by_objects", "position_error"} <= result[
        "test"
    ].keys()
    groups = result["test"]["by_objects"]
    assert sum(group["examples"] for group in groups.values()) == result["test"]["examples"]


def test_a_run_is_tested_again_to_the_same_marks(done: Path) -> None:
    name, marks = evaluate_run(done)
    assert (name, json.loads(json.dumps(marks.as_facts()))) == (
        "few",
        json.loads((done / RESULT).read_text())["test"],
    )


def test_a_stopped_run_goes_on_to_the_same_numbers(data: Path, done: Path, tmp_path: Path) -> None:
    for event in train(short_config(data), tmp_path / "run"):
        if event.step == 3 and "validation" in event.row:
            break
    finished(short_config(data), tmp_path / "run", resume=True)
    assert facts_of(tmp_path / "run") == facts_of(done)


def test_other_pictures_are_not_gone_on_with(done: Path, tmp_path: Path) -> None:
    shutil.copytree(done, tmp_path / "run")
    path = tmp_path / "other.ngs"
    picture_packed.write(path, replace(small_data(tmp_path), digest="0" * 64))
    with pytest.raises(DataError, match=r"is not what .* was trained on"):
        finished(short_config(path), tmp_path / "run", resume=True)


def test_rendered_pictures_alone_are_one_lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendered_pictures, "TEST_PICTURES", 2)
    config = TrainScenes(rendered=4, steps=1, batch_size=2, validation=0.25, validate_every=1)
    result = finished(config, tmp_path / "run")
    assert (result["data"], result["steps"], result["test"]["pictures"]) == ("rendered", 1, 2)
    assert evaluate_run(tmp_path / "run")[1].as_facts() == result["test"]


def test_the_parts_share_no_picture(data: Path) -> None:
    parts = parts_of(short_config(data), CPU)
    assert parts.beside is not None
    names = [*parts.train.names, *parts.validation.names, *parts.test.names]
    assert len(set(names)) == len(names) == 6
    assert [len(each) for each in (parts.train, parts.validation, parts.test, parts.beside)] == [4, 1, 1, 3]
    with pytest.raises(NGSError, match="no pictures are left to train on"):
        parts_of(short_config(data, validation=1.0), CPU)


def test_images_kept_on_a_gpu_take_a_share_of_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    for free in (2**30, 2**36):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device, free=free: (free, 2**37))
        assert scenes.bytes_to_keep(torch.device("cuda")) == free // 4
    assert scenes.bytes_to_keep(CPU) == scenes.KEPT_BYTES


def test_half_of_a_batch_is_imported(data: Path) -> None:
    course = PreparedPictures(short_config(data, augment=False), CPU)
    first, second = course.lessons()
    assert (first.name, len(first.examples), first.steps) == ("rendered", 3, 2)
    assert len(second.examples) == 8
    batch = second.examples.batch(np.array([0, 7]))
    imported = course.parts.train.decoded(np.array([0]))[0]
    assert course.parts.beside is not None
    assert torch.equal(batch.inputs[0], imported)
    assert torch.equal(batch.inputs[1], course.parts.beside.decoded(np.array([0]))[0])


def test_pictures_to_learn_from_come_in_a_mirror_too(data: Path) -> None:
    course = PreparedPictures(short_config(data), CPU)
    first, second = course.lessons()
    assert (len(first.examples), len(second.examples)) == (6, 16)
    batch = second.examples.batch(np.array([7, 8, 15]))
    assert course.parts.beside is not None
    rendered = course.parts.beside.decoded(np.array([0]))[0]
    assert torch.equal(batch.inputs[0], course.parts.train.decoded(np.array([3]))[0].flip(-1))
    assert torch.equal(batch.inputs[1], rendered)
    assert torch.equal(batch.inputs[2], rendered.flip(-1))


def test_the_address_of_a_run_is_that_of_its_contents(data: Path, tmp_path: Path) -> None:
    shutil.copy(data, tmp_path / "moved.ngs")
    moved = trained(short_config(tmp_path / "moved.ngs"))
    assert address(moved) == address(trained(short_config(data)))
    assert data_facts("scenes", "rendered") == "rendered" != data_facts("scenes", str(data))


# Seeing, and weights


def test_only_runs_that_see_are_seen_with(tmp_path: Path, done: Path) -> None:
    (tmp_path / CONFIG).write_text(json.dumps(as_facts(TrainCLEVR())))
    with pytest.raises(DataError, match="was trained on clevr; give a run of `ngs train scenes`"):
        load_scene_reader(tmp_path)
    with pytest.raises(DataError, match="missing is no folder; give a run of `ngs train scenes`"):
        load_scene_reader(tmp_path / "missing")
    (tmp_path / CONFIG).write_text((done / CONFIG).read_text())
    with pytest.raises(DataError, match="there is no such file; train one with `ngs train scenes`"):
        load_scene_reader(tmp_path)


def test_weights_see_what_their_run_sees(done: Path, tmp_path: Path) -> None:
    made = write_weights(done, tmp_path / "eyes.safetensors")
    assert made.bytes == made.path.stat().st_size < 40_000_000
    picture = few().decoded(np.array([0]))
    with torch.inference_mode():
        one, other = (load_scene_reader(run).network(picture) for run in (done, made.path))
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    assert evaluate_run(made.path)[1].as_facts() == evaluate_run(done)[1].as_facts()
    card, result = made.card.read_text(), json.loads((done / RESULT).read_text())
    assert made.card.name == "eyes.safetensors.md" and made.sha256 in card and result["digest"] in card
    assert f"| objects found with all four attributes right | {result['test']['objects_right']:.2%} |" in card
    assert "| rendered steps | 2 |" in card and "ngs see eyes.safetensors" in card


def test_weights_that_were_changed_are_refused(done: Path, tmp_path: Path) -> None:
    path = write_weights(done, tmp_path / "eyes.safetensors").path
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="is damaged: its content does not have the checksum"):
        load_scene_reader(path)
    path.write_bytes(content[:1000])
    with pytest.raises(DataError, match="is cut short"):
        load_scene_reader(path)
    with pytest.raises(DataError, match="is no configuration of `ngs train`"):
        load_scene_reader(done / BEST)  # a network as a run keeps it does not say what it is


def test_weights_are_of_finished_runs(done: Path, tmp_path: Path) -> None:
    shutil.copytree(done, tmp_path / "run")
    (tmp_path / "run" / RESULT).unlink()
    with pytest.raises(DataError, match="is not finished"):
        write_weights(tmp_path / "run", tmp_path / "eyes.safetensors")
    made = write_weights(done, tmp_path / "eyes.safetensors")
    with pytest.raises(DataError, match="weights already"):
        write_weights(made.path, tmp_path / "again.safetensors")


def test_weights_that_are_too_large_are_refused(
    done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ngs.tasks.pictures.weights.MOST_BYTES", 1000)
    with pytest.raises(NGSError, match="train a smaller --network"):
        write_weights(done, tmp_path / "eyes.safetensors")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "eyes.safetensors").write_text("older weights")
    with pytest.raises(NGSError, match="train a smaller --network"):
        write_weights(done, tmp_path / "eyes.safetensors")
    assert (tmp_path / "eyes.safetensors").read_text() == "older weights"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_card_says_how_the_network_was_made(done: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(done, run)
    environment = json.loads((run / ENVIRONMENT).read_text())
    typed = ["ngs", "train", "scenes", "--data", "my pictures.ngs"]
    (run / ENVIRONMENT).write_text(json.dumps({**environment, "command": typed}))
    result = json.loads((run / RESULT).read_text())

    def card() -> str:
        return write_weights(run, tmp_path / "eyes.safetensors").card.read_text()

    assert "ngs train scenes --data 'my pictures.ngs'" in card()
    assert "| data | 4 pictures of few, and 3 that NGS rendered |" in card()
    (run / RESULT).write_text(json.dumps({**result, "data": "rendered", "pictures": 228}))
    assert "| data | 228 pictures that NGS rendered, and none else |" in card()
    (run / ENVIRONMENT).write_text(json.dumps({**environment, "command": None}))
    assert "Trained with" not in card()
    network = SceneNetwork(SCENE_NETWORKS["small"])
    counted = sum(t.numel() for t in network.state_dict().values() if t.dtype == torch.float32)
    whole = sum(t.numel() for t in network.state_dict().values())
    assert f", {counted:,} numbers in float32 |" in card() and counted < whole


# Questions


@dataclass(frozen=True)
class Reads:
    """Reads every question as the same program, or none at all."""

    program: Program | None
    unique: Unique = strict

    @dataclass(frozen=True)
    class Reading:
        programs: Sequence[Reads]

    def read(self, text: str) -> Reading:
        if self.program is None:
            raise ParseError("nobody understands this")
        return self.Reading([self])


HOW_MANY: Program = ("count", "scene")


def asked(
    done: Path, monkeypatch: pytest.MonkeyPatch, program: Program | None, seen: dict[str, Scene]
) -> list[Cause | None]:
    """What becomes of one question, "how many objects are there?"."""

    def one(scenes: Sequence[Scene], per_scene: int, random: np.random.Generator) -> list[object]:
        count = str(len(scenes[0].things))
        return [seen_questions.QuestionRecord("How many?", 0, count, HOW_MANY, 0)]

    def as_seen(_: object, name: str) -> Scene:
        if name not in seen:
            raise DataError("11 objects were found")
        return seen[name]

    monkeypatch.setattr(seen_questions, "sample_questions", one)
    monkeypatch.setattr(seen_questions, "load_reader", lambda run: Reads(program))
    monkeypatch.setattr(seen_questions, "scene_of", as_seen)
    found = ask_about_pictures(done, Path("reader"), 1)
    assert found.right + sum(map(found.due_to, Cause)) == len(found.asked) == 1
    return [each.cause for each in found.asked]


def test_errors_have_their_causes(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, pictures = scenes.test_part(done, None, CPU)
    (picture,), (true,) = pictures.names, pictures.scenes
    less = rendered_pictures.without_others(true, range(len(true.things) - 1))
    wrong: Program = ("exist", "scene")
    causes = [
        (HOW_MANY, true, None),
        (HOW_MANY, less, Cause.SEEING),
        (HOW_MANY, None, Cause.SEEING),
        (wrong, true, Cause.READING),
        (None, true, Cause.READING),
        (wrong, less, Cause.BOTH),
        (None, None, Cause.BOTH),
    ]
    for program, seen, cause in causes:
        given = {} if seen is None else {picture: seen}
        assert asked(done, monkeypatch, program, given) == [cause], (program, cause)
