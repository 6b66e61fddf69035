"""What a data set holds: how much of what, and which test images have been seen in training."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ngs.grammar.padding import PAD
from ngs.tasks.hwf.dataset import GRAMMAR, HandwrittenFormulas


@dataclass(frozen=True)
class LengthCount:
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
    contents: int  # images in both parts that differ
    leaked: int  # test images whose content occurs in training, as whatever symbol


@dataclass(frozen=True)
class Contradiction:
    """Images that agree in every pixel, but not in the symbol they are said to show."""

    symbol: str  # what most of them are said to show
    agreeing: tuple[str, ...]
    contradicting: tuple[str, ...]  # the sources of the others


@dataclass(frozen=True)
class Inspection:
    """What `inspect` found; images and contents are those that the formulas are written with."""

    name: str
    train_formulas: int
    test_formulas: int
    train_images: int
    test_images: int
    contents: int  # images that differ
    leaked: tuple[str, ...]  # the sources of test images whose content occurs in training
    leaked_formulas: int
    lengths: tuple[LengthCount, ...]
    symbols: tuple[SymbolCount, ...]
    contradictions: tuple[Contradiction, ...]


def inspect(data: HandwrittenFormulas) -> Inspection:
    content = contents(data.images)
    train, test, both = data.train.images, data.test.images, data.used
    leaks = torch.zeros(len(content), dtype=torch.bool)
    leaks[test] = torch.isin(content[test], content[train])
    train_of, test_of = (Counter(part.lengths.tolist()) for part in (data.train, data.test))
    return Inspection(
        name=data.name,
        train_formulas=len(data.train),
        test_formulas=len(data.test),
        train_images=len(train),
        test_images=len(test),
        contents=len(torch.unique(content[both])),
        leaked=tuple(data.sources[row] for row in leaks.nonzero().flatten().tolist()),
        leaked_formulas=int((leaks[data.test.where.clamp(min=0)] & (data.test.where != PAD)).any(1).sum()),
        lengths=tuple(LengthCount(n, train_of[n], test_of[n]) for n in sorted(train_of | test_of)),
        symbols=_symbols(data, content, leaks),
        contradictions=tuple(_contradictions(data, content[both].tolist())),
    )


def contents(images: Tensor) -> Tensor:
    """[image]: a number for what each image shows, the same where every pixel is."""
    numbers: dict[bytes, int] = {}
    shown = (numbers.setdefault(image.tobytes(), len(numbers)) for image in images.flatten(1).numpy())
    return torch.tensor(list(shown), dtype=torch.long)


def _symbols(data: HandwrittenFormulas, content: Tensor, leaks: Tensor) -> tuple[SymbolCount, ...]:
    columns = data.columns.long()
    counted = (
        *(columns[part.where[part.where != PAD]] for part in (data.train, data.test)),
        columns[data.train.images],
        columns[data.test.images],
        torch.unique(torch.stack([columns, content])[:, data.used], dim=1)[0],
        columns[leaks],
    )
    counts = [torch.bincount(of, minlength=len(GRAMMAR.symbols)).tolist() for of in counted]
    return tuple(SymbolCount(*row) for row in zip(GRAMMAR.symbols, *counts, strict=True))


def _contradictions(data: HandwrittenFormulas, contents: Sequence[int]) -> Iterator[Contradiction]:
    alike: defaultdict[int, list[int]] = defaultdict(list)
    for row, number in zip(data.used.tolist(), contents, strict=True):
        alike[number].append(row)
    for images in alike.values():
        symbols = GRAMMAR.decode(data.columns[images].tolist())
        most, named = Counter(symbols).most_common(1)[0][0], [data.sources[row] for row in images]
        others = tuple(source for source, symbol in zip(named, symbols, strict=True) if symbol != most)
        if others:
            agreeing = (source for source, symbol in zip(named, symbols, strict=True) if symbol == most)
            yield Contradiction(most, tuple(agreeing), others)
