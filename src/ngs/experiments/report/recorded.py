"""Sections that need nothing but the record of a run: how it learned, and what ran."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from ngs.experiments.config import Training
from ngs.experiments.report.curves import POINTS, charts
from ngs.experiments.report.markup import Html, element, note, table_line
from ngs.experiments.report.outcome import Run

Section = tuple[str, str, Iterable[Html]]
"""The name of an anchor, a title, and what stands under it."""


def about(run: Run[Training], data: str, *more: str) -> Html:
    """What the numbers below are about: data set, method, part."""
    facts = {"data set": data, "method": run.config.method}
    named = [element("span", f"{name} ", element("b", value)) for name, value in facts.items()]
    others = [element("span", text) for text in more]
    return element("p", *named, *others, class_="of")


def page_sections(
    run: Run[Training],
    data: str,
    examples: str,
    first: Iterable[Section] = (),
    then: Iterable[Section] = (),
) -> Iterator[Section]:
    """In the order of the page: what counts about the network, how it learned, more about it, what ran.

    `examples` says what is learned from.
    """
    yield from first
    yield "curves", "How it learned", curves(run, data, examples)
    yield from then
    yield "setup", "What ran", setup(run)


def curves(run: Run[Training], data: str, examples: str) -> Iterator[Html]:
    """`examples` says what is learned from."""
    held_out = f"validation part: {run.config.validation:.0%} of the training {examples}, held out"
    yield about(run, data, held_out)
    drawn = [
        element(
            "figure",
            element("figcaption", chart.title, element("small", f", by {chart.time}")),
            chart.key,
            chart.svg,
            class_="card",
        )
        for chart in charts(run.rows, run.result.chosen_step if run.result else None)
    ]
    yield element("div", *drawn, class_="charts") if drawn else note("Nothing is on record yet.")
    if len(run.rows) > POINTS:
        yield element("p", f"Curves of more than {POINTS} records run through means of several.", class_="of")


def setup(run: Run[Training]) -> Iterator[Html]:
    """Configuration, environment, and what to type for the same again."""
    defaults = {field.name: field.default for field in fields(run.config)}
    given = {name: value for name, value in vars(run.config).items() if value != defaults[name]}
    tables = [
        _facts_table("configuration", vars(run.config), given),
        _facts_table("environment", dict(_flat(run.environment)), {}),
    ]
    yield element("div", *(element("div", table, class_="card") for table in tables), class_="pair")
    yield element("h3", "Run it again")
    yield element("pre", element("code", "\n".join(commands(run.config.task, given))))


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
