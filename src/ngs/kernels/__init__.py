"""Kernels for GPUs in Triton. All of them are optional: a plain engine beside each gives the same.

Read first: `program_execution.py`.

| module | what its kernels do | called by |
|---|---|---|
| `program_rules` | which CLEVR module may come next, for other kernels | `ngs.tasks.clevr.language` |
| `program_execution` | answers of CLEVR programs | `ngs.tasks.clevr.batched_execution` |
| `lstm` | a layer of an LSTM over all time, forwards and backwards | `ngs.networks.pointer` |
| `decoder` | a pointer network's decoder from the first symbol to the last | `ngs.networks.pointer_kernels` |
| `sequence_log_probs` | log p of given sentences under such a decoder | `ngs.networks.pointer_kernels` |
| `tiles` | what the three for networks share | |

They take and return tensors and plain numbers, and import nothing else of NGS. Symbols are given by their
ids, with -1 after the end of a sentence. Each kernel makes some run that people make at least 1.3 times as
fast (`make gpu-check`; docs/benchmarks.md has the figures). One that does not is deleted.

Whoever has a kernel and a plain engine asks `available`. The environment variable NGS_KERNELS turns kernels
off: it holds the names of those to use, separated by commas, or `off`.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

from torch import Tensor

HAS_TRITON = find_spec("triton") is not None
"""It comes with PyTorch for GPUs, on Linux, and needs a C compiler."""


def available(name: str, tensor: Tensor) -> bool:
    """Whether the kernel of this name is to be used on the device of a tensor."""
    wanted = os.environ.get("NGS_KERNELS")
    return tensor.is_cuda and HAS_TRITON and (wanted is None or name in wanted.split(","))
