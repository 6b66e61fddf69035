"""The runs in a folder, their states, and what they wrote.

No part of a request becomes a path: a run is looked up among the names in the folder. Links are followed only
inside it, and no more of a file is read than a run would write.
"""

import json
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from ngs.errors import DataError
from ngs.tasks.finding import every
from ngs.tasks.playground.messages import Message, part
from ngs.tasks.run_folder import CHECKPOINT, CONFIG, METRICS, REPORT, RESULT
from ngs.tasks.trainable import Trainable

ALIVE_SECONDS = 60.0  # a run that wrote something within them is running
FACTS_BYTES, ROWS_BYTES, REPORT_BYTES = 2**20, 2**26, 2**26  # of files that are read
ROWS = 2000  # of a curve that are sent
DEEPEST, LARGEST = 6, 2**63
"""Levels of JSON that are kept, and what kept integers are smaller than; the others become null."""

State = Literal["running", "finished", "stopped"]


@dataclass(frozen=True)
class RunFolder:
    """One run. Its files are asked for anew each time: it may be training."""

    root: Path  # resolved
    folder: Path
    config: dict[str, Any]
    task: Trainable

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def state(self) -> State:
        if self.file(RESULT) is not None:
            return "finished"
        return "running" if time.time() - self.touched < ALIVE_SECONDS else "stopped"

    @property
    def touched(self) -> float:
        """When it last wrote, in seconds since 1970."""
        return max(_written(self.file(name)) for name in (CONFIG, METRICS, CHECKPOINT))

    @property
    def finished(self) -> float:
        """When it came to its end, in seconds since 1970; 0 before."""
        return _written(self.file(RESULT))

    @property
    def result(self) -> dict[str, Any] | None:
        """None where it did not come to its end, or where that cannot be read."""
        with suppress(DataError):
            return _facts(self.file(RESULT))
        return None

    @property
    def accuracy(self) -> float | None:
        """The share of right answers in the test part; None where it is not known."""
        test = (self.result or {}).get("test")
        found = test.get(self.task.metrics.answers) if isinstance(test, dict) else None
        return float(found) if isinstance(found, int | float) else None

    def file(self, name: str) -> Path | None:
        """One of its files, if it is a file and lies inside the root."""
        return _inside(self.root, self.folder / name)

    def rows(self) -> tuple[list[dict[str, Any]], int]:
        """The rows of its curves, thinned out, and the bytes of the file that they were read from.

        A last line without an end is still being written; the next reader gets it.
        """
        content = _content(self.file(METRICS), ROWS_BYTES)
        end = content.rfind(b"\n") + 1
        return thinned([row for line in content[:end].splitlines() if (row := row_of(line)) is not None]), end

    def report(self) -> bytes:
        """Nothing where there is none."""
        return _content(self.file(REPORT), REPORT_BYTES)


class SkippedFolder(Message):
    """A folder that looks like a run and cannot be shown."""

    name: str = part("Of the folder.", "old-run")
    why: str = part(
        "What is wrong with it, and what to do.",
        "config.json is damaged (Expecting value); restore it, or train anew",
    )


class RunFolders:
    """The runs directly inside a folder. Their tasks are looked up by name among known ones: nothing that a
    configuration names is imported."""

    def __init__(self, root: Path, given: Iterable[Trainable] = ()) -> None:
        self.root, self.tasks = root, {task.name: task for task in (*every(), *given)}

    def all(self) -> tuple[list[RunFolder], list[SkippedFolder]]:
        """The latest first; and what looks like a run and is none that could be shown."""
        found, skipped = [], []
        for folder in self._folders():
            try:
                found.append(self._run(folder))
            except DataError as error:
                skipped.append(SkippedFolder(name=_as_text(folder.name), why=str(error)))
        return sorted(found, key=lambda run: -run.touched), sorted(skipped, key=lambda each: each.name)

    def named(self, id: str) -> RunFolder | None:
        """The run of this name; None where there is none."""
        with suppress(DataError):
            return next((self._run(folder) for folder in self._folders() if folder.name == id), None)
        return None

    def newest(self, task: str) -> Path | None:
        """The folder of the run of a task that finished last."""
        finished = [run for run in self.all()[0] if run.task.name == task and run.state == "finished"]
        return max(finished, key=lambda run: run.finished).folder if finished else None

    def _folders(self) -> list[Path]:
        """Everything inside that holds a configuration, or may hold one."""
        try:
            return [folder for folder in self.root.iterdir() if _looks_like_a_run(folder)]
        except OSError:
            return []

    def _run(self, folder: Path) -> RunFolder:
        """A DataError where this is no run that could be shown."""
        if _as_text(folder.name) != folder.name:
            raise DataError("its name is not UTF-8; rename it")
        real = self.root.resolve()
        config = _facts(_inside(real, folder / CONFIG))
        if config is None:
            raise DataError(
                f"its {CONFIG} cannot be read, or lies elsewhere; copy the run here, or let it be read"
            )
        match config:  # of any version: only what is shown in a list is looked at
            case {"task": str() as name, "method": str(), "steps": int()}:
                if name in self.tasks:
                    return RunFolder(real, folder, config, self.tasks[name])
                raise DataError(
                    f"its {CONFIG} is of the task {name!r}, which is not known; start `ngs serve` with "
                    f"--task and the file that the task is in"
                )
        raise DataError(f"its {CONFIG} is not that of a run of `ngs train`; keep it in another folder")


