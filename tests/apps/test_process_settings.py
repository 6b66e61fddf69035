"""What is settled before PyTorch is loaded, or by whoever said something; memory that is given back."""

import os
import platform
import subprocess
import sys

import pytest

SPINS = "import ngs.apps, os, sys; print(os.environ['GOMP_SPINCOUNT'], 'torch' in sys.modules)"

NEEDS = """
import threading, numpy, psutil, ngs.apps
from ngs.apps import give_back

{}
own = lambda: psutil.Process().memory_info().rss / 1e6
before = own()
together = threading.Barrier(8)

def work():
    together.wait()
    pieces = [numpy.ones(5_000_000), *(numpy.ones(10_000) for _ in range(200))]  # 40 MB, and 16 in small ones
    together.wait()

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(own() - before)
"""


def printed(program: str, **variables: str) -> list[str]:
    """The words that a program of Python prints."""
    done = subprocess.run(
        [sys.executable, "-c", program], env=variables or None, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize("said, kept", [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7")])
def test_threads_spin_for_a_moment(said: dict[str, str], kept: str) -> None:
    unsaid = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    assert printed(SPINS, **unsaid, **said) == [kept, "False"]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library, with ways of its own")
def test_memory_that_threads_needed_for_a_moment_is_given_back() -> None:
    """Megabytes that a process has more than before, after threads used 450."""
    given_back, kept = (float(*printed(NEEDS.format(first))) for first in ("give_back()", ""))
    assert given_back < 60 < 300 < kept
