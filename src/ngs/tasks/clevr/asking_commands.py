"""`ngs ask` and `ngs explain`: a question about a scene, and what was misread if its answer is wrong."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ngs.console.options import RunFolder
from ngs.console.printing import plain_console, print_json, tell
from ngs.console.written_files import check_apart, write_drawing
from ngs.errors import NGSError
from ngs.reasoning.operation import UNDEFINED
from ngs.tasks.clevr.correction import correct
from ngs.tasks.clevr.embedded import embedded_scenes
from ngs.tasks.clevr.execution import Step, Type, modules, spoken
from ngs.tasks.clevr.explanation import as_text, drawn_correction, drawn_program, program_tree
from ngs.tasks.clevr.official import read_scene
from ngs.tasks.clevr.preparation import load_reader
from ngs.tasks.clevr.program_text import Executed, about_objects, description
from ngs.tasks.clevr.reading import QuestionReader, QuestionReading
from ngs.tasks.clevr.scenes import Scene
from ngs.tasks.clevr.semantics import lenient
from ngs.tasks.pictures.picture_drawing import check_picture, write_annotated
from ngs.tasks.pictures.picture_file import read_picture
from ngs.tasks.pictures.preparation import load_scene_reader
from ngs.tasks.pictures.seen_scene import SeenPicture

EMBEDDED_SCENES = 200
"""Scenes of the embedded data for validation: those to ask about where no other is given."""

SceneFile = Annotated[
    Path | None,
    typer.Option(
        help="The scene that a question is about: a file as CLEVR has them, with one scene or many "
        "(.json or .json.gz); by default a scene of the embedded data."
    ),
]
ImageIndex = Annotated[
    int | None, typer.Option(min=0, help="Which of the scenes in --scene: its image_index.")
]
SceneNumber = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=EMBEDDED_SCENES - 1,
        help="Which of the embedded scenes for validation, without --scene; by default 0.",
    ),
]
Lenient = Annotated[
    bool, typer.Option("--lenient", help='Let "the ..." mean the first object where several fit.')
]


def ask(
    run: RunFolder,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="In English, about one scene.")],
    scene: SceneFile = None,
    image_index: ImageIndex = None,
    scene_number: SceneNumber = None,
    image: Annotated[
        Path | None, typer.Option(help="A picture of the scene instead, to be seen with --eyes.")
    ] = None,
    eyes: Annotated[
        Path | None,
        typer.Option(help="With --image: a run of `ngs train scenes`, or a file of `ngs weights`."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="With --image: draw what was seen into this PNG file, in thick frames what the answer is "
            "about."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=100, help="Programs to list, likeliest first.")] = 1,
    lenient: Lenient = False,
    svg: Annotated[Path | None, typer.Option(help="Also draw the program into this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Answer a question about a scene, and show how.

    For example: ngs ask RUN "How many red cubes are left of the big sphere?"

    Prints the answer, and the program with the objects that every step of it
    finds: from its last step down to the scene. The percentage is the
    probability of the program among all that its modules can make.
    """
    check_picture(picture)
    check_apart((svg, picture), (image, eyes, scene))
    if image is None and eyes is None and picture is None:
        seen, given = None, scene_given(scene, image_index, scene_number)
    else:
        _check_alone(scene, image_index, scene_number)
        seen = _seen_with(image, eyes)
        given = GivenScene(f"seen in {image}", seen.scene)
    reader = _reader(run, lenient)
    reading = reader.read(question, top)
    likeliest, *others = [Executed.of(each.program, given.scene, reader.unique) for each in reading.programs]
    if svg is not None:
        write_drawing(svg, drawn_program(question, likeliest))
    if picture is not None and seen is not None:
        write_annotated(picture, seen, about_objects(likeliest.steps))
    if as_json:
        print_json(_facts(reading, given, [likeliest, *others]))
        return
    console = plain_console()
    _tell_scene(console, given)
    tell(console, f"answer: {likeliest.told}\n")
    tell(console, f"program ({reading.programs[0].probability:.1%})\n{program_tree(likeliest)}")
    if others:
        tell(console, "\nless likely programs")
    for each, executed in zip(reading.programs[1:], others, strict=True):
        tell(console, f"  {each.probability:6.1%}  {' '.join(each.program)} = {executed.told}")
    _tell_unseen(console, reading)
    for path in (svg, picture):
        if path is not None:
            tell(console, f"\ndrawn in {path}")


