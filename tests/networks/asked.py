"""What the tests of pointer networks share: random questions about random programs, and a small network."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import torch
from torch import Tensor

from ngs.networks.decoding import Policy
from ngs.networks.pointer import Asked, PointerNetwork, Size
from ngs.grammar.padding import PAD
from ngs.tasks.clevr.program import MODULES, Program
from tests.tasks.clevr.programs import LANGUAGES, counts_of

WORDS = 12


def network(seed: int = 0, *, copies: bool = True, sharpness: float = 3.0) -> PointerNetwork:
    """Random weights, with scores that differ enough to matter."""
    torch.manual_seed(seed)
    made = PointerNetwork(WORDS, len(MODULES), size=Size(hidden=12, embedding=6), copies=copies)
    with torch.no_grad():
        made.score.weight *= sharpness
        made.key.weight *= sharpness
    return made


def questions(rng: Random, programs: Sequence[Program]) -> Asked:
    """Random words for each program, some unknown (0), some that speak of one of its modules."""
    counts = torch.tensor([rng.randint(1, 9) for _ in programs])
    words = torch.full((len(programs), int(counts.max())), PAD)
    keywords = torch.zeros((*words.shape, len(MODULES)))
    for row, (program, count) in enumerate(zip(programs, counts.tolist(), strict=True)):
        words[row, :count] = torch.tensor([rng.randrange(WORDS) for _ in range(count)])
        for word in range(count):
            keywords[row, word, MODULES.index(rng.choice(program))] = rng.choice([0.0, 1.0])
    return Asked(words, counts_of(programs), keywords)


def alone(asked: Asked, row: int) -> Asked:
    """One question, without the padding of the others."""
    count = int((asked.words[row] != PAD).sum())
    return Asked(
        asked.words[row : row + 1, :count],
        asked.modules[row : row + 1],
        asked.keywords[row : row + 1, :count],
    )


def policy(reader: PointerNetwork, asked: Asked, name: str = "tidy") -> Policy:
    return Policy(reader(asked), LANGUAGES[name], int(asked.modules.sum(1).max()))


def total(log_p: Tensor, rows: Tensor, number: int) -> Tensor:
    """The sum of exp(log_p) over each row [number]."""
    return torch.zeros(number).index_add(0, rows, log_p.exp())


def moved(asked: Asked, device: str, dtype: torch.dtype = torch.float32) -> Asked:
    """On a device."""
    return Asked(
        asked.words.to(device),
        asked.modules.to(device),
        asked.keywords.to(device, dtype),
    )
