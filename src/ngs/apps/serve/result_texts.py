"""Experiments that have a record, with their tables as text."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from ngs.apps.serve.messages import Message, part
from ngs.errors import NGSError
from ngs.experiments.catalogue.index import EXPERIMENTS
from ngs.experiments.results.outcome import read_outcome
from ngs.experiments.results.tables import provenance

_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_DRAWING = threading.Lock()
"""Figures are made one at a time: matplotlib does not promise more."""


class ResultText(Message):
    """What is known of an experiment."""

    name: str = part("As `ngs reproduce` calls it.", "clevr-table")
    title: str = part("What it is.")
    about: str = part("What is asked, and with which settings; Markdown.")
    text: str = part("Tables and what they say; Markdown without pictures.")
    done: int = part("Runs that are done.")
    wanted: int = part("Runs that there should be.")


def result_texts(folder: Path) -> Iterator[ResultText]:
    """Of the experiments with a record in the folder, in the order of the catalogue."""
    for name in EXPERIMENTS:
        path = folder / f"{name}.json"
        try:
            changed = path.stat().st_mtime_ns
        except OSError:
            continue
        with _DRAWING:
            yield _shown(name, path, changed)


@lru_cache(maxsize=64)
def _shown(name: str, path: Path, changed: int) -> ResultText:
    """`changed` is when, so that a record is shown again when there is more of it."""
    experiment = EXPERIMENTS[name]
    try:
        outcome = read_outcome(path)
        text = f"{_IMAGE.sub('', experiment.show(outcome).text)}\n\n{provenance(outcome)}"
        done = sum(len(place.runs) for place in outcome.places if not place.instead)
        wanted = sum(place.wanted for place in outcome.places)
    except (NGSError, LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        # A record by hand, or of another version: it must not hide the others.
        text = f"{path.name} cannot be shown ({error}); make it again with `ngs reproduce {name}`"
        done = wanted = 0
    return ResultText(
        name=name,
        title=experiment.title,
        about=experiment.about,
        text=re.sub(r"\n{3,}", "\n\n", text).strip(),
        done=done,
        wanted=wanted,
    )
