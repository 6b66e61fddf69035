"""Options of several commands: a run, its task, a configuration with an option for each field, a device."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import Field, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ngs.errors import NGSError

if TYPE_CHECKING:
    import torch

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, as `ngs train` makes it.")]
TaskOption = Annotated[
    str | None,
    typer.Option(
        "--task", metavar="FILE", help="The file of the task, where that is not installed: my_task.py."
    ),
]


def option(default: Any, help: str, *names: str, **more: Any) -> Any:
    """A field of a configuration, with what Typer is told of its option: other names, the least value."""
    return field(default=default, metadata={"option": {"names": names, "help": help, **more}})


def with_options(command: Callable[..., None], configuration: type[Any]) -> Callable[..., None]:
    """`command(config, **others)` as Typer shows it with the fields of `configuration`.

    `lengths: tuple[int, ...]` becomes an option that may be given several times.
    """
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    if taken := {each.name for each in own} & {field.name for field in fields(configuration)}:
        raise NGSError(
            f"the settings have a field `{min(taken)}`, and the command has such an option of its own; "
            f"name the field otherwise"
        )
    hints = get_type_hints(configuration)
    parameters = [*own, *(_parameter(field, hints[field.name]) for field in fields(configuration))]

    def filled(**given: Any) -> None:
        values = {field.name: given.pop(field.name) for field in fields(configuration)}
        values = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
        command(configuration(**values), **given)

    filled.__doc__ = command.__doc__
    filled.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    filled.__annotations__ = {p.name: p.annotation for p in parameters}
    return filled


def _parameter(field: Field[Any], hint: Any) -> inspect.Parameter:
    kind: Any = list[int] if hint == tuple[int, ...] else hint
    default = list(field.default) if isinstance(field.default, tuple) else field.default
    told = dict(field.metadata.get("option", {}))
    annotation = Annotated[kind, typer.Option(*told.pop("names", ()), **told)]
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def device_of(name: str) -> torch.device:
    """One that is there."""
    import torch

    try:
        device = torch.device(name)
    except RuntimeError:
        raise NGSError(f"the device is {name!r}, which PyTorch does not know; give cpu or cuda") from None
    there = torch.cuda.device_count() if device.type == "cuda" else int(device.type == "cpu")
    if (device.index or 0) >= there:
        raise NGSError(f"the device is {name}, and PyTorch finds none here; give --device cpu")
    return device
