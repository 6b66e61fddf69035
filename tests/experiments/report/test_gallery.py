"""The gallery is read with the networks that there are."""

from __future__ import annotations

from pathlib import Path

from ngs.experiments.folder import EARLY, RESULT
from ngs.experiments.report.gallery import Gallery, gallery
from ngs.experiments.report.outcome import read_run
from tests.experiments.report.documents import facts


def test_without_the_early_network_the_best_is_corrected(copy: Path, shown: Gallery) -> None:
    assert shown.practice.step == 10
    (copy / EARLY).unlink()
    other = gallery(copy, read_run(copy).config)
    assert other.practice.step == other.exam.step == facts(copy / RESULT)["chosen_step"]
