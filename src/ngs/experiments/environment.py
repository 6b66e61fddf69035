"""The environment of a run: versions, machine and commit, kept with its results."""

import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import torch

from ngs.gpu import products_are_rounded

PACKAGES = ("ngs", "torch", "numpy", "lark", "accelerate", "safetensors")


def environment(device: torch.device, command: Sequence[str] | None = None) -> dict[str, object]:
    """The facts needed to judge a result; `command` is what a person typed."""
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "products": "tf32" if device.type == "cuda" and products_are_rounded() else "float32",
        "threads": torch.get_num_threads(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "packages": {package: _version(package) for package in PACKAGES},
        "commit": commit(),
        "command": None if command is None else list(command),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except ModuleNotFoundError:  # run from a source tree
        return None


def commit() -> str | None:
    """The commit of the source tree, with `+` for uncommitted changes; None outside one."""
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(here), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", __file__)  # or it is the commit of somebody else's project
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--", str(here)) else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def peak_memory_mb() -> float | None:
    """The peak memory of this process; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / 2**20 if sys.platform == "darwin" else peak / 2**10, 1)  # bytes there, else kilobytes
