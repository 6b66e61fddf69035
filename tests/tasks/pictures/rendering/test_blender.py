"""A scene rendered with Blender, where it is installed."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from ngs.errors import NGSError
from ngs.tasks.clevr.scene_sampling import CAMERA
from ngs.tasks.pictures.rendering.lighting import LAMPS, drawn_lamps
from ngs.tasks.pictures.rendering.renderer import render
from scripts.render_with_blender import blender, photograph
from tests.tasks.pictures.rendering.still_lifes import ONE_CAMERA, still_life, thing


def test_without_blender_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bpy", None)
    with pytest.raises(NGSError, match="pip install bpy"):
        blender()


@pytest.mark.filterwarnings("default")  # Blender's own
def test_blender_and_our_renderer_see_the_same(tmp_path: Path) -> None:
    pytest.importorskip("bpy", reason="needs Blender: pip install bpy")
    scene = still_life(
        thing("cube", 0, -2, color="yellow"),
        thing("sphere", 0.5, 0.5, material="metal", color="blue"),
        thing("cylinder", 1.6, 2, size="small", color="green"),
    )
    lamps = drawn_lamps(1, torch.Generator().manual_seed(0), torch.device("cpu"))
    assert len(lamps) == len(LAMPS)
    path = tmp_path / "scene.png"
    photograph(scene, CAMERA, lamps[:, :, 0].tolist(), path, height=80, width=120, samples=8)
    theirs = torch.from_numpy(np.array(Image.open(path))).permute(2, 0, 1).float()
    ours = render([scene], ONE_CAMERA, torch.Generator().manual_seed(0), height=80, width=120)
    apart = (theirs - ours.images[0].float()).abs().mean(0)
    assert theirs.shape == (3, 80, 120)
    assert apart.mean() < 12, "grey levels"
    for k in range(1, 4):
        assert apart[ours.instances[0] == k].mean() < 30, f"object {k} shows, and in its colour"
