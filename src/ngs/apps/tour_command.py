"""`ngs tour`: the whole idea in one formula."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ngs.apps.errors import reporting_errors
from ngs.apps.tour import take_tour
from ngs.apps.written_files import write_drawing
from ngs.explanations.drawing import as_svg


@reporting_errors
def tour(
    seed: Annotated[int, typer.Option(help="Seeds the noise of the misread formula.")] = 0,
    svg: Annotated[Path | None, typer.Option(help="Also draw the correction into this file.")] = None,
) -> None:
    """Read a noisy formula inside a grammar, find out that its answer is wrong, and correct it."""
    correction = take_tour(Console(), seed)
    if svg is not None:
        write_drawing(svg, as_svg(correction))
