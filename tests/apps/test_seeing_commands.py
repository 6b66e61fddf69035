"""`ngs train scenes`, `see`, `ask --image` and `weights`, run as a user runs them; and what may go wrong."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn import functional as F

from ngs.apps.run_commands import table_of
from ngs.tasks.clevr import packed
from ngs.tasks.clevr.official import read_scene
from ngs.tasks.clevr.program_text import description
from ngs.tasks.clevr.scenes import ATTRIBUTES, MOST_OBJECTS, RELATIONS, Scene
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.finding import find
from ngs.tasks.pictures import picture_packed
from ngs.tasks.pictures.picture_file import as_image
from ngs.tasks.pictures.pictures import PictureData, digest_of, joined
from ngs.tasks.pictures.rendered_pictures import without_others
from ngs.tasks.pictures.rendering.renderer import render
from ngs.tasks.pictures.scene_network import CHANNELS, STRIDE, SceneMaps, SceneNetwork, by_attribute
from ngs.tasks.pictures.scene_scores import PictureOutcome, SceneMetrics
from ngs.tasks.pictures.seen_scene import SceneReader, SeenObjects, in_jitters
from tests.apps.commands import ngs, printed, refused
from tests.experiments.training import finished
from tests.tasks.clevr.readers import some_questions
from tests.tasks.pictures.picture_folders import few, image_folder, packed_pictures

SHORT = ("--rendered", "3", "--rendered-steps", "1", "--steps", "1", "--batch-size", "2")
SHORT = (*SHORT, "--validate-every", "1", "--validation", "0.2", "--threads", "1")


pytestmark = pytest.mark.usefixtures("rendering_once")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures, a run that sees next to nothing in them, and one that reads questions."""
    folder = tmp_path_factory.mktemp("seeing")
    data = packed_pictures(folder)
    printed("train", "scenes", "--data", data, *SHORT, "--out", folder / "eyes")
    packed.write(folder / "questions.ngs", some_questions())
    config = TrainCLEVR(data=str(folder / "questions.ngs"), method="supervised", steps=1, validate_every=1)
    finished(config, folder / "reader")
    return folder


@pytest.fixture
def picture(folder: Path) -> Path:
    return folder / "images" / "even" / few().names[0]


