"""What tests of runs share: short runs, each trained once for the tests of a file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ngs.networks.pointer import SIZES, Size
from tests.experiments.short_runs import Short, Straight, of_formulas, of_questions, of_sums


@pytest.fixture(scope="module")
def small_networks() -> Iterator[None]:
    """Networks for questions that a test can train."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SIZES, "small", Size(16, 8))  # type: ignore[arg-type]
        patch.setitem(SIZES, "paper", Size(64, 32))  # type: ignore[arg-type]
        yield


@pytest.fixture(scope="module")
def formulas(tmp_path_factory: pytest.TempPathFactory) -> Short:
    return of_formulas(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory, small_networks: None) -> Short:
    return of_questions(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> Short:
    return of_sums(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module", params=["formulas", "questions", "sums"])
def short(request: pytest.FixtureRequest) -> Short:
    """Each of them."""
    found: Short = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Straight:
    """The folder of a run to the end, trained once; whoever changes something copies it."""
    folders: dict[object, Path] = {}

    def folder(short: Short) -> Path:
        if short.settings not in folders:
            folders[short.settings] = tmp_path_factory.mktemp("runs") / "straight"
            short.finished(folders[short.settings])
        return folders[short.settings]

    return folder


@pytest.fixture
def done(short: Short, straight: Straight) -> Path:
    return straight(short)
