"""Scenes rendered with Blender: `python scripts/render_with_blender.py OUT/scenes.json blender/`.

Slower than our own renderer, and with every bounce of the light. Needs `pip install bpy`, under a version of
Python that it is made for. Solids, lamps and camera are those of our own renderer; nothing is read from a
.blend file. `ngs data render --out OUT` writes such scenes.
"""

import argparse
import importlib
from collections.abc import Sequence
from math import pi
from pathlib import Path
from typing import Any

import torch

from ngs.errors import NGSError
from ngs.tasks.clevr.scene_sampling import FOCAL, HEIGHT, RADIUS, WIDTH
from ngs.tasks.clevr.scenes import Scene, Thing
from ngs.tasks.pictures.picture_folder import seen_scenes
from ngs.tasks.pictures.rendering.lighting import (
    BRUSHED_ACROSS,
    BRUSHED_ALONG,
    LAMP_RADIUS,
    LAMPS,
    RUBBER_DIFFUSE,
    RUBBER_SUN,
    SHARP_WIDTH,
    SUN,
    Lamp,
    color_of,
    drawn_lamps,
)
from ngs.tasks.pictures.rendering.solids import ROUNDING

Place = Sequence[float]
"""x, y, z"""

GROUND_SIZE = 60.0
GROUND_ALBEDO = 1 / RUBBER_DIFFUSE
WORLD = 0.06
"""Brightness of the sky."""
BRUSHED_SHARE = 0.2
"""of metal's reflection"""
SEGMENTS = 96
"""around a sphere or cylinder"""
BEVELS = 8
"""across a rounded edge"""
SENSOR = 32.0
"""mm, Blender's word for the width that FOCAL is measured in"""


def blender() -> Any:
    """The module `bpy`."""
    try:
        return importlib.import_module("bpy")
    except ImportError as error:
        raise NGSError(
            f"Blender's Python module bpy cannot be loaded ({error}); install it with `pip install bpy` "
            f"under a Python version it is made for"
        ) from None


def photograph(
    scene: Scene,
    camera: Place,
    lamps: Sequence[Place],
    path: Path,
    *,
    height: int = HEIGHT,
    width: int = WIDTH,
    samples: int = 64,
) -> None:
    """Write a PNG of the scene from a camera, lit by key, fill and back lamp at these places.

    More samples give less noise; Blender's denoiser takes away most of what is left.
    """
    bpy = blender()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    _set_up(bpy, path, height, width, samples)
    _add_camera(bpy, camera)
    _add_lights(bpy, lamps)
    bpy.ops.mesh.primitive_plane_add(size=GROUND_SIZE)
    bpy.context.object.data.materials.append(_matte(bpy, (GROUND_ALBEDO,) * 3))
    for thing in scene.things:
        _add_thing(bpy, thing)
    bpy.ops.render.render(write_still=True)
    if not path.is_file():
        raise NGSError(f"Blender wrote no picture to {path}; see what it printed")


def _set_up(bpy: Any, path: Path, height: int, width: int, samples: int) -> None:
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.samples = samples
    scene.cycles.use_denoising = True
    scene.render.resolution_x, scene.render.resolution_y = width, height
    scene.render.image_settings.file_format = "PNG"
    scene.render.image_settings.color_mode = "RGB"
    scene.render.filepath = str(path.absolute())
    scene.view_settings.view_transform = "Standard"
    scene.world = bpy.data.worlds.new("sky")
    scene.world.use_nodes = True
    scene.world.node_tree.nodes["Background"].inputs["Color"].default_value = (WORLD, WORLD, WORLD, 1)


def _add_camera(bpy: Any, place: Place) -> None:
    data = bpy.data.cameras.new("camera")
    data.sensor_width, data.lens = SENSOR, FOCAL / WIDTH * SENSOR
    _aimed(bpy, data, place, [-x for x in place])
    bpy.context.scene.camera = bpy.data.objects["camera"]


def _aimed(bpy: Any, data: Any, place: Place, aim: Place) -> None:
    """Put a camera or light, which look along their -z, at a place."""
    mathutils = importlib.import_module("mathutils")
    each = bpy.data.objects.new(data.name, data)
    each.location = place
    each.rotation_euler = mathutils.Vector(aim).to_track_quat("-Z", "Y").to_euler()
    bpy.context.collection.objects.link(each)


