"""A run that learns to see: which pictures to train, choose and test on, with which network."""

import hashlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ngs.learning.loop import Lesson
from ngs.learning.mixture import Mixed
from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures.picture_augmentation import Lighting
from ngs.tasks.pictures.picture_examples import PictureExamples
from ngs.tasks.pictures.picture_packed import imported
from ngs.tasks.pictures.pictures import PictureData, Pictures, divided, joined
from ngs.tasks.pictures.rendered_pictures import (
    digest_of_rendered,
    rendered_pictures,
    rendered_test_pictures,
)
from ngs.tasks.pictures.scene_loss import Seeing
from ngs.tasks.pictures.scene_network import SCENE_NETWORKS, SceneNetwork, SceneSize
from ngs.tasks.pictures.scene_scores import SceneMetrics, outcomes, see_all
from ngs.tasks.pictures.seen_scene import SceneReader
from ngs.tasks.pictures.settings import RENDERED, TrainScenes
from ngs.tasks.pictures.trainable import SCENES
from ngs.tasks.run_folder import check_data, network_of, read_network, settings_for
from ngs.tasks.trainable import Parts, Prepared, cut

KNOWN = {"attributes": {name: list(values) for name, values in ATTRIBUTES.items()}}
"""What a network that sees scenes must know."""
KEPT_BYTES, KEPT_SHARE = 2**30, 0.25
"""Decoded images of a part are kept up to this many bytes, or on a GPU this share of the free memory. Above
that, each is decoded when needed."""


@dataclass(frozen=True, eq=False)
class SceneParts(Parts[PictureData, Pictures]):
    """Pictures cut as a configuration says."""

    beside: Pictures | None  # rendered pictures to learn from together with imported ones


def parts_of(settings: TrainScenes, device: torch.device) -> SceneParts:
    given = None if settings.data == RENDERED else imported(settings.data)  # first: it may be refused
    made = rendered_pictures(settings.rendered, 0, device)
    data = given or PictureData(RENDERED, made, rendered_test_pictures(device), "")
    parts = cut(settings, data.train, data.test, divided, "pictures")
    train, held_out, tested = (part.on(device, bytes_to_keep(device)) for part in parts)
    data = replace(data, digest=_digest(settings, given))
    return SceneParts(data, train, held_out, tested, None if given is None else made)


def _digest(settings: TrainScenes, data: PictureData | None) -> str:
    rendered = digest_of_rendered(settings.rendered)
    return rendered if data is None else hashlib.sha256(f"{data.digest} {rendered}".encode()).hexdigest()


def bytes_to_keep(device: torch.device) -> int:
    """Bytes that the images of one part may take there."""
    if device.type != "cuda":
        return KEPT_BYTES
    free, _ = torch.cuda.mem_get_info(device)
    return int(KEPT_SHARE * free)


def test_part(run: Path, source: str | None, device: torch.device) -> tuple[str, Pictures]:
    """The name of a data set and its test part alone: of a run's own data, or of other."""
    settings = settings_for(run, SCENES, TrainScenes)
    read = settings.data if source is None else source
    data = None if read == RENDERED else imported(read)
    if source is None:
        check_data(network_of(run), read, _digest(settings, data))
    return (RENDERED, rendered_test_pictures(device)) if data is None else (data.name, data.test)


def measure(network: nn.Module, pictures: Pictures) -> SceneMetrics:
    return SceneMetrics.of(outcomes(pictures, see_all(network, pictures)))


class PreparedPictures(Prepared):
    """Pictures to learn from, first rendered ones and then imported ones among them, and a network."""

    measure = staticmethod(measure)
    settings: TrainScenes
    parts: SceneParts

    def __init__(self, settings: TrainScenes, device: torch.device) -> None:
        self.settings, self.device, self.parts = settings, device, parts_of(settings, device)

    @property
    def augment(self) -> Lighting | None:
        return Lighting() if self.settings.augment else None

    @property
    def held_out(self) -> int:
        """Objects."""
        return sum(len(scene.things) for scene in self.parts.validation.scenes)

    def network(self) -> SceneNetwork:
        return SceneNetwork(SCENE_NETWORKS[self.settings.network])

    def network_facts(self) -> dict[str, Any]:
        return {**KNOWN, "size": asdict(SCENE_NETWORKS[self.settings.network])}

    def lessons(self) -> list[Lesson]:
        settings, parts = self.settings, self.parts
        if parts.beside is None:
            return [Lesson(RENDERED, self._to_learn_from(parts.train), Seeing(), settings.steps)]
        both = self._to_learn_from(joined(parts.train, parts.beside))
        mixed = Mixed(both, both.times * len(parts.train))
        return [
            Lesson(RENDERED, self._to_learn_from(parts.beside), Seeing(), settings.rendered_steps),
            Lesson("imported", mixed, Seeing(), settings.steps),
        ]

    def _to_learn_from(self, pictures: Pictures) -> PictureExamples:
        return PictureExamples.of(pictures, self.device, mirrors=self.settings.augment)

    def result_facts(self) -> dict[str, Any]:
        return {"pictures": len(self.parts.train), "rendered": self.settings.rendered}


def evaluate(
    settings: TrainScenes, run: Path, data: str | None, device: torch.device
) -> tuple[str, SceneMetrics]:
    """The name of the data and the scores of a run's network on the test part of its data or of other."""
    name, pictures = test_part(run, data, device)
    return name, measure(load_scene_reader(run).network.to(device), pictures)


def load_scene_reader(run: Path) -> SceneReader:
    """The network of a run, from its folder or from a file of weights."""
    settings_for(run, SCENES, TrainScenes)  # refuses other runs
    network, _ = read_network(network_of(run), SCENES.name, KNOWN, _made)
    return SceneReader(network)


def _made(facts: Any) -> SceneNetwork:
    size: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in facts["size"].items()}
    return SceneNetwork(SceneSize(**size))
