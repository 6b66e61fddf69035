"""What ran: the configuration and the environment of a run, and what to type for the same again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from ngs.experiments.report.markup import Html, element, table_line
from ngs.experiments.report.outcome import Run


def setup(run: Run) -> Iterator[Html]:
    """Configuration, environment, and what to type for the same again."""
    given = run.config.given
    tables = [
        _facts_table("configuration", vars(run.config), given),
        _facts_table("environment", dict(_flat(run.environment)), {}),
    ]
    yield element("div", *(element("div", table, class_="card") for table in tables), class_="pair")
    yield element("h3", "Run it again")
    yield element("pre", element("code", "\n".join(commands(run.task.name, given))))


def _facts_table(name: str, facts: Mapping[str, Any], given: Mapping[str, Any]) -> Html:
    lines = [
        table_line(key.replace("_", " "), [_fact(value)], "given" if key in given else None)
        for key, value in facts.items()
    ]
    more = [element("small", " bold: not the default")] * bool(given)
    return element("table", element("caption", name, *more), element("tbody", *lines), class_="numbers facts")


def _fact(value: Any) -> str:
    if value is None or value == ():
        return "–"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _flat(facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The packages one by one, and the command as one would type it."""
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from ((str(key), part) for key, part in value.items())
        else:
            yield name, shlex.join(map(str, value)) if isinstance(value, list) else value


def commands(task: str, given: Mapping[str, Any]) -> Iterator[str]:
    """What to type for a run with these settings, the others being the defaults, and for its report."""
    words = ["ngs", "train", task]
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(option if value else option.replace("--", "--no-", 1))
        else:
            for each in value if isinstance(value, tuple) else (value,):
                words += [option, str(each)]
    yield shlex.join([*words, "--out", "again"])
    yield "ngs report again"
