"""The files in the folder of a run.

config.json              what was asked for
environment.json         what it ran on
metrics.jsonl            the curves; tensorboard/ holds the same
checkpoint.safetensors   everything needed to go on
early.safetensors        the network at its first validation
best.safetensors         the network that was best on the validation part
result.json              how good that network is on the test part
report.html              all of it to look at, once `ngs report` was asked

A folder is read, never run: its task is looked up among those that are installed, or given by the user.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from torch import nn

from ngs.errors import DataError
from ngs.learning import tensor_file
from ngs.tasks.finding import installed, names
from ngs.tasks.settings import RunSettings
from ngs.tasks.trainable import Trainable

CHECKPOINT, EARLY, BEST = "checkpoint.safetensors", "early.safetensors", "best.safetensors"
CONFIG, ENVIRONMENT, RESULT, REPORT = "config.json", "environment.json", "result.json", "report.html"
METRICS, TENSORBOARD = "metrics.jsonl", "tensorboard"
A_CHECKPOINT, A_NETWORK = "an NGS checkpoint", "a trained NGS network"
DATA = "data"  # the name of the digest of the training data among the facts of a network
MOST_BYTES = 2**26  # of a JSON file
TASK, TASK_FILE = "task", "task_file"  # the names of the task and its file in the configuration

NetworkT = TypeVar("NetworkT", bound=nn.Module)
SettingsT = TypeVar("SettingsT", bound=RunSettings)


class Configured(NamedTuple):
    """A task with the settings of a run."""

    task: Trainable
    settings: Any

    def as_facts(self) -> dict[str, Any]:
        """For JSON."""
        file = {} if self.task.file is None else {TASK_FILE: asdict(self.task.file)}
        return {TASK: self.task.name, **file, **self.settings.as_facts()}


def remove(folder: Path) -> None:
    """Delete the files of a run, and nothing else in its folder."""
    for name in (CONFIG, ENVIRONMENT, METRICS, CHECKPOINT, EARLY, BEST, RESULT, REPORT):
        (folder / name).unlink(missing_ok=True)
    for events in (folder / TENSORBOARD).glob("events.out.tfevents.*"):
        events.unlink(missing_ok=True)  # another process of the run may have been quicker


def network_of(run: Path) -> Path:
    """The file of a run's best network, or `run` itself if it is a file."""
    return run if run.is_file() else run / BEST


def load_config(run: Path, task: Trainable | None = None) -> Configured:
    """The task and the settings of the run in a folder, or behind a file of weights.

    `task` is needed if the run's own is not installed.
    """
    if not run.is_file():
        return configured(read_facts(run / CONFIG), run / CONFIG, task)
    _, facts = tensor_file.load(run, A_NETWORK, "give the folder of a run, or a file that `ngs weights` made")
    return configured(facts.get("config"), run, task)


def task_name(run: Path) -> str:
    """The name of a run's task."""
    facts = read_facts(run / CONFIG)
    return str(facts.get(TASK)) if isinstance(facts, dict) else ""


def configured(facts: Any, origin: Path, task: Trainable | None = None) -> Configured:
    """The task and the settings in the facts of a configuration."""
    facts = facts if isinstance(facts, dict) else {}
    name = facts.get(TASK)
    found = task or _task_of(name, facts.get(TASK_FILE), origin)
    if found.name != name:
        raise DataError(f"{origin} is of the task {name!r}, and {found.name!r} was given; give its own task")
    values: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in facts.items() if k not in (TASK, TASK_FILE)
    }
    if unknown := values.keys() - {field.name for field in fields(found.settings)}:
        made = "version" if found.file is None else found.called
        raise DataError(
            f"{origin} has settings that are unknown here: {', '.join(map(repr, sorted(unknown)))}; use the "
            f"{made} it was made with, or train anew"
        )
    try:
        return Configured(found, found.settings(**values))
    except TypeError as error:
        raise DataError(f"{origin} is no configuration of `ngs train {name}` ({error})") from None


def _task_of(name: Any, file: Any, origin: Path) -> Trainable:
    """The installed task in a configuration."""
    if not isinstance(name, str):
        raise DataError(
            f"{origin} is no configuration of `ngs train`: its task is {name!r}, and there are "
            f"{', '.join(names())}; restore it, or train anew"
        )
    if file is None and (found := installed(name)) is not None:
        return found
    where = file.get("name") if isinstance(file, dict) else None
    known = f"it is in {where!r}" if isinstance(where, str) else f"there are {', '.join(names())}"
    raise DataError(
        f"{origin} is of the task {name!r}, which is not installed ({known}); say where it is with "
        f"--task FILE"
    )


