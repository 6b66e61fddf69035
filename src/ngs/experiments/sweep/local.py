"""The jobs of a sweep on this machine: in this process, or in several side by side."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import connection
from multiprocessing.context import SpawnProcess
from typing import Any

import torch

from ngs.errors import NGSError
from ngs.experiments.sweep.driver import Event, Events, attempt, drive
from ngs.experiments.sweep.store import Addressed, Store
from ngs.gpu import sleep_while_waiting
from ngs.tasks.results.job import Job

SPAWN = multiprocessing.get_context("spawn")  # a fork of a process with threads or a GPU does not work
DIED = "its process crashed or was killed; if memory was short, use fewer workers"


def run_here(jobs: Iterable[Job], store: Store, *, workers: int | None = None) -> Events:
    """Do what is missing of the jobs and of what they need, as it is iterated; tells what happens.

    `workers` processes share the cores, and the GPUs in turn; by default there is one for each GPU. One
    alone is this process itself. A job that fails stops those that need it and no others. Interrupted,
    the sweep goes on from the checkpoints of its jobs when it is run again.
    """
    if workers is not None and workers < 1:
        raise NGSError(f"a sweep with {workers} workers would never end; give at least 1")
    devices = gpus()
    workers = workers or max(1, len(devices))
    return drive(
        jobs, store, lambda: ThisProcess(store) if workers == 1 else Workers(store, workers, devices)
    )


def gpus() -> list[str]:
    """The GPUs this process may use, as CUDA_VISIBLE_DEVICES names them."""
    count = torch.cuda.device_count()
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return named.split(",")[:count] if named else [str(number) for number in range(count)]


class ThisProcess:
    """Does a job while it is asked what happens."""

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
    """Does jobs in `places` processes, which share the cores, and the GPUs in turn."""

    def __init__(self, store: Store, places: int, devices: Sequence[str]) -> None:
        self.places = places
        self.lifeline, self.write_end = SPAWN.Pipe(duplex=False)
        threads = max(1, torch.get_num_threads() // places)
        turns = [devices[place % len(devices)] if devices else None for place in range(places)]
        self.idle = [Worker(store, self.lifeline, threads, device) for device in turns]
        self.busy: list[Worker] = []

    def submit(self, entry: Addressed) -> None:
        self.idle[-1].submit(entry)
        self.busy.append(self.idle.pop())

    def events(self) -> Iterator[Event]:
        ready = connection.wait([worker.pipe for worker in self.busy])
        for worker in [worker for worker in self.busy if worker.pipe in ready]:
            event = worker.event()
            if event.state != "running":
                self.busy.remove(worker)
                self.idle.append(worker)
            yield event

    def close(self) -> None:
        self.write_end.close()
        for worker in [*self.idle, *self.busy]:
            if worker.process is not None:
                worker.process.join()
        self.lifeline.close()


class Worker:
    """Does one job after the other in a process of its own, and in a new one where that has died."""

    process: SpawnProcess | None = None
    pipe: connection.Connection[Any, Any]
    entry: Addressed

    def __init__(self, *settings: Any) -> None:
        self.settings = settings

    def submit(self, entry: Addressed) -> None:
        if self.process is None or not self.process.is_alive():
            self.pipe, theirs = SPAWN.Pipe()
            self.process = SPAWN.Process(target=_serve, args=(theirs, *self.settings))
            self.process.start()
            theirs.close()
        self.pipe.send(entry)
        self.entry = entry

    def event(self) -> Event:
        try:
            return Event(self.entry, *self.pipe.recv())
        except (EOFError, OSError):
            assert self.process is not None
            self.process.join()  # when the process is gone, so is its lock
            return Event(self.entry, "failed", DIED)


def _serve(
    pipe: connection.Connection[Any, Any],
    store: Store,
    lifeline: connection.Connection[Any, Any],
    threads: int,
    device: str | None,
) -> None:
    """Do the jobs that come through the pipe, and tell through it what happens to them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the keyboard speaks to the leading process
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    if device is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = device  # PyTorch looks for GPUs when it is first asked
    torch.set_num_threads(threads)
    sleep_while_waiting()  # there may be more workers than cores
    with suppress(EOFError, OSError):  # the leading process is gone
        while True:
            for event in attempt(pipe.recv(), store):
                pipe.send((event.state, event.text))


def _end_with(lifeline: connection.Connection[Any, Any]) -> None:
    """End at once when the leading process closes its end or dies: files are whole at any time."""
    connection.wait([lifeline])
    os._exit(1)
