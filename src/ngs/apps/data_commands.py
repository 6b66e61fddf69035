"""`ngs data`: bring a published data set in, and look at what it holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Annotated

import typer

from ngs.apps import clevr_data, hwf_data, picture_data
from ngs.apps.render_commands import render
from ngs.apps.written_files import check_free
from ngs.errors import DataError
from ngs.tasks.pictures import picture_packed
from ngs.tasks.source import title

BringIn = Callable[[Path, Path, str], None]
"""Packs what a source holds into a file, under a name."""

data_app = typer.Typer(
    help="Bring handwritten formulas, questions about scenes or pictures in, and look at what they hold.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@data_app.command("import")
def import_(
    source: Annotated[
        Path,
        typer.Argument(
            help="Formulas: the archive (HWF.zip) or the folder with its content. Questions about "
            "scenes: the folder (CLEVR_v1.0) with scenes and questions. Pictures of scenes: the folder "
            "with the images, and --scenes. Or a packed file."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="The packed file; by default data/NAME.ngs.")] = None,
    name: Annotated[
        str | None,
        typer.Option(
            help="What results call the data set; by default as the source is called; images, as --out is."
        ),
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--leak-free/--as-published",
            help="Write the formulas again, so that no test image occurs in training.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Deals out the images of a leak-free split.")] = 0,
    skip_faulty: Annotated[
        bool,
        typer.Option(
            "--skip-faulty", help="Leave faulty formulas, scenes and questions out instead of refusing all."
        ),
    ] = False,
    scenes: Annotated[
        Path | None,
        typer.Option(
            help="For a folder of images: the file with their scenes, as CLEVR has it (.json or .json.gz)."
        ),
    ] = None,
    held_out: Annotated[
        Path | None,
        typer.Option(
            help="With --scenes: a text file with the names of the images to be tested on; by default those "
            "of the list that comes with NGS, or a tenth where none of them is there."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the packed file.")] = False,
) -> None:
    """Check a published data set, and pack it into one file that loads at once."""
    _check_there(source)
    if scenes is not None:
        if rebuild or skip_faulty:
            raise DataError("--leak-free and --skip-faulty are not for images; leave them out")
        bring_in: BringIn = partial(picture_data.bring_in, scenes=scenes, held_out=held_out)
        name = name or (None if out is None else out.stem)  # folders of images are called `images`
    elif held_out is not None:
        raise DataError(f"--held-out is {held_out}, and is for images; give their --scenes as well")
    elif clevr_data.is_ours(source):
        if rebuild:
            raise DataError(f"{source} holds questions about scenes; --leak-free is for handwritten formulas")
        bring_in = partial(clevr_data.bring_in, skip_faulty=skip_faulty)
    else:
        picture_data.check_not_ours(source)
        dealer = Random(seed) if rebuild else None
        bring_in = partial(hwf_data.bring_in, skip_faulty=skip_faulty, rebuild=dealer)
    name = name or f"{title(source)}{f'-leak-free-{seed}' if rebuild else ''}"
    path = out or Path("data") / re.sub(r"[^\w.-]+", "-", f"{name}.ngs")
    check_free(path, overwrite)
    bring_in(source, path, name)


@data_app.command("inspect")
def inspect_(
    source: Annotated[
        Path, typer.Argument(help="A packed file, an archive, or the folder with its content.")
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, with every source and question named.")
    ] = False,
) -> None:
    """Count what a data set holds, and check it: leaks, labels, modules, answers."""
    if picture_packed.FORMAT.is_at(source):
        picture_data.show(source, as_json=as_json)
    elif clevr_data.is_ours(source):
        clevr_data.show(source, as_json=as_json)
    else:
        picture_data.check_not_ours(source)
        hwf_data.show(source, as_json=as_json)


data_app.command("render")(render)


def _check_there(source: Path) -> None:
    if not source.exists():
        raise DataError(
            f"{source}: there is no such file or folder; give HWF.zip, the folder with its content, a "
            f"folder with scenes and questions in the format of CLEVR v1.0, or one with images of scenes"
        )
    if source.is_dir() and not any(source.iterdir()):
        raise DataError(
            f"{source} is empty; data/expr_train.json and data/expr_test.json with their images are needed, "
            f"scenes and questions in the format of CLEVR v1.0, or images of scenes"
        )
