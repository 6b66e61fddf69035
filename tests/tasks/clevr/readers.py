"""Readers with random networks, and questions to try them on."""

from functools import cache

import torch

from ngs.grammar.constraint import Counting
from ngs.networks.pointer import PointerNetwork, Size
from ngs.tasks.clevr.dataset import VisualQuestions
from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.clevr.language import TidyPrograms
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.clevr.reading import QuestionReader
from ngs.tasks.clevr.scenes import Scene, Thing
from ngs.tasks.clevr.semantics import Unique, strict


@cache
def some_questions() -> VisualQuestions:
    return synthetic(scenes=12, per_scene=10, validation_scenes=12, validation_per_scene=10)


def random_reader(seed: int, language: Counting | None = None, unique: Unique = strict) -> QuestionReader:
    """A network that has learned nothing, with the words of `some_questions`."""
    vocabulary = some_questions().vocabulary
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = PointerNetwork(len(vocabulary), len(MODULES), size=Size(16, 8, 1)).eval()
    return QuestionReader(network, vocabulary, language or TidyPrograms(), unique)


def row(*descriptions: str) -> Scene:
    """Things such as `small red rubber cube` from left to right, each one behind the one before it."""
    things = tuple(Thing(*description.split()) for description in descriptions)
    before = tuple(frozenset(range(k)) for k in range(len(things)))
    after = tuple(frozenset(range(k + 1, len(things))) for k in range(len(things)))
    return Scene(things, {"left": before, "right": after, "front": before, "behind": after}, {})
