"""Kernels for GPUs in Triton. All of them are optional: a plain engine beside each gives the same.

Read first: `legal_symbols.py`, the smallest.

| module | what its kernels do | called by |
|---|---|---|
| `chart` | totals, marginals, best sentence and samples of a small chart | `ngs.parsing.derivations` |
| `legal_symbols` | which symbols may come next in given sentences | `ngs.grammar.constraint` |
| `program_rules` | the same for CLEVR, as functions for other kernels | `ngs.tasks.clevr.language` |
| `program_execution` | answers of CLEVR programs | `ngs.tasks.clevr.batched_execution` |
| `lstm` | a layer of an LSTM over all time, forwards and backwards | `ngs.networks.pointer` |
| `decoder` | a pointer network's decoder from the first symbol to the last | `ngs.networks.pointer_kernels` |
| `sequence_log_probs` | log p of given sentences under such a decoder | `ngs.networks.pointer_kernels` |
| `tiles` | what the three for networks share | |

They take and return tensors and plain numbers, and import nothing else of NGS. Symbols are given by their
ids, with -1 after the end of a sentence. A kernel that makes a whole run (`make gpu-check`) less than 1.3
times as fast is to be deleted; at this commit none has been measured on a GPU.

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
