"""`ngs see`, `quiz` and `weights`: scenes in pictures, questions about them, what was learned in a file."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from ngs.console.printing import one_by_one, plain_console, print_json, print_whole, tell
from ngs.console.written_files import check_apart, check_free
from ngs.errors import DataError
from ngs.learning.whole_file import replacing
from ngs.tasks.clevr.official_scene import scene_to_official
from ngs.tasks.clevr.program_text import description
from ngs.tasks.pictures.picture_drawing import write_annotated
from ngs.tasks.pictures.picture_file import read_picture
from ngs.tasks.pictures.preparation import load_scene_reader
from ngs.tasks.pictures.seen_questions import Cause, ask_about_pictures
from ngs.tasks.pictures.seen_scene import SeenPicture
from ngs.tasks.pictures.weights import card_of, write_weights
from ngs.tasks.run_folder import BEST


def see(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="Folder of a run of `ngs train scenes`, or a file that `ngs weights` made of one.",
        ),
    ],
    images: Annotated[
        list[Path], typer.Argument(metavar="IMAGE", help="Pictures of scenes, 480x320 or of that shape.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the scenes and the annotated pictures.")] = Path(
        "seen"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """See the scene in a picture: its objects, what they are like and where they stand.

    Writes NAME.json, the scene as CLEVR's files have it, and NAME.png, the picture with a box around each
    object. Ask about it with `ngs ask RUN --scene seen/NAME.json`, or at once with `ngs ask --image`.
    """
    if len({path.stem for path in images}) < len(images):
        raise DataError(
            "two of the pictures have one name, and so would what is written; see them one by one"
        )
    check_apart((each for path in images for each in _written(out, path)), [run, *images])
    reader = load_scene_reader(run)

    def saw(path: Path) -> dict[str, Any]:
        seen = reader.read(read_picture(path), path.name)
        scene, written = _official(seen), _written(out, path)
        with replacing(written[0]) as stage:
            stage.write_text(json.dumps(scene, indent=2) + "\n", encoding="utf-8")
        write_annotated(written[1], seen)
        if not as_json:
            plain_console().print(_table(path, seen))
            tell(plain_console(), f"written to {written[0]} and {written[1]}")
        return {"scene": scene, "written": [str(each) for each in written]}

    one_by_one(images, saw, as_json)


def _written(out: Path, image: Path) -> list[Path]:
    return [out / f"{image.stem}.json", out / f"{image.stem}.png"]


def _official(given: SeenPicture) -> dict[str, Any]:
    """The scene in CLEVR's format, with the camera, and a box and a score for each object."""
    scene = scene_to_official(given.scene, 0)
    for thing, box, score in zip(
        scene["objects"], given.seen.boxes.tolist(), given.seen.scores.tolist(), strict=True
    ):
        thing |= {"bbox_xyxy": [round(side, 1) for side in box], "score": round(score, 4)}
    return {**scene, "camera_location": given.seen.camera.tolist()}


def _table(path: Path, given: SeenPicture) -> Table:
    count = len(given.scene.things)
    table = Table(title=f"{path}: {count} object{'s' if count != 1 else ''}", title_justify="left")
    for heading in ("", "object", "sure", "stands at", "box"):
        table.add_column(heading, justify="left" if heading == "object" else "right")
    rows = zip(given.scene.things, given.seen.scores.tolist(), given.seen.boxes.tolist(), strict=True)
    for k, (thing, score, box) in enumerate(rows, 1):
        x, y, _ = thing.position
        sides = " ".join(f"{side:.0f}" for side in box)
        table.add_row(str(k), description(thing), f"{score:.1%}", f"{x:.2f} {y:.2f}", sides)
    return table


def quiz(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run of `ngs train scenes`, or a file of `ngs weights`.")
    ],
    reader: Annotated[
        Path, typer.Argument(metavar="READER", help="A run that reads questions, of `ngs train clevr`.")
    ],
    questions: Annotated[int, typer.Option(min=1, help="Questions about each picture.")] = 10,
    data: Annotated[str | None, typer.Option(help="Ask about this data instead: a packed file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Ask questions about the test pictures, to be answered from what is seen in them.

    Tells the share of right answers, and whether wrong ones are due to seeing or to reading.
    """
    found = ask_about_pictures(run, reader, questions, data)
    if as_json:
        print_json(found.as_facts())
        return
    number = len(found.asked)
    title = (
        f"{found.data}, test part: {number} questions about {found.pictures} pictures, answered from pixels"
    )
    table = Table("", "questions", "share", title=title, title_justify="left")
    counts = {"answers right": found.right} | {f"wrong, due to {each}": found.due_to(each) for each in Cause}
    for what, count in counts.items():
        table.add_row(what, str(count), f"{count / max(number, 1):.2%}")
    print_whole(plain_console(), table)


def weights(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a finished run of `ngs train scenes`.")
    ],
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("scenes.safetensors"),
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file and its card, if they are there.")
    ] = False,
) -> None:
    """Put what a run learned to see into one file, with a model card beside it.

    The file stands for the run wherever one is taken to see with: `ngs see`, `ngs ask --eyes`,
    `ngs evaluate`. Loading it runs no code, and a damaged one is refused.
    """
    for path in (out, card_of(out)):
        check_free(path, overwrite)
    check_apart([out], [run / BEST])
    made = write_weights(run, out)
    tell(plain_console(), f"{made.path}: {made.bytes / 1e6:.1f} MB, SHA-256 {made.sha256}")
    tell(plain_console(), f"about it: {made.card}")
