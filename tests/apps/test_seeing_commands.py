"""`ngs train scenes`, `see`, `ask --image` and `weights`, run as a user runs them; and what may go wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import Result
from PIL import Image
from typer.testing import CliRunner

from ngs.apps.cli import app
from ngs.experiments import scenes
from ngs.experiments.config import TrainCLEVR
from ngs.experiments.run import train
from ngs.perception.seen_objects import SeenObjects
from ngs.reasoning.scenes import ATTRIBUTES, MOST_OBJECTS, Scene
from ngs.tasks.clevr import packed
from ngs.tasks.clevr.official import read_scene
from ngs.tasks.clevr.picture_file import as_image
from ngs.tasks.clevr.program_text import description
from ngs.tasks.clevr.scene_reading import SceneReader
from ngs.tasks.clevr.seen_scene import in_jitters
from tests.tasks.clevr.picture_folders import few, image_folder, packed_pictures, rendered_once
from tests.tasks.clevr.readers import some_questions

SHORT = ("--rendered", "3", "--rendered-steps", "1", "--steps", "1", "--batch-size", "2")
SHORT = (*SHORT, "--validate-every", "1", "--validation", "0.2", "--threads", "1")


def ngs(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def done(*arguments: str | Path) -> str:
    """What a command that is to work says."""
    result = ngs(*arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def refused(*arguments: str | Path) -> str:
    """What a command that is to fail says, in one line of its own."""
    result = ngs(*arguments)
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.stderr.startswith("ngs: ") and "Traceback" not in result.stderr
    return " ".join(result.stderr.split())


@pytest.fixture(scope="module", autouse=True)
def rendering_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scenes, "rendered_pictures", rendered_once)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures, a run that sees next to nothing in them, and one that reads questions."""
    folder = tmp_path_factory.mktemp("seeing")
    data = packed_pictures(folder)
    done("train", "scenes", "--data", data, *SHORT, "--out", folder / "eyes")
    packed.write(folder / "questions.ngs", some_questions())
    config = TrainCLEVR(data=str(folder / "questions.ngs"), method="supervised", steps=1, validate_every=1)
    for _ in train(config, folder / "reader"):
        pass
    return folder


@pytest.fixture
def picture(folder: Path) -> Path:
    return folder / "images" / "even" / few().names[0]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def seeing(monkeypatch: pytest.MonkeyPatch, scene: Scene, camera: torch.Tensor, boxes: torch.Tensor) -> None:
    """Let every network see this scene."""
    things = scene.things
    pixels = torch.tensor([thing.pixel for thing in things]).reshape(-1, 3)
    attributes = {
        name: torch.tensor([[float(getattr(t, name) == v) for v in values] for t in things]).reshape(
            -1, len(values)
        )
        for name, values in ATTRIBUTES.items()
    }
    seen = SeenObjects(
        torch.linspace(0.99, 0.5, len(things)),
        boxes[: len(things)],
        pixels[:, 0],
        pixels[:, 1],
        attributes,
        in_jitters(camera),
    )
    monkeypatch.setattr(SceneReader, "see", lambda self, pictures: [seen] * len(pictures))


