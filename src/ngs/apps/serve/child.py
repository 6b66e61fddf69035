"""The playground in a process of its own, on a free port: for whoever looks at it from outside."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ngs.errors import NGSError

STOP_SECONDS = 10.0


@dataclass(frozen=True)
class Served:
    """A server that answers."""

    address: str  # http://127.0.0.1:1234/
    pid: int


@contextmanager
def serving(*options: str) -> Iterator[Served]:
    """`ngs serve` with these options, while it runs."""
    command = [sys.executable, "-m", "ngs.apps.cli", "serve", "--port", "0", *options]
    variables = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables) as server:
        try:
            yield Served(_address(server), server.pid)
        finally:
            server.terminate()
            server.wait(STOP_SECONDS)


def _address(server: subprocess.Popen[str]) -> str:
    said = []
    for line in server.stdout or ():
        said.append(line)
        if found := re.search(r"http://[\w.:\[\]]+/", line):
            return found[0]
    raise NGSError(f"the server ended without saying where it is: {''.join(said)}")
