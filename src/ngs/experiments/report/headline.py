"""The top of a page: what was learned how, and how well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ngs.experiments.config import Training
from ngs.experiments.report.markup import Html, badge, element, note, percent
from ngs.experiments.report.outcome import Run, Shares


def title(run: Run[Training], data: str, *, task: str, lede: str, of: str) -> Iterator[Html]:
    """The task, the method and the data in large letters; `of` says how many steps were to come."""
    state = [] if run.result else [" ", badge("warn", "unfinished")]
    yield element("p", task, class_="eyebrow")
    yield element("h1", run.config.method, element("small", " on "), data, *state)
    yield element("p", lede, class_="lede")
    if run.result is None:
        yield note(f"Unfinished: {run.steps:,} steps{of}, and no result yet. What follows is preliminary.")


def headline(
    run: Run[Training],
    step: int,
    test: Shares,
    examples: str,
    labels: Mapping[str, str],
    right: str = "answers right",
) -> Html:
    """The numbers of the network of some step on the test part.

    `examples` says what that part consists of and `right` what counts; `labels` are shares of `test`, and
    what is right in each.
    """
    memory = None if run.result is None else run.result.peak_memory_mb
    two = [_tile(what, percent(test.labels[name]), "test part") for name, what in labels.items()]
    costs = [
        _tile("training", f"{run.seconds:,.1f} s", "without validation"),
        _tile("chosen step", f"{step:,}", f"of {run.steps:,}, by validation"),
        _tile("peak memory", "–" if memory is None else f"{memory:,.0f} MB", "of the process"),
    ]
    cards = [element("div", *two, class_="card second"), *(element("div", c, class_="card") for c in costs)]
    return element("div", _answers(test, examples, right), *cards, class_="headline")


def _answers(test: Shares, examples: str, right: str) -> Html:
    """The number that counts, with its interval in words and on a line from 0 to 1."""
    low, high = test.interval
    ends = {"--low": low, "--high": high, "--at": test.answers or 0}
    style = ";".join(f"{name}:{100 * share:.2f}%" for name, share in ends.items())
    line = element(
        "div", element("i", class_="range"), element("i", class_="point"), class_="interval", style=style
    )
    interval = f"95% interval {percent(low)} to {percent(high)} (Wilson)"
    return element(
        "div",
        _tile(
            f"{right}, test part ({test.examples:,} {examples})",
            percent(test.answers),
            f"{test.right:,} of {test.examples:,}; {interval}",
        ),
        line,
        element("div", *(element("span", end) for end in ("0%", "50%", "100%")), class_="scale"),
        class_="card first",
    )


def _tile(name: str, value: str, more: str) -> Html:
    return element("dl", element("dt", name), element("dd", value, element("small", more)))
