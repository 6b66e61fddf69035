"""A job done on a machine that has only what travels with it, and the files that travel."""

from __future__ import annotations

from pathlib import Path
from platform import node
from tempfile import TemporaryDirectory

from ngs.experiments.folder import CHECKPOINT, RESULT, remove
from ngs.experiments.job import Job, address
from ngs.experiments.record import TENSORBOARD
from ngs.experiments.sweep.attempt import text_of
from ngs.gpu import sleep_while_waiting
from ngs.learning.whole_file import replacing

Files = dict[str, bytes]
"""What is in a folder, by path within it."""


def do_there(job: Job, known_as: str, *needed: Files) -> Files | str:
    """Do it with the files of what it needs; the files it makes, or the text of its error.

    An error too where its data are others here: its address is then not what it is `known_as`.
    """
    try:
        own = address(job)
    except Exception as error:
        return text_of(error)
    if own != known_as:
        return (
            f"on {node()} the data of this job are others than where it was given out (its address is "
            f"{own}, not {known_as}); put the same files under the same path on every machine"
        )
    sleep_while_waiting()  # others may share the cores and the GPU
    with TemporaryDirectory() as root:
        places = [Path(root) / str(number) for number in range(len(needed))]
        for place, files in zip(places, needed, strict=True):
            unpack(files, place)
        folder = Path(root) / "job"
        folder.mkdir()
        try:
            for _ in job.do(folder, places):
                pass
        except Exception as error:
            return text_of(error)
        return pack(folder)


def pack(folder: Path) -> Files:
    """The files of a job, without what only serves to go on with it or repeats its record."""
    paths = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    kept = [path for path in paths if path.name != CHECKPOINT and path.parts[0] != TENSORBOARD]
    return {path.as_posix(): (folder / path).read_bytes() for path in kept}


def unpack(files: Files, folder: Path) -> None:
    """Write the files in place of what an unfinished attempt left; the result last, when all is there."""
    remove(folder)
    for name in sorted(files, key=lambda name: name == RESULT):
        with replacing(folder / name) as temporary:
            temporary.write_bytes(files[name])
