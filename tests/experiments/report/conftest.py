"""A short run on a small data set, with its report."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ngs.experiments.config import TrainHWF
from ngs.experiments.report.gallery import Gallery, gallery
from ngs.experiments.report.outcome import read_run
from ngs.experiments.report.page import write_report
from ngs.experiments.run import train
from ngs.tasks.hwf import packed
from ngs.tasks.hwf.dataset import HandwrittenFormulas
from ngs.tasks.hwf.embedded import embedded


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
    return gallery(run, read_run(run).config)


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    shutil.copytree(run, tmp_path / "copy", ignore=shutil.ignore_patterns("tensorboard", "*.html"))
    return tmp_path / "copy"
