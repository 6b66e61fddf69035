"""Folders of runs as they are while a training writes them, and what a client hears of them."""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from fastapi.testclient import TestClient

from ngs.apps.serve.playground import Playground
from ngs.apps.serve.run_folders import ALIVE_SECONDS
from ngs.learning import tensor_file
from ngs.networks.lenet import NETWORKS
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.run_folder import A_NETWORK, BEST, CONFIG, METRICS, RESULT
from tests.apps.serve.client import connected
from tests.experiments.training import as_facts

DIGIT_SUMS = Path(__file__).parents[3] / "examples" / "tasks" / "digit_sums.py"
"""A task that is not installed."""


def client_of(root: Path, **more: Any) -> TestClient:
    return connected(Playground(runs_root=root, **more))


def row(step: int, **more: Any) -> dict[str, Any]:
    return {"step": step, "lesson": "m-bs", "loss": 1 / (1 + step), "seconds": step / 10, **more}


def made(root: Path, name: str, rows: int = 0, config: Mapping[str, Any] | None = None) -> Path:
    """The folder of a run that wrote some rows."""
    folder = root / name
    folder.mkdir(parents=True)
    facts = as_facts(TrainHWF(method="m-bs", steps=100)) if config is None else config
    (folder / CONFIG).write_text(json.dumps(facts))
    (folder / METRICS).write_text("".join(json.dumps(row(10 * k)) + "\n" for k in range(1, rows + 1)))
    return folder


def finish(folder: Path, share: str = "calculation", accuracy: float = 0.75) -> None:
    (folder / RESULT).write_text(json.dumps({"method": "m-bs", "test": {share: accuracy, "examples": 4}}))


def write_run(folder: Path, *, accuracy: float = 0.98, finished: float = 0.0) -> Path:
    """A run of this accuracy, finished so many seconds after 1970, with a network that learned nothing."""
    made(folder.parent, folder.name)
    validated = ((35, 0.35), (150, 0.9))
    rows = [
        row(10),
        *({"step": s, "seconds": s / 10, "validation": {"calculation": a}} for s, a in validated),
    ]
    (folder / METRICS).write_text("".join(json.dumps(each) + "\n" for each in rows))
    facts = {"step": 0, "network": "small", "symbols": list(GRAMMAR.symbols)}
    torch.manual_seed(0)
    tensor_file.save(folder / BEST, A_NETWORK, NETWORKS["small"](len(GRAMMAR.symbols)).state_dict(), facts)
    finish(folder, accuracy=accuracy)
    os.utime(folder / RESULT, (finished, finished))
    return folder


def age(folder: Path, seconds: float = 2 * ALIVE_SECONDS) -> None:
    past = time.time() - seconds
    for path in folder.iterdir():
        os.utime(path, (past, past))


def events_of(text: str) -> list[tuple[str, Any]]:
    """(kind, data) of every event; comments and hints are none."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            found.append((fields.get("event", "message"), json.loads(fields["data"])))
    return found
