"""Our renders next to released images: `python scripts/compare_renders.py DATA/clevr --sheet sheet.png`.

DATA/clevr holds scenes_train.json.gz and images/real/. Each released image's scene is rendered from its own
camera, with lamps that are drawn anew: where the lamps of the release stood is not known, so that even a
perfect renderer would differ. How much is what two renders of ours with other lamps differ by.
"""

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from ngs.tasks.clevr.official_scene import as_scene
from ngs.tasks.clevr.scenes import ATTRIBUTES, Scene
from ngs.tasks.json_list import elements
from ngs.tasks.pictures.camera import fitted_camera
from ngs.tasks.pictures.rendering.renderer import Rendering, render

Colors = Mapping[tuple[str, str], Tensor]
"""Mean red, green, blue of all pixels of objects of a colour and material."""


def released(folder: Path, number: int) -> tuple[list[Scene], Tensor]:
    """Scenes and images, uint8 [n, 3, height, width], of the first released images at hand."""
    paths = {path.name: path for path in sorted((folder / "images" / "real").glob("*.png"))[:number]}
    if not paths:
        raise SystemExit(f"{folder / 'images' / 'real'} holds no PNG; give the folder with images/real/")
    scenes = {
        value["image_filename"]: as_scene(value)
        for _, value in elements(folder / "scenes_train.json.gz", "scenes")
        if value["image_filename"] in paths
    }
    images = [np.array(Image.open(paths[name]).convert("RGB")) for name in scenes]
    return list(scenes.values()), torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2)


def background_difference(one: Tensor, other: Tensor, instances: Tensor) -> float:
    """Mean absolute difference, in grey levels, where no object shows."""
    difference = (one.float() - other.float()).abs().mean(1)
    return difference[instances == 0].mean().item()


def mean_colors(images: Tensor, instances: Tensor, scenes: Sequence[Scene]) -> Colors:
    """Each object counts by its pixels, whatever its shape and size."""
    found: dict[tuple[str, str], list[Tensor]] = defaultdict(list)
    for image, shown, scene in zip(images.float(), instances, scenes, strict=True):
        for k, thing in enumerate(scene.things):
            found[thing.color, thing.material].append(image[:, shown == k + 1])
    return {look: torch.cat(pixels, 1).mean(1) for look, pixels in sorted(found.items())}


def color_difference(one: Colors, other: Colors) -> dict[tuple[str, str], float]:
    """Mean absolute difference over red, green and blue, in grey levels."""
    return {look: (one[look] - other[look]).abs().mean().item() for look in one}


def overlaps(folder: Path, instances: Tensor, scenes: Sequence[Scene]) -> Mapping[str, list[float]]:
    """For each shape, how well its objects meet those of DATA/clevr/masks: overlap / union."""
    found: dict[str, list[float]] = defaultdict(list)
    for shown, scene in zip(instances, scenes, strict=True):
        mask = torch.from_numpy(np.array(Image.open(folder / scene.name)))
        for k, thing in enumerate(scene.things, 1):
            both, either = ((mask == k) & (shown == k)).sum(), ((mask == k) | (shown == k)).sum()
            found[thing.shape].append((both / either).item())
    return found


def sheet(real: Tensor, ours: Tensor) -> Image.Image:
    """Real ones on the left, ours on the right."""
    rows = torch.cat([torch.cat([real, ours], 3)[k] for k in range(len(real))], 1)
    return Image.fromarray(rows.permute(1, 2, 0).numpy())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--number", type=int, default=200, help="images that are compared")
    parser.add_argument("--seed", type=int, default=0, help="draws the lamps")
    parser.add_argument("--sheet", type=Path, help="where to draw the first --shown of them side by side")
    parser.add_argument("--shown", type=int, default=4)
    options = parser.parse_args()
    scenes, real = released(options.folder, options.number)
    cameras = torch.tensor([fitted_camera(scene) for scene in scenes])

    def ours(seed: int) -> Rendering:
        return render(scenes, cameras, torch.Generator().manual_seed(seed))

    first, second = ours(options.seed), ours(options.seed + 1)
    if options.sheet:
        sheet(real[: options.shown], first.images[: options.shown]).save(options.sheet)
    shown = first.instances
    print(f"{len(scenes)} images; mean absolute difference in grey levels of 255")
    for name, one, other in (("real, ours", real, first.images), ("ours, ours", first.images, second.images)):
        colors = color_difference(mean_colors(one, shown, scenes), mean_colors(other, shown, scenes))
        print(f"{name}: background {background_difference(one, other, shown):.2f}", end="; mean colour")
        for material in ATTRIBUTES["material"]:
            of_material = {look[0]: value for look, value in colors.items() if look[1] == material}
            print(f" {material} {sum(of_material.values()) / len(of_material):.2f}", end="")
            print(
                f" (most: {max(of_material.values()):.2f}, {max(of_material, key=of_material.__getitem__)})",
                end="",
            )
        print()
    for look, color in mean_colors(real, shown, scenes).items():
        mine = mean_colors(first.images, shown, scenes)[look]
        values = " ".join(
            f"{round(a.item()):4d}/{round(b.item()):<4d}" for a, b in zip(color, mine, strict=True)
        )
        print(f"{' '.join(look):16s} real/ours red, green, blue: {values}")
    if (options.folder / "masks").is_dir():
        for shape, shares in overlaps(options.folder / "masks", shown, scenes).items():
            print(f"{shape}: masks overlap by {np.mean(shares):.3f} on average, {len(shares)} objects")


if __name__ == "__main__":
    main()
