"""The whole configuration of a training run: a frozen value, kept as JSON with the run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
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


def setting(default: Any, help: str) -> Any:
    """A field of a configuration, with what the command line says about it."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class TrainHWF:
    """Train a network to read handwritten formulas."""

    data: str = setting(EMBEDDED, f"`{EMBEDDED}`, or a file made by `ngs data import`.")
    method: str = setting("posterior", f"How to learn: {', '.join(METHODS)}.")
    network: str = setting("small", f"What to train: {', '.join(NETWORKS)}.")
    steps: int = setting(150, "Training steps.")
    batch_size: int = setting(64, "Formulas in a step.")
    learning_rate: float = setting(3e-3, "Of Adam, at its highest.")
    schedule: str = setting("one-cycle", f"How the learning rate changes: {', '.join(SCHEDULES)}.")
    weight_decay: float = setting(0.0, "Of Adam, decoupled.")
    averaging: float = setting(0.0, "Keep a moving average of the weights with this decay; 0: the last.")
    augment: bool | None = setting(
        None, "Learn from slightly changed images too; by default for imported data, not for the embedded."
    )
    precision: str = setting("float32", f"Of the network's forward pass: {', '.join(PRECISIONS)}.")
    lengths: tuple[int, ...] = setting((), "Only formulas of this length; may be given several times.")
    fraction: float = setting(1.0, "The share of the training formulas to use, validation included.")
    validation: float = setting(0.05, "The share of those to hold out and choose the checkpoint by.")
    pretrain: float = setting(
        0.0, "First, in steps of its own, train with labels until this share of symbols is right; 0: do not."
    )
    pretrain_formulas: int = setting(100, "How many labelled formulas --pretrain may use.")
    walk_steps: int = setting(5, "Steps of m-bs.")
    best: int = setting(5, "The k of posterior-k-best.")
    samples: int = setting(1, "Samples that reinforce draws for each formula and step.")
    memory: int = setting(8, "Formulas that mapo remembers for each example.")
    validate_every: int = setting(50, "Steps between validations; each also writes a checkpoint.")
    test_curve: bool = setting(False, "Also test at each validation, for curves; nothing is chosen by it.")
    seed: int = setting(0, "Seeds every random number.")

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
        for name in ("fraction", "validation"):
            if not getattr(self, name):
                raise NGSError(f"{name} is 0; some formulas are needed, to train on and to choose by")
        if self.steps < 0:
            raise NGSError(f"steps is {self.steps}; it must be 0 or more")
        _ = self.settings, self.make_method()  # these check the rest

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

    @property
    def augments(self) -> bool:
        """Whether images are changed. The embedded handwriting varies enough as it is."""
        return self.data != EMBEDDED if self.augment is None else self.augment

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
            raise DataError(f"{origin} is no configuration of `ngs train hwf`; restore it, or train anew")
        values = {k: v for k, v in facts.items() if k != "task"}
        unknown = values.keys() - {f.name for f in fields(cls)}
        if unknown:
            raise DataError(
                f"{origin} has settings this program does not know: {', '.join(sorted(unknown))}; "
                f"use the version it was made with, or train anew"
            )
        try:
            return cls(**{**values, "lengths": tuple(values.get("lengths", ()))})
        except TypeError as error:
            raise DataError(f"{origin} is no configuration of `ngs train hwf` ({error})") from None


_CHOICES = {"method": METHODS, "network": NETWORKS, "schedule": SCHEDULES, "precision": PRECISIONS}


def read_facts(path: Path) -> Any:
    """The JSON of a run's file; a DataError naming it where there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(
            f"{path} cannot be read: {error.strerror or error}; give the folder of a run, as `ngs train` "
            f"makes it"
        ) from None
    except ValueError as error:
        raise DataError(f"{path} is damaged ({error}); restore it, or train anew") from None
