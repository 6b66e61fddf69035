"""One training run: from a configuration to a folder that says what ran, how it went and what came of it.

config.json              what was asked for
environment.json         what it ran on
metrics.jsonl            the curves; tensorboard/ holds the same
checkpoint.safetensors   everything needed to go on
best.safetensors         the network that was best on the validation part
result.json              how good that network is on the test part
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from ngs.errors import DataError, NGSError
from ngs.experiments.config import TrainHWF, read_facts
from ngs.experiments.environment import environment, peak_memory_mb
from ngs.experiments.record import METRICS, TENSORBOARD, Record
from ngs.learning import tensor_file
from ngs.learning.loop import Lesson, Step, Trainer
from ngs.learning.objective import Supervised
from ngs.learning.processes import own_seed
from ngs.learning.reasoner import Reasoner, reasoner
from ngs.learning.scores import Scores, measure
from ngs.perception.augmentation import Handwriting
from ngs.perception.lenet import NETWORKS
from ngs.reasoning.arithmetic import Arithmetic
from ngs.tasks.hwf.dataset import GRAMMAR, Formulas, HandwrittenFormulas
from ngs.tasks.hwf.listing import TOLERANCE
from ngs.tasks.hwf.source import EMBEDDED, divided, load

CHECKPOINT, EARLY, BEST = "checkpoint.safetensors", "early.safetensors", "best.safetensors"
CONFIG, ENVIRONMENT, RESULT, REPORT = "config.json", "environment.json", "result.json", "report.html"
A_CHECKPOINT, A_NETWORK = "an NGS checkpoint", "a trained NGS network"
BEST_PREFIX = "best."
"""Of the chosen network's weights in a checkpoint."""
LOG_EVERY = 10
"""Steps between lines of metrics: reading a loss waits for the device."""
PRETRAIN_STEPS = 2000
"""Pre-training that has not reached its accuracy by then is over anyway."""


@dataclass(frozen=True)
class Progress:
    """Where a run is: after some steps, or after a validation."""

    step: int
    steps: int
    """at most"""
    row: Mapping[str, Any]
    """what was measured"""


@dataclass(frozen=True, eq=False)
class Parts:
    """A data set cut as a configuration says."""

    data: HandwrittenFormulas
    labelled: Reasoner | None
    """the part of `train` whose labels pre-training may see"""
    train: Reasoner
    validation: Reasoner
    test: Reasoner


def parts_of(config: TrainHWF, device: torch.device) -> Parts:
    """What to train, choose and test on. The cut depends on the data alone, so that runs can be compared."""
    data = load(config.data)
    if config.lengths:
        data = data.restricted(config.lengths)
    used, _ = divided(data.train, config.fraction, seed=0)
    held_out, train = divided(used, config.validation, seed=1)
    for name, formulas in (("train", train), ("validate", held_out), ("test", data.test)):
        if not len(formulas):
            raise NGSError(f"no formulas are left to {name} on; use more of the data, or other lengths")

    there = replace(data, images=data.images.to(device))  # once: all parts show images of one pool

    def reasoner_of(formulas: Formulas) -> Reasoner:
        return reasoner(GRAMMAR, Arithmetic, there.examples(formulas).to(device))

    share = min(1.0, config.pretrain_formulas / len(train))
    labelled = reasoner_of(divided(train, share, seed=2)[0]) if config.pretrain else None
    return Parts(data, labelled, reasoner_of(train), reasoner_of(held_out), reasoner_of(data.test))


def lessons_of(config: TrainHWF, parts: Parts, device: torch.device) -> list[Lesson]:
    generator = torch.Generator(device).manual_seed(own_seed(config.seed, "objective"))
    objective = config.make_method()(parts.train, generator)
    lessons = [Lesson(config.method, parts.train.examples, objective, config.steps)]
    if parts.labelled is None:
        return lessons
    labelled = parts.labelled

    def enough(network: nn.Module) -> bool:
        share = measure(network, labelled).total.symbol
        return share is not None and share >= config.pretrain

    pretrain = Lesson("pretrain", labelled.examples, Supervised(), PRETRAIN_STEPS, enough, ask_every=5)
    return [pretrain, *lessons]


