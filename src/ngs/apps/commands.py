"""Groups of commands, of a table and of the tasks, imported when called: PyTorch takes seconds to import."""

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from ngs.tasks.finding import every
from ngs.tasks.trainable import Trainable


class Commands(TyperGroup):
    """The commands of a table, and those of the tasks."""

    table: ClassVar[Mapping[str, str]]  # by name, where each is: module:function
    by_task: ClassVar[Collection[str]]  # those of the table that a task may have in its own way
    group: ClassVar[str] = ""  # what stands before these names among the commands of a task

    def task_of(self, arguments: Sequence[str]) -> Trainable | None:
        """The task of what a command is given, if that says so."""
        raise NotImplementedError

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self._places())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """As it is listed; tasks are imported only where the table has no such command."""
        place = self.table.get(cmd_name) or self._places().get(cmd_name)
        return None if place is None else TyperCommand(cmd_name, help=_about(place))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, listed, rest = super().resolve_command(ctx, args)
        if listed is None:
            return name, listed, rest
        return name, _loaded(str(name), self._place(str(name), rest)), rest

    def _places(self) -> dict[str, str]:
        """Where each command is: those of the table, then what the tasks add to this group."""
        found = dict(self.table)
        for task in every():
            for called, place in task.commands.items():
                group, _, name = called.rpartition(" ")
                if group == self.group:
                    found.setdefault(name, place)
        return found

    def _place(self, name: str, arguments: Sequence[str]) -> str:
        task = self.task_of(arguments) if name in self.by_task else None
        own = {} if task is None else task.commands
        return own.get(f"{self.group} {name}".strip()) or self.table.get(name) or self._places()[name]


def given(arguments: Sequence[str]) -> list[str]:
    """The arguments that are no options; values of options may be among them."""
    return [each for each in arguments if not each.startswith("-")]


def _about(place: str) -> str | None:
    """What a command says about itself, read from its file where that is possible without running it."""
    module, _, name = place.partition(":")
    spec = find_spec(module)
    if spec is not None and spec.origin is not None:
        for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return ast.get_docstring(node)
    found = getattr(import_module(module), name)
    return found.info.help if isinstance(found, typer.Typer) else found.__doc__


def _loaded(name: str, place: str) -> Any:
    module, _, attribute = place.partition(":")
    found = getattr(import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        return command_of(found, name)
    group = get_group(found)
    group.name = name
    return group


def command_of(function: Callable[..., None], name: str, about: str | None = None) -> Any:
    alone = typer.Typer(add_completion=False)
    alone.command(name, help=about)(function)
    return get_command(alone)


def group_of(kind: type[TyperGroup], about: str, **more: Any) -> typer.Typer:
    """An application whose commands are those of a kind of group."""
    made = typer.Typer(cls=kind, help=about, no_args_is_help=True, pretty_exceptions_enable=False, **more)
    made.callback()(lambda: None)  # without it, Typer makes no group of so few commands
    return made
