"""The whole configuration of a training run: a frozen value, kept as JSON with the run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch

from ngs.errors import DataError, NGSError
from ngs.learning.loop import Settings
from ngs.learning.methods import METHODS, Method, k_likeliest, mapo, multi_step, reinforce
from ngs.learning.schedule import SCHEDULES
from ngs.perception.lenet import NETWORKS
from ngs.search.multi_step import Walk
from ngs.tasks.hwf.source import EMBEDDED

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class TrainHWF:
    """Train a network to read handwritten formulas."""

    data: str = EMBEDDED
    """`embedded`, or a file made by `ngs data import`"""
    method: str = "posterior"
    network: str = "small"
    steps: int = 600
    batch_size: int = 64
    learning_rate: float = 3e-3
    schedule: str = "one-cycle"
    weight_decay: float = 0.0
    averaging: float = 0.0
    """decay of a moving average of the weights, which is then what is evaluated and kept"""
    augment: bool = False
    precision: str = "float32"
    lengths: tuple[int, ...] = ()
    """train and test on formulas of these lengths only; empty: all"""
    fraction: float = 1.0
    """the share of the training formulas that is used, validation included"""
    validation: float = 0.05
    """the share of those that is held out, to choose the checkpoint by"""
    pretrain: float = 0.0
    """first train with labels until this share of symbols is right; the paper's authors took 0.5"""
    pretrain_formulas: int = 100
    """on this many labelled formulas"""
    walk_steps: int = 5
    """of m-bs"""
    best: int = 5
    """the k of posterior-k-best"""
    samples: int = 1
    """of reinforce, for each formula and step"""
    memory: int = 8
    """formulas mapo remembers for each example"""
    validate_every: int = 50
    """steps between validations, each with a checkpoint"""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise NGSError(f"{name} is {getattr(self, name)!r}; choose from {', '.join(known)}")
        for name in ("fraction", "validation", "pretrain"):
            if not 0 <= getattr(self, name) <= 1:
                raise NGSError(f"{name} is {getattr(self, name)}; it must be from 0 to 1")
        for name in ("validate_every", "pretrain_formulas", "best", "samples", "memory"):
            if getattr(self, name) < 1:
                raise NGSError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.steps < 0:
            raise NGSError(f"steps is {self.steps}; it must be 0 or more")
        self.settings  # noqa: B018  # checks the rest

    @property
    def settings(self) -> Settings:
        return Settings(
            self.batch_size,
            self.learning_rate,
            SCHEDULES[self.schedule],
            self.weight_decay,
            self.averaging,
            PRECISIONS[self.precision],
            self.seed,
        )

    def make_method(self) -> Method:
        """The method with the options that concern it."""
        with_options = {
            "m-bs": multi_step(Walk(steps=self.walk_steps)),
            "posterior-k-best": k_likeliest(self.best),
            "reinforce": reinforce(samples=self.samples),
            "mapo": mapo(size=self.memory),
        }
        return with_options.get(self.method, METHODS[self.method])

    def as_facts(self) -> dict[str, Any]:
        return {"task": "hwf", **asdict(self)}

    @classmethod
    def from_facts(cls, facts: Any, origin: Path) -> TrainHWF:
        """The configuration that `as_facts` wrote."""
        if not isinstance(facts, dict) or facts.get("task") != "hwf":
            raise DataError(f"{origin} is no configuration of `ngs train hwf`")
        values = {k: v for k, v in facts.items() if k != "task"}
        unknown = values.keys() - {f.name for f in fields(cls)}
        if unknown:
            raise DataError(f"{origin} has settings this program does not know: {', '.join(sorted(unknown))}")
        try:
            return cls(**{**values, "lengths": tuple(values.get("lengths", ()))})
        except TypeError as error:
            raise DataError(f"{origin} is no configuration of `ngs train hwf`: {error}") from None


_CHOICES = {"method": METHODS, "network": NETWORKS, "schedule": SCHEDULES, "precision": PRECISIONS}


def read_facts(path: Path) -> Any:
    """The JSON of a run's file; a DataError naming it where there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file; is {path.parent} the folder of a run?") from None
    except ValueError as error:
        raise DataError(f"{path} is damaged: {error}") from None
