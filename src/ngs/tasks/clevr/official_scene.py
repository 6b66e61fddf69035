"""Scenes as CLEVR's files write them (Johnson et al. 2017), and as we do."""

from sys import float_info
from typing import Any

from ngs.errors import DataError
from ngs.tasks.clevr.scenes import ATTRIBUTES, MOST_OBJECTS, RELATIONS, Scene, Thing, bits_of, objects_in
from ngs.tasks.faults import Field


def as_scene(value: Any) -> Scene:
    """The scene that an official one describes; a DataError names the field at fault.

    Where things are (3d_coords, rotation, pixel_coords, directions) and what the image is called may be left
    out: programs ask for attributes and relations alone.
    """
    scene = Field(value).a(dict, "an object with objects and relationships")
    objects = scene.member("objects").a(list, "a list of objects")
    if len(objects.value) > MOST_OBJECTS:
        raise DataError(f"objects has {len(objects.value)} entries; at most {MOST_OBJECTS} are allowed")
    things = tuple(map(_thing, objects.entries()))
    name = scene.member("image_filename", "")
    name.need(isinstance(name.value, str) and name.value.isprintable(), "a printable text is needed")
    directions = scene.member("directions", {}).a(dict, "an object with a vector for each direction")
    related = scene.member("relationships").a(dict, f"an object with {', '.join(RELATIONS)}")
    return Scene(
        things,
        {relation: _relation(related.member(relation), len(things)) for relation in RELATIONS},
        {direction: vector(directions.member(direction)) for direction in directions.value},
        name.value,
    )


def _thing(thing: Field) -> Thing:
    thing.a(dict, f"an object with {', '.join(ATTRIBUTES)}")
    for attribute, allowed in ATTRIBUTES.items():
        field = thing.member(attribute)
        field.need(field.value in allowed, f"give one of {', '.join(allowed)}")
    return Thing(
        **{attribute: thing.value[attribute] for attribute in ATTRIBUTES},
        position=vector(thing.member("3d_coords", (0, 0, 0))),
        rotation=_number(thing.member("rotation", 0)),
        pixel=vector(thing.member("pixel_coords", (0, 0, 0))),
    )


def _relation(field: Field, count: int) -> tuple[frozenset[int], ...]:
    rows = field.a(list, "a list for each object").entries()
    if len(rows) != count:
        raise DataError(f"{field.place} has {len(rows)} lists; one for each of the {count} objects is needed")
    return tuple(_related(row, k, count) for k, row in enumerate(rows))


def _related(field: Field, k: int, count: int) -> frozenset[int]:
    row = field.a(list, "a list of numbers of objects").value
    field.need(all(type(other) is int for other in row), "a list of numbers of objects is needed")
    field.need(all(0 <= other < count for other in row), f"the objects are 0 to {count - 1}")
    field.need(k not in row, "an object is not related to itself")
    return objects_in(bits_of(set(row)))


def vector(field: Field) -> tuple[float, float, float]:
    """The three numbers in a field; a DataError names it where they are none."""
    three = isinstance(field.value, list | tuple) and len(field.value) == 3
    field.need(three, "a list of three numbers is needed")
    x, y, z = map(_number, field.entries())
    return x, y, z


def _number(field: Field) -> float:
    number = field.value
    field.need(isinstance(number, int | float) and not isinstance(number, bool), "a number is needed")
    field.need(abs(number) <= float_info.max, "a number of 64 bits is needed")
    return float(number)


def scene_to_official(scene: Scene, image_index: int) -> dict[str, Any]:
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
        **thing.attributes,
        "3d_coords": list(thing.position),
        "rotation": thing.rotation,
        "pixel_coords": [round(column), round(row), distance],
    }
