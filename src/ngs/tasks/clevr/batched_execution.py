"""What CLEVR programs say about scenes: all programs of a batch at once, on tensors.

A value is one integer: its payload in the low ten bits (a set of objects as a bit mask, the number of an
object or concept, an integer, 0 or 1) and above them one bit for its kind. Every module is then the same
few operations, with numbers of its own, on the last value (its first argument) and on the one that
waits below it on a stack (its second):

    first  = last & mask                              the objects that a filter keeps
    second = below & join                             the objects that a union adds
    last   = values[start + (first & (below | keep) | second)]

`keep` is zero for an intersection, all ones elsewhere; `values` has a part for each module (`start`), and
for each scene where that matters. `mask` and `join` also have the bits of the kinds that a module does not
take, and UNDEFINED is a kind that none takes: a program in which such a bit was ever met has no answer, and
what it goes on to compute does not matter as long as it stays inside the tables.

Nothing takes a truth value, so a comparison can only come first. It hands on its first argument, and is
decided where the answers are looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import ngs.kernels
from ngs.errors import DataError, ShapeError
from ngs.grammar.padding import PAD
from ngs.reasoning.operation import UNDEFINED
from ngs.tasks.clevr.execution import NO_OBJECTS, Type, modules
from ngs.tasks.clevr.program import COLUMN, MODULES
from ngs.tasks.clevr.scenes import ANSWERS, ATTRIBUTES, MOST_OBJECTS, RELATIONS, Scene, bits_of, objects_in
from ngs.tasks.clevr.semantics import FILTERS, TRUTHS, ProgramSemantics, Unique, strict

UNDEFINED_ANSWER = -1  # the answer of a program that is undefined or does not type-check

_SETS = 1 << MOST_OBJECTS
_PAYLOAD = _SETS - 1
_NUMBERS = 16  # at least as many as there are objects, concepts or integers; a power of two


class _Kind(IntEnum):
    """The bits above the payload."""

    OBJECTS = _SETS
    OBJECT = _SETS << 1
    INTEGER = _SETS << 2
    CONCEPT = _SETS << 3
    TRUTH = _SETS << 4
    UNDEFINED = _SETS << 5
    NOTHING = _SETS << 6  # what lies below the first value: behind a program nothing has been computed yet


_KEEP = MOST_OBJECTS + len(_Kind)
_CHANGE = _KEEP + MOST_OBJECTS
"""Bits of a word: first the mask, from _KEEP on `keep`, from _CHANGE on how many more values there are."""

_PAYLOADS = {truth: k for k, truth in enumerate(TRUTHS)}
_CONCEPTS = {value: k for k, value in enumerate(value for values in ATTRIBUTES.values() for value in values)}

_OF_SCENE = (
    "scene",
    *(f"relate[{relation}]" for relation in RELATIONS),
    *(f"same_{attribute}" for attribute in ATTRIBUTES),
    *(f"query_{attribute}" for attribute in ATTRIBUTES),
)
"""Modules whose values depend on the scene: each has a row of MOST_OBJECTS values, by object."""


# What a module does, as far as it is the same in every scene


def _word(name: str) -> int:
    """Mask, keep, and the change in the number of values on the stack."""
    takes = modules()[name].takes
    mask = _others(takes[0]) | (_payloads(takes[0]) - 1) if takes else 0
    keep = 0 if name == "intersect" else _PAYLOAD
    return mask | keep << _KEEP | (1 - len(takes)) << _CHANGE


def _join(name: str) -> int:
    takes = modules()[name].takes
    return _others(takes[1]) | (_PAYLOAD if name == "union" else 0) if len(takes) > 1 else 0


def _others(taken: Type) -> int:
    return sum(kind for kind in _Kind if kind.name != taken.name)


def _payloads(taken: Type) -> int:
    return _SETS if taken is Type.OBJECTS else _NUMBERS


def _values(name: str, unique: Unique) -> tuple[int, ...]:
    """By the payload of the first argument, which many modules hand on; empty where the scene decides."""
    module = modules()[name]
    kind = _Kind[module.gives.name]
    if name in _OF_SCENE:
        return ()
    if module.takes != (Type.OBJECTS,) or module.gives is Type.OBJECTS:
        return tuple(kind | given for given in range(_payloads(module.takes[0])))
    semantics = ProgramSemantics(NO_OBJECTS, unique)
    found = (module.apply(semantics, objects_in(bits)) for bits in range(_SETS))
    return tuple(
        _Kind.UNDEFINED if value is UNDEFINED else kind | _PAYLOADS.get(value, value) for value in found
    )


# By column + 1, so that PAD comes first: it makes nothing of whatever there was.
_WORDS = np.array([_PAYLOAD << _KEEP, *map(_word, MODULES)], dtype=np.int32)
_JOINS = [0, *map(_join, MODULES)]


@cache
def _values_of_actions(unique: Unique) -> Sequence[tuple[int, ...]]:
    return [(_Kind.NOTHING,), *(_values(name, unique) for name in MODULES)]


class SceneTables(NamedTuple):
    """Scenes as the tables that programs are executed with; all int32. An action is a column + 1."""

    words: Tensor
    """[scene, action]: masks with the objects that a filter keeps in the scene, keep, change of the stack"""
    starts: Tensor  # [scene, action]: where in `values` those of the module begin
    values: Tensor
    """the values of modules that are the same in every scene, then those of the others, scene by scene"""
    joins: Tensor  # [action]
    answers: Tensor
    """[action, first, second]: the answer of a program that begins with the module, by the payloads"""

    @classmethod
    def of(cls, scenes: Sequence[Scene], unique: Unique = strict) -> SceneTables:
        """`unique` says which object "the ..." means."""
        concepts, relations, values = _concepts(scenes), _relations(scenes), _values_of_actions(unique)
        shared = [*dict.fromkeys(filter(None, values))]
        tables = (
            _words(concepts),
            _starts(values, shared, len(scenes)),
            np.concatenate([*shared, _values_of_scenes(concepts, relations).ravel(), _SPARE]),
            _JOINS,
            _answers(),
        )
        return cls(*(torch.from_numpy(np.asarray(table, dtype=np.int32)) for table in tables))

    def to(self, device: torch.device | str) -> SceneTables:
        return SceneTables(*(table.to(device) for table in self))


_Numbers = NDArray[np.int32]

_BITS = 1 << np.arange(MOST_OBJECTS, dtype=np.int32)
_SPARE = np.zeros(_NUMBERS - MOST_OBJECTS, dtype=np.int32)  # behind the last object, for garbage to point to


def _concepts(scenes: Sequence[Scene]) -> _Numbers:
    """[scene, attribute, object]: the numbers of concepts, -1 where there is no object."""
    found = np.full((len(scenes), len(ATTRIBUTES), MOST_OBJECTS), -1, dtype=np.int32)
    for number, scene in enumerate(scenes):
        if len(scene.things) > MOST_OBJECTS:
            raise DataError(
                f"scene {number} has {len(scene.things)} objects; give scenes of at most {MOST_OBJECTS}"
            )
        for k, (attribute, values) in enumerate(ATTRIBUTES.items()):
            names = [getattr(thing, attribute) for thing in scene.things]
            for name in set(names).difference(values):
                raise DataError(
                    f"scene {number} has an object of {attribute} {name!r}; there are {', '.join(values)}"
                )
            found[number, k, : len(names)] = [_CONCEPTS[name] for name in names]
    return found


def _relations(scenes: Sequence[Scene]) -> _Numbers:
    """[scene, relation, object]: the objects in this relation to the object, as a bit mask."""
    found = np.zeros((len(scenes), len(RELATIONS), MOST_OBJECTS), dtype=np.int32)
    for number, scene in enumerate(scenes):
        for k, relation in enumerate(RELATIONS):
            found[number, k, : len(scene.things)] = [bits_of(others) for others in scene.relations[relation]]
    return found


def _words(concepts: _Numbers) -> _Numbers:
    """[scene, action]"""
    words = np.repeat(_WORDS[None], len(concepts), 0)
    for module, (attribute, value) in FILTERS.items():
        having = (concepts[:, [*ATTRIBUTES].index(attribute)] == _CONCEPTS[value]) @ _BITS
        words[:, 1 + COLUMN[module]] ^= _PAYLOAD ^ having
    return words


def _starts(values: Sequence[tuple[int, ...]], shared: Sequence[tuple[int, ...]], scenes: int) -> _Numbers:
    """[scene, action]: first come the shared values, then for each scene those of _OF_SCENE."""
    *begins, size = accumulate(map(len, shared), initial=0)
    begin = dict(zip(shared, begins, strict=True))
    own = {1 + COLUMN[name]: size + MOST_OBJECTS * k for k, name in enumerate(_OF_SCENE)}
    starts = [begin[each] if each else own[k] for k, each in enumerate(values)]
    steps = [MOST_OBJECTS * len(_OF_SCENE) * (k in own) for k in range(len(values))]
    return np.array(starts, np.int32) + np.array(steps, np.int32) * np.arange(scenes, dtype=np.int32)[:, None]


def _values_of_scenes(concepts: _Numbers, relations: _Numbers) -> _Numbers:
    """[scene, module of _OF_SCENE, object]; `scene` has its one value at 0."""
    present = concepts[:, :1] >= 0
    other = ~np.eye(MOST_OBJECTS, dtype=bool)
    same = (concepts[..., None] == concepts[:, :, None]) & other
    values = (
        _Kind.OBJECTS | np.broadcast_to(present @ _BITS[:, None], present.shape),
        _Kind.OBJECTS | relations,
        _Kind.OBJECTS | (same @ _BITS),
        _Kind.CONCEPT | np.maximum(concepts, 0),
    )
    return np.concatenate(values, axis=1)


def _answers() -> _Numbers:
    """[action, first, second]"""
    answers = np.full((1 + len(MODULES), _NUMBERS, _NUMBERS), UNDEFINED_ANSWER, dtype=np.int32)
    for name, module in modules().items():
        named, of_module = _NAMED.get(module.gives, ()), answers[1 + COLUMN[name]]
        if named == TRUTHS and len(module.takes) == 2:
            for payloads in np.ndindex(*of_module.shape):
                of_module[payloads] = ANSWERS.index(module.apply(ProgramSemantics(NO_OBJECTS), *payloads))
        else:
            for payload, value in enumerate(named):
                of_module[payload] = ANSWERS.index(str(value))
    return answers


_NAMED: Mapping[Type, Sequence[object]] = {
    Type.INTEGER: range(MOST_OBJECTS + 1),
    Type.CONCEPT: tuple(_CONCEPTS),
    Type.TRUTH: TRUTHS,
}


def execute_batch(tables: SceneTables, columns: Tensor, scenes: Tensor) -> Tensor:
    """The answers, int64 [program], as indices into ANSWERS; UNDEFINED_ANSWER where there is none.

    `columns` [program, time] are modules in prefix notation, PAD behind the end; `scenes` [program] says
    about which scene of the `tables` each program is.
    """
    _check(tables, columns, scenes)
    if not columns.numel():
        return torch.full_like(scenes, UNDEFINED_ANSWER, dtype=torch.int64)
    if columns.device.type in ngs.kernels.DEVICES["program_execution"]:
        from ngs.kernels.program_execution import executed

        return executed(tables, columns, scenes, _CONSTANTS)
    actions = columns.to(torch.int16) - PAD
    return _execute(tables, actions, scenes.int())


@dataclass(frozen=True, eq=False)
class SceneJudge:
    """Whether programs give the recorded answers to questions."""

    tables: SceneTables
    scenes: Tensor  # [question]
    answers: Tensor  # [question]

    def __call__(self, questions: Tensor, programs: Tensor) -> Tensor:
        if programs.device.type not in ngs.kernels.DEVICES["program_execution"] or not programs.numel():
            return execute_batch(self.tables, programs, self.scenes[questions]) == self.answers[questions]
        from ngs.kernels.program_execution import executed

        _check_shapes("questions", programs, questions)
        return executed(self.tables, programs, self.scenes, _CONSTANTS, (questions, self.answers))


_CONSTANTS = {
    "ACTIONS": 1 + len(MODULES),
    "KEEP": _KEEP,
    "CHANGE": _CHANGE,
    "PAYLOAD": _PAYLOAD,
    "NUMBERS": _NUMBERS,
    "NOTHING": int(_Kind.NOTHING),
    "NO_ANSWER": UNDEFINED_ANSWER,
}
"""What kernels have to know of the above."""


def _execute(tables: SceneTables, actions: Tensor, scenes: Tensor) -> Tensor:
    """`actions` [program, time]"""
    programs, time = actions.shape
    # As many rows up and down from the bottom as a program has modules: none gets past the ends. Under the
    # bottom are only programs that were refused before, so what is in the stack at first does not matter.
    stack = scenes.new_empty((2 * time + 2) * programs)
    bottom = torch.arange(time * programs, (time + 1) * programs, dtype=torch.int32, device=scenes.device)
    place = bottom.clone()  # of the value below the last; that of the last is one row on
    last = torch.full_like(scenes, _Kind.NOTHING)
    refused, rows = torch.zeros_like(scenes), scenes * (1 + len(MODULES))
    words, starts = tables.words.view(-1), tables.starts.view(-1)
    for t in reversed(range(time)):
        action = actions[:, t].int()
        cell = rows + action
        below = stack.index_select(0, place)
        stack[programs:].scatter_(0, place.long(), last)
        word = words.index_select(0, cell)
        first = last & word
        second = below & tables.joins.index_select(0, action)
        refused |= first | second
        payload = (first & (below | word >> _KEEP) | second) & _PAYLOAD
        last = tables.values.index_select(0, payload + starts.index_select(0, cell))
        place.add_(word >> _CHANGE, alpha=programs)
    key = (actions[:, 0].int() * _NUMBERS + (last & (_NUMBERS - 1))) * _NUMBERS + (below & (_NUMBERS - 1))
    answers = tables.answers.view(-1).index_select(0, key).long()
    return answers.masked_fill_((refused >= _SETS) | (place != bottom + programs), UNDEFINED_ANSWER)


def _check(tables: SceneTables, columns: Tensor, scenes: Tensor) -> None:
    _check_shapes("scenes", columns, scenes)
    # On other devices, looking at the numbers would be waiting for them.
    if columns.device.type == "cpu" and columns.numel():
        _check_range("columns", columns, PAD, len(MODULES) - 1)
        _check_range("scenes", scenes, 0, len(tables.words) - 1)


def _check_shapes(name: str, columns: Tensor, given: Tensor) -> None:
    if columns.ndim != 2 or given.shape != columns.shape[:1]:
        raise ShapeError(
            f"columns {list(columns.shape)} and {name} {list(given.shape)} do not fit; "
            f"give [program, time] and [program]"
        )


def _check_range(name: str, given: Tensor, least: int, most: int) -> None:
    low, high = (int(bound) for bound in torch.aminmax(given))
    if low < least or high > most:
        raise ShapeError(f"the {name} are from {low} to {high}; give numbers from {least} to {most}")
