"""The files of a zip archive or a folder by name; what could do harm is refused before any is read."""

import stat
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ngs.errors import DataError

Members = Mapping[str, Callable[[], bytes]]  # what reads each file, by its path with forward slashes

LARGEST_FILE = 64 << 20
LARGEST_TOTAL = 2 << 30
MOST_FILES = 1_000_000
"""Far above the published data (1.8 MB, 48 MB and 42,918 files), far below what fills a memory."""

DISTRUST = "do not trust this archive; fetch it again from where it was published"


@contextmanager
def opened(path: Path, wanted: Callable[[Path], Iterable[Path]]) -> Iterator[Members]:
    """The files of the archive at `path`, or those that are `wanted` of the folder there."""
    try:
        if path.is_dir():
            yield _checked(path, _in_folder(path, wanted(path)))
        else:
            with _zip(path) as archive:
                yield _checked(path, _in_archive(path, archive))
    except OSError as error:
        raise DataError(
            f"{error.filename or path} cannot be read: {error.strerror or error}; "
            f"give a zip archive, or the folder with its content"
        ) from error


def _zip(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
        raise DataError(
            f"{path} is no zip archive, or is cut short ({error}); fetch it again, or give its folder"
        ) from error


Member = tuple[str, int, Callable[[], bytes]]  # its name, how many bytes it has, and what reads it


def _in_archive(path: Path, archive: zipfile.ZipFile) -> Iterator[Member]:
    for member in archive.infolist():
        name = member.orig_filename
        if not _is_plain(name):
            raise DataError(f"{path} holds {name!r}, which is no plain path inside it; {DISTRUST}")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise DataError(f"{path} holds {name!r}, which is a link; {DISTRUST}")
        if member.flag_bits & 0x1:
            raise DataError(f"{path} holds {name!r} encrypted; give an archive without a password")
        if not member.is_dir():
            yield name, member.file_size, partial(_unpacked, archive, member)


def _in_folder(root: Path, wanted: Iterable[Path]) -> Iterator[Member]:
    for path in wanted:
        name = path.relative_to(root)
        if any((root / part).is_symlink() for part in (name, *name.parents[:-1])):
            raise DataError(f"{root} holds {name.as_posix()!r}, which is a link; put the file itself there")
        if path.is_file():
            yield name.as_posix(), path.stat().st_size, path.read_bytes


def _checked(path: Path, found: Iterable[Member]) -> Members:
    """By name. zipfile never unpacks more than a member declares, so that sizes can be relied on."""
    files: dict[str, Callable[[], bytes]] = {}
    total = 0
    for name, size, read in found:
        total += size
        if name in files:
            raise DataError(f"{path} holds {name!r} twice; {DISTRUST}")
        if size > LARGEST_FILE:
            raise DataError(
                f"{path} holds {name!r} of {size:,} bytes, and at most {LARGEST_FILE:,} are read; "
                f"this is no archive of handwritten formulas"
            )
        if total > LARGEST_TOTAL or len(files) >= MOST_FILES:
            raise DataError(
                f"{path} unpacks to more than {LARGEST_TOTAL:,} bytes or {MOST_FILES:,} files; "
                f"this is no archive of handwritten formulas"
            )
        files[name] = read
    return files


def _is_plain(name: str) -> bool:
    """Whether a path can only lead to one place inside the archive, on any system, and can be printed."""
    parts = name.removesuffix("/").split("/")
    return (
        not {"", ".", ".."}.intersection(parts)
        and ":" not in parts[0]
        and "\\" not in name
        and name.isprintable()
    )


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    try:
        return archive.read(member)
    except Exception as error:  # what unpacks a damaged file raises anything
        raise DataError(
            f"{member.filename!r} is damaged in the archive ({error}); fetch the archive again"
        ) from error
