"""The settings of a run that learns to read handwritten formulas."""

from dataclasses import dataclass
from typing import ClassVar

from ngs.errors import NGSError
from ngs.tasks.settings import EMBEDDED, Choices, TaskSettings, setting

SHARES = ("calculation", "formula", "symbol")
"""What right answers, sentences and symbols are called in the records of this task."""
NETWORKS = ("small", "wide", "paper")  # the names of `ngs.networks.lenet.NETWORKS`


@dataclass(frozen=True)
class TrainHWF(TaskSettings):
    """Train a network to read handwritten formulas."""

    choices: ClassVar[Choices] = {**TaskSettings.choices, "network": NETWORKS}

    data: str = setting(EMBEDDED, f"`{EMBEDDED}`, or a file made by `ngs data import`.")
    network: str = setting("small", f"What to train: {', '.join(NETWORKS)}.")
    augment: bool | None = setting(
        None, "Learn from slightly changed images too; by default for imported data, not for the embedded."
    )
    longest: int = setting(
        0, "Write new formulas of 1, 3, ... up to this many symbols with the images of the data; 0: do not."
    )
    lengths: tuple[int, ...] = setting((), "Only formulas of this length; may be given several times.")
    pretrain: float = setting(
        0.0, "First, in steps of its own, train with labels until this share of symbols is right; 0: do not."
    )
    pretrain_formulas: int = setting(100, "How many labelled formulas --pretrain may use.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.lengths, tuple) or not all(isinstance(n, int) for n in self.lengths):
            raise NGSError(f"the lengths are {self.lengths!r}; give whole numbers")
        if self.longest < 0 or (self.longest and self.longest % 2 == 0):
            raise NGSError(
                f"longest is {self.longest}; formulas have 1, 3, 5, ... symbols: give such a number, or 0 to "
                f"use the formulas of the data"
            )
        if not 0 <= self.pretrain <= 1:
            raise NGSError(f"pretrain is {self.pretrain}; it must be from 0 to 1")
        self.check_positive("pretrain_formulas")

    @property
    def augments(self) -> bool:
        """Whether images are changed. The embedded handwriting varies enough as it is."""
        return self.data != EMBEDDED if self.augment is None else self.augment
