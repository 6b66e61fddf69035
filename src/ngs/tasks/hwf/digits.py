"""Handwritten digits that need no download, for a first task of your own."""

from __future__ import annotations

import torch
from torch import Tensor

from ngs.errors import NGSError
from ngs.tasks.hwf.dataset import GRAMMAR, SIDE, as_ink
from ngs.tasks.hwf.handwriting import chances, write, writer


def embedded_digits(number: int, *, seed: int = 0, writers: int = 60) -> tuple[Tensor, Tensor]:
    """Return handwritten digits as ink [number, 1, height, width] from 0 to 1, and what they are [number].

    `writers` hands write them, all made up from the seed. Another seed, for a test, means other hands and
    other digits.

    >>> images, digits = embedded_digits(5)
    >>> images.shape, digits.tolist()
    (torch.Size([5, 1, 45, 45]), [4, 9, 3, 0, 3])
    """
    if number < 1 or writers < 1:
        raise NGSError(f"{number} digits by {writers} writers were asked for; ask for at least one of each")
    generator = torch.Generator().manual_seed(seed)
    digits = torch.randint(10, (number,), generator=generator)
    hands = torch.randint(writers, (number,), generator=generator)
    symbols = torch.tensor([GRAMMAR.symbol_id(str(digit)) for digit in range(10)])[digits]
    chance = chances(number, generator)
    images = torch.empty(number, SIDE, SIDE, dtype=torch.uint8)
    for hand in set(hands.tolist()):
        own = hands == hand
        images[own] = write(writer(generator), symbols[own], chance[own])
    return as_ink(images), digits