def seeing_all(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Let every network see what is in the first picture."""
    seeing(monkeypatch, few().scenes[0], few().cameras[0], few().boxes[0])
    return few().scenes[0]


# Data


def test_images_are_imported_and_inspected(tmp_path: Path) -> None:
    images, scenes = image_folder(tmp_path)
    said = done("data", "import", images, "--scenes", scenes, "--name", "my images")
    assert "data/my-images.ngs: 5 pictures to learn from, 1 to be tested on" in said
    assert "ngs train scenes --data data/my-images.ngs" in said
    shown = done("data", "inspect", "data/my-images.ngs")
    assert "my images: 5 pictures to learn from" in shown and "pictures by objects" in shown
    facts = json.loads(ngs("data", "inspect", "data/my-images.ngs", "--json").stdout)
    things = [thing for scene in few().scenes for thing in scene.things]
    assert facts["train"]["objects"] + facts["test"]["objects"] == len(things)
    for value in ("red", "cube", "metal"):
        counted = sum(value in (t.color, t.shape, t.material) for t in things)
        assert sum(facts[part]["by_attribute"][value] for part in ("train", "test")) == counted
    assert "exists; give another --out" in refused(
        "data", "import", images, "--scenes", scenes, "--name", "my images"
    )


def test_images_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    images, scenes = image_folder(tmp_path)
    for more, message in (
        (("--skip-faulty",), "not for images"),
        (("--leak-free",), "not for images"),
        (("--held-out", "missing.txt"), "missing.txt cannot be read"),
    ):
        assert message in refused("data", "import", images, "--scenes", scenes, *more)
    assert "cannot be read" in refused("data", "import", images, "--scenes", "missing.json")
    assert "is no folder" in refused("data", "import", scenes, "--scenes", scenes)
    assert "give their --scenes" in refused("data", "import", images, "--held-out", scenes)
    (images / "odd" / "unknown.png").write_bytes((images / "odd" / few().names[1]).read_bytes())
    assert "has no scene for 1 of 7 images" in refused("data", "import", images, "--scenes", scenes)
    assert not Path("data").exists()


# Training


def test_a_run_says_how_well_it_sees(folder: Path) -> None:
    said = done("train", "scenes", "--data", folder / "few.ngs", *SHORT, "--out", "run")
    assert "supervised on" in said and "rendered, step 1" in said and "imported, step 2" in said
    assert "false objects:" in said and "pictures wholly right:" in said and "in picture" in said
    result = json.loads(Path("run/result.json").read_text())
    facts = json.loads(ngs("evaluate", "run", "--json").stdout)
    assert facts == {"data": "few", **result["test"]}
    assert "few, test part" in done("evaluate", "run")
    assert "trained with other settings" not in done("train", "scenes", "--resume", "run")
    assert "is a run of scenes" in refused("train", "clevr", "--resume", "run")


def test_a_report_shows_what_is_wrong(folder: Path) -> None:
    done("report", folder / "eyes", "--out", "page.html")
    page = Path("page.html").read_text()
    assert "Seeing scenes" in page and "data:image/jpeg;base64," in page and "missed" in page


def test_questions_are_answered_from_pixels(folder: Path) -> None:
    said = done("evaluate", folder / "eyes", "--asking", folder / "reader", "--questions", "3")
    assert "3 questions about 1 pictures, answered from pixels" in said and "wrong, due to seeing" in said
    facts = json.loads(
        ngs("evaluate", folder / "eyes", "--asking", folder / "reader", "--questions", "3", "--json").stdout
    )
    assert facts["questions"] == 3 and facts["answers"] + sum(facts["errors"].values()) == pytest.approx(1)
    assert "was trained on clevr and cannot see" in refused(
        "evaluate", folder / "reader", "--asking", folder / "reader"
    )


# Seeing


def test_a_scene_is_seen_written_and_drawn(
    folder: Path, picture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = seeing_all(monkeypatch)
    said = done("see", folder / "eyes", picture, "--out", "seen")
    for thing in true.things:
        assert description(thing) in said
    found = read_scene(Path("seen") / f"{picture.stem}.json")
    assert found.name == picture.name and found.relations == dict(true.relations)
    assert [description(t) for t in found.things] == [description(t) for t in true.things]
    for one, other in zip(found.things, true.things, strict=True):
        assert one.position == pytest.approx(other.position, abs=1e-3)
    drawn = Image.open(Path("seen") / f"{picture.stem}.png")
    assert drawn.size == (960, 640)
    plain = as_image(few().decoded(np.array([0]))[0]).resize((960, 640))
    changed = np.abs(np.asarray(drawn, dtype=int) - np.asarray(plain)).max(-1) > 40
    assert 0.001 < changed.mean() < 0.3


def test_what_is_seen_can_be_asked_about(
    folder: Path, picture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = seeing_all(monkeypatch)
    question = "How many objects are there?"
    facts = json.loads(
        ngs(
            "ask", folder / "reader", question, "--image", picture, "--eyes", folder / "eyes", "--json"
        ).stdout
    )
    assert facts["answer"] == str(len(true.things)) and facts["scene"] == f"seen in {picture}"
    assert facts["objects"] == [description(thing) for thing in true.things]
    options = ("--image", picture, "--eyes", folder / "eyes", "--picture", "drawn.png")
    assert "drawn in drawn.png" in done("ask", folder / "reader", question, *options)
    with Image.open("drawn.png") as drawn:
        assert drawn.size == (960, 640)
    done("see", folder / "eyes", picture)
    told = done("ask", folder / "reader", question, "--scene", f"seen/{picture.stem}.json")
    assert f"answer: {len(true.things)}" in told


def test_an_empty_scene_has_no_objects(folder: Path, picture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Scene((), {name: () for name in ("left", "right", "front", "behind")}, {})
    seeing(monkeypatch, nothing, few().cameras[0], few().boxes[0])
    assert "0 objects" in done("see", folder / "eyes", picture)
    assert read_scene(Path(f"seen/{picture.stem}.json")).things == ()
    options = ("--image", picture, "--eyes", folder / "eyes")
    assert "no objects" in done("ask", folder / "reader", "How many objects are there?", *options)


def test_eleven_objects_are_refused(folder: Path, picture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    thing, box = few().scenes[0].things[0], few().boxes[0, :1]
    many = Scene((thing,) * (MOST_OBJECTS + 1), {}, {})
    seeing(monkeypatch, many, few().cameras[0], box.expand(MOST_OBJECTS + 1, 4))
    said = refused("see", folder / "eyes", picture)
    assert "11 objects were found" in said and "at most 10" in said
    options = ("--image", picture, "--eyes", folder / "eyes")
    assert "11 objects" in refused("ask", folder / "reader", "How many cubes are there?", *options)


def test_weights_stand_for_their_run(folder: Path, picture: Path) -> None:
    said = done("weights", folder / "eyes", "--out", "eyes.safetensors")
    assert "eyes.safetensors:" in said and "SHA-256" in said and Path("eyes.safetensors.md").exists()
    for run, out in ((folder / "eyes", "one"), (Path("eyes.safetensors"), "other")):
        done("see", run, picture, "--out", out)
    one, other = (Path(out) / f"{picture.stem}.json" for out in ("one", "other"))
    assert one.read_text() == other.read_text()
    assert json.loads(ngs("evaluate", "eyes.safetensors", "--json").stdout)["data"] == "few"
    content = Path("eyes.safetensors").read_bytes()
    Path("eyes.safetensors").write_bytes(content[:-1] + b"x")
    assert "is damaged" in refused("see", "eyes.safetensors", picture)
    assert "cannot see" in refused("weights", folder / "reader")


# What is refused


def spoiled(picture: Path, kind: str) -> Path:
    """A picture that nobody could see rightly."""
    path = Path(f"{kind}.png")
    with Image.open(picture) as opened:
        image = opened.copy()
    match kind:
        case "wide":
            image.resize((640, 320)).save(path)
        case "grey":
            image.convert("L").save(path)
        case "transparent":
            image = image.convert("RGBA")
            image.putalpha(200)
            image.save(path)
        case "corrupt":
            path.write_bytes(picture.read_bytes()[:3000])
    return path


REFUSALS = {
    "wide": "it is 640x320 pixels",
    "grey": "it is grey",
    "transparent": "parts of it are transparent",
    "corrupt": "the picture is damaged",
    "missing": "there is no such file",
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_pictures_that_cannot_be_seen_are_refused(kind: str, folder: Path, picture: Path) -> None:
    path = spoiled(picture, kind)
    assert f"{path}: {REFUSALS[kind]}" in refused("see", folder / "eyes", path)
    options = ("--image", path, "--eyes", folder / "eyes")
    assert REFUSALS[kind] in refused("ask", folder / "reader", "How many cubes are there?", *options)


def test_sound_pictures_are_seen_beside_others(folder: Path, picture: Path) -> None:
    shutil.copy(picture, "sound.png")
    result = ngs("see", folder / "eyes", spoiled(picture, "grey"), "sound.png", "--json")
    assert result.exit_code == 1
    found: list[dict[str, Any]] = json.loads(result.stdout)
    assert "it is grey" in found[0]["error"] and Path("seen/sound.png").exists()
    assert "have one name" in refused("see", folder / "eyes", "sound.png", "a/sound.png")


def test_a_picture_of_double_size_is_seen(folder: Path, picture: Path) -> None:
    Image.open(picture).resize((960, 640)).save("double.png")
    assert "written to seen/double.json" in done("see", folder / "eyes", "double.png")


@pytest.mark.parametrize(
    "options, message",
    [
        (("--image", "x.png"), "give --eyes as well"),
        (("--eyes", "run"), "give --image as well"),
        (("--picture", "x.png"), "give --image as well"),
        (
            ("--image", "x.png", "--eyes", "run", "--scene-number", "3"),
            "--image and --scene-number were given",
        ),
        (("--image", "x.png", "--eyes", "run", "--scene", "x.json"), "--image and --scene were given"),
        (("--image", "x.png", "--eyes", "missing"), "cannot be read"),
    ],
)
def test_half_of_a_picture_is_refused(options: tuple[str, ...], message: str, folder: Path) -> None:
    assert message in refused("ask", folder / "reader", "How many cubes are there?", *options)
