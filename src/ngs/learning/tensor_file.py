"""Tensors and facts in one file, written whole or not at all, and refused when damaged.

Safetensors, so that loading runs no code and maps the file into memory; the header has the kind of file and a
SHA-256 of the content.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ngs.errors import DataError
from ngs.learning.whole_file import replacing

VERSION = "1"


def save(path: Path, kind: str, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    own = _apart({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
    description: dict[str, Any] = {"kind": kind, "version": VERSION, "facts": dict(facts)}
    description["sha256"] = checksum(own, description)
    # Under one key, since safetensors writes several in any order: the same content makes the same file.
    text = json.dumps(description, sort_keys=True)
    with replacing(path) as stage:
        stage.touch()
        mode = stage.stat().st_mode
        try:
            save_file(own, stage, {"description": text})  # from where they are: data may be half of memory
        except SafetensorError as error:  # a full disk, above all
            raise OSError(str(error)) from error
        stage.chmod(mode)  # safetensors lets nobody else read what it writes


def _apart(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Each with memory of its own, since two names for one memory are not allowed in the file."""
    own: dict[str, Tensor] = {}
    taken: set[int] = set()
    for name, tensor in tensors.items():
        place = tensor.untyped_storage().data_ptr()
        own[name] = tensor.clone() if place in taken else tensor
        taken.add(place)
    return own


def load(path: Path, kind: str, remedy: str) -> tuple[dict[str, Tensor], Any]:
    """The tensors, mapped and not yet read, and facts of a file that `save` wrote as `kind`."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file; {remedy}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise DataError(f"{path} is cut short, or not {kind} ({error}); {remedy}") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}; {remedy}") from error
    description = _as_object(metadata.get("description", ""))
    if description.get("kind") != kind:
        raise DataError(f"{path} is {description.get('kind', 'something else')}, not {kind}; {remedy}")
    if description.get("version") != VERSION:
        found = description.get("version")
        raise DataError(f"{path} is of version {found}, and {VERSION} is needed; {remedy}")
    stated = description.pop("sha256", None)
    if checksum(tensors, description) != stated:
        raise DataError(f"{path} is damaged: its content does not have the checksum it states; {remedy}")
    return tensors, description["facts"]


def stated_kind(path: Path) -> Any:
    """What a file says that it is; None where it says nothing."""
    try:
        with safe_open(path, framework="pt") as file:
            return _as_object((file.metadata() or {}).get("description", "")).get("kind")
    except (SafetensorError, OSError):
        return None


def checksum(tensors: Mapping[str, Tensor], description: Mapping[str, Any]) -> str:
    """SHA-256 of the description and of each tensor's name, type, shape and bytes."""
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"\n{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        if tensor.numel():
            digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)  # in place: nothing is copied
    return digest.hexdigest()


def _as_object(text: str) -> dict[str, Any]:
    """The JSON object that a text is; an empty one where it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
