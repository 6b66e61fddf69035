"""Settings that make no sense are refused, wherever they are made."""

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

from ngs.errors import NGSError
from ngs.learning.loop import Lesson, Settings
from ngs.learning.methods import k_best, mapo, reinforce
from ngs.search.back_search import ChainSettings
from ngs.search.support import Effort
from tests.learning.tasks import ONE_BY_ONE

EXAMPLES = ONE_BY_ONE.examples(2)


def lesson(**given: Any) -> Lesson:
    return Lesson("a", EXAMPLES, None, **{"steps": 1, **given})  # type: ignore[arg-type]


def of_method(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **given: make(**given)(EXAMPLES)


@pytest.mark.parametrize(
    "make, setting, value, message",
    [
        (Settings, "batch_size", 0, "the batch size is 0; it must be at least 1"),
        *((Settings, "learning_rate", bad, f"the learning rate is {bad};") for bad in (0.0, nan, inf)),
        (Settings, "weight_decay", -0.1, "the weight decay is -0.1"),
        (Settings, "averaging", 1.0, "averaging is 1.0"),
        (Settings, "seed", -1, "the seed is -1"),
        (Settings, "schedule", "constant", "the schedule is 'constant'; it must be a function"),
        (lesson, "steps", -1, "a: steps is -1"),
        (ChainSettings, "steps", -1, "steps is -1; it must be 0 or more"),
        (ChainSettings, "back_search", 1.0, r"it must be in \[0, 1\), or the chain cannot move on"),
        (ChainSettings, "back_search", -0.1, r"back_search is -0.1; it must be in \[0, 1\)"),
        *((ChainSettings, "distance", bad, f"distance is {bad}; .* positive") for bad in (0.0, nan, inf)),
        (ChainSettings, "epsilon", 0.0, "it must be positive, or wrong states could not be left"),
        (ChainSettings, "epsilon", -1e-9, "epsilon is -1e-09; it must be positive"),
        *((Effort, name, 0, f"{name} is 0; it must be at least 1") for name in vars(Effort())),
        (of_method(k_best), "k", 0, "k is 0"),
        (of_method(reinforce), "samples", 0, "samples is 0"),
        (of_method(reinforce), "decay", 1.0, "decay is 1.0"),
        (of_method(mapo), "clip", 1.5, "clip is 1.5"),
        (of_method(mapo), "size", 0, "a memory is 0"),
    ],
)
def test_what_could_not_work_is_refused(
    make: Callable[..., object], setting: str, value: object, message: str
) -> None:
    with pytest.raises(NGSError, match=message):
        make(**{setting: value})
