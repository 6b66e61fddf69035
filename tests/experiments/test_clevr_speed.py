"""Speeds of the parts of CLEVR."""

import torch

from ngs.experiments.clevr_speed import execution, step_seconds
from ngs.learning.program_methods import PROGRAM_METHODS
from ngs.tasks.clevr.source import load


def test_every_method_is_timed() -> None:
    seconds = step_seconds("embedded", rounds=1, device=torch.device("cpu"))
    assert seconds.keys() == PROGRAM_METHODS.keys() and min(seconds.values()) > 0


def test_batched_execution_is_compared_with_the_reference() -> None:
    speeds = execution(load("embedded"), rounds=1, device=torch.device("cpu"))
    ratio = speeds["batched_per_second"] / speeds["reference_per_second"]
    assert speeds["times_reference"] == ratio and ratio > 1
    assert speeds["programs_at_once"] == 100_000
