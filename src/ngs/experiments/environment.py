"""What a run ran on: versions, machine and commit, kept with its results."""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import torch

PACKAGES = ("ngs", "torch", "numpy", "lark", "accelerate", "safetensors")


def environment(device: torch.device) -> dict[str, object]:
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "packages": {package: _version(package) for package in PACKAGES},
        "commit": commit(),
        "command": ["ngs", *sys.argv[1:]],
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except ModuleNotFoundError:  # run from a source tree
        return None


def commit() -> str | None:
    """The commit of the source tree this runs from, with `+` where files differ from it; None outside one."""
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(here), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--", str(here)) else "")
    except (OSError, subprocess.CalledProcessError):
        return None
