"""The folder of a finished run as `ngs train hwf` leaves it, made in an instant: it learned nothing."""

import json
import os
from pathlib import Path

import torch

from ngs.learning import tensor_file
from ngs.networks.lenet import NETWORKS
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.run_folder import A_NETWORK, BEST, CONFIG, METRICS, RESULT
from tests.experiments.training import as_facts


def write_run(folder: Path, *, accuracy: float = 0.98, finished: float = 0.0) -> Path:
    """A run whose network has this accuracy, finished so many seconds after 1970."""
    folder.mkdir(parents=True)
    facts = {"step": 0, "network": "small", "symbols": list(GRAMMAR.symbols)}
    torch.manual_seed(0)
    network = NETWORKS["small"](len(GRAMMAR.symbols))
    tensor_file.save(folder / BEST, A_NETWORK, network.state_dict(), facts)
    (folder / CONFIG).write_text(json.dumps(as_facts(TrainHWF())))
    rows = [
        {"step": 10, "loss": 1.0},
        {"step": 35, "validation": {"calculation": 0.35}},
        {"step": 150, "validation": {"calculation": 0.9}},
    ]
    (folder / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / RESULT).write_text(json.dumps({"test": {"calculation": accuracy}}))
    os.utime(folder / RESULT, (finished, finished))
    return folder
