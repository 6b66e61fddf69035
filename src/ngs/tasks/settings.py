"""The settings of a training run: a frozen value, kept as JSON with the run, and an option for each field.

`ngs train TASK --help` shows them without PyTorch: what needs it is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

from ngs.console.options import option
from ngs.errors import NGSError
from ngs.learning.schedule import SCHEDULES

if TYPE_CHECKING:
    from ngs.learning.loop import Settings
    from ngs.learning.methods import MakeMethod
    from ngs.search.back_search import ChainSettings
    from ngs.search.support import Effort

Choices = Mapping[str, Collection[str]]
EMBEDDED = "embedded"  # the built-in data set, made from a seed
METHODS = (
    "posterior",
    "posterior-hard",
    "posterior-k-best",
    "m-bs",
    "1-bs",
    "mapo",
    "reinforce",
    "supervised",
)
"""The names of `ngs.learning.methods.METHODS`."""
CHANGES_NO_RESULT = ("data", "test_growth")
"""Settings on which no result depends: the path of the data (their content counts), and more tests."""
STARTS = ("likeliest", "sample")
PRECISIONS = ("float32", "bfloat16")


def setting(default: Any, help: str, *, hidden: bool = False) -> Any:
    """A field of settings with its help on the command line."""
    return option(default, help, hidden=hidden)


@dataclass(frozen=True)
class RunSettings:
    """The settings of every training run, checked."""

    choices: ClassVar[Choices] = {"schedule": SCHEDULES, "precision": PRECISIONS}
    """the values of settings that are names"""

    data: str = setting("", "What to learn from, where a task offers a choice.", hidden=True)
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
    test_growth: float = setting(
        0.0, "With --test-curve, also test at steps that grow by this factor, from the first on; 0: do not."
    )
    seed: int = setting(
        0, "Seeds every random number but those that make and divide the data: they are the same for each."
    )

    @property
    def preparation(self) -> str:
        """What happens before the first step, in a word or two."""
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
        if self.test_growth and self.test_growth <= 1:
            raise NGSError(f"test_growth is {self.test_growth}; give a factor above 1, or 0 to leave it out")
        self.check_positive("validate_every")
        _ = self.settings  # checks the rest

    def check_positive(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) < 1:
                raise NGSError(f"{name} is {getattr(self, name)}; it must be at least 1")

    def tests_at(self, step: int) -> bool:
        """Whether this step is a power of the growth, rounded up: a point of the test curve.

        >>> [step for step in range(1, 40) if RunSettings(test_growth=1.5).tests_at(step)]
        [1, 2, 3, 4, 6, 8, 12, 18, 26, 39]
        """
        if not self.test_growth:
            return False
        power = 1.0
        while ceil(power) < step:
            power *= self.test_growth
        return ceil(power) == step

    @property
    def settings(self) -> Settings:
        """The settings of the training loop."""
        import torch

        from ngs.learning.loop import Settings

        return Settings(
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            schedule=SCHEDULES[self.schedule],
            weight_decay=self.weight_decay,
            averaging=self.averaging,
            clipping=self.clipping,
            precision=getattr(torch, self.precision),
            seed=self.seed,
        )

    def as_facts(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def given(self) -> dict[str, Any]:
        """The settings other than the default."""
        return {name: value for name, value in vars(self).items() if value != getattr(type(self), name)}


@dataclass(frozen=True)
class TaskSettings(RunSettings):
    """The settings of a task that is learned from answers."""

    choices: ClassVar[Choices] = {**RunSettings.choices, "method": METHODS, "start": STARTS}

    method: str = setting("posterior", f"How to learn: {', '.join(METHODS)}.")
    start: str = setting("likeliest", "Where back-search starts: the likeliest sentence, or a sample.")
    walk_steps: int = setting(5, "Steps of m-bs.")
    back_search: float = setting(0.9, "The share of those steps that propose a correction.")
    best: int = setting(5, "The k of posterior-k-best.")
    samples: int = setting(1, "Sentences that reinforce draws for each example and step.")
    memory: int = setting(8, "Sentences that mapo remembers for each example.")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_positive("best", "samples", "memory")
        _ = self.make_method()  # checks the rest

    @property
    def chain(self) -> ChainSettings:
        from ngs.search.back_search import ChainSettings

        return ChainSettings(steps=self.walk_steps, back_search=self.back_search)

    def make_method(self) -> MakeMethod:
        """The method with its options."""
        from ngs.learning import methods

        start = methods.a_sample if self.start == "sample" else methods.most_likely
        with_options = {
            "1-bs": methods.one_step(start),
            "m-bs": methods.multi_step(self.chain, start),
            "posterior-k-best": methods.k_best(self.best),
            "reinforce": methods.reinforce(samples=self.samples),
            "mapo": methods.mapo(size=self.memory),
        }
        return with_options.get(self.method, methods.METHODS[self.method])


@dataclass(frozen=True)
class WriterSettings(TaskSettings):
    """The settings of a task whose network writes a sentence symbol by symbol."""

    clipping: float = setting(5.0, "The largest norm of a step's gradient; 0: any.")
    start: str = setting("sample", "Where back-search starts: the likeliest sentence, or a sample.")
    back_search: float = setting(0.5, "The share of the steps of m-bs that propose a correction.")
    samples: int = setting(8, "Sentences drawn for each example and step, by posterior and reinforce.")
    memory: int = setting(8, "Right sentences that posterior and mapo remember for each example.")
    enumerated: int = setting(
        512, "posterior lists all right sentences of examples that have no more sentences than this."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_positive("enumerated")

    @property
    def effort(self) -> Effort:
        """The effort of the search for right sentences."""
        from ngs.search.support import Effort

        return Effort(enumerated=self.enumerated, samples=self.samples, memory=self.memory)
