"""A process of its own that does the jobs it is given, and tells what happens."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from multiprocessing.connection import Connection, wait
from types import FrameType

import torch

from ngs.experiments.sweep.attempt import attempt
from ngs.experiments.sweep.event import Done, Event, Failed, Found, Waiting
from ngs.experiments.sweep.store import Addressed, Store
from ngs.gpu import sleep_while_waiting

SPAWN = multiprocessing.get_context("spawn")  # a fork of a process with threads or a GPU does not work
LETTING_GO = 10.0
"""Seconds a worker has to let go of its job before it is killed."""


class Worker:
    """The leading process's end of a worker. It has a pipe of its own: a worker killed while it writes
    to one that is shared would leave it locked."""

    def __init__(self, store: Store, threads: int, variables: Mapping[str, str]) -> None:
        self.entry: Addressed | None = None
        """what it is doing"""
        self._pipe, theirs = SPAWN.Pipe()
        self._process = SPAWN.Process(target=_work, args=(theirs, store, threads), daemon=True)
        with _environment({"OMP_NUM_THREADS": str(threads), **variables}):
            self._process.start()
        theirs.close()  # or its death would not end the pipe

    @property
    def signs(self) -> tuple[Connection, int]:
        """To wait for: something was told, or it died. A child of its own could keep the pipe open."""
        return self._pipe, self._process.sentinel

    def give(self, entry: Addressed) -> None:
        self.entry = entry
        with suppress(OSError):  # it has just died, which is noticed when it is listened to
            self._pipe.send(entry)

    def told(self) -> Iterator[tuple[Addressed, Event]]:
        """What it told since the last time, without waiting. It is free after the end of its job."""
        with suppress(EOFError, OSError):  # it died, maybe in the middle of a word
            while self.entry is not None and self._pipe.poll():
                entry, event = self.entry, self._pipe.recv()
                if isinstance(event, Done | Found | Waiting | Failed):
                    self.entry = None
                yield entry, event

    def death(self) -> str | None:
        """How it died; None while it lives."""
        if not wait([self._process.sentinel], timeout=0):
            return None
        self._process.join()  # until then its number counts as that of a running process
        code = self._process.exitcode
        return f"killed by signal {-code}" if code is not None and code < 0 else f"exit code {code}"

    def ask_to_stop(self) -> None:
        """Ask it to stop; what it was doing can be gone on with."""
        self._process.terminate()

    def wait_until_gone(self) -> None:
        """Wait until it is gone, or make it go."""
        self._process.join(LETTING_GO)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()
        self._pipe.close()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """What a process started meanwhile finds before it loads any library."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(pipe: Connection, store: Store, threads: int) -> None:
    """The life of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the keyboard speaks to the leading process
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_follow, daemon=True).start()
    torch.set_num_threads(threads)
    sleep_while_waiting()  # there may be more workers than cores
    with suppress(EOFError, BrokenPipeError):  # nobody listens any more
        while True:
            with closing(attempt(pipe.recv(), store)) as events:
                for event in events:
                    pipe.send(event)


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)  # an exception: claims are released on its way


def _follow() -> None:
    """Do not outlive the leading process: it may be started again and give the same job to another."""
    leading = multiprocessing.parent_process()
    assert leading is not None
    wait([leading.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(LETTING_GO)
    os._exit(1)
