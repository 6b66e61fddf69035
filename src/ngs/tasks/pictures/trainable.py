"""The task: seeing the scene in a picture. Light: it is imported to show its options."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures.settings import TrainScenes
from ngs.tasks.trainable import MetricsView, Trainable


def _below(facts: Mapping[str, Any]) -> Iterator[str]:
    """Measures that are no shares of objects."""
    if facts["false"] is not None:
        yield f"false objects: {facts['false']:.2%} of what is seen"
    yield f"pictures wholly right: {facts['pictures_right']:.2%} of {facts['pictures']}"
    if facts["position_error"] is not None:
        yield (
            f"distance from where an object stands: {facts['position_error']:.3f} on average, 95% within "
            f"{facts['position_error_95']:.3f} (a small object is 0.7 wide)"
        )


class SeeingScenes(Trainable):
    """Learn to see the scene in a picture: its objects, what they are like and where they stand.

    The network sees pictures of which all is known. Without --data they are rendered on the spot; with
    --data it learns from rendered pictures first, and then from the imported ones among them. Let it see
    with `ngs see`, and answer questions with `ngs ask --image`.
    """

    name = "scenes"
    about = __doc__ or ""
    settings = TrainScenes
    metrics = MetricsView(
        examples="objects",
        shares={
            "objects_right": "all right",
            **{name: name for name in ("found", "precision", *ATTRIBUTES, "relations")},
            "pictures_right": "pictures wholly right",
        },
        groups={"by_objects": "in picture"},
        columns=("objects_right", "found", *ATTRIBUTES, "relations"),
        progress={"objects_right": "objects", "relations": "relations"},
        compared={"objects_right": "objects", "found": "found", "relations": "relations"},
        below=_below,
    )

    commands: Mapping[str, str] = {
        "see": "ngs.tasks.pictures.seeing_commands:see",
        "quiz": "ngs.tasks.pictures.seeing_commands:quiz",
        "weights": "ngs.tasks.pictures.seeing_commands:weights",
        "data import": "ngs.tasks.pictures.data_commands:bring_in",
        "data inspect": "ngs.tasks.pictures.data_commands:show",
        "data render": "ngs.tasks.pictures.data_commands:render",
    }
    sources = "a folder with images of scenes, and --scenes"

    imports: Mapping[str, str] = {
        "prepare": "ngs.tasks.pictures.preparation:PreparedPictures",
        "evaluate": "ngs.tasks.pictures.preparation:evaluate",
        "data": "ngs.tasks.pictures.picture_packed:imported",
        "report": "ngs.tasks.pictures.report.report:SceneReport",
    }

    def holds(self, source: Path, options: Collection[str]) -> bool:
        """Folders of other tasks hold images as well; those have lists or questions beside them."""
        from ngs.tasks.clevr.official import is_official
        from ngs.tasks.hwf.archive import LISTS
        from ngs.tasks.pictures.picture_folder import images_in
        from ngs.tasks.pictures.picture_packed import FORMAT

        if FORMAT.is_at(source) or any(each.startswith(("--scenes", "--held-out")) for each in options):
            return True
        others = is_official(source) or any(source.rglob(LISTS[0]))
        return source.is_dir() and not others and any(images_in(source))

    def products(self) -> AbstractContextManager[None]:
        return nullcontext()  # rendering wants every bit


SCENES = SeeingScenes()
