"""The gallery is read with the networks that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from ngs.experiments.report.gallery import gallery
from ngs.experiments.report.outcome import read_run
from ngs.tasks.run_folder import EARLY, RESULT
from tests.experiments.report.documents import facts


@pytest.mark.parametrize("prefix, early", [("", 10), ("question_", 3)])
def test_without_the_early_network_the_best_is_corrected(
    prefix: str, early: int, request: pytest.FixtureRequest
) -> None:
    copy: Path = request.getfixturevalue(f"{prefix}copy")
    assert request.getfixturevalue(f"{prefix}shown").early_step == early
    (copy / EARLY).unlink()
    other = gallery(copy, read_run(copy).task, read_run(copy).config)
    assert other.early_step == other.step == facts(copy / RESULT)["chosen_step"]
