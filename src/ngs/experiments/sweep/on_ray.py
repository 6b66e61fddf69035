"""The jobs of a sweep on a Ray cluster, whose machines need not share a file system.

NGS must be installed on every machine of the cluster, and data files that a job reads must lie there
under the path that it names; a relative one would be looked for elsewhere. Everything else travels: a job
and the files of what it needs go out, the files of its result come back. Where a machine dies, the job begins
anew on another, as its checkpoint is gone.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from platform import node
from tempfile import TemporaryDirectory
from typing import Any

from ngs.errors import NGSError
from ngs.experiments.folder import CHECKPOINT, RESULT, remove
from ngs.experiments.job import Job, address
from ngs.experiments.record import TENSORBOARD
from ngs.experiments.sweep.attempt import Event, attempt, failed
from ngs.experiments.sweep.driver import drive
from ngs.experiments.sweep.store import Addressed, Store
from ngs.gpu import sleep_while_waiting
from ngs.learning.whole_file import replacing

Files = dict[str, bytes]
"""What is in a folder, by path within it."""
RETRIES = 2
"""How often Ray does a job again whose process or machine died, from its beginning."""


def run_on_ray(
    jobs: Iterable[Job], store: Store, *, cluster: str = "auto", per_gpu: int = 1
) -> Iterator[Event]:
    """Do what is missing of the jobs and of what they need, as it is iterated; tells how they end.

    Uses the cluster this process is connected to, or else connects to the one at `cluster`. Where the
    cluster has GPUs, `per_gpu` jobs share one; elsewhere a job has a core.
    """
    if per_gpu < 1:
        raise NGSError(f"{per_gpu} jobs cannot share a GPU; give at least 1")
    try:
        import ray
    except ImportError:
        raise NGSError("Ray is not installed; install the extra: pip install 'ngs[ray]'") from None
    return drive(jobs, store, Cluster(ray, store, cluster, per_gpu))


class Cluster:
    """An executor that gives everything to Ray, which does it as soon as there is a place."""

    places = math.inf

    def __init__(self, ray: Any, store: Store, cluster: str, per_gpu: int) -> None:
        self.ray, self.store = ray, store
        self.connects = not ray.is_initialized()
        if self.connects:
            _connect(ray, cluster)
        share = {"num_gpus": 1 / per_gpu} if ray.cluster_resources().get("GPU") else {"num_cpus": 1}
        self.task = ray.remote(**share, max_retries=RETRIES)(do_there)
        self.out: dict[Any, Addressed] = {}  # by Ray's reference to what comes back

    def submit(self, entry: Addressed) -> None:
        needed = [pack(self.store.at(need)) for need in entry.needs]
        self.out[self.task.remote(entry, *needed)] = entry

    def events(self) -> Iterator[Event]:
        ended, _ = self.ray.wait(list(self.out))
        for reference in ended:
            yield self._receive(self.out.pop(reference), reference)

    def _receive(self, entry: Addressed, reference: Any) -> Event:
        try:
            ending: tuple[Event, Files] = self.ray.get(reference)
            end, files = ending
            if files:
                with self.store.writing(entry.address) as folder:
                    unpack(files, folder)
            return end
        except (NGSError, self.ray.exceptions.RayError) as error:  # its processes or machines died, or Ray
            return failed(entry, error)

    def close(self) -> None:
        for reference in self.out:
            self.ray.cancel(reference, force=True)
        if self.connects:
            self.ray.shutdown()


def _connect(ray: Any, cluster: str) -> None:
    try:
        ray.init(address=cluster, log_to_driver=False, logging_level=logging.WARNING)
    except ConnectionError as error:
        raise NGSError(
            f"no Ray cluster can be reached at {cluster!r} ({error}); start one with `ray start --head` or "
            f"give the address of one, and its token if it has one (RAY_AUTH_MODE=token, RAY_AUTH_TOKEN)"
        ) from error


def do_there(entry: Addressed, *needed: Files) -> tuple[Event, Files]:
    """Do it on a machine that has only what travels with it; how it ended, and the files of its result."""
    sleep_while_waiting()  # others may share the cores and the GPU
    try:
        if (own := address(entry.job)) != entry.address:
            raise NGSError(
                f"on {node()} the data of this job are others than where it was given out (its address is "
                f"{own}, not {entry.address}); put the same files under the same path on every machine"
            )
    except Exception as error:
        return failed(entry, error), {}
    with TemporaryDirectory() as root:
        store = Store(Path(root))
        for need, files in zip(entry.needs, needed, strict=True):
            unpack(files, store.at(need))
        *_, end = attempt(entry, store)
        return end, pack(store.at(entry.address)) if end.state == "done" else {}


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
