"""The folder of results: a folder for each job under its address, and who is doing what."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ngs.experiments.folder import RESULT
from ngs.experiments.job import Job, address
from ngs.experiments.sweep.claim import PATIENCE, Claim, Claims
from ngs.learning.whole_file import replacing

CLAIMS = ".claims"
ERROR = "error.txt"


@dataclass(frozen=True)
class Addressed:
    """A job with its address and those of what it needs, worked out once: for that, data may be read."""

    job: Job
    address: str
    needs: tuple[str, ...]


def addressed(jobs: Iterable[Job], done: Callable[[str], bool] = lambda address: False) -> list[Addressed]:
    """The jobs and all they need: needs before what needs them, each address once.

    A job that is `done`, by its address, needs nothing any more.
    """
    found: dict[str, Addressed] = {}

    def visit(job: Job) -> str:
        name = address(job)
        if name not in found:
            needs = () if done(name) else tuple(visit(need) for need in job.needs)
            found[name] = Addressed(job, name, needs)
        return name

    for job in jobs:
        visit(job)
    return list(found.values())


class Store:
    """Results under `root`, which several processes on several machines may fill together.

    A process that shows no sign of life for `patience` seconds counts as dead.
    """

    def __init__(self, root: Path, patience: float = PATIENCE) -> None:
        self.root = root
        self._claims = Claims(root / CLAIMS, patience)

    def folder(self, job: Job) -> Path:
        return self.at(address(job))

    def done(self, job: Job) -> bool:
        return self.has(address(job))

    def error(self, job: Job) -> str | None:
        """How its last attempt failed."""
        return self.error_at(address(job))

    def at(self, address: str) -> Path:
        return self.root / address

    def has(self, address: str) -> bool:
        return (self.at(address) / RESULT).exists()

    def error_at(self, address: str) -> str | None:
        path = self.at(address) / ERROR
        return path.read_text(encoding="utf-8") if path.exists() else None

    def claim(self, address: str) -> Claim | None:
        """The right to do it, until released; None while somebody else has it."""
        return self._claims.take(address, self.at(address) / RESULT)

    def claimed(self, address: str) -> bool:
        return self._claims.taken(address)

    def note_error(self, address: str, error: str) -> None:
        with replacing(self.at(address) / ERROR) as temporary:
            temporary.write_text(error, encoding="utf-8")

    def forget_error(self, address: str) -> None:
        (self.at(address) / ERROR).unlink(missing_ok=True)
