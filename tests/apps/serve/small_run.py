"""The folder of a finished run as `ngs train hwf` leaves it, made in an instant: it learned nothing."""

import json
import os
from pathlib import Path

import torch

from ngs.experiments.config import TrainHWF
from ngs.experiments.folder import A_NETWORK, BEST, CONFIG, EARLY, RESULT
from ngs.experiments.record import METRICS
from ngs.learning import tensor_file
from ngs.perception.lenet import NETWORKS
from ngs.tasks.hwf.dataset import GRAMMAR


def write_run(folder: Path, *, accuracy: float = 0.98, early: float = 0.35, finished: float = 0.0) -> Path:
    """A run whose networks have these accuracies, finished so many seconds after 1970."""
    folder.mkdir(parents=True)
    facts = {"step": 0, "network": "small", "symbols": list(GRAMMAR.symbols)}
    for seed, name in enumerate((BEST, EARLY)):
        torch.manual_seed(seed)
        tensor_file.save(
            folder / name, A_NETWORK, NETWORKS["small"](len(GRAMMAR.symbols)).state_dict(), facts
        )
    (folder / CONFIG).write_text(json.dumps(TrainHWF().as_facts()))
    rows = [
        {"step": 10, "loss": 1.0},
        {"step": 35, "validation": {"calculation": early}},
        {"step": 150, "validation": {"calculation": 0.9}},
    ]
    (folder / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / RESULT).write_text(json.dumps({"test": {"calculation": accuracy}}))
    os.utime(folder / RESULT, (finished, finished))
    return folder
