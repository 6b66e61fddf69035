"""The whole configuration of a training run: a frozen value, kept as JSON with the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

import torch

from ngs.errors import DataError, NGSError
from ngs.grammar.constraint import AnyOrder, Constraint
from ngs.learning.loop import Settings
from ngs.learning.methods import (
    METHODS,
    MakeMethod,
    Start,
    a_sample,
    k_best,
    mapo,
    most_likely,
    multi_step,
    one_step,
    reinforce,
)
from ngs.learning.schedule import SCHEDULES
from ngs.networks.lenet import NETWORKS
from ngs.networks.pointer import SIZES
from ngs.search.back_search import ChainSettings
from ngs.search.edits import Edits
from ngs.search.support import Effort
from ngs.tasks.clevr.language import Programs, TidyPrograms
from ngs.tasks.clevr.noun_phrases import rearrangements, switches
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.clevr.semantics import Unique, lenient, strict
from ngs.tasks.pictures.rendered_pictures import RENDERED
from ngs.tasks.pictures.scene_network import SCENE_NETWORKS
from ngs.tasks.source import EMBEDDED

Choices = Mapping[str, Collection[str]]
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def setting(default: Any, help: str) -> Any:
    """A field of a configuration, with what the command line says about it."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class Training:
    """What every training run is configured by."""

    task: ClassVar[str]
    choices: ClassVar[Choices] = {"schedule": SCHEDULES, "precision": PRECISIONS}
    """for the settings that are names"""

    data: str = setting(EMBEDDED, f"`{EMBEDDED}`, or a file made by `ngs data import`.")
    method: str = setting("posterior", "How to learn.")
    steps: int = setting(150, "Training steps.")
    batch_size: int = setting(64, "Examples in a step.")
    learning_rate: float = setting(3e-3, "Of Adam, at its highest.")
    schedule: str = setting("one-cycle", f"How the learning rate changes: {', '.join(SCHEDULES)}.")
    weight_decay: float = setting(0.0, "Of Adam, decoupled.")
    clipping: float = setting(0.0, "The largest norm of a step's gradient; 0: any.")
    averaging: float = setting(0.0, "Keep a moving average of the weights with this decay; 0: the last.")
    precision: str = setting("float32", f"Of the network's forward pass: {', '.join(PRECISIONS)}.")
    fraction: float = setting(1.0, "The share of the training examples to use, validation included.")
    validation: float = setting(0.05, "The share of those to hold out and choose the checkpoint by.")
    validate_every: int = setting(50, "Steps between validations; each also writes a checkpoint.")
    test_curve: bool = setting(False, "Also test at each validation, for curves; nothing is chosen by it.")
    seed: int = setting(
        0,
        "Seeds every random number but those that make and divide the data: they are the same for each.",
    )

    @property
    def preparation(self) -> str:
        """What goes on before the first step, in a word or two."""
        return "preparing"

    def __post_init__(self) -> None:
        for name, known in self.choices.items():
            if getattr(self, name) not in known:
                raise NGSError(f"{name} is {getattr(self, name)!r}; choose from {', '.join(known)}")
        for name in ("fraction", "validation"):
            if not 0 < getattr(self, name) <= 1:
                raise NGSError(
                    f"{name} is {getattr(self, name)}; it must be above 0 and at most 1: some examples are "
                    f"needed, to train on and to choose by"
                )
        if self.steps < 0:
            raise NGSError(f"steps is {self.steps}; it must be 0 or more")
        self.check_positive("validate_every")
        _ = self.settings  # checks the rest

    def check_positive(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) < 1:
                raise NGSError(f"{name} is {getattr(self, name)}; it must be at least 1")

    @property
    def settings(self) -> Settings:
        return Settings(
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            schedule=SCHEDULES[self.schedule],
            weight_decay=self.weight_decay,
            averaging=self.averaging,
            clipping=self.clipping,
            precision=PRECISIONS[self.precision],
            seed=self.seed,
        )

    def as_facts(self) -> dict[str, Any]:
        return {"task": self.task, **asdict(self)}

    @property
    def given(self) -> dict[str, Any]:
        """The settings that are not the default."""
        return {name: value for name, value in vars(self).items() if value != getattr(type(self), name)}


