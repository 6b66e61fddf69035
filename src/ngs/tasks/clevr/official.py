"""The official question and scene files of CLEVR (Johnson et al. 2017), plain or gzip, read as a stream.

    scenes/CLEVR_train_scenes.json          {"scenes": [{"objects", "relationships", ...}, ...]}
    questions/CLEVR_train_questions.json    {"questions": [{"question", "image_index", "program", ...}, ...]}

and the same for `val`; also without the two folders, and as scenes_train.json and questions_train.json.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile, ZipFile

from ngs.errors import DataError
from ngs.tasks.clevr.dataset import QuestionRecord, VisualQuestions
from ngs.tasks.clevr.official_program import as_program
from ngs.tasks.clevr.official_scene import as_scene
from ngs.tasks.clevr.scenes import ANSWERS, Scene
from ngs.tasks.faults import Field, listed, naming, shown
from ngs.tasks.json_list import elements, whole
from ngs.tasks.source import title

T = TypeVar("T")

PARTS = (("train",), ("val", "test"))
"""The names of the training part and of the test part: the first that is found."""

NOUNS = ("scenes", "questions")

LONGEST = 2_000  # characters of a question

Progress = Callable[[Path, int], None]  # told of the file and index of each element before it is looked at


@dataclass(frozen=True)
class Reading:
    """What official files hold, and what was left out."""

    data: VisualQuestions
    left_out: tuple[str, ...]  # each names file, index and field


def is_official(path: Path) -> bool:
    """Whether `path` is a folder with what looks like official files, if not all that are needed."""
    return path.is_dir() and _holds_some(_base(path))


def is_zipped(path: Path) -> bool:
    """Whether `path` is an archive with official files, which are read unpacked."""
    try:
        with ZipFile(path) as archive:
            return any(re.search(r"CLEVR_\w+_(scenes|questions)\.json", name) for name in archive.namelist())
    except (OSError, BadZipFile):
        return False


def read(
    folder: Path, *, skip_faulty: bool = False, progress: Progress = lambda file, index: None
) -> Reading:
    """The data set in a folder; with `skip_faulty`, without the scenes and questions that are not sound.

    Faults of single scenes and questions are collected; files that are no JSON or cut short are refused
    whatever they hold. Questions that are not understood stay, without modules.
    """
    faults: list[str] = []
    scenes: list[Scene] = []
    parts: list[Iterator[QuestionRecord]] = []
    for names in PARTS:
        of_scenes, of_questions = _files_of_part(_base(folder), names)
        places: dict[int, int] = {}
        for image_index, scene in read_scenes(of_scenes, faults, progress):
            places[image_index] = len(scenes)
            scenes.append(scene)
        parts.append(read_questions(of_questions, places, faults, progress))
    train, validation = parts
    data = VisualQuestions.of(title(folder), scenes, train, validation)
    if faults and not skip_faulty:
        raise DataError(
            f"{folder} has {len(faults)} faulty scenes or questions; correct them, or leave them out with "
            f"--skip-faulty:\n{listed(faults)}"
        )
    if not len(data.train) or not len(data.validation):
        raise DataError(f"{folder} has no sound question to learn from or to be tested on; both are needed")
    return Reading(data, tuple(faults))


def _base(folder: Path) -> Path:
    """The folder with the files, which may be the only one in a folder of its own."""
    inner = [path for path in folder.iterdir() if path.is_dir()]
    return inner[0] if len(inner) == 1 and not _holds_some(folder) else folder


def _holds_some(folder: Path) -> bool:
    return any(path for noun in NOUNS for path in folder.glob(f"*{noun}*"))


def _files_of_part(folder: Path, names: Sequence[str]) -> tuple[Path, Path]:
    found = {name: [_found(folder, name, noun) for noun in NOUNS] for name in names}
    for scenes, questions in found.values():
        if scenes and questions:
            return scenes, questions
    name = names[0]
    missing = [noun for noun, path in zip(NOUNS, found[name], strict=True) if path is None]
    raise DataError(
        f"{folder} holds no {' and no '.join(missing)} called {name}; scenes/CLEVR_{name}_scenes.json and "
        f"questions/CLEVR_{name}_questions.json are needed, or scenes_{name}.json and questions_{name}.json "
        f"(each may be .json.gz)"
    )


def _found(folder: Path, part: str, noun: str) -> Path | None:
    names = (f"{noun}/CLEVR_{part}_{noun}", f"CLEVR_{part}_{noun}", f"{noun}_{part}")
    paths = (folder / f"{name}.json{ending}" for name in names for ending in ("", ".gz"))
    return next((path for path in paths if path.is_file()), None)


def read_scenes(
    path: Path, faults: list[str], progress: Progress = lambda file, index: None
) -> Iterator[tuple[int, Scene]]:
    """The sound scenes with their image_index, by default the position; `faults` gets what others lack."""
    seen: set[int] = set()

    def numbered(value: Any, index: int) -> tuple[int, Scene]:
        scene, image_index = as_scene(value), _integer(Field(value).member("image_index", index))
        if image_index in seen:
            raise DataError(f"image_index is {image_index}, as in an earlier scene; each needs its own")
        seen.add(image_index)
        return image_index, scene

    return _read(path, "scene", numbered, faults, progress)


def read_questions(
    path: Path, places: Mapping[int, int], faults: list[str], progress: Progress = lambda file, index: None
) -> Iterator[QuestionRecord]:
    """The sound questions about scenes at `places[image_index]`; answers and programs may be missing."""
    return _read(path, "question", lambda value, index: as_question(value, places, index), faults, progress)


def _read(
    path: Path, noun: str, made: Callable[[Any, int], T], faults: list[str], progress: Progress
) -> Iterator[T]:
    for index, value in elements(path, f"{noun}s"):
        progress(path, index)
        try:
            found = made(value, index)
        except DataError as error:
            faults.append(f"{path.name}: {noun} {index}: {error}")
        else:
            yield found


def as_question(value: Any, places: Mapping[int, int], index: int) -> QuestionRecord:
    """The record that stands for an official question; a DataError names the field at fault."""
    question = Field(value).a(dict, "an object with question and image_index")
    text = question.member("question")
    sound = isinstance(text.value, str) and text.value.strip() and len(text.value) <= LONGEST
    text.need(bool(sound), f"a text of at most {LONGEST:,} characters is needed")
    image_index = _integer(question.member("image_index"))
    if image_index not in places:
        raise DataError(f"image_index is {image_index}, and there is no such scene")
    steps = value.get("program")
    return QuestionRecord(
        text.value,
        places[image_index],
        _answer(question.member("answer", None)),
        as_program(steps) if steps else None,
        _integer(question.member("question_index", index)),
    )


def _answer(field: Field) -> str | None:
    """Generators also write truth values and integers."""
    if field.value is None:
        return None
    text = {True: "yes", False: "no"}[field.value] if isinstance(field.value, bool) else str(field.value)
    sound = isinstance(field.value, str | int) and text in ANSWERS
    field.need(sound, f"give one of {', '.join(ANSWERS)}")
    return text


def _integer(field: Field) -> int:
    field.need(type(field.value) is int and 0 <= field.value < 1 << 31, "an integer from 0 is needed")
    return int(field.value)


def read_scene(path: Path, image_index: int | None = None) -> Scene:
    """The scene in a file that holds one, or that with this number where it holds a list of them."""
    value = whole(path)
    scenes = value.get("scenes", [value]) if isinstance(value, dict) else value
    if not isinstance(scenes, list) or not scenes:
        raise DataError(
            f"{path}: {shown(scenes)} is no scene; an object with objects and relationships is needed"
        )
    numbers = [
        scene.get("image_index", k) if isinstance(scene, dict) else k for k, scene in enumerate(scenes)
    ]
    if image_index is None and len(scenes) > 1:
        raise DataError(
            f"{path} holds {len(scenes)} scenes; say which (--image-index), or give a file with one"
        )
    if image_index is not None and image_index not in numbers:
        raise DataError(
            f"{path} holds no scene with image_index {image_index}; "
            f"its {len(scenes)} go from {numbers[0]} to {numbers[-1]}"
        )
    k = 0 if image_index is None else numbers.index(image_index)
    with naming(f"{path}: scene {k}"):
        return as_scene(scenes[k])
