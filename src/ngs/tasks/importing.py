"""The options and the output file of commands that import data."""

import re
from pathlib import Path
from typing import Annotated

import typer

from ngs.console.written_files import check_free
from ngs.tasks.source import title

Out = Annotated[Path | None, typer.Option(help="The packed file; by default data/NAME.ngs.")]
Name = Annotated[
    str | None, typer.Option(help="What results call the data set; by default as the source is called.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the packed file.")]
SkipFaulty = Annotated[
    bool, typer.Option("--skip-faulty", help="Leave out what is faulty instead of refusing all.")
]
Source = Annotated[Path, typer.Argument(help="A packed file, an archive, or the folder with its content.")]
AsJSON = Annotated[bool, typer.Option("--json", help="Print JSON, with everything named that is found.")]


def to_be_packed(
    source: Path, out: Path | None, name: str | None, overwrite: bool, suffix: str = ""
) -> tuple[Path, str]:
    """The path of a new packed file, and the name of its data set."""
    name = name or f"{title(source)}{suffix}"
    path = out or Path("data") / re.sub(r"[^\w.-]+", "-", f"{name}.ngs")
    check_free(path, overwrite)
    return path, name
