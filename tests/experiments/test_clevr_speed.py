"""Speeds of the parts of CLEVR."""

from dataclasses import replace

import pytest
import torch

from ngs.errors import NGSError
from ngs.experiments.clevr_speed import execution
from ngs.learning.packed_file import Ragged
from ngs.tasks.clevr.dataset import VisualQuestions
from ngs.tasks.clevr.embedded import synthetic


@pytest.fixture(scope="module")
def data() -> VisualQuestions:
    return synthetic(scenes=20, per_scene=5, validation_scenes=2)


def test_batched_execution_is_compared_with_the_reference(data: VisualQuestions) -> None:
    speeds = execution(data, rounds=1, device=torch.device("cpu"))
    assert speeds["times_reference"] == speeds["batched_per_second"] / speeds["reference_per_second"]
    assert min(speeds.values()) > 0 and speeds["programs_at_once"] == 100_000


def test_data_without_programs_are_refused(data: VisualQuestions) -> None:
    silent = replace(
        data.train, programs=Ragged(data.train.programs.flat[:0], 0 * data.train.programs.offsets)
    )
    with pytest.raises(NGSError, match="some questions of synthetic have no program"):
        execution(replace(data, train=silent), rounds=1, device=torch.device("cpu"))
