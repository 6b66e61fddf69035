"""A browser, a server with trained networks, and pages that must not complain."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install -e '.[dev]'")
pytest.importorskip("fastapi", reason="fastapi is not installed: pip install -e '.[serve]'")

from playwright.sync_api import Browser, Page, expect, sync_playwright

from ngs.apps.serve.child import serving
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf.settings import TrainHWF
from tests.experiments.training import finished

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
RESULTS = Path(__file__).parents[4] / "docs/results"
RUNS = {
    "handwriting": TrainHWF(steps=200, lengths=(1, 3)),
    "questions": TrainCLEVR(steps=30, validate_every=30, batch_size=32, fraction=0.1),
}
"""One reads nearly everything; the other answers about half of the questions: some are to be corrected."""
PATIENCE = 15_000
"""Milliseconds: the machine may be doing other things."""

NewPage = Callable[..., Page]


@pytest.fixture(scope="session")
def chromium() -> str:
    if CHROMIUM is None:
        refuse = pytest.fail if os.environ.get("NGS_BROWSER") == "required" else pytest.skip
        refuse("there is no Chromium on this machine")
    return CHROMIUM


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """For one module: while it is there, its event loop runs, and tests elsewhere could not run theirs."""
    expect.set_options(timeout=PATIENCE)
    sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=sandbox)
        yield started
        started.close()


@pytest.fixture(scope="session")
def runs(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of each task."""
    folder = tmp_path_factory.mktemp("runs")
    for name, config in RUNS.items():
        finished(config, folder / name)
    return folder


@pytest.fixture(scope="session")
def server(runs: Path) -> Iterator[str]:
    with serving("--runs", str(runs), "--results", str(RESULTS)) as server:
        yield server.address


@pytest.fixture
def complaints() -> list[str]:
    """What pages wrote to the console, and requests that failed."""
    return []


@pytest.fixture
def new_page(browser: Browser, server: str, complaints: list[str]) -> Iterator[NewPage]:
    """Opens the page for a new visitor; in the end there may be no complaint."""
    contexts = []

    def opened(where: str = "", **options: Any) -> Page:
        options = {"viewport": {"width": 1280, "height": 900}, **options}
        context = browser.new_context(reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda request: complaints.append(f"{request.url}: {request.failure}"))
        page.on("response", lambda answer: _complain_of(answer, complaints))
        page.on("request", lambda request: _complain_of_abroad(request.url, server, complaints))
        page.goto(server + where)
        return page

    yield opened
    for context in contexts:
        for page in context.pages:
            page.evaluate("0")  # what the page did before this has been heard when it is answered
    heard = [each for each in complaints if not _is_abandoned(each)]
    for context in contexts:
        context.close()  # which aborts what a page is still loading: no complaint of the page's
    assert heard == []


def _is_abandoned(complaint: str) -> bool:
    """A page that goes on or is loaded anew ends its stream, and needs no old picture."""
    aborted = "ERR_ABORTED" in complaint and ("/picture: " in complaint or "/icon.svg: " in complaint)
    return "/events" in complaint or aborted


def _complain_of(answer: Any, complaints: list[str]) -> None:
    if answer.status >= 400:
        complaints.append(f"{answer.status} {answer.url}")


def _complain_of_abroad(url: str, server: str, complaints: list[str]) -> None:
    if not url.startswith((server, "data:")):
        complaints.append(f"asked elsewhere: {url}")


@pytest.fixture
def page(new_page: NewPage) -> Page:
    return new_page()
