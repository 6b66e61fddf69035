"""Questions about scenes that need no download: made up from a seed, with other scenes for validation."""

from functools import cache

import numpy as np

from ngs.errors import NGSError
from ngs.tasks.clevr.dataset import QuestionRecord, VisualQuestions
from ngs.tasks.clevr.question_sampling import questions
from ngs.tasks.clevr.scene_sampling import scenes as sample_scenes
from ngs.tasks.clevr.scenes import Scene


@cache
def embedded() -> VisualQuestions:
    """The default data set: 10,000 questions to learn from, 1,000 for validation, in a few seconds."""
    return synthetic(name="embedded")


def synthetic(
    seed: int = 0,
    *,
    scenes: int = 1_000,
    per_scene: int = 10,
    validation_scenes: int = 200,
    validation_per_scene: int = 5,
    name: str = "synthetic",
) -> VisualQuestions:
    """A data set like CLEVR of any size; the same seed gives the same data.

    No scene of the validation is one of the training, and each part has a balance of answers of its own.
    Asking for more scenes leaves the questions about the first ones as they are.
    """
    if seed < 0:
        raise NGSError(f"the seed is {seed}; give 0 or more")
    learn, train = _part(seed, 0, scenes, per_scene, first=0)
    judge, validation = _part(seed, 1, validation_scenes, validation_per_scene, first=scenes)
    data = VisualQuestions.of(name, learn + judge, train, validation)
    if refused := [*data.train.not_understood(), *data.validation.not_understood()]:
        raise NGSError(
            f"the dictionary does not understand {len(refused)} made-up questions, such as {refused[0]}; "
            "let data/wording.toml use words and phrases of the dictionary only"
        )
    return data


def embedded_scenes(number: int) -> tuple[Scene, ...]:
    return sample_scenes(number, np.random.default_rng((0, 1, 0)))  # as `_part` makes them


def _part(
    seed: int, part: int, number: int, per_scene: int, *, first: int
) -> tuple[tuple[Scene, ...], list[QuestionRecord]]:
    if number < 1 or per_scene < 1:
        raise NGSError(
            f"{per_scene} questions about each of {number} scenes were asked for; ask for one or more of each"
        )
    found = sample_scenes(number, np.random.default_rng((seed, part, 0)))
    asked = questions(found, per_scene, np.random.default_rng((seed, part, 1)), first=first)
    return found, list(asked)
