"""What ran: the configuration and the environment of a run, and what to type for the same again."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ngs.experiments.report.outcome import Run
from ngs.tasks.trainable import Trainable


def settings_of(run: Run) -> list[tuple[str, dict[str, str], Collection[str]]]:
    """Configuration and environment, with the names of what was given."""
    settings = {key: _told(value) for key, value in vars(run.config).items()}
    return [("configuration", settings, run.config.given), ("environment", dict(_flat(run.environment)), ())]


def _told(value: Any) -> str:
    if value is None or value == ():
        return "–"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _flat(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The packages one by one, and the command as one would type it."""
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from ((str(key), _told(part)) for key, part in value.items())
        else:
            yield name, shlex.join(map(str, value)) if isinstance(value, list) else _told(value)


def commands(task: Trainable, given: Mapping[str, Any]) -> Iterator[str]:
    """What to type for a run with these settings, the others being the defaults, and for its report."""
    words = ["ngs", "train", task.called]
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(option if value else option.replace("--", "--no-", 1))
        else:
            for each in value if isinstance(value, tuple) else (value,):
                words += [option, str(each)]
    yield shlex.join([*words, "--out", "again"])
    yield shlex.join(["ngs", "report", "again", *task.option])