def _add_lights(bpy: Any, places: Sequence[Place]) -> None:
    for k, (lamp, place) in enumerate(zip(LAMPS, places, strict=True)):
        data = bpy.data.lights.new(f"lamp {k}", "AREA")
        data.shape, data.size = "DISK", 2 * LAMP_RADIUS
        data.energy, data.color = _watts(lamp), [part / max(lamp.strength) for part in lamp.strength]
        _aimed(bpy, data, place, lamp.aim)
    sun = bpy.data.lights.new("sun", "SUN")
    sun.energy = pi * RUBBER_SUN
    _aimed(bpy, sun, (0, 0, 10), [-x for x in SUN])


def _watts(lamp: Lamp) -> float:
    """A lamp of P watts at distance d makes ground of albedo a look a P / (pi d)^2 bright."""
    return pi**2 * max(lamp.strength) / GROUND_ALBEDO


# Objects


def _add_thing(bpy: Any, thing: Thing) -> None:
    radius = RADIUS[thing.size]
    match thing.shape:
        case "cube":
            bpy.ops.mesh.primitive_cube_add(size=2 * radius)
        case "sphere":
            bpy.ops.mesh.primitive_uv_sphere_add(
                radius=radius, segments=SEGMENTS, ring_count=SEGMENTS // 2, calc_uvs=False
            )
        case _:
            bpy.ops.mesh.primitive_cylinder_add(radius=radius, depth=2 * radius, vertices=SEGMENTS)
    each = bpy.context.object
    each.location, each.rotation_euler = thing.position, (0, 0, thing.rotation)
    for polygon in each.data.polygons:
        polygon.use_smooth = True
    if thing.shape != "sphere":
        bevel = each.modifiers.new("rounded", "BEVEL")
        bevel.width, bevel.segments = ROUNDING[thing.shape] * radius, BEVELS
        bevel.harden_normals = True
    make = _metal if thing.material == "metal" else _matte
    each.data.materials.append(make(bpy, color_of(thing.color)))


def _matte(bpy: Any, color: Place) -> Any:
    material, nodes = _material(bpy)
    shader = nodes.new("ShaderNodeBsdfDiffuse")
    shader.inputs["Color"].default_value = (*color, 1)
    return _shown(material, nodes, shader)


def _metal(bpy: Any, color: Place) -> Any:
    """A mirror, and streaks across circles around the vertical axis."""
    material, nodes = _material(bpy)
    mirror, brushed = (nodes.new("ShaderNodeBsdfAnisotropic") for _ in range(2))
    for shader, roughness in ((mirror, SHARP_WIDTH), (brushed, (BRUSHED_ALONG * BRUSHED_ACROSS) ** 0.5)):
        shader.inputs["Color"].default_value = (*color, 1)
        shader.inputs["Roughness"].default_value = roughness**0.5
    brushed.inputs["Anisotropy"].default_value = 1 - BRUSHED_ALONG / BRUSHED_ACROSS
    tangent = nodes.new("ShaderNodeTangent")
    tangent.direction_type, tangent.axis = "RADIAL", "Z"
    both = nodes.new("ShaderNodeMixShader")
    both.inputs["Fac"].default_value = BRUSHED_SHARE
    links = material.node_tree.links
    links.new(tangent.outputs["Tangent"], brushed.inputs["Tangent"])
    links.new(mirror.outputs["BSDF"], both.inputs[1])
    links.new(brushed.outputs["BSDF"], both.inputs[2])
    return _shown(material, nodes, both)


def _material(bpy: Any) -> tuple[Any, Any]:
    material = bpy.data.materials.new("surface")
    material.use_nodes = True
    material.node_tree.nodes.clear()
    return material, material.node_tree.nodes


def _shown(material: Any, nodes: Any, shader: Any) -> Any:
    output = nodes.new("ShaderNodeOutputMaterial")
    material.node_tree.links.new(shader.outputs[0], output.inputs["Surface"])
    return material


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenes", type=Path, help="scenes as CLEVR has them, .json or .json.gz")
    parser.add_argument("out", type=Path, help="the folder for the pictures, with the names of the scenes")
    parser.add_argument("--seed", type=int, default=0, help="draws the lamps")
    parser.add_argument("--samples", type=int, default=64, help="rays through each pixel")
    options = parser.parse_args()
    try:
        blender()
    except NGSError as error:
        parser.error(str(error))
    options.out.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(options.seed)
    for scene, camera in seen_scenes(options.scenes):
        lamps = drawn_lamps(1, generator, torch.device("cpu"))[:, :, 0].tolist()
        path = options.out / f"{Path(scene.name).stem}.png"
        photograph(scene, camera, lamps, path, samples=options.samples)


if __name__ == "__main__":
    main()
