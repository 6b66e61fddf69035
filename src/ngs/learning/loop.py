"""The training loop: one for every objective, on a CPU, a GPU or several processes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from math import inf
from typing import Any, Protocol

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from ngs.errors import DataError, NGSError, check_setting
from ngs.learning.schedule import Schedule, one_cycle
from ngs.processes import broadcast_from_first, means_over_processes, own_seed, own_state, states_of_all

Augmentation = Callable[[Tensor, torch.Generator], Tensor]
"""Other views of inputs [input, ...] that mean the same."""


@dataclass(frozen=True)
class Settings:
    """How to train, whatever is learned; an NGSError refuses values that cannot be.

    >>> Settings(batch_size=32, averaging=0.99).learning_rate
    0.002
    """

    batch_size: int = 64
    """examples in a step, over all processes"""
    learning_rate: float = 2e-3
    schedule: Schedule = one_cycle
    weight_decay: float = 0.0
    averaging: float = 0.0
    """decay of the moving average of the weights that is evaluated and kept; 0: the weights themselves"""
    clipping: float = 0.0
    """the largest norm of a step's gradient; 0: any"""
    precision: torch.dtype = torch.float32
    """of the network's forward pass: bfloat16 halves its time on recent GPUs"""
    seed: int = 0

    def __post_init__(self) -> None:
        rate, decay, precisions = self.learning_rate, self.weight_decay, (torch.float32, torch.bfloat16)
        example = "a function such as ngs.learning.schedule.one_cycle"
        check_setting("the batch size", self.batch_size, self.batch_size >= 1, "at least 1")
        check_setting("the schedule", self.schedule, callable(self.schedule), example)
        check_setting("the learning rate", rate, 0 < rate < inf, "positive and finite")
        check_setting("the weight decay", decay, 0 <= decay < inf, "0 or more")
        check_setting("averaging", self.averaging, 0 <= self.averaging < 1, "in [0, 1)")
        check_setting("clipping", self.clipping, 0 <= self.clipping < inf, "0 or more")
        check_setting("the precision", self.precision, self.precision in precisions, f"one of {precisions}")
        check_setting("the seed", self.seed, self.seed >= 0, "0 or more")


@dataclass(frozen=True)
class Loss:
    """The number to make smaller, and what else a step found out, as scalars for the record."""

    value: Tensor
    measures: Mapping[str, Tensor] = field(default_factory=dict)


class Batch(Protocol):
    @property
    def inputs(self) -> Any: ...


class TrainingSet(Protocol):
    """Examples that can be cut into batches."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """[example]: symbols of the hidden sentence, or any other kind: batches get their share of each"""

    def __len__(self) -> int: ...

    def batch(self, numbers: NDArray[np.int64]) -> Batch: ...


@dataclass(frozen=True, eq=False)
class Lesson:
    """A part of the training: examples, an objective for them, and when it is over."""

    name: str
    examples: TrainingSet
    objective: nn.Module
    """(output of the network, batch) -> Loss; what it keeps between steps are buffers and a `generator`"""
    steps: int
    enough: Callable[[nn.Module], bool] = lambda network: False
    """whether the network has learned this before the steps are used up; asked now and then"""
    ask_every: int = 20

    def __post_init__(self) -> None:
        check_setting(f"{self.name}: steps", self.steps, self.steps >= 0, "0 or more")
        check_setting(f"{self.name}: ask_every", self.ask_every, self.ask_every >= 1, "at least 1")
        if self.steps and not len(self.examples):
            raise NGSError(f"{self.name}: there are no examples to learn from; give at least one")


@dataclass(frozen=True)
class Step:
    """What one step did, over all processes. Its tensors are on the device: reading them waits for it."""

    number: int
    """steps done, over all lessons"""
    lesson: str
    learning_rate: float
    loss: Tensor
    """NaN also where the network's scores are not finite, whatever the objective makes of them"""
    measures: Mapping[str, Tensor] = field(default_factory=dict)


def batch_taken(batch_size: int, examples: int, processes: int = 1) -> int:
    """Examples in a batch: no more than there are, and as many for each process."""
    return min(batch_size, examples) // processes * processes


