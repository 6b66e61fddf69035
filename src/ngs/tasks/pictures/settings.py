"""The settings of a run that learns to see the scene in a picture."""

from dataclasses import dataclass
from typing import ClassVar

from ngs.errors import NGSError
from ngs.tasks.settings import Choices, RunSettings, setting

RENDERED = "rendered"  # the built-in data set: pictures rendered from a seed
SUPERVISED = "supervised"
NETWORKS = ("small", "full")  # the names of `ngs.tasks.pictures.scene_network.SCENE_NETWORKS`


@dataclass(frozen=True)
class TrainScenes(RunSettings):
    """Train a network to see the scene in a picture."""

    choices: ClassVar[Choices] = {**RunSettings.choices, "method": (SUPERVISED,), "network": NETWORKS}

    data: str = setting(RENDERED, f"`{RENDERED}`, or a file made by `ngs data import FOLDER --scenes FILE`.")
    method: str = setting(SUPERVISED, f"How to learn: {SUPERVISED}, from pictures of which all is known.")
    network: str = setting("small", f"What to train: {', '.join(NETWORKS)}.")
    rendered: int = setting(240, "How many pictures to render and learn from, beside the imported ones.")
    rendered_steps: int = setting(
        1000, "With imported data: steps on rendered pictures alone, before --steps on both, half and half."
    )
    augment: bool = setting(True, "Learn from pictures in other light and in a mirror, too.")
    steps: int = setting(500, "Training steps.")
    batch_size: int = setting(8, "Pictures in a step.")
    validate_every: int = setting(100, "Steps between validations; each also writes a checkpoint.")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_positive("rendered")
        if self.rendered_steps < 0:
            raise NGSError(f"rendered_steps is {self.rendered_steps}; it must be 0 or more")
        if self.data == RENDERED and self.rendered_steps != type(self).rendered_steps:
            raise NGSError(
                f"rendered_steps is {self.rendered_steps}, and is for imported data alone; give data as "
                f"well, or say with steps how long to learn from rendered pictures"
            )

    @property
    def preparation(self) -> str:
        return f"rendering {self.rendered:,} pictures"
