"""The command line `ngs` and the playground in a browser.

Read first: `cli.py`, the list of commands; each is in the file that its name suggests. Those about one
task are in the folder of that task.

    cli.py                 the commands, each imported when it is called
    commands.py            groups of commands: those of a table, and those that the tasks add
    train_commands.py      ngs train: a command for each task
    run_commands.py        ngs evaluate, report, compare: what runs are worth
    reading_commands.py    ngs predict and explain, for tasks that have none of their own
    data_commands.py       ngs data: whose data a file has
    reproduce_commands.py  ngs reproduce and results: the experiments of the catalogue
    bench_command.py       ngs bench: how fast this machine is
    serve                  ngs serve: the playground

Nothing imports from here. The settings in this file must be made before PyTorch is loaded.
"""

import ctypes
import os
from contextlib import suppress

# Idle threads spin for a moment and then sleep. To wake them for each small tensor of a chart takes longer
# than the work; to let them spin takes the core from others. On two cores 64 parses of seven symbols take
# 8 ms if they sleep at once, 2 ms like this, and 1.2 ms if they spin as long as GNU's OpenMP has it; beside a
# program that uses both cores 4, 11 and 1,000 ms.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

# oneDNN prepares its LSTM for every new number of rows and keeps 1,024 such preparations: 3 GB after 800
# steps of a pointer network, which hardly ever meets the same number twice (torch 2.13).
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")


def _set_malloc(**values: int) -> None:
    """How glibc keeps memory: parameters of its `mallopt`, by their names in lower case."""
    numbers = {"trim_threshold": -1, "mmap_threshold": -3, "arena_max": -8}  # in malloc.h
    with suppress(AttributeError, OSError, TypeError):  # another C library
        for name, value in values.items():
            ctypes.CDLL(None).mallopt(numbers[name], value)


# Every training step allocates and frees the same large tensors. By default glibc returns memory of that size
# to the system, which clears it again for the next step.
_set_malloc(mmap_threshold=2**30, trim_threshold=2**31 - 1)


def give_back() -> None:
    """Return a request's memory to the system. Called before there are threads: one heap for all.

    Otherwise a server would keep the most that was ever needed, in each thread: with a few learners, 1 GB.
    """
    _set_malloc(arena_max=1, mmap_threshold=2**17, trim_threshold=2**25)
