"""What the tests of pointer networks share: random questions about random programs, and a small network."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from random import Random

import torch

from ngs.grammar.constraint import Given
from ngs.grammar.padding import PAD
from ngs.networks.pointer import Asked, PointerNetwork, Size
from ngs.parsing.autoregressive import Autoregressive
from ngs.tasks.clevr.program import GRAMMAR, MODULES, Program
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
    return Asked(words, keywords)


def alone(asked: Asked, row: int) -> Asked:
    """One question, without the padding of the others."""
    count = int((asked.words[row] != PAD).sum())
    return Asked(asked.words[row : row + 1, :count], asked.keywords[row : row + 1, :count])


def distribution(
    reader: PointerNetwork, asked: Asked, programs: Sequence[Program], name: str = "tidy"
) -> Autoregressive:
    """p(z|x) of questions whose modules are those of the programs, on the device of the questions."""
    device = asked.words.device
    given = Given(multiset=counts_of(programs).to(device))
    return Autoregressive(GRAMMAR, reader(asked), deepcopy(LANGUAGES[name]).to(device), given, given.longest)


def moved(asked: Asked, device: str, dtype: torch.dtype = torch.float32) -> Asked:
    """On a device."""
    return Asked(asked.words.to(device), asked.keywords.to(device, dtype))
