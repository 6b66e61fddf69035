"""Kernels for GPUs in Triton. All of them are optional: a plain engine beside each gives the same.

Read first: `program_execution.py`.

| module | what its kernels do | called by |
|---|---|---|
| `program_rules` | which CLEVR module may come next, for other kernels | `ngs.tasks.clevr.language` |
| `program_execution` | answers of CLEVR programs | `ngs.tasks.clevr.batched_execution` |
| `lstm` | a layer of an LSTM over all time, forwards and backwards | `ngs.networks.pointer` |
| `decoder` | a pointer network's decoder from the first symbol to the last | `ngs.networks.pointer` |
| `tiles` | what those for networks share | |

They take and return tensors and plain numbers, and import nothing else of NGS. Symbols are ids, with -1 after
the end of a sentence. A kernel that does not make the steps of some real run at least 1.3 times as fast is
deleted (`make gpu-check`; docs/benchmarks.md has the figures).

The environment variable NGS_KERNELS has the names of the kernels to use, separated by commas, or `off`.
"""

import os
from importlib.util import find_spec

HAS_TRITON = find_spec("triton") is not None
"""It comes with PyTorch for GPUs, on Linux, and needs a C compiler."""

NAMES = ("decoder", "lstm", "program_execution")
"""Kernels that can be turned off; the other modules are parts of them."""


def devices(wanted: str | None) -> dict[str, tuple[str, ...]]:
    """The types of devices on which each kernel is used, given the names to use: by default all."""
    names = () if wanted == "off" else [name.strip() for name in wanted.split(",")] if wanted else NAMES
    if unknown := sorted(set(names).difference(NAMES)):
        raise ValueError(f"NGS_KERNELS names {', '.join(unknown)}; give `off` or some of {','.join(NAMES)}")
    return {name: ("cuda",) if HAS_TRITON and name in names else () for name in NAMES}


DEVICES = devices(os.environ.get("NGS_KERNELS"))
"""Where each kernel is used: `tensor.device.type in DEVICES["lstm"]`."""
