"""A task by its name, by the file that it is in, or by its module.

    hwf                  a task that comes along, or one of an installed package
    my_task.py           the one task in a file; my_task.py:name where there are several
    my_package.tasks:name

Only what a user names here is ever imported. A run folder names its task, too, but `installed` looks that up
among the tasks that are installed.
"""

import hashlib
import sys
import warnings
from collections.abc import Mapping
from copy import copy
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from ngs.errors import DataError, NGSError
from ngs.tasks import BUILT_IN
from ngs.tasks.trainable import TaskFile, Trainable

GROUP = "ngs.tasks"  # entry points by which other packages add tasks


@cache
def _references() -> Mapping[str, str]:
    added = {point.name: point.value for point in entry_points(group=GROUP)}
    return {**added, **BUILT_IN}


def names() -> tuple[str, ...]:
    """The names of the installed tasks, built-in ones first."""
    return tuple(dict.fromkeys((*BUILT_IN, *_references())))


def every() -> list[Trainable]:
    """The installed tasks, built-in ones first; one that cannot be imported is skipped with a warning."""
    found = []
    for name in names():
        try:
            found.append(installed(name))
        except NGSError as error:
            warnings.warn(str(error), stacklevel=2)
    return [task for task in found if task is not None]


def installed(name: str) -> Trainable | None:
    """The installed task of this name, if there is one."""
    if name not in _references():
        return None
    reference = _references()[name]
    module, _, attribute = reference.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except Exception as error:  # an import can raise anything
        raise NGSError(
            f"the task {name!r} is installed as {reference}, which cannot be imported "
            f"({type(error).__name__}: {error}); install its package again"
        ) from error
    task = _checked(found, f"the entry point {name!r}")
    if task.name != name:  # a run knows its task by its name
        raise NGSError(f"the entry point {name!r} is the task {task.name!r}; give both the same name")
    return task


def find(text: str) -> Trainable:
    """The task of this name, file or module."""
    if (found := installed(text)) is not None:
        return found
    place, _, attribute = text.partition(":")
    if place.endswith(".py"):
        path = Path(place)
        return _with_file(_task_in(_module_at(path), attribute, place), path)
    if attribute:
        try:
            module = import_module(place)
        except ModuleNotFoundError as error:
            raise NGSError(f"{text}: {error}; give a module that Python finds, or a file") from None
        return _task_in(module, attribute, place)
    raise NGSError(
        f"there is no task {text!r}; choose from {', '.join(names())}, or give a file such as my_task.py or "
        f"a module such as my_package.tasks:name"
    )


def _module_at(path: Path) -> ModuleType:
    if not path.is_file():
        raise DataError(f"{path}: there is no such file; give the file that a task is in")
    name = f"ngs_task_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # of a file that ends with .py
    module = sys.modules[name] = module_from_spec(spec)  # first: dataclasses look their module up
    beside = str(path.resolve().parent)
    if beside not in sys.path:
        sys.path.insert(0, beside)  # as for a script
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _task_in(module: ModuleType, attribute: str, place: str) -> Trainable:
    if attribute:
        if not hasattr(module, attribute):
            raise NGSError(f"{place} has no {attribute!r}; give the name of a task that it defines")
        return _checked(getattr(module, attribute), f"{place}:{attribute}")
    found = {name: value for name, value in vars(module).items() if isinstance(value, Trainable)}
    if not found:
        raise NGSError(f"{place} has no task; make one with ngs.Task(...)")
    if len({id(value) for value in found.values()}) > 1:
        raise NGSError(f"{place} has the tasks {', '.join(found)}; say which: {place}:NAME")
    return next(iter(found.values()))


def _checked(found: Any, where: str) -> Trainable:
    if not isinstance(found, Trainable):
        raise NGSError(
            f"{where} is a {type(found).__name__}; it must be an ngs.Task or another ngs.Trainable"
        )
    return found


def _with_file(task: Trainable, path: Path) -> Trainable:
    found, sha256 = copy(task), hashlib.sha256(path.read_bytes()).hexdigest()
    object.__setattr__(found, "file", TaskFile(path.name, sha256))  # a Task is frozen
    return found
