"""The published archive of handwritten formulas: read whole, checked, or refused with every fault named.

    data/expr_train.json, data/expr_test.json       [{"id", "img_paths", "expr", "res"}, ...]
    data/Handwritten_Math_Symbols/<class>/<file>    45 x 45 pixels, dark strokes on white

(Li et al. 2020; the folder `data` may have another name, lie one folder deeper, or be the top itself.)
"""

import io
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from ngs.errors import DataError
from ngs.tasks.faults import listed, naming
from ngs.tasks.hwf.dataset import GRAMMAR, SIDE, Formulas, HandwrittenFormulas, value_of
from ngs.tasks.hwf.listing import Entry, Problem, as_entry, faults, label, objects
from ngs.tasks.hwf.members import Members, opened
from ngs.tasks.source import title

LISTS = ("expr_train.json", "expr_test.json")
IMAGES = "Handwritten_Math_Symbols"
DEEPEST = 2  # folders above the lists

Picture = NDArray[np.uint8] | str  # the pixels of an image, or what is wrong with it


@dataclass(frozen=True)
class Reading:
    """What an archive holds, and the faulty entries that were left out."""

    data: HandwrittenFormulas
    left_out: tuple[Problem, ...]


def is_archive(path: Path) -> bool:
    """Whether `path` is a folder or begins like a zip archive, and so is to be read here."""
    if path.is_dir() or path.suffix.lower() == ".zip":
        return True
    try:
        with path.open("rb") as file:
            return file.read(2) == b"PK"
    except OSError:
        return False  # whoever reads it says why


def read(
    path: Path,
    *,
    skip_faulty: bool = False,
    progress: Callable[[int, int], None] = lambda done, images: None,
) -> Reading:
    """The formulas of the archive or folder at `path`; with `skip_faulty`, those that are sound.

    `progress` is told how many of the images are read. Faults of single formulas are collected; an
    archive that is unsafe, incomplete or not in the layout above is refused whatever it holds.
    """
    with opened(path, _wanted_files) as members:
        base = _base(path, members)
        with naming(path):
            parts = [list(_entries(members, str(base / file))) for file in LISTS]
        found = list(chain.from_iterable(parts))
        entries = [each for each in found if isinstance(each, Entry)]
        pictures = _pictures(members, base, _used(entries), progress)
    problems = list(_problems(found, pictures))
    faulty = {problem.place for problem in problems}
    if faulty and not skip_faulty:
        raise DataError(
            f"{path} has {len(faulty)} faulty formula{'s' if len(faulty) > 1 else ''}; "
            f"correct them, or leave them out with --skip-faulty:\n{listed(problems)}"
        )
    sound = [[e for e in part if isinstance(e, Entry) and e.place not in faulty] for part in parts]
    for file, part in zip(LISTS, sound, strict=True):
        if not part:
            raise DataError(f"{path} has no sound formula in {base / file}; at least one is needed")
    return Reading(_assembled(title(path), sound, pictures), tuple(problems))


def _wanted_files(folder: Path) -> Iterator[Path]:
    """The lists and images of every data set that lies in a folder, at most DEEPEST levels down."""
    for depth in range(DEEPEST + 1):
        for found in sorted(folder.glob("*/" * depth + LISTS[0])):
            yield from (found.with_name(file) for file in LISTS)
            yield from sorted(found.with_name(IMAGES).rglob("*"))


def _base(path: Path, members: Members) -> PurePosixPath:
    found = [PurePosixPath(member).parent for member in members if member.split("/")[-1] == LISTS[0]]
    found = [base for base in found if len(base.parts) <= DEEPEST]
    if len(found) != 1:
        what = " and ".join(str(base / LISTS[0]) for base in found) if found else f"no {LISTS[0]}"
        raise DataError(
            f"{path} holds {what}; one data set is needed, with "
            f"data/{LISTS[0]}, data/{LISTS[1]} and data/{IMAGES}/<class>/<name>.jpg"
        )
    if str(found[0] / LISTS[1]) not in members:
        raise DataError(f"{path} holds {found[0] / LISTS[0]}, but no {found[0] / LISTS[1]}; both are needed")
    return found[0]


def _entries(members: Members, file: str) -> Iterator[Entry | Problem]:
    for place, value in objects(_text(file, members[file]()), file):
        try:
            yield as_entry(place, value)
        except DataError as error:
            yield Problem(place, str(error))


def _problems(found: Iterable[Entry | Problem], pictures: Mapping[str, Picture]) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for entry in found:
        if isinstance(entry, Problem):
            yield entry
            continue
        wrong = list(faults(entry))
        if (first := seen.setdefault(entry.name, entry.place)) != entry.place:
            wrong.append(f"the id is that of {first}")
        of_images = ((image, pictures.get(image)) for image in dict.fromkeys(entry.images))
        wrong += [f"the image {image!r} {fault}" for image, fault in of_images if isinstance(fault, str)]
        yield from (Problem(entry.place, what, entry.name) for what in wrong)


def _text(file: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"{file}, line {line}: no UTF-8 text ({error.reason}); save it as UTF-8") from None


def _used(entries: Iterable[Entry]) -> list[str]:
    return list(dict.fromkeys(image for entry in entries for image in entry.images))


def _pictures(
    members: Members, base: PurePosixPath, named: Sequence[str], progress: Callable[[int, int], None]
) -> dict[str, Picture]:
    images = [image for image in named if label(image) is not None]
    pictures: dict[str, Picture] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        for done, image in enumerate(images, 1):
            member = members.get(f"{base / IMAGES}/{image}")
            pictures[image] = "is missing" if member is None else _picture(member)
            progress(done, len(images))
    return pictures


def _picture(member: Callable[[], bytes]) -> Picture:
    try:
        with Image.open(io.BytesIO(member()), formats=("JPEG", "PNG")) as image:
            if image.size != (SIDE, SIDE):
                return f"is {image.width}x{image.height} pixels, and {SIDE}x{SIDE} are needed"
            if image.mode not in ("L", "1", "RGB"):
                return f"is in the colours {image.mode}, and grey or RGB is needed"
            return np.asarray(image.convert("L"))
    except Exception as error:  # decoders of damaged files raise anything
        return f"cannot be read as JPEG or PNG ({str(error).splitlines()[0] if str(error) else error!r})"


def _assembled(
    name: str, parts: Sequence[Sequence[Entry]], pictures: Mapping[str, Picture]
) -> HandwrittenFormulas:
    used = _used(entry for part in parts for entry in part)
    rows = {image: row for row, image in enumerate(used)}
    train, test = (
        Formulas.of(
            [[rows[image] for image in entry.images] for entry in part],
            (value_of(entry.sentence) for entry in part),
            (entry.name for entry in part),
        )
        for part in parts
    )
    images = torch.from_numpy(np.stack([np.asarray(pictures[image], dtype=np.uint8) for image in used]))
    columns = torch.tensor(GRAMMAR.encode(label(image) or "" for image in used), dtype=torch.uint8)
    return HandwrittenFormulas(name, images, columns, tuple(used), train, test)
