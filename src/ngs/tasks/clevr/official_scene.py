"""Scenes as CLEVR's files write them (Johnson et al. 2017), and as we do."""

from __future__ import annotations

from collections.abc import Mapping
from sys import float_info
from typing import Any

from ngs.errors import DataError
from ngs.tasks.clevr.scenes import ATTRIBUTES, MOST_OBJECTS, RELATIONS, Scene, Thing, bits_of, objects_in
from ngs.tasks.faults import given, shown

# From official to ours


def as_scene(value: Any) -> Scene:
    """The scene that an official one describes; a DataError names the field at fault.

    Where things are (3d_coords, rotation, pixel_coords, directions) and what the image is called may be left
    out: programs ask for attributes and relations alone.
    """
    if not isinstance(value, dict):
        raise DataError(f"it is {shown(value)}; an object with objects and relationships is needed")
    objects = value.get("objects")
    if not isinstance(objects, list):
        raise DataError(f"objects is {given(value, 'objects')}; a list of objects is needed")
    if len(objects) > MOST_OBJECTS:
        raise DataError(f"objects has {len(objects)} entries; at most {MOST_OBJECTS} are allowed")
    things = tuple(_thing(each, f"objects[{k}]") for k, each in enumerate(objects))
    name = value.get("image_filename", "")
    if not isinstance(name, str) or not (name.isprintable()):
        raise DataError(f"image_filename is {shown(name)}; a printable text is needed")
    return Scene(things, _relations(value, len(things)), _directions(value), name)


def _thing(value: Any, field: str) -> Thing:
    if not isinstance(value, dict):
        raise DataError(f"{field} is {shown(value)}; an object with {', '.join(ATTRIBUTES)} is needed")
    for attribute, allowed in ATTRIBUTES.items():
        if value.get(attribute) not in allowed:
            told = given(value, attribute)
            raise DataError(f"{field}.{attribute} is {told}; give one of {', '.join(allowed)}")
    attributes = {attribute: value[attribute] for attribute in ATTRIBUTES}
    return Thing(
        **attributes,
        position=vector(value.get("3d_coords", (0, 0, 0)), f"{field}.3d_coords"),
        rotation=_number(value.get("rotation", 0), f"{field}.rotation"),
        pixel=vector(value.get("pixel_coords", (0, 0, 0)), f"{field}.pixel_coords"),
    )


def _relations(scene: Mapping[str, Any], count: int) -> dict[str, tuple[frozenset[int], ...]]:
    value = scene.get("relationships")
    if not isinstance(value, dict):
        raise DataError(
            f"relationships is {given(scene, 'relationships')}; "
            f"an object with {', '.join(RELATIONS)} is needed"
        )
    return {relation: _relation(value, relation, count) for relation in RELATIONS}


def _relation(relationships: Mapping[str, Any], relation: str, count: int) -> tuple[frozenset[int], ...]:
    rows = relationships.get(relation)
    field = f"relationships.{relation}"
    if not isinstance(rows, list):
        raise DataError(f"{field} is {given(relationships, relation)}; a list for each object is needed")
    if len(rows) != count:
        raise DataError(f"{field} has {len(rows)} lists; one for each of the {count} objects is needed")
    return tuple(_related(row, f"{field}[{k}]", k, count) for k, row in enumerate(rows))


def _related(row: Any, field: str, k: int, count: int) -> frozenset[int]:
    if not isinstance(row, list) or not all(type(other) is int for other in row):
        raise DataError(f"{field} is {shown(row)}; a list of numbers of objects is needed")
    if not all(0 <= other < count for other in row):
        raise DataError(f"{field} is {shown(row)}; the objects are 0 to {count - 1}")
    if k in row:
        raise DataError(f"{field} is {shown(row)}; an object is not related to itself")
    return objects_in(bits_of(set(row)))


def _directions(scene: Mapping[str, Any]) -> dict[str, tuple[float, float, float]]:
    value = scene.get("directions", {})
    if not isinstance(value, dict):
        raise DataError(f"directions is {shown(value)}; an object with a vector for each direction is needed")
    return {name: vector(each, f"directions.{name}") for name, each in value.items()}


def vector(value: Any, field: str) -> tuple[float, float, float]:
    """The three numbers in a field; a DataError names it where they are none."""
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise DataError(f"{field} is {shown(value)}; a list of three numbers is needed")
    x, y, z = (_number(each, f"{field}[{k}]") for k, each in enumerate(value))
    return x, y, z


def _number(value: Any, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DataError(f"{field} is {shown(value)}; a number is needed")
    if not abs(value) <= float_info.max:
        raise DataError(f"{field} is {shown(value)}; a number of 64 bits is needed")
    return float(value)


# From ours to official


def scene_to_official(scene: Scene, image_index: int) -> dict[str, Any]:
    """A scene as the official files have it."""
    return {
        "image_index": image_index,
        "image_filename": scene.name,
        "objects": [_object(thing) for thing in scene.things],
        "relationships": {
            relation: [sorted(related) for related in scene.relations[relation]] for relation in RELATIONS
        },
        "directions": {name: list(vector) for name, vector in scene.directions.items()},
    }


def _object(thing: Thing) -> dict[str, Any]:
    column, row, distance = thing.pixel
    return {
        **{attribute: getattr(thing, attribute) for attribute in ATTRIBUTES},
        "3d_coords": list(thing.position),
        "rotation": thing.rotation,
        "pixel_coords": [round(column), round(row), distance],
    }
