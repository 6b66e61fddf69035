"""Tensors and facts in one file, written whole or not at all, and refused when damaged.

Safetensors, so that loading runs no code and maps the file into memory; the header also holds what kind of
file it is and a digest of the content.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ngs.errors import DataError

VERSION = "1"


def save(path: Path, kind: str, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write `path` in one step: whoever looks sees the old file or the new one, even after a crash."""
    # contiguous copies of views, since two names for one memory are not allowed in the file
    own = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    text = json.dumps(dict(facts), sort_keys=True)
    metadata = {"kind": kind, "version": VERSION, "facts": text, "digest": digest(own, text)}
    with replacing(path) as temporary:
        save_file(own, temporary, metadata)


def load(path: Path, kind: str, *, device: torch.device | str = "cpu") -> tuple[dict[str, Tensor], Any]:
    """The tensors and facts of a file that `save` wrote as `kind`; a DataError naming it otherwise."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    try:
        with safe_open(path, "pt", device="cpu") as file:
            metadata = file.metadata() or {}
            if metadata.get("kind") != kind:
                found = metadata.get("kind", "something else")
                raise DataError(f"{path} holds {found}, not {kind}; give a file made as {kind}")
            if metadata.get("version") != VERSION:
                found = metadata.get("version")
                raise DataError(f"{path} has format {found}, this program reads {VERSION}; make it again")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise DataError(f"{path} is damaged or not a file of ours ({error}); make it again") from None
    if digest(tensors, metadata["facts"]) != metadata["digest"]:
        raise DataError(f"{path} is damaged: its content does not match its digest; make it again")
    return {name: tensor.to(device) for name, tensor in tensors.items()}, json.loads(metadata["facts"])


def digest(tensors: Mapping[str, Tensor], text: str) -> str:
    """Of names, types, shapes and bytes."""
    hasher = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        hasher.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        if tensor.numel():
            hasher.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return hasher.hexdigest()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file that becomes `path` when all went well, and vanishes when not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
