"""The jobs of a sweep on this machine: in this process, or in several side by side."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from typing import Any

import torch

from ngs.errors import NGSError
from ngs.experiments.sweep.driver import Event, Events, attempt, drive, failed
from ngs.experiments.sweep.store import Addressed, Store
from ngs.gpu import sleep_while_waiting
from ngs.tasks.results.job import Job

SPAWN = multiprocessing.get_context("spawn")  # a fork of a process with threads or a GPU does not work
PERIOD = 1.0  # seconds between reports of progress
PROGRESS_BYTES = 64  # size of the text that tells a job's progress, with a zero at the end
DIED = "its process crashed or was killed; if memory was short, use fewer workers"


def run_here(jobs: Iterable[Job], store: Store, *, workers: int | None = None) -> Events:
    """Do the jobs and their needs that have no result yet, while iterated; yields what happens.

    `workers` processes share the cores and take the GPUs in turn, by default one for each GPU. A single
    worker is this process. A failed job stops only those that need it. An interrupted sweep continues from
    the checkpoints of its jobs.
    """
    if workers is not None and workers < 1:
        raise NGSError(f"a sweep with {workers} workers would never end; give at least 1")
    devices = gpus()
    workers = workers or max(1, len(devices))
    return drive(
        jobs, store, lambda: ThisProcess(store) if workers == 1 else Workers(store, workers, devices)
    )


def gpus() -> list[str]:
    """The GPUs of this process by their names in CUDA_VISIBLE_DEVICES."""
    count = torch.cuda.device_count()
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return named.split(",")[:count] if named else [str(number) for number in range(count)]


class ThisProcess:
    """Does a job in this process, while its events are read."""

    places = 1

    def __init__(self, store: Store) -> None:
        self.store = store
        self.job: Events | None = None

    def submit(self, entry: Addressed) -> None:
        self.job = attempt(entry, self.store)

    def events(self) -> Iterator[Event]:
        return self.job or iter(())

    def close(self) -> None:
        if self.job:
            self.job.close()


class Workers:
    """Does jobs in `places` processes, which share the cores and take the GPUs in turn."""

    def __init__(self, store: Store, places: int, devices: Sequence[str]) -> None:
        self.store, self.places = store, places
        self.lifeline, self.write_end = SPAWN.Pipe(duplex=False)
        threads = max(1, torch.get_num_threads() // places)
        turns = [devices[place % len(devices)] if devices else None for place in range(places)]
        self.idle = [Worker(self.lifeline, threads, device) for device in turns]
        self.busy: dict[Future[Event], tuple[Worker, Addressed]] = {}

    def submit(self, entry: Addressed) -> None:
        worker = self.idle[-1]
        self.busy[worker.submit(entry, self.store)] = worker, entry
        self.idle.pop()

    def events(self) -> Iterator[Event]:
        ended, running = wait(self.busy, timeout=PERIOD, return_when=FIRST_COMPLETED)
        for future in running:
            worker, entry = self.busy[future]
            if worker.where.value:
                yield Event(entry, "running", worker.where.value.decode())
        for future in ended:
            worker, entry = self.busy.pop(future)
            self.idle.append(worker)
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                worker.pool.shutdown()  # when the process is gone, so is its lock
                yield Event(entry, "failed", DIED)
            else:  # other errors: the job could not be sent, for instance not pickled
                yield failed(entry, error) if error else future.result()

    def close(self) -> None:
        if self.busy:
            self.write_end.close()
        for worker in [*self.idle, *(worker for worker, _ in self.busy.values())]:
            worker.pool.shutdown()
        self.write_end.close()
        self.lifeline.close()


class Worker:
    """A pool of one process: if it dies, only its own job fails."""

    def __init__(self, lifeline: connection.Connection, threads: int, device: str | None) -> None:
        # Without a lock, which a killed process would not release.
        self.where: Any = SPAWN.RawArray("c", PROGRESS_BYTES)
        self.settings = self.where, lifeline, threads, device
        self.pool = ProcessPoolExecutor(1, SPAWN, _begin, self.settings)

    def submit(self, entry: Addressed, store: Store) -> Future[Event]:
        self.where.value = b""
        try:
            return self.pool.submit(_work, entry, store)
        except BrokenProcessPool:  # it died at its last job, or since
            self.pool = ProcessPoolExecutor(1, SPAWN, _begin, self.settings)
            return self.pool.submit(_work, entry, store)


_where: Any = None  # in a worker: the progress of its job, read by the leading process


def _begin(where: Any, lifeline: connection.Connection, threads: int, device: str | None) -> None:
    global _where
    _where = where
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the keyboard speaks to the leading process
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    if device is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = device  # PyTorch looks for GPUs when it is first asked
    torch.set_num_threads(threads)
    sleep_while_waiting()  # there may be more workers than cores


def _end_with(lifeline: connection.Connection) -> None:
    """End when the leading process closes its end or dies; files are whole at any time."""
    connection.wait([lifeline])
    os._exit(1)


def _work(entry: Addressed, store: Store) -> Event:
    for event in attempt(entry, store):
        if event.state == "running":
            _where.value = event.text.encode()[: PROGRESS_BYTES - 1]
    return event
