"""What threads needed for a moment goes back to the system."""

import platform
import subprocess
import sys

import pytest

SCRIPT = """
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


def kept(first: str) -> float:
    """Megabytes that a process has more than before, after threads used 450."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(first)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library, with ways of its own")
def test_it_is_given_back() -> None:
    assert kept("give_back()") < 60 < 300 < kept("")
