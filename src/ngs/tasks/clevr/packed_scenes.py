"""Scenes as tensors and back: object by object, one scene behind the other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import torch
from torch import Tensor

from ngs.tasks.clevr.scenes import ATTRIBUTES, MOST_OBJECTS, RELATIONS, Scene, Thing

LAYOUT: Mapping[str, tuple[torch.dtype, int]] = {
    "scenes.counts": (torch.int8, 1),
    "scenes.names": (torch.uint8, 1),
    "scenes.directions": (torch.uint8, 1),
    "scenes.seen_from": (torch.int32, 1),
    "things.attributes": (torch.int8, 2),
    "things.relations": (torch.int16, 2),
    "things.positions": (torch.float64, 2),
    "things.rotations": (torch.float64, 1),
    "things.pixels": (torch.float64, 2),
}
"""Each tensor with its type and number of dimensions. `counts` has the number of objects of each scene,
`attributes` number the values in the order of ATTRIBUTES, `relations` has a bit for each related object.
Names and distinct directions are JSON in UTF-8; `seen_from` numbers the directions."""

_COLUMNS = {"things.attributes": len(ATTRIBUTES), "things.relations": len(RELATIONS)}
_COLUMNS |= {"things.positions": 3, "things.pixels": 3}


def tensors_of(scenes: Sequence[Scene]) -> dict[str, Tensor]:
    things = [thing for scene in scenes for thing in scene.things]
    directions = [json.dumps(dict(scene.directions)) for scene in scenes]
    distinct = {text: number for number, text in enumerate(dict.fromkeys(directions))}
    return {
        "scenes.counts": torch.tensor([len(scene.things) for scene in scenes], dtype=torch.int8),
        "scenes.names": as_bytes([scene.name for scene in scenes]),
        "scenes.directions": as_bytes(list(distinct)),
        "scenes.seen_from": torch.tensor([distinct[text] for text in directions], dtype=torch.int32),
        "things.attributes": _table([_attributes(thing) for thing in things], torch.int8, len(ATTRIBUTES)),
        "things.relations": _table([row for s in scenes for row in _bits(s)], torch.int16, len(RELATIONS)),
        "things.positions": _table([thing.position for thing in things], torch.float64, 3),
        "things.rotations": torch.tensor([thing.rotation for thing in things], dtype=torch.float64),
        "things.pixels": _table([thing.pixel for thing in things], torch.float64, 3),
    }


def scenes_of(tensors: Mapping[str, Tensor]) -> Iterator[Scene]:
    """From tensors without faults."""
    attributes, positions, rotations, pixels, relations = (
        tensors[f"things.{name}"].tolist()
        for name in ("attributes", "positions", "rotations", "pixels", "relations")
    )
    directions = [_directions(text) for text in as_texts(tensors["scenes.directions"])]
    begin = 0
    rows = zip(
        tensors["scenes.counts"].tolist(),
        as_texts(tensors["scenes.names"]),
        tensors["scenes.seen_from"].tolist(),
        strict=True,
    )
    for count, name, seen_from in rows:
        here = range(begin, begin + count)
        things = tuple(
            Thing(*_values(tuple(attributes[k])), tuple(positions[k]), rotations[k], tuple(pixels[k]))
            for k in here
        )
        related = {
            relation: tuple(_subset(relations[k][r]) for k in here) for r, relation in enumerate(RELATIONS)
        }
        yield Scene(things, related, directions[seen_from], name)
        begin += count


def faults(tensors: Mapping[str, Tensor]) -> Iterator[str]:
    """What keeps tensors of the right types from being scenes."""
    counts, attributes = tensors["scenes.counts"].long(), tensors["things.attributes"]
    if len(counts) and not 0 <= int(counts.min()) <= int(counts.max()) <= MOST_OBJECTS:
        given = f"{int(counts.min())} to {int(counts.max())}"
        yield f"the scenes have {given} objects, and 0 to {MOST_OBJECTS} can be"
    for name in LAYOUT:
        rows = int(counts.sum()) if name.startswith("things.") else len(counts)
        if name == "scenes.directions":
            continue
        found = count(tensors[name]) if name == "scenes.names" else len(tensors[name])
        if found != rows:
            yield f"{name} has {found} entries, and {rows} are needed"
        if name in _COLUMNS and tensors[name].shape[1] != _COLUMNS[name]:
            yield f"{name} has {tensors[name].shape[1]} columns, and {_COLUMNS[name]} are needed"
    limits = torch.tensor([len(values) for values in ATTRIBUTES.values()])
    if ((attributes < 0) | (attributes >= limits)).any():
        yield "an object has an attribute without a name"
    yield from _faults_of_relations(counts, tensors["things.relations"].long())
    yield from _faults_of_directions(tensors)


def _faults_of_relations(counts: Tensor, relations: Tensor) -> Iterator[str]:
    own = torch.cat([torch.arange(number) for number in counts.tolist()] or [counts])
    limits = counts.repeat_interleave(counts)
    outside = (relations < 0) | (relations >= (1 << limits)[:, None])
    if outside.any() or (relations >> own[:, None] & 1).any():
        yield "an object is related to one that is not in its scene, or to itself"


def _faults_of_directions(tensors: Mapping[str, Tensor]) -> Iterator[str]:
    number, seen_from = count(tensors["scenes.directions"]), tensors["scenes.seen_from"]
    try:
        for text in as_texts(tensors["scenes.directions"]):
            _directions(text)
    except (ValueError, TypeError, AttributeError, RecursionError):
        yield "the directions are no vectors"
    if number is None or (len(seen_from) and not 0 <= int(seen_from.min()) <= int(seen_from.max()) < number):
        yield "a scene has directions that are not there"


# Texts in a tensor


def as_bytes(texts: Sequence[str]) -> Tensor:
    return torch.frombuffer(bytearray(json.dumps(texts), "utf-8"), dtype=torch.uint8)


def as_texts(tensor: Tensor) -> tuple[str, ...]:
    return tuple(json.loads(tensor.numpy().tobytes()))


def count(texts: Tensor) -> int | None:
    """How many texts there are; None where these bytes are no list of texts."""
    try:
        found = json.loads(texts.numpy().tobytes())
    except (ValueError, RecursionError):
        return None
    return len(found) if isinstance(found, list) and all(isinstance(text, str) for text in found) else None


# One object


def _attributes(thing: Thing) -> list[int]:
    return [values.index(getattr(thing, attribute)) for attribute, values in ATTRIBUTES.items()]


@cache
def _values(numbers: tuple[int, ...]) -> tuple[str, str, str, str]:
    size, color, material, shape = (
        values[number] for values, number in zip(ATTRIBUTES.values(), numbers, strict=True)
    )
    return size, color, material, shape


def _bits(scene: Scene) -> Iterator[list[int]]:
    for k in range(len(scene.things)):
        yield [sum(1 << other for other in scene.relations[relation][k]) for relation in RELATIONS]


@cache
def _subset(bits: int) -> frozenset[int]:
    return frozenset(k for k in range(MOST_OBJECTS) if bits >> k & 1)


def _directions(text: str) -> dict[str, tuple[float, float, float]]:
    return {name: (float(x), float(y), float(z)) for name, (x, y, z) in json.loads(text).items()}


def _table(rows: Sequence[Sequence[float]], dtype: torch.dtype, columns: int) -> Tensor:
    return torch.tensor(rows, dtype=dtype).reshape(-1, columns)
