"""Short runs on small data sets, with their reports."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ngs.experiments.report.gallery import Gallery, gallery
from ngs.experiments.report.outcome import read_run
from ngs.experiments.report.page import write_report
from ngs.tasks.clevr import packed as packed_questions
from ngs.tasks.clevr.dataset import VisualQuestions
from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf import packed
from ngs.tasks.hwf.dataset import HandwrittenFormulas
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.settings import TrainHWF
from tests.experiments.training import train


@pytest.fixture(scope="session")
def data() -> HandwrittenFormulas:
    return embedded(train=60, test=40, lengths={1: 0.2, 3: 0.4, 5: 0.4}, train_writers=6, test_writers=4)


@pytest.fixture(scope="session")
def run(data: HandwrittenFormulas, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run on a small data set that was packed."""
    folder = tmp_path_factory.mktemp("runs")
    packed.write(folder / "small.ngs", data)
    config = TrainHWF(
        data=str(folder / "small.ngs"), steps=20, batch_size=16, validation=0.1, validate_every=10
    )
    for _ in train(config, folder / "run"):
        pass
    return folder / "run"


@pytest.fixture(scope="session")
def text(run: Path) -> str:
    return write_report(run).read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def shown(run: Path) -> Gallery:
    return gallery(run, read_run(run).task, read_run(run).config)


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    shutil.copytree(run, tmp_path / "copy", ignore=shutil.ignore_patterns("tensorboard", "*.html"))
    return tmp_path / "copy"


# Questions about scenes


@pytest.fixture(scope="session")
def questions() -> VisualQuestions:
    return synthetic(scenes=30, per_scene=6, validation_scenes=20, validation_per_scene=5)


@pytest.fixture(scope="session")
def question_run(questions: VisualQuestions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run on a small data set that was packed."""
    folder = tmp_path_factory.mktemp("question_runs")
    packed_questions.write(folder / "small.ngs", questions)
    config = TrainCLEVR(
        data=str(folder / "small.ngs"), steps=6, batch_size=16, validation=0.1, validate_every=3
    )
    for _ in train(config, folder / "run"):
        pass
    return folder / "run"


@pytest.fixture(scope="session")
def question_text(question_run: Path) -> str:
    return write_report(question_run).read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def question_shown(question_run: Path) -> Gallery:
    return gallery(question_run, read_run(question_run).task, read_run(question_run).config)


@pytest.fixture
def question_copy(question_run: Path, tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("tensorboard", "*.html")
    shutil.copytree(question_run, tmp_path / "copy", ignore=ignored)
    return tmp_path / "copy"
