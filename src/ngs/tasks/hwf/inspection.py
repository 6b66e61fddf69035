"""What a data set holds: how much of what, and which test images have been seen in training."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ngs.grammar.padding import PAD
from ngs.tasks.hwf.dataset import GRAMMAR, Formulas, HandwrittenFormulas


@dataclass(frozen=True)
class LengthCount:
    """How many formulas have a length."""

    length: int
    train: int
    test: int


@dataclass(frozen=True)
class SymbolCount:
    """How often a symbol is written, and with how many images."""

    symbol: str
    train_written: int
    test_written: int
    train_images: int
    test_images: int
    contents: int
    """images in both parts that differ"""
    leaked: int
    """test images whose content occurs in training, as whatever symbol"""


@dataclass(frozen=True)
class Contradiction:
    """Images that agree in every pixel, but not in the symbol they are said to show."""

    symbol: str
    """what most of them are said to show"""
    agreeing: tuple[str, ...]
    contradicting: tuple[str, ...]
    """the sources of the others"""


@dataclass(frozen=True)
class Inspection:
    """What `inspect` found; images and contents are those that the formulas are written with."""

    name: str
    train_formulas: int
    test_formulas: int
    train_images: int
    test_images: int
    contents: int
    """images that differ"""
    leaked: tuple[str, ...]
    """the sources of test images whose content occurs in training"""
    leaked_formulas: int
    """test formulas written with such an image"""
    lengths: tuple[LengthCount, ...]
    symbols: tuple[SymbolCount, ...]
    contradictions: tuple[Contradiction, ...]


def inspect(data: HandwrittenFormulas) -> Inspection:
    """Counts by length and symbol, leaks and contradictions."""
    content = contents(data.images)
    train, test, both = data.train.images, data.test.images, data.used
    leaks = torch.zeros(len(content), dtype=torch.bool)
    leaks[test] = torch.isin(content[test], content[train])
    return Inspection(
        name=data.name,
        train_formulas=len(data.train),
        test_formulas=len(data.test),
        train_images=len(train),
        test_images=len(test),
        contents=len(torch.unique(content[both])),
        leaked=tuple(data.sources[row] for row in leaks.nonzero().flatten().tolist()),
        leaked_formulas=int((leaks[data.test.where.clamp(min=0)] & (data.test.where != PAD)).any(1).sum()),
        lengths=_lengths(data),
        symbols=_symbols(data, content, leaks),
        contradictions=_contradictions(data, content, both),
    )


def contents(images: Tensor) -> Tensor:
    """[image]: a number for what each image shows, the same where every pixel is."""
    numbers: dict[bytes, int] = {}
    flat = images.flatten(1).numpy()
    return torch.tensor(
        [numbers.setdefault(image.tobytes(), len(numbers)) for image in flat], dtype=torch.long
    )


def _lengths(data: HandwrittenFormulas) -> tuple[LengthCount, ...]:
    train, test = Counter(data.train.lengths.tolist()), Counter(data.test.lengths.tolist())
    return tuple(LengthCount(length, train[length], test[length]) for length in sorted(train | test))


def _symbols(data: HandwrittenFormulas, content: Tensor, leaks: Tensor) -> tuple[SymbolCount, ...]:
    columns = data.columns.long()
    shown = torch.unique(torch.stack([columns, content])[:, data.used], dim=1)[0]

    def counted(of: Tensor) -> Sequence[int]:
        counts: list[int] = torch.bincount(of, minlength=len(GRAMMAR.symbols)).tolist()
        return counts

    def written(formulas: Formulas) -> Sequence[int]:
        return counted(columns[formulas.where[formulas.where != PAD]])

    table = zip(
        GRAMMAR.symbols,
        written(data.train),
        written(data.test),
        counted(columns[data.train.images]),
        counted(columns[data.test.images]),
        counted(shown),
        counted(columns[leaks]),
        strict=True,
    )
    return tuple(SymbolCount(*row) for row in table)


def _contradictions(data: HandwrittenFormulas, content: Tensor, rows: Tensor) -> tuple[Contradiction, ...]:
    alike: defaultdict[int, list[int]] = defaultdict(list)
    for row, number in zip(rows.tolist(), content[rows].tolist(), strict=True):
        alike[number].append(row)
    found = []
    for images in alike.values():
        columns = Counter(data.columns[images].tolist())
        if len(columns) > 1:
            ((most, _),) = columns.most_common(1)
            found.append(
                Contradiction(
                    GRAMMAR.symbols[most],
                    tuple(data.sources[row] for row in images if int(data.columns[row]) == most),
                    tuple(data.sources[row] for row in images if int(data.columns[row]) != most),
                )
            )
    return tuple(found)
