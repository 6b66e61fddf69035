"""A split without leaks: the same formulas, written again so that no test image occurs in training."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from random import Random

import torch
from torch import Tensor

from ngs.errors import DataError
from ngs.grammar.padding import PAD
from ngs.tasks.hwf.dataset import GRAMMAR, Formulas, HandwrittenFormulas
from ngs.tasks.hwf.inspection import contents


def leak_free(data: HandwrittenFormulas, random: Random) -> HandwrittenFormulas:
    """`data` with the images of each symbol dealt out anew between training and test.

    Images that agree in every pixel are one; those with two labels are dropped. The test gets a random share
    of each symbol's images, as large as its share of all images was. A formula keeps the images that are on
    its side; others are replaced, first by images that nobody kept, then by all in turn.
    """
    first: dict[int, int] = {}
    # Not of all images: one that no formula uses may carry another label than those that agree with it.
    alike = {
        row: first.setdefault(content, row)
        for row, content in zip(data.used.tolist(), contents(data.images)[data.used].tolist(), strict=True)
    }
    sides = _sides(data, alike, random)
    train, test = (
        _rewritten(part, alike, data.columns.tolist(), side)
        for part, side in zip((data.train, data.test), sides, strict=True)
    )
    rewritten = replace(data, name=f"{data.name}-leak-free", train=train, test=test)
    rows = rewritten.used
    return replace(
        rewritten,
        images=data.images[rows],
        columns=data.columns[rows],
        sources=tuple(data.sources[row] for row in rows.tolist()),
        train=_renumbered(train, rows),
        test=_renumbered(test, rows),
    )


def _sides(
    data: HandwrittenFormulas, alike: Mapping[int, int], random: Random
) -> tuple[list[int], list[int]]:
    """Rows of images for training and for the test; `alike` has the first row with each row's content."""
    train, test = data.train.images, data.test.images
    columns = data.columns.tolist()
    labels: defaultdict[int, set[int]] = defaultdict(set)
    for row, image in alike.items():
        labels[image].add(columns[row])
    in_train, in_test = (set(data.columns[rows].tolist()) for rows in (train, test))
    for_train: list[int] = []
    for_test: list[int] = []
    for column, symbol in enumerate(GRAMMAR.symbols):
        images = sorted(row for row, shown in labels.items() if shown == {column})
        if len(images) < (column in in_train) + (column in in_test):
            raise DataError(
                f"the data set {data.name} has too few images of {symbol} that differ ({len(images)}) "
                f"to give training and test their own; keep the split as published"
            )
        share = round(len(images) * len(test) / max(1, len(train) + len(test)))
        share = min(max(share, column in in_test), len(images) - (column in in_train))
        random.shuffle(images)
        for_test += images[:share]
        for_train += images[share:]
    return for_train, for_test


def _rewritten(
    formulas: Formulas, alike: Mapping[int, int], columns: Sequence[int], side: Sequence[int]
) -> Formulas:
    available = set(side)
    kept = {alike[row] for row in formulas.images.tolist()} & available
    by_column: defaultdict[int, list[int]] = defaultdict(list)
    for row in sorted(side, key=kept.__contains__):  # those that nobody kept come first
        by_column[columns[row]].append(row)
    decks = {column: cycle(rows) for column, rows in by_column.items()}

    where, filled = formulas.where.clone(), formulas.where != PAD
    images = [
        alike[row] if alike[row] in available else next(decks[columns[row]]) for row in where[filled].tolist()
    ]
    where[filled] = torch.tensor(images, dtype=torch.long)
    return replace(formulas, where=where)


def _renumbered(formulas: Formulas, rows: Tensor) -> Formulas:
    where = torch.searchsorted(rows, formulas.where).masked_fill(formulas.where == PAD, PAD)
    return replace(formulas, where=where)
