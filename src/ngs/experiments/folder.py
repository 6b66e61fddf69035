"""The files in the folder of a run.

config.json              what was asked for
environment.json         what it ran on
metrics.jsonl            the curves; tensorboard/ holds the same
checkpoint.safetensors   everything needed to go on
early.safetensors        the network at its first validation
best.safetensors         the network that was best on the validation part
result.json              how good that network is on the test part
report.html              all of it to look at, once `ngs report` was asked
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from ngs.errors import DataError
from ngs.experiments.config import Config, Training, config_of, read_facts
from ngs.experiments.record import METRICS, TENSORBOARD
from ngs.learning import tensor_file

CHECKPOINT, EARLY, BEST = "checkpoint.safetensors", "early.safetensors", "best.safetensors"
CONFIG, ENVIRONMENT, RESULT, REPORT = "config.json", "environment.json", "result.json", "report.html"
A_CHECKPOINT, A_NETWORK = "an NGS checkpoint", "a trained NGS network"
DATA = "data"
"""What the digest of the data is called that a network was trained on, among the facts kept with it."""

NetworkT = TypeVar("NetworkT", bound=nn.Module)
ConfigT = TypeVar("ConfigT", bound=Training)


def remove(folder: Path) -> None:
    """Delete the files of a run, and nothing else that may lie in its folder."""
    for name in (CONFIG, ENVIRONMENT, METRICS, CHECKPOINT, EARLY, BEST, RESULT, REPORT):
        (folder / name).unlink(missing_ok=True)
    for events in (folder / TENSORBOARD).glob("events.out.tfevents.*"):
        events.unlink(missing_ok=True)  # another process of the run may have been quicker


def network_of(run: Path) -> Path:
    """The file with what a run learned: the best network of its folder, or `run` itself if it is a file."""
    return run if run.is_file() else run / BEST


def load_config(run: Path) -> Config:
    """The configuration of the run in a folder, or of that which a file of weights was made of."""
    if not run.is_file():
        return config_of(read_facts(run / CONFIG), run / CONFIG)
    _, facts = tensor_file.load(run, A_NETWORK, "give the folder of a run, or a file that `ngs weights` made")
    return config_of(facts.get("config"), run)


def config_for(run: Path, wanted: type[ConfigT]) -> ConfigT:
    """The configuration of a run, which must be one of this task."""
    config = load_config(run)
    if not isinstance(config, wanted):
        raise DataError(
            f"{run} was trained on {config.task}; give a run of `ngs train {wanted.task}`, or a file that "
            f"`ngs weights` made of one"
        )
    return config


def check_there(run: Path, config: Config) -> None:
    """A DataError where the data that a run was trained on are not where they were."""
    if config.data != type(config)().data and not Path(config.data).exists():
        raise DataError(
            f"{config.data}, which {run} was trained on, is not there; run this where it is, or test on "
            f"other data with `ngs evaluate {run} --data FILE`"
        )


def check_data(network: Path, source: str, digest: str) -> None:
    """A DataError where what stands at `source` now is not what a network was trained on.

    Its test part may then have been learned from. Networks of earlier versions do not say.
    """
    _, facts = tensor_file.load(network, A_NETWORK, "train one with `ngs train`")
    if facts.get(DATA, digest) != digest:
        raise DataError(
            f"{source} is not what {network} was trained on; put that back, or say with "
            f"`ngs evaluate --data` that other data are meant"
        )


def step_of(path: Path, task: str) -> int:
    """When a network was kept."""
    _, facts = tensor_file.load(path, A_NETWORK, f"train one with `ngs train {task}`")
    return int(facts["step"])


def read_network(
    path: Path, task: str, needed: Mapping[str, Any], make: Callable[[Any], NetworkT]
) -> tuple[NetworkT, Any]:
    """A trained network, ready to read, and the facts kept with it, which must have those that are needed.

    `make` builds a network from such facts.
    """
    tensors, facts = tensor_file.load(path, A_NETWORK, f"train one with `ngs train {task}`")
    for name, value in needed.items():
        if facts.get(name) != value:
            found = f"it has {'other' if name in facts else 'no'} {name}"
            raise DataError(f"{path} is no network of `ngs train {task}`: {found}; train one")
    network = make(facts)
    try:
        network.load_state_dict(tensors)
    except RuntimeError:
        raise DataError(
            f"{path} is of a network that this program builds otherwise; use the version it was trained "
            f"with, or train one with `ngs train {task}`"
        ) from None
    network.eval()
    return network, facts