def train(
    config: TrainHWF, folder: Path, *, resume: bool = False, command: Sequence[str] | None = None
) -> Iterator[Progress]:
    """Train and test, writing `folder` as it goes. Runs as it is iterated; `command` goes on record."""
    if resume and TrainHWF.from_facts(read_facts(folder / CONFIG), folder / CONFIG) != config:
        raise NGSError(f"{folder} was trained with other settings; resume it with its own")
    if not resume and (folder / CONFIG).exists():
        raise NGSError(f"{folder} already holds a run; --resume it, --overwrite it, or choose another folder")
    accelerator = Accelerator()
    device = accelerator.device
    torch.manual_seed(config.seed)
    parts = parts_of(config, device)
    trainer = Trainer(
        NETWORKS[config.network](len(GRAMMAR.symbols)),
        lessons_of(config, parts, device),
        config.settings,
        augment=Handwriting() if config.augments else None,
        accelerator=accelerator,
    )
    run = _Run(config, folder, parts, trainer)
    with closing(run.record):
        if resume and (folder / CHECKPOINT).exists():
            run.restore()
        else:
            run.begin(command)
        yield from run.go()


class _Run:
    """The state of a run beyond the trainer's: its clock, its record and the best network so far."""

    def __init__(self, config: TrainHWF, folder: Path, parts: Parts, trainer: Trainer) -> None:
        self.config, self.folder, self.parts, self.trainer = config, folder, parts, trainer
        self.record = Record(folder, writes=trainer.accelerator.is_main_process)
        self.seconds = 0.0
        """spent on training steps, without validation"""
        self.best: dict[str, Any] = {"calculation": -1.0, "step": 0}
        self.best_weights: dict[str, Tensor] = {}

    def begin(self, command: Sequence[str] | None) -> None:
        self.record.write(CONFIG, self.config.as_facts())
        self.record.write(ENVIRONMENT, environment(self.trainer.accelerator.device, command))
        self.record.open(after=0)

    def restore(self) -> None:
        tensors, facts = tensor_file.load(
            self.folder / CHECKPOINT, A_CHECKPOINT, "train anew into another folder"
        )
        own = json.loads(json.dumps(self.config.as_facts()))
        if facts["config"] != own:
            others = [name for name in own if facts["config"].get(name) != own[name]]
            raise DataError(
                f"{self.folder / CHECKPOINT} is of another configuration ({', '.join(others)} differ); "
                f"restore {CONFIG}, or train anew"
            )
        if facts["data"] != self.parts.data.digest:
            raise DataError(
                f"{self.config.data} is not what {self.folder} was trained on so far; put that back, "
                f"or train anew"
            )
        kept = {name for name in tensors if name.startswith(BEST_PREFIX)}
        self.best_weights = {name.removeprefix(BEST_PREFIX): tensors.pop(name).clone() for name in kept}
        self.trainer.restore(tensors, facts["place"])
        self.seconds, self.best = facts["seconds"], facts["best"]
        if self.best_weights:
            self._keep(BEST, self.best_weights, self.best["step"])
        self.record.open(after=self.trainer.steps_done)

    def go(self) -> Iterator[Progress]:
        trainer = self.trainer
        begin = time.perf_counter()
        losses: list[Step] = []
        for step in trainer:
            losses.append(step)
            validating = step.number % self.config.validate_every == 0 or not trainer.steps_left
            # Before each checkpoint too: a resumed run then tells the same, and NaN is never saved as good.
            if step.number % LOG_EVERY == 0 or validating:
                row = _row(losses)  # waits for the device
                self.seconds, begin = self.seconds + time.perf_counter() - begin, time.perf_counter()
                losses.clear()
                yield self._tell({**row, "seconds": round(self.seconds, 3)})
            if validating:
                told = self._tell(self._validate(step.number))
                self._checkpoint()  # after the row: a resumed run keeps the rows up to its checkpoint
                yield told
                begin = time.perf_counter()
        yield self._finish()

    def _tell(self, row: dict[str, Any]) -> Progress:
        self.record.add(row)
        step = self.trainer.steps_done
        return Progress(step, step + self.trainer.steps_left, row)

    def _validate(self, step: int) -> dict[str, Any]:
        """Measure on the validation part, and keep the network if none was better.

        What pre-training made is not for the choice: the method itself is judged.
        """
        scores = measure(self.trainer.learned, self.parts.validation)
        calculation = scores.total.calculation
        in_last_lesson = self.trainer.lesson >= len(self.trainer.lessons) - 1
        if in_last_lesson and calculation >= self.best["calculation"]:  # of equals the later: it saw more
            self.best = {"calculation": calculation, "step": step}
            weights = self.trainer.learned.state_dict()
            self.best_weights = {name: tensor.cpu().clone() for name, tensor in weights.items()}
            self._keep(BEST, self.best_weights, step)
        if step <= self.config.validate_every:
            self._keep(EARLY, self.trainer.learned.state_dict(), step)
        row = {"step": step, "seconds": round(self.seconds, 3), "validation": scores.as_facts()}
        if self.config.test_curve:
            row["test"] = measure(self.trainer.learned, self.parts.test).as_facts()
        return row

    def _checkpoint(self) -> None:
        tensors, place = self.trainer.state()
        facts = {
            "place": place,
            "seconds": self.seconds,
            "best": self.best,
            "config": self.config.as_facts(),
            "data": self.parts.data.digest,
        }
        # The chosen network too: a run killed between two files must not mix networks of different steps.
        tensors |= {BEST_PREFIX + name: tensor for name, tensor in self.best_weights.items()}
        self._save(CHECKPOINT, A_CHECKPOINT, tensors, facts)

    def _keep(self, name: str, weights: Mapping[str, Tensor], step: int) -> None:
        facts = {"step": step, "network": self.config.network, "symbols": list(GRAMMAR.symbols)}
        self._save(name, A_NETWORK, weights, facts)

    def _save(self, name: str, kind: str, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        if self.trainer.accelerator.is_main_process:
            tensor_file.save(self.folder / name, kind, tensors, facts)

    def _finish(self) -> Progress:
        self.trainer.accelerator.wait_for_everyone()
        if not (self.folder / BEST).exists():  # no step was asked for
            self._validate(self.trainer.steps_done)
        network = load_network(self.folder).to(self.trainer.accelerator.device)
        result = {
            "data": self.parts.data.name,
            "digest": self.parts.data.digest,
            "method": self.config.method,
            "chosen_step": self.best["step"],
            "training_seconds": round(self.seconds, 3),
            # of results on import; what is read is compared exactly
            "tolerance": 0.0 if self.config.data == EMBEDDED else float(TOLERANCE),
            "validation": measure(network, self.parts.validation).as_facts(),
            "test": measure(network, self.parts.test).as_facts(),
            "peak_memory_mb": peak_memory_mb(),
        }
        self.record.write(RESULT, result)
        step = self.trainer.steps_done
        return Progress(step, step, result)


def _row(steps: list[Step]) -> dict[str, Any]:
    """The mean of what some steps did; an error where the loss is no number any more."""
    last = steps[-1]
    loss = float(torch.stack([step.loss for step in steps]).mean())
    if loss != loss or loss in (float("inf"), -float("inf")):
        raise NGSError(
            f"the loss is {loss} at step {last.number}; lower the learning rate, or use float32 throughout"
        )
    same = [step for step in steps if step.measures.keys() == last.measures.keys()]
    means = {
        name: float(torch.stack([step.measures[name] for step in same]).mean()) for name in last.measures
    }
    return {
        "step": last.number,
        "lesson": last.lesson,
        "learning_rate": last.learning_rate,
        "loss": loss,
        **means,
    }


def remove(folder: Path) -> None:
    """Delete the files of a run, and nothing else that may lie in its folder."""
    for name in (CONFIG, ENVIRONMENT, METRICS, CHECKPOINT, EARLY, BEST, RESULT, REPORT):
        (folder / name).unlink(missing_ok=True)
    for events in (folder / TENSORBOARD).glob("events.out.tfevents.*"):
        events.unlink()


def load_config(folder: Path) -> TrainHWF:
    return TrainHWF.from_facts(read_facts(folder / CONFIG), folder / CONFIG)


def load_network(folder: Path, name: str = BEST) -> nn.Module:
    """The network that was best on the validation part (or the EARLY one), ready to read images."""
    tensors, facts = tensor_file.load(folder / name, A_NETWORK, "train one with `ngs train hwf`")
    if facts["symbols"] != list(GRAMMAR.symbols):
        raise DataError(
            f"{folder / name} reads the symbols {' '.join(facts['symbols'])}, and "
            f"{' '.join(GRAMMAR.symbols)} are needed; train one with `ngs train hwf`"
        )
    network = NETWORKS[facts["network"]](len(GRAMMAR.symbols))
    network.load_state_dict(tensors)
    return network.eval()


def evaluate_run(folder: Path, data: str | None = None) -> tuple[str, Scores]:
    """The name of the data and the test scores of a run's network, on its own data or on other."""
    config = load_config(folder)
    formulas = load(config.data if data is None else data)
    if config.lengths and data is None:
        formulas = formulas.restricted(config.lengths)
    device = Accelerator().device
    test = reasoner(GRAMMAR, Arithmetic, formulas.examples(formulas.test).to(device))
    return formulas.name, measure(load_network(folder).to(device), test)
