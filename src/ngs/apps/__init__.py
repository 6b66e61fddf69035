import ctypes
import os
from contextlib import suppress

# Before PyTorch is loaded: threads that have nothing to do spin for a moment and then sleep. To wake them for
# each of the small tensors of a chart takes longer than the work; to let them spin takes the core from others
# that have some. On two cores 64 parses of seven symbols take 8 ms if they sleep at once, 2 ms like this, and
# 1.2 ms if they spin as long as GNU's OpenMP has it; beside a program that uses both cores 4, 11 and
# 1,000 ms, in this order.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

# oneDNN prepares its LSTM for every new number of rows and keeps 1,024 such preparations: 3 GB after 800
# steps of a pointer network, which hardly ever meets the same number twice (torch 2.13).
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")

# A training step allocates and frees the same large tensors every time. By default glibc hands memory of that
# size back to the system, which has to clear it again for the next step.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # the numbers of mallopt's parameters in malloc.h
with suppress(AttributeError, OSError, TypeError):  # another C library
    _libc = ctypes.CDLL(None)
    _libc.mallopt(_MMAP_THRESHOLD, 2**30)
    _libc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
