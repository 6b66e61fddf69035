"""`ngs tour`: the whole loop of the paper on one misread formula, printed step by step."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import torch
import typer
from torch import Tensor

from ngs.console.printing import plain_console, tell
from ngs.tasks.hwf.dataset import GRAMMAR, value_of
from ngs.tasks.hwf.reading_commands import tell_correction

WRITTEN = tuple("2*9+3")


def tour(
    seed: Annotated[int, typer.Option(help="Seeds the noise of the misread formula.")] = 0,
    svg: Annotated[Path | None, typer.Option(help="Also draw the correction into this file.")] = None,
) -> None:
    """Read a noisy formula inside a grammar, find out that its answer is wrong, and correct it."""
    console, target = plain_console(), value_of(WRITTEN)
    tell(console, f"written            {' '.join(WRITTEN)}   with the answer {target}")
    correction = tell_correction(console, misreading(seed), Fraction(target), svg, always=True)
    if correction.position is not None and correction.sentence is not None:
        right = correction.sentence == WRITTEN
        tell(console, f"\nThe correction {'is' if right else 'is not'} what was written.")


def misreading(seed: int) -> Tensor:
    """Log-probabilities [time, symbol] of a network that mistakes the 9 for a 4 and doubts the operator."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(len(WRITTEN), len(GRAMMAR.symbols), generator=generator)
    scores[range(len(WRITTEN)), GRAMMAR.encode(WRITTEN)] += 4
    scores[2, GRAMMAR.symbol_id("4")] += 6
    scores[1, GRAMMAR.symbol_id("7")] += 6
    return scores.log_softmax(-1)
