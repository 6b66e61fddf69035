"""Settings every test runs under, and what several folders of tests need."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from hypothesis import settings

settings.register_profile("default", deadline=None, max_examples=200, print_blob=True, derandomize=False)
settings.load_profile("default")

if not torch.cuda.is_available():
    os.environ.setdefault(
        "TRITON_INTERPRET", "1"
    )  # Triton looks at it when it is imported, by whichever test

torch.set_num_threads(1)  # the tensors are small, and the test processes share the cores


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Weights that a test leaves to chance are the same whichever tests came before it."""
    torch.manual_seed(0)


@pytest.fixture
def kernels_on_any_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels can be called without a GPU, too: Triton has been told to interpret them there."""
    if not torch.cuda.is_available():
        monkeypatch.setattr(torch.cuda, "device_of", lambda _: nullcontext())


@pytest.fixture(scope="module")
def rendering_once() -> Iterator[None]:
    """Runs that are trained in the tests of a module share their rendered pictures."""
    from ngs.tasks.pictures import preparation as scenes
    from tests.tasks.pictures.picture_folders import rendered_once

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scenes, "rendered_pictures", rendered_once)
        yield


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as people install it."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--wheel", "--no-isolation", f"--outdir={folder}", str(Path(__file__).parents[1]))
    build = subprocess.run([sys.executable, "-m", "build", *options], capture_output=True, text=True)
    assert build.returncode == 0, build.stdout + build.stderr
    (path,) = folder.glob("ngs-*.whl")
    return path


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Programs that a test starts hear Ctrl-C, even if the tests were started in the background.

    A shell makes what it starts in the background ignore SIGINT, and child processes inherit that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