def _as_text(name: str) -> str:
    """A name as it can be sent: a file system allows any bytes."""
    return name.encode("utf-8", "backslashreplace").decode()


def _looks_like_a_run(folder: Path) -> bool:
    try:
        return (folder / CONFIG).exists()
    except OSError:  # nobody may look; such a folder is counted
        return True


# Files


def _inside(root: Path, path: Path) -> Path | None:
    try:
        real = path.resolve(strict=True)
        return real if real.is_relative_to(root) and real.is_file() else None
    except (OSError, RuntimeError):  # links that go round in a circle
        return None


def _written(path: Path | None) -> float:
    try:
        return 0.0 if path is None else path.stat().st_mtime
    except OSError:
        return 0.0


def _content(path: Path | None, most: int) -> bytes:
    """Of a file; nothing where there is none."""
    if path is None:
        return b""
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror or error}; restore it") from None
    if len(content) > most:
        raise DataError(f"{path.name} has more than {most:,} bytes; look at it without the playground")
    return content


def _facts(path: Path | None) -> dict[str, Any] | None:
    """An object of JSON; None where there is no file."""
    if path is None:
        return None
    try:
        facts = parsed(_content(path, FACTS_BYTES))
    except ValueError as error:
        raise DataError(f"{path.name} is damaged ({error}); restore it, or train anew") from None
    if not isinstance(facts, dict):
        raise DataError(f"{path.name} holds no facts of a run; restore it, or train anew")
    return facts


def parsed(text: str | bytes) -> Any:
    """Foreign JSON with finite numbers, plain text and a limited depth, so that it can be sent on.

    Python reads more than JSON allows (NaN, 1e999, half of a surrogate pair). A ValueError where the text is
    damaged.
    """
    try:
        return _clean(json.loads(text), DEEPEST)
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None


def _clean(value: Any, levels: int) -> Any:
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) < LARGEST else None
        case float():
            return value if isfinite(value) else None
        case str():
            return value.encode(errors="replace").decode()
        case dict() if levels:
            return {_clean(name, levels): _clean(each, levels - 1) for name, each in value.items()}
        case list() if levels:
            return [_clean(each, levels - 1) for each in value]
    return None


# Rows


def row_of(line: bytes) -> dict[str, Any] | None:
    """What a line of metrics says, without the parts by length and kind; None where it is damaged."""
    try:
        row = parsed(line)
    except ValueError:
        return None
    if not isinstance(row, dict) or not isinstance(row.get("step"), int):
        return None
    for name, value in row.items():
        if isinstance(value, dict):
            row[name] = {part: each for part, each in value.items() if not isinstance(each, dict | list)}
    return row


def thinned(rows: Sequence[dict[str, Any]], most: int = ROWS) -> list[dict[str, Any]]:
    """At most so many rows, evenly and with the last; up to half of them validations."""
    measured = [k for k, row in enumerate(rows) if "validation" in row or "test" in row]
    others = sorted(set(range(len(rows))) - set(measured))
    if len(rows) > most:
        measured = _some(measured, max(most // 2, most - len(others)))
        others = _some(others, most - len(measured))
    return [rows[k] for k in sorted([*measured, *others])]


def _some(numbers: Sequence[int], most: int) -> list[int]:
    """Evenly spaced, the last among them."""
    if len(numbers) <= most:
        return list(numbers)
    return [numbers[(k + 1) * len(numbers) // most - 1] for k in range(most)]