def seeing_all(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Let every network see what is in the first picture."""
    scene, number = few().scenes[0], len(few().scenes[0].things)
    pixels = torch.tensor([thing.pixel for thing in scene.things])
    attributes = {
        name: torch.tensor([[float(getattr(t, name) == v) for v in values] for t in scene.things])
        for name, values in ATTRIBUTES.items()
    }
    certain, boxes = torch.linspace(0.99, 0.5, number), few().boxes[0][:number]
    jitters = in_jitters(few().cameras[0])
    seen = SeenObjects(certain, boxes, pixels[:, 0], pixels[:, 1], attributes, jitters)
    monkeypatch.setattr(SceneReader, "see", lambda self, pictures: [seen] * len(pictures))
    return scene


def looking_for_dots(network: SceneNetwork, pictures: torch.Tensor) -> SceneMaps:
    """In place of a network's forward pass: each cell that is all red is the centre of a large gray cube."""
    red, green, _ = F.avg_pool2d(pictures.float(), STRIDE).split(1, 1)
    centers = torch.where((red > 200) & (green < 50), 5.0, -5.0)
    number, _, height, width = centers.shape
    said = {name: torch.zeros(number, channels, height, width) for name, channels in CHANNELS.items()}
    for name, values in by_attribute(said["attributes"], 1).items():
        values[:, ATTRIBUTES[name].index(LARGE_GRAY_CUBE[name])] = 9.0
    return SceneMaps(centers, said["attributes"], said["offsets"], said["boxes"] + 3, torch.zeros(number, 3))


LARGE_GRAY_CUBE = {"size": "large", "color": "gray", "material": "rubber", "shape": "cube"}


def floor_with_dots(dots: int) -> Image.Image:
    """A rendered floor without objects, and red dots on it that are a cell each."""
    generator = torch.Generator().manual_seed(0)
    (floor,) = render([without_others(few().scenes[0], [])], few().cameras[:1], generator).images
    for k in range(dots):
        row, column = 160 + 40 * (k // 6), 80 + 60 * (k % 6)
        floor[:, row : row + STRIDE, column : column + STRIDE] = torch.tensor([255, 0, 0])[:, None, None]
    return as_image(floor)


def cut_anew(data: PictureData) -> PictureData:
    """The same pictures, one of those to learn from now among those to be tested on."""
    train, test = data.train.select([0, 1, 2, 3]), joined(data.test, data.train.select([4]))
    return replace(data, train=train, test=test, digest=digest_of([train, test]))


# Data


def test_images_are_imported_and_inspected(tmp_path: Path) -> None:
    images, scenes = image_folder(tmp_path)
    named = ("data", "import", images, "--scenes", scenes, "--name", "my images")
    said = printed(*named)
    assert "data/my-images.ngs: 5 pictures to learn from, 1 to be tested on" in said
    assert "ngs train scenes --data data/my-images.ngs" in said
    shown = printed("data", "inspect", "data/my-images.ngs")
    assert "my images: 5 pictures to learn from" in shown and "pictures by objects" in shown
    facts = json.loads(ngs("data", "inspect", "data/my-images.ngs", "--json").stdout)
    things = [thing for scene in few().scenes for thing in scene.things]
    assert facts["train"]["objects"] + facts["test"]["objects"] == len(things)
    for value in ("red", "cube", "metal"):
        counted = sum(value in (t.color, t.shape, t.material) for t in things)
        assert sum(facts[part]["by_attribute"][value] for part in ("train", "test")) == counted
    assert "exists; give another --out" in refused(*named)
    again = refused("data", "import", "data/my-images.ngs", "--name", "again")
    assert "packed already; train with it: ngs train scenes --data data/my-images.ngs" in again
    assert "a folder with images of scenes" in refused("data", "import", "missing")
    printed("data", "import", images, "--scenes", scenes, "--out", "data/others.ngs")
    assert "others: 5 pictures to learn from" in printed("data", "inspect", "data/others.ngs")


def test_images_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    images, scenes = image_folder(tmp_path)
    for option in ("--skip-faulty", "--leak-free"):
        assert ngs("data", "import", images, "--scenes", scenes, option).exit_code == 2
    held_out = "--held-out", "missing.txt"
    assert "missing.txt cannot be read" in refused("data", "import", images, "--scenes", scenes, *held_out)
    assert "cannot be read" in refused("data", "import", images, "--scenes", "missing.json")
    assert "is no folder" in refused("data", "import", scenes, "--scenes", scenes)
    assert "--scenes FILE" in refused("data", "import", images, "--held-out", scenes)
    for command in ("import", "inspect"):
        assert f"ngs data import {images} --scenes FILE" in refused("data", command, images)
    (images / "odd" / "unknown.png").write_bytes((images / "odd" / few().names[1]).read_bytes())
    assert "has no scene for 1 of 7 images" in refused("data", "import", images, "--scenes", scenes, lines=2)
    assert not Path("data").exists()


# Training


def test_a_run_says_how_well_it_sees(folder: Path) -> None:
    said = printed("train", "scenes", "--data", folder / "few.ngs", *SHORT, "--out", "run")
    assert "supervised on" in said and "rendered, step 1" in said and "imported, step 2" in said
    assert "pictures wholly right:" in said and "in picture" in said
    result = json.loads(Path("run/result.json").read_text())
    assert ("false objects:" in said) == (result["test"]["false"] is not None)
    facts = json.loads(ngs("evaluate", "run", "--json").stdout)
    assert facts == {"data": "few", **result["test"]}
    assert "few, test part" in printed("evaluate", "run")
    printed("train", "scenes", "--resume", "run")
    again = json.loads(Path("run/result.json").read_text())
    assert all(again[name] == result[name] for name in ("steps", "chosen_step", "test"))
    assert "is a run of scenes" in refused("train", "clevr", "--resume", "run")


def test_steps_of_a_lesson_that_is_not_given_are_refused() -> None:
    said = refused("train", "scenes", "--rendered-steps", "5", "--out", "run")
    assert "rendered_steps is 5, and is for imported data alone" in said and not Path("run").exists()


def test_a_report_shows_what_is_wrong(folder: Path) -> None:
    printed("report", folder / "eyes", "--out", "page.html")
    page = Path("page.html").read_text()
    for words in ("Learn to see the scene in a picture", "data:image/jpeg;base64,", "missed"):
        assert words in page


def test_questions_are_answered_from_pixels(folder: Path) -> None:
    said = printed("quiz", folder / "eyes", folder / "reader", "--questions", "3")
    assert "3 questions about 1 pictures, answered from pixels" in said and "wrong, due to seeing" in said
    facts = json.loads(ngs("quiz", folder / "eyes", folder / "reader", "--questions", "3", "--json").stdout)
    assert facts["questions"] == 3 and facts["answers"] + sum(facts["errors"].values()) == pytest.approx(1)
    assert "was trained on clevr; give a run of `ngs train scenes`" in refused(
        "quiz", folder / "reader", folder / "reader"
    )


# Seeing


def test_a_scene_is_seen_written_and_drawn(folder: Path, picture: Path, monkeypatch) -> None:
    true = seeing_all(monkeypatch)
    said = printed("see", folder / "eyes", picture, "--out", "seen")
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


def test_what_is_seen_can_be_asked_about(folder: Path, picture: Path, monkeypatch) -> None:
    true = seeing_all(monkeypatch)
    question = "How many objects are there?"
    options = ("--image", picture, "--eyes", folder / "eyes")
    facts = json.loads(ngs("ask", folder / "reader", question, *options, "--json").stdout)
    assert facts["answer"] == str(len(true.things)) and facts["scene"] == f"seen in {picture}"
    assert facts["objects"] == [description(thing) for thing in true.things]
    asked = printed("ask", folder / "reader", question, *options, "--picture", "drawn.png")
    assert "drawn in drawn.png" in asked
    with Image.open("drawn.png") as drawn:
        assert drawn.size == (960, 640)
    printed("see", folder / "eyes", picture)
    told = printed("ask", folder / "reader", question, "--scene", f"seen/{picture.stem}.json")
    assert f"answer: {len(true.things)}" in told


@pytest.mark.parametrize("dots", [0, 1, MOST_OBJECTS])
def test_as_many_objects_are_seen_as_there_are(dots: int, folder: Path, monkeypatch) -> None:
    monkeypatch.setattr(SceneNetwork, "forward", looking_for_dots)
    floor_with_dots(dots).save("floor.png")
    told = f"{dots} object{'s' if dots != 1 else ''}"
    assert told in printed("see", folder / "eyes", "floor.png")
    assert len(read_scene(Path("seen/floor.json")).things) == dots
    options = ("--image", "floor.png", "--eyes", folder / "eyes")
    said = printed("ask", folder / "reader", "How many objects are there?", *options)
    assert ("no objects" in said) == (dots == 0) and said.count("large gray rubber cube") >= dots


def test_eleven_objects_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SceneNetwork, "forward", looking_for_dots)
    floor_with_dots(MOST_OBJECTS + 1).save("floor.png")
    said = refused("see", folder / "eyes", "floor.png")
    assert "11 objects were found" in said and "at most 10" in said
    assert not Path("seen").exists()
    options = ("--image", "floor.png", "--eyes", folder / "eyes")
    assert "11 objects" in refused("ask", folder / "reader", "How many cubes are there?", *options)


# What is read is not written over


@pytest.mark.parametrize("out", [".", "elsewhere/..", "linked"])
def test_a_picture_is_not_written_over(out: str, folder: Path, picture: Path) -> None:
    shutil.copy(picture, "mine.png")
    Path("elsewhere").mkdir()
    Path("linked").symlink_to(".")
    content = Path("mine.png").read_bytes()
    said = refused("see", folder / "eyes", "mine.png", "--out", out)
    assert "mine.png would be written over mine.png, which is read; write elsewhere" in said
    assert Path("mine.png").read_bytes() == content and not Path("mine.json").exists()
    Path("mine.png").rename("mine.jpg")
    printed("see", folder / "eyes", "mine.jpg", "--out", out)
    assert Path("mine.jpg").read_bytes() == content and Path("mine.png").exists()


def test_one_picture_is_not_written_over_another(folder: Path, picture: Path) -> None:
    """What is seen in x.png would go where y.jpg leads."""
    for name in ("x.png", "out/y.png"):
        Path(name).parent.mkdir(exist_ok=True)
        shutil.copy(picture, name)
    Path("y.jpg").symlink_to("out/y.png")
    said = refused("see", folder / "eyes", "x.png", "y.jpg", "--out", "out")
    assert "out/y.png would be written over y.jpg" in said and not Path("out/x.png").exists()


@pytest.mark.parametrize("option", ["--picture", "--svg"])
def test_a_picture_that_is_asked_about_is_not_written_over(option: str, folder: Path, picture: Path) -> None:
    shutil.copy(picture, "mine.png")
    content = Path("mine.png").read_bytes()
    options = ("--image", "mine.png", "--eyes", folder / "eyes", option, "./mine.png")
    said = refused("ask", folder / "reader", "How many cubes are there?", *options)
    assert "mine.png would be written over mine.png" in said and Path("mine.png").read_bytes() == content
    printed("see", folder / "eyes", "mine.png")
    scene = Path("seen/mine.json").read_bytes()
    same = ("--scene", "seen/mine.json", "--svg", "seen/mine.json")
    said = refused("ask", folder / "reader", "How many?", *same)
    assert "would be written over" in said and Path("seen/mine.json").read_bytes() == scene


def test_a_drawing_is_called_what_it_is(folder: Path, picture: Path) -> None:
    options = ("--image", picture, "--eyes", folder / "eyes", "--picture", "notes.txt")
    said = refused("ask", folder / "reader", "How many cubes are there?", *options)
    assert "notes.txt would be a PNG file" in said and not Path("notes.txt").exists()


def test_weights_stand_for_their_run(folder: Path, picture: Path) -> None:
    said = printed("weights", folder / "eyes", "--out", "eyes.safetensors")
    assert "eyes.safetensors:" in said and "SHA-256" in said and Path("eyes.safetensors.md").exists()
    for run, out in ((folder / "eyes", "one"), (Path("eyes.safetensors"), "other")):
        printed("see", run, picture, "--out", out)
    one, other = (Path(out) / f"{picture.stem}.json" for out in ("one", "other"))
    assert one.read_text() == other.read_text()
    assert json.loads(ngs("evaluate", "eyes.safetensors", "--json").stdout)["data"] == "few"
    content = Path("eyes.safetensors").read_bytes()
    Path("eyes.safetensors").write_bytes(content[:-1] + b"x")
    assert "is damaged" in refused("see", "eyes.safetensors", picture)
    assert "give a run of `ngs train scenes`" in refused("weights", folder / "reader")


def test_weights_are_not_written_over_what_is_there(folder: Path) -> None:
    Path("notes.txt").write_text("mine")
    for taken in (Path("notes.txt"), folder / "eyes" / "best.safetensors"):
        content = taken.read_bytes()
        assert "exists; give another --out" in refused("weights", folder / "eyes", "--out", taken)
        assert taken.read_bytes() == content
    own = refused("weights", folder / "eyes", "--out", folder / "eyes" / "best.safetensors", "--overwrite")
    assert "would be written over" in own
    printed("weights", folder / "eyes", "--out", "notes.txt", "--overwrite")
    Path("notes.txt").unlink()
    assert "notes.txt.md exists" in refused("weights", folder / "eyes", "--out", "notes.txt")


def test_brackets_in_names_are_no_markup(folder: Path, picture: Path) -> None:
    odd = Path("a [/b] c [bold].png")  # a folder, and a file in it
    odd.parent.mkdir()
    shutil.copy(picture, odd)
    assert "a [/b] c [bold].png:" in printed("see", folder / "eyes", odd)
    data = packed_pictures(Path.cwd(), "few[/i]")
    assert "few[/i], test part" in printed("evaluate", folder / "eyes", "--data", data)


def test_other_data_in_the_place_of_a_runs_own_are_noticed(tmp_path: Path) -> None:
    data = packed_pictures(tmp_path)
    printed("train", "scenes", "--data", data, *SHORT, "--out", "run")
    printed("evaluate", "run")
    printed("weights", "run", "--out", "eyes.safetensors")
    picture_packed.write(data, cut_anew(picture_packed.read(data)))
    for command in (["evaluate", "run"], ["evaluate", "eyes.safetensors"], ["report", "run"]):
        assert "few.ngs is not what" in refused(*command)
    printed("evaluate", "run", "--data", data)
    data.unlink()
    for command in (["evaluate", "run"], ["evaluate", "eyes.safetensors"], ["report", "run"]):
        assert "was trained on, is not there" in refused(*command)


# What is refused


def grey(picture: Path) -> Path:
    with Image.open(picture) as opened:
        opened.convert("L").save("grey.png")
    return Path("grey.png")


def test_pictures_that_cannot_be_seen_are_refused(folder: Path, picture: Path) -> None:
    for path, told in ((grey(picture), "it is grey"), (Path("none.png"), "there is no such file")):
        assert f"{path}: {told}" in refused("see", folder / "eyes", path)
        options = ("--image", path, "--eyes", folder / "eyes")
        assert told in refused("ask", folder / "reader", "How many cubes are there?", *options)


def test_sound_pictures_are_seen_beside_others(folder: Path, picture: Path) -> None:
    shutil.copy(picture, "sound.png")
    result = ngs("see", folder / "eyes", grey(picture), "sound.png", "--json")
    assert result.exit_code == 1
    found: list[dict[str, Any]] = json.loads(result.stdout)
    assert "it is grey" in found[0]["error"] and Path("seen/sound.png").exists()
    assert "have one name" in refused("see", folder / "eyes", "sound.png", "a/sound.png")


def test_a_picture_of_double_size_is_seen(folder: Path, picture: Path) -> None:
    Image.open(picture).resize((960, 640)).save("double.png")
    assert "written to seen/double.json" in printed("see", folder / "eyes", "double.png")


def test_half_of_a_picture_is_refused(folder: Path) -> None:
    image, eyes = ("--image", "x.png"), ("--eyes", "run")
    for options, message in (
        (image, "give --eyes as well"),
        (eyes, "give --image as well"),
        (("--picture", "x.png"), "give --image as well"),
        ((*image, *eyes, "--scene-number", "3"), "--image and --scene-number were given"),
        ((*image, *eyes, "--scene", "x.json"), "--image and --scene were given"),
        ((*image, "--eyes", "missing"), "missing is no folder"),
    ):
        assert message in refused("ask", folder / "reader", "How many cubes are there?", *options)


def test_a_share_of_nothing_is_a_dash() -> None:
    """One picture without objects, in which nothing is seen."""
    values = {name: torch.zeros(0, len(known)) for name, known in ATTRIBUTES.items()}
    seen = SeenObjects(*(torch.zeros(0, *more) for more in ((), (4,), (), ())), values, torch.zeros(3))
    nothing = PictureOutcome(Scene((), dict.fromkeys(RELATIONS, ()), {}), seen, {})
    facts, view = SceneMetrics.of([nothing]).as_facts(), find("scenes").metrics
    columns = [list(column.cells) for column in table_of(view, facts, "few").columns]
    assert columns == [["0", "all"], ["0", "0"], *[["-", "-"]] * len(view.headings)]
    assert list(view.below(facts)) == ["pictures wholly right: 100.00% of 1"]