@dataclass(frozen=True)
class TrainHWF(Training):
    """Train a network to read handwritten formulas."""

    task: ClassVar[str] = "hwf"
    choices: ClassVar[Choices] = {**Training.choices, "method": METHODS, "network": NETWORKS}

    method: str = setting("posterior", f"How to learn: {', '.join(METHODS)}.")
    network: str = setting("small", f"What to train: {', '.join(NETWORKS)}.")
    augment: bool | None = setting(
        None, "Learn from slightly changed images too; by default for imported data, not for the embedded."
    )
    longest: int = setting(
        0, "Write new formulas of 1, 3, ... up to this many symbols with the images of the data; 0: do not."
    )
    lengths: tuple[int, ...] = setting((), "Only formulas of this length; may be given several times.")
    pretrain: float = setting(
        0.0, "First, in steps of its own, train with labels until this share of symbols is right; 0: do not."
    )
    pretrain_formulas: int = setting(100, "How many labelled formulas --pretrain may use.")
    walk_steps: int = setting(5, "Steps of m-bs.")
    best: int = setting(5, "The k of posterior-k-best.")
    samples: int = setting(1, "Samples that reinforce draws for each formula and step.")
    memory: int = setting(8, "Formulas that mapo remembers for each example.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.lengths, tuple) or not all(isinstance(n, int) for n in self.lengths):
            raise NGSError(f"the lengths are {self.lengths!r}; give whole numbers")
        if self.longest < 0 or (self.longest and self.longest % 2 == 0):
            raise NGSError(
                f"longest is {self.longest}; formulas have 1, 3, 5, ... symbols: give such a number, or 0 to "
                f"use the formulas of the data"
            )
        if not 0 <= self.pretrain <= 1:
            raise NGSError(f"pretrain is {self.pretrain}; it must be from 0 to 1")
        self.check_positive("pretrain_formulas", "best", "samples", "memory")
        _ = self.make_method()  # checks the rest

    @property
    def augments(self) -> bool:
        """Whether images are changed. The embedded handwriting varies enough as it is."""
        return self.data != EMBEDDED if self.augment is None else self.augment

    @property
    def chain(self) -> ChainSettings:
        return ChainSettings(steps=self.walk_steps)

    def make_method(self) -> MakeMethod:
        """The method with the options that concern it."""
        with_options = {
            "m-bs": multi_step(self.chain),
            "posterior-k-best": k_best(self.best),
            "reinforce": reinforce(samples=self.samples),
            "mapo": mapo(size=self.memory),
        }
        return with_options.get(self.method, METHODS[self.method])


LANGUAGES: Mapping[str, Callable[[], Constraint[Any]]] = {
    "tidy": TidyPrograms,
    "free": Programs,
    "none": lambda: AnyOrder(len(MODULES)),
}
"""The programs that a network may choose from: by tidy noun phrases, by the paper's grammar, by none."""
UNIQUE: Mapping[str, Unique] = {"strict": strict, "lenient": lenient}
STARTS: Mapping[str, Start] = {"sample": a_sample, "likeliest": most_likely}


@dataclass(frozen=True)
class TrainCLEVR(Training):
    """Train a network to turn questions about scenes into programs."""

    task: ClassVar[str] = "clevr"
    choices: ClassVar[Choices] = {
        "method": METHODS,
        "network": SIZES,
        "grammar": LANGUAGES,
        "unique": UNIQUE,
        "start": STARTS,
        **Training.choices,
    }

    method: str = setting("posterior", f"How to learn: {', '.join(METHODS)}.")
    network: str = setting("small", f"The size of the pointer network: {', '.join(SIZES)}.")
    steps: int = setting(800, "Training steps.")
    learning_rate: float = setting(1e-3, "Of Adam, at its highest.")
    schedule: str = setting("late-decay", f"How the learning rate changes: {', '.join(SCHEDULES)}.")
    clipping: float = setting(5.0, "The largest norm of a step's gradient; 0: any.")
    dropout: float = setting(0.0, "The share of the network's activations that a step leaves out.")
    copies: bool = setting(True, "Add the attention on a keyword to the score of its module.")
    grammar: str = setting(
        "tidy",
        "Which programs may be chosen: tidy (filters of a noun phrase in one order, one for each attribute), "
        "free (the paper's grammar) or none (any order of the modules: NS-RL).",
    )
    moves: bool = setting(
        True,
        "Back-search may also move a filter to another noun phrase, and turn a chain of them round; in the "
        "tidy grammar only.",
    )
    unique: str = setting(
        "strict", "What `unique` makes of several objects: strict, undefined; lenient, the first."
    )
    start: str = setting("sample", "Where back-search sets out from: a sample, or the likeliest program.")
    samples: int = setting(8, "Programs drawn for each question and step, by posterior and reinforce.")
    enumerated: int = setting(
        512, "posterior knows all right programs of questions with no more programs than this."
    )
    memory: int = setting(8, "Right programs that posterior remembers for each question it must search.")
    walk_steps: int = setting(5, "Steps of m-bs.")
    back_search: float = setting(0.5, "The share of those steps that propose a correction.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.dropout < 1:
            raise NGSError(f"dropout is {self.dropout}; it must be in [0, 1)")
        self.check_positive("samples", "enumerated", "memory")
        _ = self.make_method()  # checks the rest

    @property
    def edits(self) -> Edits:
        """What one step of back-search may change."""
        return rearrangements(self.moves) if self.grammar == "tidy" else switches()

    @property
    def effort(self) -> Effort:
        """How hard to look for right programs."""
        return Effort(enumerated=self.enumerated, samples=self.samples, memory=self.memory)

    @property
    def chain(self) -> ChainSettings:
        return ChainSettings(steps=self.walk_steps, back_search=self.back_search)

    def make_method(self) -> MakeMethod:
        """The method with the options that concern it."""
        start = STARTS[self.start]
        with_options = {
            "1-bs": one_step(start),
            "m-bs": multi_step(self.chain, start),
            "reinforce": reinforce(samples=self.samples),
            "mapo": mapo(size=self.memory),
        }
        return with_options.get(self.method, METHODS[self.method])


SUPERVISED = "supervised"


@dataclass(frozen=True)
class TrainScenes(Training):
    """Train a network to see the scene in a picture."""

    task: ClassVar[str] = "scenes"
    choices: ClassVar[Choices] = {**Training.choices, "method": (SUPERVISED,), "network": SCENE_NETWORKS}

    data: str = setting(RENDERED, f"`{RENDERED}`, or a file made by `ngs data import FOLDER --scenes FILE`.")
    method: str = setting(SUPERVISED, f"How to learn: {SUPERVISED}, from pictures of which all is known.")
    network: str = setting("small", f"What to train: {', '.join(SCENE_NETWORKS)}.")
    rendered: int = setting(240, "How many pictures to render and learn from, beside the imported ones.")
    rendered_steps: int = setting(
        1000, "With imported data: steps on rendered pictures alone, before --steps on both, half and half."
    )
    augment: bool = setting(True, "Learn from pictures in other light and in a mirror, too.")
    steps: int = setting(500, "Training steps.")
    batch_size: int = setting(8, "Pictures in a step.")
    validate_every: int = setting(100, "Steps between validations; each also writes a checkpoint.")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_positive("rendered")
        if self.rendered_steps < 0:
            raise NGSError(f"rendered_steps is {self.rendered_steps}; it must be 0 or more")
        if self.data == RENDERED and self.rendered_steps != type(self).rendered_steps:
            raise NGSError(
                f"rendered_steps is {self.rendered_steps}, and is for imported data alone; give data as "
                f"well, or say with steps how long to learn from rendered pictures"
            )

    @property
    def preparation(self) -> str:
        return f"rendering {self.rendered:,} pictures"


Config = TrainHWF | TrainCLEVR | TrainScenes
TASKS: Mapping[str, type[Config]] = {"hwf": TrainHWF, "clevr": TrainCLEVR, "scenes": TrainScenes}


def config_of(facts: Any, origin: Path) -> Config:
    """The configuration that some run's `as_facts` wrote, of whatever task."""
    task = facts.get("task") if isinstance(facts, dict) else None
    kind = TASKS.get(str(task))
    if kind is None:
        raise DataError(
            f"{origin} is no configuration of `ngs train`: its task is {task!r}, and there are "
            f"{', '.join(TASKS)}; restore it, or train anew"
        )
    values: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in facts.items() if k != "task"
    }
    if unknown := values.keys() - {f.name for f in fields(kind)}:
        raise DataError(
            f"{origin} has settings this program does not know: {', '.join(sorted(unknown))}; "
            f"use the version it was made with, or train anew"
        )
    try:
        return kind(**values)
    except TypeError as error:
        raise DataError(f"{origin} is no configuration of `ngs train {task}` ({error})") from None


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
