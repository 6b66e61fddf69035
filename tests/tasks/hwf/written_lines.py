"""Lines of handwriting on a page, and a network that knows the hand they are written in."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ngs.tasks.hwf.dataset import GRAMMAR, SIDE, as_ink
from ngs.tasks.hwf.formula_reading import Seen, likeliest
from ngs.tasks.hwf.handwriting import chances, write, writer
from ngs.tasks.hwf.segmentation import Grey, as_symbol

GAP = 14
"""Pixels between the boxes of neighbouring symbols."""


def written_symbols(sentence: Iterable[str], seed: int = 0) -> Tensor:
    """uint8 [symbol, SIDE, SIDE]: always in the same hand, each symbol a little different for each seed."""
    columns = torch.tensor(GRAMMAR.encode(sentence))
    hand = writer(torch.Generator().manual_seed(5))
    return write(hand, columns, chances(len(columns), torch.Generator().manual_seed(seed)))


def written_line(sentence: str, seed: int = 0) -> Grey:
    """A page with one line, its symbols at different heights."""
    symbols = written_symbols(sentence, seed).numpy()
    page = np.full((SIDE + 30, len(symbols) * (SIDE + GAP) + GAP), 255, dtype=np.uint8)
    for k, symbol in enumerate(symbols):
        top, left = 10 + 5 * (k % 3), GAP + k * (SIDE + GAP)
        page[top : top + SIDE, left : left + SIDE] = symbol
    return page


def formula_in(seen: Seen) -> str:
    """What is read in it."""
    return "".join(likeliest(seen.log_probs, 1)[0].sentence)


class KnownHand:
    """Scores symbols by how near they are to examples of the hand of `written_symbols`."""

    def __init__(self, examples: int = 10, sharpness: float = 0.3) -> None:
        images = torch.cat([written_symbols(GRAMMAR.symbols, 100 + seed) for seed in range(examples)])
        drawn = torch.stack([as_symbol(image) for image in images.numpy()])
        self.examples = self._blurred(as_ink(torch.cat([images, drawn])))
        self.columns = len(GRAMMAR.symbols)
        self.sharpness = sharpness

    def __call__(self, ink: Tensor) -> Tensor:
        distances = torch.cdist(self._blurred(ink), self.examples).square()
        nearest = distances.unflatten(1, (-1, self.columns)).amin(1)
        return -self.sharpness * nearest

    @staticmethod
    def _blurred(ink: Tensor) -> Tensor:
        """Normalised, so that thick and thin lines count the same."""
        soft = F.avg_pool2d(ink, 5, stride=2, padding=2).flatten(1)
        return 10 * F.normalize(soft)
