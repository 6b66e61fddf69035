"""A store, and the log that small jobs write."""

from pathlib import Path

import pytest

from ngs.experiments.sweep.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def log(tmp_path: Path) -> str:
    return str(tmp_path / "log")
