"""The jobs of a sweep on a Ray cluster, whose machines need not share a file system.

NGS and the data files must be on every machine, the files under the same absolute path. A job and the files
of its needs are sent, and the files of its result come back. If a machine dies, its job restarts elsewhere
from the beginning.
"""

import logging
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from platform import node
from tempfile import TemporaryDirectory
from typing import Any

from ngs.errors import NGSError
from ngs.experiments.sweep.driver import Event, Events, attempt, drive, failed
from ngs.experiments.sweep.store import Addressed, Store
from ngs.gpu import sleep_while_waiting
from ngs.learning.whole_file import replacing
from ngs.tasks.results.job import Job, address
from ngs.tasks.run_folder import CHECKPOINT, RESULT, TENSORBOARD, remove

Files = dict[str, bytes]  # contents of a folder, by path within it
RETRIES = 2  # times Ray restarts a job whose process or machine died


def run_on_ray(jobs: Iterable[Job], store: Store, *, cluster: str = "auto", per_gpu: int = 1) -> Events:
    """Do the jobs and their needs that have no result yet, while iterated; yields how they end.

    Uses the connected cluster, or connects to the one at `cluster`. `per_gpu` jobs share a GPU; without
    GPUs, a job has one core.
    """
    if per_gpu < 1:
        raise NGSError(f"{per_gpu} jobs cannot share a GPU; give at least 1")
    try:
        import ray
    except ImportError:
        raise NGSError(
            "Ray is not installed; install it, in the folder of the repository: pip install -e '.[ray]'"
        ) from None
    return drive(jobs, store, lambda: Cluster(ray, store, cluster, per_gpu))


class Cluster:
    places = 500  # each holds a lock, which is an open file, and systems often allow 1024

    def __init__(self, ray: Any, store: Store, cluster: str, per_gpu: int) -> None:
        self.ray, self.store, self.per_gpu = ray, store, per_gpu
        self.connects = not ray.is_initialized()
        if self.connects:
            _connect(ray, cluster)
        self.task = ray.remote(max_retries=RETRIES)(do_there)
        self.put = cache(lambda need: ray.put(pack(store.at(need))))  # once for all that need it
        # By Ray's reference to the result, with the lock of the folder.
        self.running: dict[Any, tuple[Addressed, ExitStack]] = {}

    def submit(self, entry: Addressed) -> None:
        gpus = self.ray.cluster_resources().get("GPU")  # asked anew: the cluster may have grown
        task = self.task.options(**({"num_gpus": 1 / self.per_gpu} if gpus else {"num_cpus": 1}))
        with ExitStack() as lock:
            lock.enter_context(self.store.writing(entry.address))
            reference = task.remote(entry, *map(self.put, entry.needs))
            self.running[reference] = entry, lock.pop_all()

    def events(self) -> Iterator[Event]:
        ended, _ = self.ray.wait(list(self.running))
        for reference in ended:
            entry, lock = self.running.pop(reference)
            with lock:
                event = self._receive(entry, reference)
            yield event

    def _receive(self, entry: Addressed, reference: Any) -> Event:
        try:
            ending: tuple[Event, Files] = self.ray.get(reference)
            event, files = ending
            if self.store.has(entry.address):  # done by another process before it was locked
                return Event(entry, "found")
            if files:
                unpack(files, self.store.at(entry.address))
            return event
        except (NGSError, self.ray.exceptions.RayError) as error:  # its processes or machines died, or Ray
            return failed(entry, error)

    def close(self) -> None:
        for reference, (_, lock) in self.running.items():
            self.ray.cancel(reference, force=True)
            lock.close()
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
    """Do a job on a remote machine; returns its last event and the files of its result."""
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
    """The files of a job without checkpoint and TensorBoard."""
    paths = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    kept = [path for path in paths if path.name != CHECKPOINT and path.parts[0] != TENSORBOARD]
    return {path.as_posix(): (folder / path).read_bytes() for path in kept}


def unpack(files: Files, folder: Path) -> None:
    """Replace the files of an unfinished attempt; the result is written last."""
    remove(folder)
    for name in sorted(files, key=lambda name: name == RESULT):
        with replacing(folder / name) as temporary:
            temporary.write_bytes(files[name])
