"""Runs to the end, and what they leave, to be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ngs.experiments.record import read_rows
from ngs.learning import tensor_file
from ngs.tasks.run_folder import A_CHECKPOINT, BEST, CHECKPOINT, CONFIG, EARLY, METRICS, RESULT
from ngs.tasks.settings import RunSettings
from tests.experiments.training import train


def finished(config: RunSettings, folder: Path, *, resume: bool = False) -> dict[str, Any]:
    """Run to the end; the result."""
    *_, last = train(config, folder, resume=resume)
    return dict(last.row)


def facts_of(folder: Path) -> dict[str, Any]:
    """All that a run leaves, but for its seconds and its memory."""
    tensors, facts = tensor_file.load(folder / CHECKPOINT, A_CHECKPOINT, "")
    result = json.loads((folder / RESULT).read_text())
    rows = read_rows(folder / METRICS)
    return {
        "rows": [{k: v for k, v in row.items() if k != "seconds"} for row in rows],
        "result": {k: v for k, v in result.items() if k not in ("training_seconds", "peak_memory_mb")},
        "best": (folder / BEST).read_bytes(),
        "early": (folder / EARLY).read_bytes(),
        "config": (folder / CONFIG).read_bytes(),
        "checkpoint": tensor_file.checksum(tensors, {}),
        "place": facts["place"],
        "choice": facts["best"],
    }
