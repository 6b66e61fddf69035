"""The folder of results: a folder for each job, under its address."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from ngs.errors import NGSError
from ngs.learning.whole_file import replacing
from ngs.tasks.results.job import Job, address
from ngs.tasks.run_folder import RESULT

LOCKS = ".locks"
ERROR = "error.txt"


@dataclass(frozen=True)
class Addressed:
    """A job with its address and those of its needs, computed once because that may read data."""

    job: Job
    address: str
    needs: tuple[str, ...]


def addressed(jobs: Iterable[Job], done: Callable[[str], bool] = lambda address: False) -> list[Addressed]:
    """The jobs and all their needs, needs first, each address once. Jobs that are `done` need nothing."""
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


@dataclass(frozen=True)
class Store:
    """Results under `root`."""

    root: Path

    def folder(self, job: Job) -> Path:
        return self.at(address(job))

    def at(self, address: str) -> Path:
        return self.root / address

    def has(self, address: str) -> bool:
        return (self.at(address) / RESULT).exists()

    @contextmanager
    def writing(self, address: str) -> Iterator[Path]:
        """The folder of a job, locked by the operating system; an NGSError if another process has it."""
        try:
            lock = FileLock(self.root / LOCKS / address).acquire(timeout=0)
        except Timeout:
            raise NGSError(
                f"another process is at it in {self.at(address)}; run this again when that has ended"
            ) from None
        with lock:
            self.at(address).mkdir(parents=True, exist_ok=True)
            yield self.at(address)

    def note_error(self, address: str, error: str) -> None:
        """Write a job's error, or remove the last one if `error` is empty or there is a result.

        Does nothing while another process has the folder.
        """
        with suppress(NGSError), self.writing(address) as folder:
            if not error or self.has(address):
                (folder / ERROR).unlink(missing_ok=True)
                return
            with replacing(folder / ERROR) as temporary:
                temporary.write_text(error, encoding="utf-8")
