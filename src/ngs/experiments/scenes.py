"""Seeing scenes as a course: which pictures to train, choose and test on, with which network."""

from __future__ import annotations

import hashlib
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ngs.experiments.config import TrainScenes
from ngs.experiments.course import Course, Parts, cut
from ngs.experiments.folder import BEST, check_data, config_for, network_of, read_network, step_of
from ngs.learning.loop import Lesson
from ngs.learning.mixture import Mixed
from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures.picture_augmentation import Lighting
from ngs.tasks.pictures.picture_examples import MirroredPictures, PictureExamples
from ngs.tasks.pictures.picture_packed import imported
from ngs.tasks.pictures.pictures import PictureData, Pictures, divided, joined
from ngs.tasks.pictures.rendered_pictures import (
    RENDERED,
    digest_of_rendered,
    rendered_pictures,
    rendered_test_pictures,
)
from ngs.tasks.pictures.report.report import SceneGallery
from ngs.tasks.pictures.scene_loss import Seeing
from ngs.tasks.pictures.scene_network import SCENE_NETWORKS, SceneNetwork, SceneSize
from ngs.tasks.pictures.scene_scores import SceneMarks, outcomes, see_all
from ngs.tasks.pictures.seen_scene import SceneReader

KNOWN = {"attributes": {name: list(values) for name, values in ATTRIBUTES.items()}}
"""What a network that sees scenes must know."""
KEPT_BYTES, KEPT_SHARE = 2**30, 0.25
"""Of imported images that are decoded once and kept: so many bytes, or on a GPU such a share of what is free.
Where they would be more, each is decoded when it is shown."""


@dataclass(frozen=True, eq=False)
class SceneParts(Parts[PictureData, Pictures]):
    """Pictures cut as a configuration says."""

    beside: Pictures | None
    """rendered pictures to learn from beside imported ones"""


def parts_of(config: TrainScenes, device: torch.device) -> SceneParts:
    """What to train, choose and test on."""
    given = None if config.data == RENDERED else imported(config.data)  # first: it may be refused
    made = rendered_pictures(config.rendered, 0, device)
    data = given or PictureData(RENDERED, made, rendered_test_pictures(device), "")
    parts = cut(config, data.train, data.test, divided, "pictures")
    train, held_out, tested = (part.on(device, bytes_to_keep(device)) for part in parts)
    data = replace(data, digest=_digest(config, given))
    return SceneParts(data, train, held_out, tested, None if given is None else made)


def _digest(config: TrainScenes, data: PictureData | None) -> str:
    rendered = digest_of_rendered(config.rendered)
    return rendered if data is None else hashlib.sha256(f"{data.digest} {rendered}".encode()).hexdigest()


def bytes_to_keep(device: torch.device) -> int:
    """Bytes that the images of one part may take there."""
    if device.type != "cuda":
        return KEPT_BYTES
    free, _ = torch.cuda.mem_get_info(device)
    return int(KEPT_SHARE * free)


def test_part(run: Path, source: str | None, device: torch.device) -> tuple[str, Pictures]:
    """The name of a data set and its test part alone: of a run's own data, or of other."""
    config = config_for(run, TrainScenes)
    read = config.data if source is None else source
    data = None if read == RENDERED else imported(read)
    if source is None:
        check_data(network_of(run), read, _digest(config, data))
    return (RENDERED, rendered_test_pictures(device)) if data is None else (data.name, data.test)


def measure(network: nn.Module, pictures: Pictures) -> SceneMarks:
    """Look at every picture and count what is right."""
    examples = PictureExamples.of(pictures, next(network.parameters()).device)
    return SceneMarks.of(outcomes(examples, see_all(network, examples)))


class ScenesCourse(Course):
    """Learn to see the scene in a picture: first in rendered pictures, then in imported ones among them."""

    parts_of = staticmethod(parts_of)
    measure = staticmethod(measure)
    config: TrainScenes
    parts: SceneParts

    @property
    def augment(self) -> Lighting | None:
        return Lighting() if self.config.augment else None

    @property
    def held_out(self) -> int:
        """Objects."""
        return sum(len(scene.things) for scene in self.parts.validation.scenes)

    def network(self) -> SceneNetwork:
        return SceneNetwork(SCENE_NETWORKS[self.config.network])

    def network_facts(self) -> dict[str, Any]:
        return {**KNOWN, "size": asdict(SCENE_NETWORKS[self.config.network])}

    def lessons(self) -> list[Lesson]:
        config, parts = self.config, self.parts
        if parts.beside is None:
            return [Lesson(RENDERED, self._to_learn_from(parts.train), Seeing(), config.steps)]
        both = self._to_learn_from(joined(parts.train, parts.beside))
        times = 2 if config.augment else 1  # as it is, and in a mirror
        return [
            Lesson(RENDERED, self._to_learn_from(parts.beside), Seeing(), config.rendered_steps),
            Lesson("imported", Mixed(both, times * len(parts.train)), Seeing(), config.steps),
        ]

    def _to_learn_from(self, pictures: Pictures) -> PictureExamples | MirroredPictures:
        examples = PictureExamples.of(pictures, self.device)
        return MirroredPictures(examples) if self.config.augment else examples

    @staticmethod
    def evaluate(
        config: TrainScenes, run: Path, data: str | None, device: torch.device
    ) -> tuple[str, SceneMarks]:
        name, pictures = test_part(run, data, device)
        return name, measure(load_scene_reader(run).network.to(device), pictures)

    @staticmethod
    def products() -> AbstractContextManager[None]:
        return nullcontext()  # rendering wants every bit

    def result_facts(self) -> dict[str, Any]:
        return {"pictures": len(self.parts.train), "rendered": self.config.rendered}


def load_scene_reader(run: Path) -> SceneReader:
    """What a run learned to see, from its folder or from a file of weights."""
    config = config_for(run, TrainScenes)
    network, _ = read_network(network_of(run), config.task, KNOWN, _made)
    return SceneReader(network)


def gallery(folder: Path, config: TrainScenes) -> SceneGallery:
    """Look at the test part anew, with the best network of a run."""
    name, pictures = test_part(folder, None, torch.device("cpu"))
    step = step_of(folder / BEST, config.task)
    return SceneGallery.of(name, step, load_scene_reader(folder).network, pictures)


def _made(facts: Any) -> SceneNetwork:
    size: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in facts["size"].items()}
    return SceneNetwork(SceneSize(**size))