def _seen_with(image: Path | None, eyes: Path | None) -> SeenPicture:
    if image is None:
        raise NGSError("--eyes and --picture are for a picture; give --image as well")
    if eyes is None:
        raise NGSError(
            f"--image is {image}, and nobody looks at it; give --eyes as well: a run of "
            f"`ngs train scenes`, or a file of `ngs weights`"
        )
    return load_scene_reader(eyes).read(read_picture(image), image.name)


def _check_alone(scene: Path | None, image_index: int | None, scene_number: int | None) -> None:
    others = {"--scene": scene, "--image-index": image_index, "--scene-number": scene_number}
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise NGSError(f"--image and {' and '.join(given)} were given; a question is about one of them")


def explain(
    run: RunFolder,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="In English, about one scene.")],
    answer: Annotated[str, typer.Option(help="The answer it should have: yes, 3, red, cube.")],
    svg: Annotated[Path | None, typer.Option(help="Also draw the correction into this file.")] = None,
    scene: SceneFile = None,
    image_index: ImageIndex = None,
    scene_number: SceneNumber = None,
    lenient: Lenient = False,
) -> None:
    """Find out what was misread in a question about a scene, if the answer should be another.

    Prints the likeliest program with what every step of it gives. Where that
    is not the answer: the modules that change places in one step of
    back-search, the corrected program, and the likeliest of the programs that
    do give the answer.
    """
    check_apart([svg], [scene])
    given = scene_given(scene, image_index, scene_number)
    correction = correct(_reader(run, lenient), question, given.scene, answer.strip().lower())
    console = plain_console()
    _tell_scene(console, given)
    tell(console, as_text(correction))
    _tell_unseen(console, correction.reading)
    if svg is not None:
        write_drawing(svg, drawn_correction(correction))
        tell(console, f"\ndrawn in {svg}")


def _reader(run: Path, is_lenient: bool) -> QuestionReader:
    reader = load_reader(run)
    return replace(reader, unique=lenient) if is_lenient else reader


@dataclass(frozen=True)
class GivenScene:
    title: str
    scene: Scene
    hint: str = ""


def scene_given(path: Path | None, image_index: int | None, number: int | None) -> GivenScene:
    if path is None:
        if image_index is not None:
            raise NGSError(f"--image-index is {image_index}, and there is no file; give --scene as well")
        number = number or 0
        hint = " (give another with --scene or --scene-number)"
        return GivenScene(f"scene {number} of the embedded data", embedded_scenes(number + 1)[-1], hint)
    if number is not None:
        raise NGSError(f"--scene-number is {number} and --scene {path}; give one of them")
    title = str(path) if image_index is None else f"{path}, scene {image_index}"
    return GivenScene(title, read_scene(path, image_index))


def _tell_scene(console: Console, given: GivenScene) -> None:
    things = "".join(f"\n  {description(thing)}" for thing in given.scene.things) or " no objects"
    tell(console, f"{given.title}{given.hint}:{things}\n")


def _tell_unseen(console: Console, reading: QuestionReading) -> None:
    if reading.unseen:
        tell(
            console,
            f"\nnot seen in training: {', '.join(reading.unseen)}; this may not be the program that is meant",
        )


def _facts(reading: QuestionReading, given: GivenScene, answers: list[Executed]) -> dict[str, Any]:
    return {
        "question": reading.text,
        "scene": given.title,
        "objects": [description(thing) for thing in given.scene.things],
        "answer": answers[0].answer,
        "modules": [{"module": module, "phrase": phrase} for module, phrase in reading.understood.reading],
        "unseen": list(reading.unseen),
        "programs": [
            {
                "program": list(each.program),
                "probability": each.probability,
                "answer": executed.answer,
                "fault": executed.fault,
                "steps": executed.steps and step_facts(executed.steps),
            }
            for each, executed in zip(reading.programs, answers, strict=True)
        ],
    }


def step_facts(step: Step) -> dict[str, Any]:
    """A step with all below it: objects by their numbers, other values as they are spoken."""
    value, gives = step.value, modules()[step.module].gives
    if value is not UNDEFINED and gives is Type.OBJECTS:
        value = sorted(value)
    elif gives is not Type.OBJECT:
        value = spoken(value)
    arguments = [step_facts(argument) for argument in step.arguments]
    return {"module": step.module, "value": None if value is UNDEFINED else value, "arguments": arguments}