def read_facts(path: Path) -> Any:
    """The JSON in a run's file."""
    if path.exists() and not path.is_file():  # a pipe would never end
        raise DataError(f"{path} is no file; give the folder of a run, as `ngs train` makes it")
    if path.is_file() and path.stat().st_size > MOST_BYTES:
        raise DataError(f"{path} has more than {MOST_BYTES:,} bytes, which no run writes; train anew")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(
            f"{path} cannot be read: {error.strerror or error}; give the folder of a run, as `ngs train` "
            f"makes it"
        ) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is damaged ({error}); restore it, or train anew") from None


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a record, without an unfinished last line."""
    if not path.exists():
        raise DataError(f"{path}: there is no such file; give the folder of a run, as `ngs train` makes it")
    rows: list[dict[str, Any]] = []
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            if number == len(lines):
                break
            raise DataError(f"{path}, line {number} is damaged ({error}); restore it") from None
        if not _is_record(row):
            raise DataError(f"{path}, line {number} is no record of a run; restore it, or train again")
        rows.append(row)
    return rows


def _is_record(row: Any) -> bool:
    return (
        isinstance(row, dict)
        and isinstance(row.get("step"), int)
        and isinstance(row.get("seconds"), int | float)
        and isinstance(row.get("lesson", ""), str)
        and ("loss" not in row or "lesson" in row)
        and all(isinstance(row.get(part, {}), dict) for part in ("validation", "test"))
    )


def settings_for(run: Path, wanted: Trainable, kind: type[SettingsT]) -> SettingsT:
    """The settings, of type `kind`, of a run of this task."""
    if not run.exists():
        raise DataError(f"{run} is no folder; give a run of `ngs train {wanted.name}`, or a file of weights")
    task, settings = load_config(run)
    if task.name != wanted.name or not isinstance(settings, kind):
        raise DataError(
            f"{run} was trained on {task.name}; give a run of `ngs train {wanted.name}`, or a file that "
            f"`ngs weights` made of one"
        )
    return settings


def check_there(run: Path, settings: RunSettings) -> None:
    """Refuse to look for a run's data where they are no longer."""
    if settings.data != type(settings).data and not Path(settings.data).exists():
        raise DataError(
            f"{settings.data}, which {run} was trained on, is not there; run this where it is, or test on "
            f"other data with `ngs evaluate {run} --data FILE`"
        )


def check_data(network: Path, source: str, digest: str) -> None:
    """Refuse other data at `source` than a network was trained on: it may have learned their test part.

    Networks of earlier versions have no digest."""
    _, facts = tensor_file.load(network, A_NETWORK, "train one with `ngs train`")
    if facts.get(DATA, digest) != digest:
        raise changed_data(source, network, "test on other data with `ngs evaluate --data`")


def changed_data(source: str, learned: Path, other: str) -> DataError:
    """An error: the data at `source` (empty: the task's own) have changed; `other` tells what to do."""
    if not source:
        return DataError(
            f"the task's function `data` now makes other examples than {learned} was trained on; undo that "
            f"change, or train anew"
        )
    return DataError(f"{source} is not what {learned} was trained on; put that back, or {other}")


def step_of(path: Path, task: str) -> int:
    """The step of a saved network."""
    _, facts = tensor_file.load(path, A_NETWORK, f"train one with `ngs train {task}`")
    return int(facts["step"])


def read_network(
    path: Path, task: str, needed: Mapping[str, Any], make: Callable[[Any], NetworkT]
) -> tuple[NetworkT, Any]:
    """A trained network, built by `make` from its facts, which must include those needed."""
    tensors, facts = tensor_file.load(path, A_NETWORK, f"train one with `ngs train {task}`")
    for name, value in needed.items():
        if facts.get(name) != value:
            found = f"it has {'other' if name in facts else 'no'} {name}"
            raise DataError(f"{path} is no network of `ngs train {task}`: {found}; train one")
    network = make(facts)
    try:
        network.load_state_dict(tensors)
    except RuntimeError:
        raise DataError(
            f"{path} is of a network that this program builds otherwise; use the version it was trained "
            f"with, or train one with `ngs train {task}`"
        ) from None
    network.eval()
    return network, facts
