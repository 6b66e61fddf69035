"""Short runs on small data sets, with their reports."""

from pathlib import Path
from typing import Any

import pytest

from ngs.tasks.clevr import packed as packed_questions
from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf import packed as packed_formulas
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.settings import TrainHWF
from tests.experiments.report.reports import Reported, copied, reported_on


@pytest.fixture(scope="session")
def formulas(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    data = embedded(train=60, test=40, lengths={1: 0.2, 3: 0.4, 5: 0.4}, train_writers=6, test_writers=4)

    def config(data: str) -> TrainHWF:
        return TrainHWF(data=data, steps=20, batch_size=16, validation=0.1, validate_every=10)

    return reported_on(config, data, packed_formulas, tmp_path_factory.mktemp("formulas"))


@pytest.fixture(scope="session")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    data = synthetic(scenes=30, per_scene=6, validation_scenes=20, validation_per_scene=5)

    def config(data: str) -> TrainCLEVR:
        return TrainCLEVR(data=data, steps=6, batch_size=16, validation=0.1, validate_every=3)

    return reported_on(config, data, packed_questions, tmp_path_factory.mktemp("questions"))


@pytest.fixture(params=["formulas", "questions"])
def reported(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture
def copy(reported: Reported, tmp_path: Path) -> Path:
    """The run of `reported` in a folder that may be changed."""
    return copied(reported.run, tmp_path / "copy")
