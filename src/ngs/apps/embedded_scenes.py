"""Scenes of the embedded data to ask about: those for validation, in their order."""

from __future__ import annotations

from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.clevr.scenes import Scene

EMBEDDED_SCENES = 200
"""How many there are."""


def embedded_scenes(number: int) -> tuple[Scene, ...]:
    """The first of them, with as few questions as can be made up."""
    few = synthetic(scenes=1, per_scene=1, validation_scenes=number, validation_per_scene=1)
    return few.scenes[-number:]


def embedded_scene(number: int) -> Scene:
    return embedded_scenes(number + 1)[-1]
