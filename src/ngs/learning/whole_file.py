"""A file that is written whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ngs.errors import DataError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside `path` to write; it takes the place of `path` when all went well, and goes when not.

    Whoever looks sees the old file or the new one, even after a crash. A DataError where the disk is full,
    the folder cannot be made or must not be written to.
    """
    stage = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield stage
        with stage.open("rb+") as file:
            os.fsync(file.fileno())  # or a power cut could leave the new name on an empty file
        os.replace(stage, path)
    except OSError as error:
        raise DataError(
            f"{path} cannot be written: {error.strerror or error}; give a path with free space and permission"
        ) from error
    finally:
        with suppress(OSError):  # where the folder could not be made there is nothing in it
            stage.unlink(missing_ok=True)
