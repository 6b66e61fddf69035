"""Claims: files that say who is doing what, so that no two processes do the same at the same time.

The claims on one thing are numbered files, and the last one counts. Whoever finds it abandoned, or finds
none, may make the next number. Making a file that must not exist yet succeeds for one process only, on
network file systems too, and a number is never used again while the thing is unfinished: so there is no
moment at which two hold it. When it is finished, its claims are deleted.

A process that works touches its claim now and then. A claim is abandoned when nobody touched it for
`patience` seconds, or at once when its process was on this machine and is gone, or when it was released.
Ages are differences of times that the file server gave; the clocks of the machines do not matter.
"""

from __future__ import annotations

import json
import os
import platform
import threading
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile

PATIENCE = 120.0
"""Seconds. More than a process may be deaf (it reads a large file) or a file server away."""
BEATS = 6
"""A claim is touched this often within the patience of the others."""
LONG_AGO = (0.0, 0.0)
"""Times of access and change that make a claim count as abandoned."""


class Claims:
    """The claims in a folder."""

    def __init__(self, folder: Path, patience: float = PATIENCE) -> None:
        self.folder, self.patience = folder, patience

    def take(self, name: str, finished: Path) -> Claim | None:
        """A claim on `name`, which is finished when the file `finished` exists; None where others have it."""
        last = self._last(name)
        if last and self._alive(self._path(name, last)):
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        paths = [self._path(name, number) for number in range(1, last + 3)]
        try:
            with paths[-2].open("x", encoding="utf-8") as file:  # x: an error where it exists
                json.dump(_holder(), file)
        except FileExistsError:
            return None
        return Claim(paths[:-1], paths[-1], finished, self.patience / BEATS)

    def taken(self, name: str) -> bool:
        """Whether somebody has a claim on it that is not abandoned."""
        last = self._last(name)
        return last > 0 and self._alive(self._path(name, last))

    def _path(self, name: str, number: int) -> Path:
        return self.folder / f"{name}.{number}"

    def _last(self, name: str) -> int:
        return next(number for number in count() if not self._path(name, number + 1).exists())

    def _alive(self, path: Path) -> bool:
        try:
            with path.open(encoding="utf-8") as file:
                text, touched = file.read(), os.fstat(file.fileno()).st_mtime
        except FileNotFoundError:  # finished just now
            return False
        try:
            holder = json.loads(text)
        except ValueError:  # made just now, or by a process that died before it could write
            holder = {}
        if holder.get("machine") == _machine() and not _is_running(holder["pid"]):
            return False
        return self._now() - touched < self.patience

    def _now(self) -> float:
        """The time on the clock that stamps the files."""
        with TemporaryFile(dir=self.folder) as file:
            return os.fstat(file.fileno()).st_mtime


class Claim:
    """Held until it is released, or until this process dies."""

    def __init__(self, paths: list[Path], rival: Path, finished: Path, seconds: float) -> None:
        self._paths, self._rival, self._finished, self._seconds = paths, rival, finished, seconds
        self._released = threading.Event()
        self._beating = threading.Thread(target=self._beat, name=f"claim {paths[-1].name}", daemon=True)
        self._beating.start()

    @property
    def held(self) -> bool:
        """False when others took this process for dead: it had slept for longer than their patience."""
        return not self._rival.exists() and self._paths[-1].exists()

    def release(self) -> None:
        """Leave it to others, as finished or not."""
        self._released.set()
        self._beating.join()
        if self._finished.exists():
            for path in self._paths:
                path.unlink(missing_ok=True)
        else:
            with suppress(FileNotFoundError):  # somebody else has finished it
                os.utime(self._paths[-1], LONG_AGO)

    def __enter__(self) -> Claim:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def _beat(self) -> None:
        while not self._released.wait(self._seconds):
            with suppress(OSError):  # the file server may be back for the next beat
                if not self.held:
                    return
                os.utime(self._paths[-1])


def _holder() -> dict[str, object]:
    return {
        "host": platform.node(),
        "pid": os.getpid(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": _machine(),
    }


@cache
def _machine() -> str:
    """Where a process number means the same as here: not in another container, nor after the next start."""
    start, numbers = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    if start.exists() and numbers.is_symlink():
        return f"{platform.node()} {start.read_text().strip()} {os.readlink(numbers)}"
    return platform.node()


def _is_running(pid: int) -> bool:
    if os.name != "posix":  # asking would end the process there; its claim's age has to tell
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
