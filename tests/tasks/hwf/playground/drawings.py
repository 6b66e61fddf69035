"""Drawings as somebody makes them on a canvas: the strokes of a made-up hand, and polylines by hand."""

import random
from collections.abc import Sequence
from functools import cache

import torch
from torch import nn

from ngs.learning.fit import fit
from ngs.learning.loop import Settings
from ngs.learning.methods import supervised
from ngs.networks.lenet import LeNet
from ngs.reasoning.arithmetic import Arithmetic
from ngs.tasks.hwf.dataset import GRAMMAR, SIDE
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.formula_reading import Box, Seen
from ngs.tasks.hwf.handwriting import chances, outlines, writer, written
from ngs.tasks.hwf.playground.drawing_api import EXAMPLE

Strokes = list[list[tuple[float, float]]]

BY_HAND: dict[str, Strokes] = {
    "3*4": [
        [(20, 30), (40, 20), (60, 30), (55, 50), (38, 55), (60, 62), (62, 85), (40, 98), (18, 88)],
        [(100, 45), (140, 85)],
        [(140, 45), (100, 85)],
        [(190, 20), (175, 65), (230, 63)],
        [(215, 40), (212, 100)],
    ],
    "7+1": [[(x, y) for x, y in stroke] for stroke in EXAMPLE],
    "6/2": [
        [(60, 20), (35, 45), (25, 75), (40, 98), (62, 88), (58, 65), (35, 62), (26, 75)],
        [(95, 60), (140, 60)],
        [(117, 40)],
        [(118, 82)],
        [(170, 38), (185, 22), (208, 30), (205, 52), (168, 95), (215, 95)],
    ],
}


def strokes_of(sentence: Sequence[str], seed: int = 0, hand: int = 5, size: float = 70) -> Strokes:
    """A line in the hand `hand` (5 is that of `written_lines`), its symbols at different heights."""
    generator, chance = torch.Generator().manual_seed(seed), random.Random(seed)
    pen, columns = writer(torch.Generator().manual_seed(hand)), torch.tensor(GRAMMAR.encode(sentence))
    centres, _, _ = written(pen, columns, chances(len(columns), generator))
    strokes, right = [], 30.0
    for dabs, shape in zip(centres * size / SIDE, pen.shapes[columns].tolist(), strict=True):
        table = outlines()
        of_dab = table.stroke[shape][table.neighbours[shape][:, 1]]
        place = torch.tensor([right - float(dabs[:, 0].min()), 60 + chance.uniform(-8, 8)])
        for number in of_dab.unique().tolist():
            line = (dabs + place)[of_dab == number]
            strokes.append([(x, y) for x, y in line[:: max(1, len(line) // 24)].tolist()])
        right += float(dabs[:, 0].max() - dabs[:, 0].min()) + size * chance.uniform(0.25, 0.5)
    return strokes


def seen_as(sentence: str, sure: float = 0.9) -> Seen:
    """Blank images that a network takes for these symbols."""
    rest = (1 - sure) / (len(GRAMMAR.symbols) - 1)
    probs = torch.full((len(sentence), len(GRAMMAR.symbols)), rest, dtype=torch.double)
    probs[range(len(sentence)), [GRAMMAR.symbol_id(symbol) for symbol in sentence]] = sure
    images = torch.full((len(sentence), SIDE, SIDE), 255, dtype=torch.uint8)
    boxes = tuple(Box(50 * k, 0, 50 * k + 40, 45) for k in range(len(sentence)))
    return Seen(images, probs.log(), boxes)


@cache
def trained(steps: int = 60) -> nn.Module:
    """A network after some seconds of training with labels; treat it as frozen."""
    torch.manual_seed(0)
    data = embedded(train=300, test=10, lengths={1: 0.2, 3: 0.8})
    return fit(
        LeNet(len(GRAMMAR.symbols)),
        GRAMMAR,
        Arithmetic,
        data.examples(data.train),
        method=supervised,
        steps=steps,
        settings=Settings(batch_size=24, learning_rate=6e-3),
    ).eval()
