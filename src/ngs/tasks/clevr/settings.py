"""The settings of a run that learns to turn questions about scenes into programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ngs.errors import NGSError
from ngs.learning.schedule import SCHEDULES
from ngs.tasks.settings import EMBEDDED, Choices, WriterSettings, setting

if TYPE_CHECKING:
    from ngs.search.edits import Edits

SIZES = ("small", "paper")  # the names of `ngs.networks.pointer.SIZES`
LANGUAGES = ("tidy", "free", "none")  # the names of `ngs.tasks.clevr.language.LANGUAGES`
UNIQUE = ("strict", "lenient")  # the names of `ngs.tasks.clevr.semantics.UNIQUE`


@dataclass(frozen=True)
class TrainCLEVR(WriterSettings):
    """Train a network to turn questions about scenes into programs."""

    choices: ClassVar[Choices] = {
        **WriterSettings.choices,
        "network": SIZES,
        "grammar": LANGUAGES,
        "unique": UNIQUE,
    }

    data: str = setting(EMBEDDED, f"`{EMBEDDED}`, or a file made by `ngs data import`.")
    network: str = setting("small", f"The size of the pointer network: {', '.join(SIZES)}.")
    steps: int = setting(800, "Training steps.")
    learning_rate: float = setting(1e-3, "Of Adam, at its highest.")
    schedule: str = setting("late-decay", f"How the learning rate changes: {', '.join(SCHEDULES)}.")
    dropout: float = setting(0.0, "The share of the network's activations that a step leaves out.")
    copies: bool = setting(True, "Add the attention on a keyword to the score of its module.")
    grammar: str = setting(
        "tidy",
        "Which programs may be chosen: tidy (filters of a noun phrase in one order, one for each attribute), "
        "free (the paper's grammar) or none (any order of the modules: NS-RL).",
    )
    moves: bool = setting(
        True,
        "Back-search may also move a filter to another noun phrase, and turn a chain of them round; in the "
        "tidy grammar only.",
    )
    unique: str = setting(
        "strict", "What `unique` makes of several objects: strict, undefined; lenient, the first."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.dropout < 1:
            raise NGSError(f"dropout is {self.dropout}; it must be in [0, 1)")

    @property
    def edits(self) -> Edits:
        from ngs.tasks.clevr.noun_phrases import rearrangements, switches

        return rearrangements(self.moves) if self.grammar == "tidy" else switches()
