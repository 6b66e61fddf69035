"""Scenes as tensors and back: object by object, one scene behind the other."""

import json
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from ngs.learning.packed_file import Column, Contents, Group, texts
from ngs.tasks.clevr.scene_sampling import triple
from ngs.tasks.clevr.scenes import ATTRIBUTES, MOST_OBJECTS, RELATIONS, Scene, Thing, bits_of, objects_in

VALUES = tuple(map(len, ATTRIBUTES.values()))


def _objects(contents: Contents, _: object) -> Iterator[str]:
    counts = contents["scenes.counts"].long()
    relations = contents["things.relations"].long()
    if int(counts.sum()) != len(relations):
        yield f"the scenes have {int(counts.sum())} objects, but there are {len(relations)}"
    own = torch.cat([torch.arange(number) for number in counts.tolist()] or [counts])
    outside = (relations < 0) | (relations >= (1 << counts.repeat_interleave(counts))[:, None])
    if outside.any() or (relations >> own[:, None] & 1).any():
        yield "an object is related to one that is not in its scene, or to itself"


def _axes(contents: Contents, _: object) -> Iterator[str]:
    try:
        for text in contents["scenes.directions"]:
            _directions(text)
    except (ValueError, TypeError, AttributeError, RecursionError):
        yield "the directions are no vectors"


SCENES = Group(
    {
        "scenes.counts": Column(torch.int8, ("scenes",), 0, MOST_OBJECTS + 1),
        "scenes.names": texts("scenes"),
        "scenes.directions": texts("directions"),
        "scenes.seen_from": Column(torch.int32, ("scenes",), 0, "directions"),
        "things.attributes": Column(torch.int8, ("objects", len(ATTRIBUTES)), 0, VALUES),
        "things.relations": Column(torch.int16, ("objects", len(RELATIONS))),
        "things.positions": Column(torch.float64, ("objects", 3)),
        "things.rotations": Column(torch.float64, ("objects",)),
        "things.pixels": Column(torch.float64, ("objects", 3)),
    },
    [_objects, _axes],
)
"""`counts` has the number of objects of each scene, `attributes` number the values in the order of
ATTRIBUTES, `relations` has a bit for each related object; `seen_from` numbers the distinct directions,
which are JSON."""


def contents_of(scenes: Sequence[Scene]) -> Contents:
    things = [thing for scene in scenes for thing in scene.things]
    attributes = [[v.index(getattr(thing, name)) for name, v in ATTRIBUTES.items()] for thing in things]
    related = [
        [bits_of(scene.relations[relation][k]) for relation in RELATIONS]
        for scene in scenes
        for k in range(len(scene.things))
    ]
    directions = [json.dumps(dict(scene.directions)) for scene in scenes]
    distinct = {text: number for number, text in enumerate(dict.fromkeys(directions))}
    return {
        "scenes.counts": torch.tensor([len(scene.things) for scene in scenes], dtype=torch.int8),
        "scenes.names": [scene.name for scene in scenes],
        "scenes.directions": list(distinct),
        "scenes.seen_from": torch.tensor([distinct[text] for text in directions], dtype=torch.int32),
        "things.attributes": _table(attributes, torch.int8, len(ATTRIBUTES)),
        "things.relations": _table(related, torch.int16, len(RELATIONS)),
        "things.positions": _table([thing.position for thing in things], torch.float64, 3),
        "things.rotations": torch.tensor([thing.rotation for thing in things], dtype=torch.float64),
        "things.pixels": _table([thing.pixel for thing in things], torch.float64, 3),
    }


def _table(rows: Sequence[Sequence[float]], dtype: torch.dtype, columns: int) -> Tensor:
    return torch.tensor(rows, dtype=dtype).reshape(-1, columns)


def scenes_of(contents: Contents) -> Iterator[Scene]:
    columns = zip(ATTRIBUTES.values(), contents["things.attributes"].T.tolist(), strict=True)
    words = ([values[k] for k in column] for values, column in columns)
    places, pixels = (map(triple, contents[f"things.{name}"].tolist()) for name in ("positions", "pixels"))
    things = tuple(map(Thing, *words, places, contents["things.rotations"].tolist(), pixels))
    relations = contents["things.relations"].tolist()
    directions = [_directions(text) for text in contents["scenes.directions"]]
    counts, seen_from = (contents[f"scenes.{name}"].tolist() for name in ("counts", "seen_from"))
    begin = 0
    for count, name, axes in zip(counts, contents["scenes.names"], seen_from, strict=True):
        here = slice(begin, begin + count)
        related = {
            relation: tuple(objects_in(bits[r]) for bits in relations[here])
            for r, relation in enumerate(RELATIONS)
        }
        yield Scene(things[here], related, directions[axes], name)
        begin += count


def _directions(text: str) -> dict[str, tuple[float, float, float]]:
    return {name: (float(x), float(y), float(z)) for name, (x, y, z) in json.loads(text).items()}