class Order:
    """Which examples each step sees: every epoch a new order, which depends on seed and epoch alone.

    Every batch has its share of each length: a fairer sample, and few different numbers of inputs, for each
    of which a GPU library prepares itself anew. The rest of an epoch, less than a batch, is dropped. A batch
    may begin with the longest: a kernel then takes long rows together, and no short one waits for them.
    """

    def __init__(
        self,
        lengths: NDArray[np.int64],
        batch_size: int,
        seed: int,
        processes: int = 1,
        *,
        longest_first: bool = False,
    ) -> None:
        self.lengths, self.seed, self.longest_first = lengths, seed, longest_first
        self.batch_size = batch_taken(batch_size, len(lengths), processes)
        if not self.batch_size:
            raise NGSError(
                f"batches of {batch_size} from {len(lengths)} examples for {processes} processes; "
                f"each process needs at least one example"
            )
        self._epoch = -1
        self._order: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def __call__(self, step: int) -> NDArray[np.int64]:
        epoch, place = divmod(step, len(self.lengths) // self.batch_size)
        if epoch != self._epoch:
            self._epoch, self._order = epoch, self._shuffled(np.random.default_rng([self.seed, epoch]))
        batch = self._order[place * self.batch_size : (place + 1) * self.batch_size]
        return batch[np.argsort(-self.lengths[batch], kind="stable")] if self.longest_first else batch

    def _shuffled(self, random: np.random.Generator) -> NDArray[np.int64]:
        """The examples of each length in random order, spread evenly over the epoch."""
        moment = np.empty(len(self.lengths))
        for length in sorted(set(self.lengths.tolist())):  # the first `np.unique` imports masked arrays
            group = np.flatnonzero(self.lengths == length)
            moment[group] = (random.permutation(len(group)) + random.random()) / len(group)
        return np.argsort(moment, kind="stable")


class Trainer:
    """A network in training, to be stopped and resumed anywhere. Iterate over it to train.

    Each process takes every n-th example of a batch and the gradients are averaged, so that a loss that is a
    mean over examples is the same for any number of processes; a mean over objects in pictures is not.

    >>> from ngs import Arithmetic, Examples, Objective, arithmetic_grammar, methods, reasoner
    >>> grammar = arithmetic_grammar()
    >>> examples = Examples.of([torch.eye(14)[grammar.encode("1+2")]], answers=[3])
    >>> task = reasoner(grammar, Arithmetic, examples)
    >>> objective = Objective(methods.posterior(examples), task, torch.Generator())
    >>> trainer = Trainer(nn.Linear(14, 14), [Lesson("all", examples, objective, steps=2)], Settings())
    >>> [step.number for step in trainer]
    [1, 2]
    """

    def __init__(
        self,
        network: nn.Module,
        lessons: Sequence[Lesson],
        settings: Settings,
        *,
        augment: Augmentation | None = None,
        accelerator: Accelerator | None = None,
    ) -> None:
        self.accelerator = Accelerator() if accelerator is None else accelerator
        self.lessons, self.settings, self.augment = tuple(lessons), settings, augment
        device = self.accelerator.device
        adam = torch.optim.AdamW(
            network.to(device).parameters(),
            settings.learning_rate,
            weight_decay=settings.weight_decay,
            fused=device.type == "cuda",
        )
        self.network, self.optimizer = self.accelerator.prepare(network, adam)
        self.average: AveragedModel | None = None
        if settings.averaging:
            moving = get_ema_multi_avg_fn(settings.averaging)  # type: ignore[no-untyped-call]
            self.average = AveragedModel(network, multi_avg_fn=moving, use_buffers=True)
            for module in self.average.modules():
                if isinstance(module, nn.RNNBase):
                    module.flatten_parameters()  # a copy's weights lie apart; cuDNN wants them side by side
        # Each process changes its own examples in its own way; dropout uses the global numbers.
        self.generator = torch.Generator(device).manual_seed(own_seed(settings.seed, "augmentation"))
        torch.manual_seed(own_seed(settings.seed, "dropout"))
        self.lesson = 0
        self.lesson_step = 0
        self.steps_done = 0

    @property
    def learned(self) -> nn.Module:
        """The network to evaluate and to keep: the average where there is one."""
        network: nn.Module = self.accelerator.unwrap_model(self.network)
        return network if self.average is None else self.average.module

    @property
    def steps_left(self) -> int:
        """At most."""
        return sum(lesson.steps for lesson in self.lessons[self.lesson :]) - self.lesson_step

    def __iter__(self) -> Iterator[Step]:
        """Train from wherever we are to the end, step by step."""
        while self.lesson < len(self.lessons):
            lesson = self.lessons[self.lesson]
            if lesson.steps:
                order = self._order(lesson.examples)
                while self.lesson_step < lesson.steps and not self._enough(lesson):
                    yield self._step(lesson, order)
            self.lesson, self.lesson_step = self.lesson + 1, 0

    def _order(self, examples: TrainingSet) -> Order:
        size, seed, processes = self.settings.batch_size, self.settings.seed, self.accelerator.num_processes
        on_gpu = self.accelerator.device.type == "cuda"
        return Order(examples.lengths, size, seed, processes, longest_first=on_gpu)

    def _enough(self, lesson: Lesson) -> bool:
        if self.lesson_step % lesson.ask_every:
            return False
        # Batch norm has seen other inputs in each process, so their networks may differ a little.
        return broadcast_from_first(lesson.enough(self.learned), self.accelerator.device)

    def _step(self, lesson: Lesson, order: Order) -> Step:
        processes, process = self.accelerator.num_processes, self.accelerator.process_index
        rate = self.settings.learning_rate * self.settings.schedule(self.lesson_step / lesson.steps)
        numbers = order(self.lesson_step)[process::processes]
        found = self._learn(lesson, lesson.examples.batch(numbers), rate)
        self.lesson_step += 1
        self.steps_done += 1
        measures = means_over_processes(found)
        return Step(self.steps_done, lesson.name, rate, measures.pop("loss"), measures)

    def _learn(self, lesson: Lesson, batch: Batch, rate: float) -> dict[str, Tensor]:
        device = self.accelerator.device
        inputs = batch.inputs if self.augment is None else self.augment(batch.inputs, self.generator)
        self.network.train()
        precision = self.settings.precision
        with torch.autocast(device.type, precision, enabled=precision != torch.float32):
            output = self.network(inputs)
        loss: Loss = lesson.objective(output, batch)
        self.optimizer.zero_grad()
        self.accelerator.backward(loss.value)
        if self.settings.clipping:
            self.accelerator.clip_grad_norm_(self.network.parameters(), self.settings.clipping)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        if self.average is not None:
            self.average.update_parameters(self._own_network)
        # NaN looks impossible to a chart and to back-search, which would report no loss at all: say it here.
        value = loss.value.detach() + sum(0 * part.detach().float().sum() for part in _tensors(output))
        return {"loss": value, **loss.measures}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything that the next step depends on. Each process must ask; what one gets is for all."""
        tensors: dict[str, Tensor] = self._modules().state_dict()
        for number, slots in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": torch.as_tensor(t) for name, t in slots.items()}
        tensors = {name: tensor.detach().clone() for name, tensor in tensors.items()}  # not what comes next
        device = self.accelerator.device
        tensors |= {name: states_of_all(get(), device) for name, get, _ in self._random_numbers()}
        place = {"lesson": self.lesson, "lesson_step": self.lesson_step, "steps_done": self.steps_done}
        return tensors, {**place, "device": device.type}

    def restore(self, tensors: Mapping[str, Tensor], place: Mapping[str, Any]) -> None:
        """Go back to where `state` was taken; a DataError where it does not fit this training."""
        self._check_fit(tensors, place)
        modules = self._modules()
        try:
            modules.load_state_dict({name: tensors[name] for name in modules.state_dict()})
        except RuntimeError as error:
            raise DataError(f"the checkpoint is of another network: {error}") from None
        self._restore_optimizer(tensors)
        self.lesson, self.lesson_step = place["lesson"], place["lesson_step"]
        self.steps_done = place["steps_done"]
        for name, _, set_state in self._random_numbers():
            set_state(own_state(tensors[name]))

    def _modules(self) -> nn.ModuleDict:
        """The network, its average and the objectives, under the names that they have in a checkpoint."""
        objectives = nn.ModuleList([lesson.objective for lesson in self.lessons])
        average = {} if self.average is None else {"average": self.average}
        return nn.ModuleDict({"network": self._own_network, **average, "objective": objectives})

    def _restore_optimizer(self, tensors: Mapping[str, Tensor]) -> None:
        parameters = [each for group in self.optimizer.param_groups for each in group["params"]]
        slots: dict[int, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            if name.startswith("optimizer."):
                _, number, slot = name.split(".")
                # In the layout of the parameter, which a file does not keep and fused optimizers insist on.
                parameter = parameters[int(number)]
                like = parameter if tensor.shape == parameter.shape else tensor
                slots.setdefault(int(number), {})[slot] = torch.empty_like(like).copy_(tensor)
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": slots, "param_groups": groups})

    def _random_numbers(self) -> Iterator[tuple[str, Callable[[], Tensor], Callable[[Tensor], object]]]:
        """How to get and to set the state of everything that draws, by its name in a checkpoint."""
        for number, lesson in enumerate(self.lessons):
            generator = getattr(lesson.objective, "generator", None)
            if generator is not None:
                yield f"draws.{number}", generator.get_state, generator.set_state
        yield "generator", self.generator.get_state, self.generator.set_state
        yield "random", torch.get_rng_state, torch.set_rng_state
        device = self.accelerator.device
        if device.type == "cuda":
            get, set_state = torch.cuda.get_rng_state, torch.cuda.set_rng_state
            yield "random_cuda", partial(get, device), partial(set_state, device=device)

    def _check_fit(self, tensors: Mapping[str, Tensor], place: Mapping[str, Any]) -> None:
        """Before anything is changed. The optimizer has nothing to compare before its first step."""
        device = self.accelerator.device.type
        if place.get("device") != device:
            raise DataError(
                f"the checkpoint is of a training on {place.get('device')}, this is on {device}; "
                f"resume on the same kind of device"
            )
        own, _ = self.state()
        needed, given = ({k for k in each if not k.startswith("optimizer.")} for each in (own, tensors))
        if needed != given:
            raise DataError(
                f"the checkpoint is of another training: it lacks {sorted(needed - given) or 'nothing'} and "
                f"has {sorted(given - needed) or 'nothing'} besides; resume with its own settings"
            )

    @property
    def _own_network(self) -> nn.Module:
        network: nn.Module = self.accelerator.unwrap_model(self.network)
        return network


def _tensors(output: Any) -> Iterator[Tensor]:
    """The tensors of what a network gives: scores, or what a decoder has read."""
    if isinstance(output, Tensor):
        yield output
    elif is_dataclass(output):
        for each in fields(output):
            yield from _tensors(getattr(output, each.name))
