"""One training run: from settings to a folder with its course and its result."""

import gc
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields, replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor

from ngs.errors import DataError, NGSError
from ngs.experiments.environment import environment, peak_memory_mb
from ngs.experiments.record import Record
from ngs.learning import tensor_file
from ngs.learning.loop import Step, Trainer, batch_taken
from ngs.tasks.finding import find
from ngs.tasks.results.job import Progress
from ngs.tasks.run_folder import (
    A_CHECKPOINT,
    A_NETWORK,
    BEST,
    CHECKPOINT,
    CONFIG,
    DATA,
    EARLY,
    ENVIRONMENT,
    RESULT,
    TASK_FILE,
    Configured,
    changed_data,
    check_there,
    load_config,
    read_facts,
    remove,
)
from ngs.tasks.settings import CHANGES_NO_RESULT
from ngs.tasks.trainable import Metrics, Prepared, Trainable

BEST_PREFIX = "best."  # marks the weights of the chosen network in a checkpoint
FEW = 20  # with fewer validation examples, the choice of the network is left to chance
LOG_EVERY = 10  # steps between rows of metrics: reading a loss waits for the device


def train(
    task: Trainable | str,
    folder: Path | str,
    *,
    resume: bool = False,
    changed_task: bool = False,
    **settings: Any,
) -> Mapping[str, Any]:
    """Train a task and test it, as `ngs train` does, and return the content of `result.json`.

    `task` is an `ngs.Task`, or a name, a file or a module as for the command. Settings are the options by
    name: `steps=300, seed=1`. With `resume`, the interrupted run in `folder` continues with its own
    settings; `changed_task` accepts changes of the task's file since then.

    Prints nothing. Remarks about the data are warnings.
    """
    task, folder = find(task) if isinstance(task, str) else task, Path(folder)
    if resume and settings:
        raise NGSError(f"a run is resumed with its own settings; leave {', '.join(settings)} out")
    asked = load_config(folder, task).settings if resume else _settings_of(task, settings)
    remark = partial(warnings.warn, stacklevel=3)
    *_, last = training(task, asked, folder, resume=resume, changed_task=changed_task, remark=remark)
    return last.row


def _settings_of(task: Trainable, given: Mapping[str, Any]) -> Any:
    known = {field.name for field in fields(task.settings)}
    if unknown := given.keys() - known:
        raise NGSError(
            f"{task.name} has no settings {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}"
        )
    return task.settings(**given)


def training(
    task: Trainable,
    settings: Any,
    folder: Path,
    *,
    resume: bool = False,
    changed_task: bool = False,
    overwrite: bool = False,
    command: Sequence[str] | None = None,
    remark: Callable[[str], None] = lambda text: None,
) -> Iterator[Progress]:
    """Train and test while iterated, writing `folder`; `command` goes on record.

    `remark` gets remarks about the data before the first step. A resumed run must have the same settings,
    but its data may have moved; `changed_task` accepts changes of its task's file. `overwrite` deletes the
    run in the folder once nothing can be refused.

    Only one at a time in a process: iterate to the end or close this before the next begins.
    """
    config = Configured(task, settings)
    if resume:
        _check_same(config, folder, changed_task)
    elif not overwrite and (folder / CONFIG).exists():
        raise NGSError(f"{folder} already holds a run; --resume it, --overwrite it, or choose another folder")
    accelerator = Accelerator()
    device = accelerator.device
    torch.manual_seed(settings.seed)
    with task.products(), spared() as spare:
        prepared = task.prepare(settings, device)
        if prepared.held_out < FEW:
            remark(
                f"the validation part has fewer than {FEW} examples ({prepared.held_out}), so which network "
                f"is chosen is left to chance; raise --validation, or use more data"
            )
        network, lessons, augment = prepared.network(), prepared.lessons(), prepared.augment
        trainer = Trainer(network, lessons, settings.settings, augment=augment, accelerator=accelerator)
        run = _Run(config, folder, prepared, trainer)
        with closing(run.record):
            if resume and (folder / CHECKPOINT).exists():
                run.restore()
            else:
                if overwrite and accelerator.is_main_process:
                    remove(folder)  # only now: nothing can be refused any more
                run.begin(command)
            spare()  # also the optimizer and its imports
            try:
                yield from run.go()
            except Exception:
                if not resume and not trainer.steps_done and accelerator.is_main_process:
                    remove(folder)  # nothing was learned, so the next attempt need not overwrite it
                raise


def _check_same(config: Configured, folder: Path, changed_task: bool) -> None:
    """Refuse to resume a run of other settings or of another task file."""
    earlier = load_config(folder, config.task)
    may_differ = {name: getattr(config.settings, name) for name in CHANGES_NO_RESULT}
    if replace(earlier.settings, **may_differ) != config.settings:
        raise NGSError(f"{folder} was trained with other settings; resume it with its own")
    file, before = config.task.file, read_facts(folder / CONFIG).get(TASK_FILE)
    known = before.get("sha256") if isinstance(before, dict) else None
    if known is not None and file is None:
        raise NGSError(f"{folder} was begun with the task of {before.get('name')!r}; give that file")
    if not changed_task and known != (None if file is None else file.sha256):
        raise NGSError(
            f"the file of the task was changed since {folder} was begun; put it back, or say with "
            f"--changed-task that the changes do not matter"
        )


@contextmanager
def spared() -> Iterator[Callable[[], None]]:
    """Keep the garbage collector away from existing objects: it needs 0.1 s for PyTorch's 300,000 alone.

    Call the yielded function to add the objects made since. The state belongs to the process: bodies must not
    overlap.
    """
    gc.freeze()
    try:
        yield gc.freeze
    finally:
        gc.unfreeze()  # or some libraries report leaks at exit


class _Run:
    """The state of a run: its clock, its record and the best network so far."""

    def __init__(self, config: Configured, folder: Path, prepared: Prepared, trainer: Trainer) -> None:
        self.config, self.settings = config, config.settings
        self.folder, self.prepared, self.trainer = folder, prepared, trainer
        self.record = Record(folder, writes=trainer.accelerator.is_main_process)
        self.seconds = 0.0
        """spent on training steps, without validation"""
        self.best: dict[str, Any] = {"accuracy": -1.0, "step": 0}
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
        checked = own.keys() - {*CHANGES_NO_RESULT, TASK_FILE}
        others = [name for name in own if name in checked and facts["config"].get(name) != own[name]]
        if others:
            raise DataError(
                f"{self.folder / CHECKPOINT} is of another configuration ({', '.join(others)} differ); "
                f"restore {CONFIG}, or train anew"
            )
        if facts["data"] != self.prepared.parts.data.digest:
            raise changed_data(self.settings.data, self.folder, "train anew")
        kept = {name for name in tensors if name.startswith(BEST_PREFIX)}
        self.best_weights = {name.removeprefix(BEST_PREFIX): tensors.pop(name).clone() for name in kept}
        self.trainer.restore(tensors, facts["place"])
        self.seconds, self.best = facts["seconds"], facts["best"]
        if self.best_weights:
            self._keep(BEST, self.best_weights, self.best["step"])
        self.record.write(CONFIG, self.config.as_facts())  # with the present path of the data
        first, now = read_facts(self.folder / ENVIRONMENT), environment(self.trainer.accelerator.device)
        later = [*first.get("resumed", []), {name: now[name] for name in ("device", "commit")}]
        self.record.write(ENVIRONMENT, {**first, "resumed": later})
        self.record.open(after=self.trainer.steps_done)

    def go(self) -> Iterator[Progress]:
        trainer = self.trainer
        begin = time.perf_counter()
        losses: list[Step] = []
        for step in trainer:
            losses.append(step)
            validating = step.number % self.settings.validate_every == 0 or not trainer.steps_left
            # Also before each checkpoint: a resumed run has the same rows, and NaN is never saved.
            testing = self.settings.test_curve and (validating or self.settings.tests_at(step.number))
            if step.number % LOG_EVERY == 0 or validating or testing:
                row = _row(losses)  # waits for the device
                self.seconds, begin = self.seconds + time.perf_counter() - begin, time.perf_counter()
                losses.clear()
                yield self._tell({**row, "seconds": round(self.seconds, 3)})
            if validating:
                told = self._tell({**self._validate(step.number), **(self._tested() if testing else {})})
                self._checkpoint()  # after the row: a resumed run keeps the rows up to its checkpoint
                yield told
            elif testing:
                yield self._tell({"step": step.number, "seconds": round(self.seconds, 3), **self._tested()})
            if validating or testing:
                begin = time.perf_counter()
        yield self._finish()

    def _tell(self, row: dict[str, Any]) -> Progress:
        self.record.add(row)
        step = self.trainer.steps_done
        return Progress(step, step + self.trainer.steps_left, row)

    def _validate(self, step: int) -> dict[str, Any]:
        """Measure on the validation part, and keep the best network.

        Networks of pre-training are not candidates: the method itself is judged.
        """
        metrics, weights = self.prepared.validate(self.trainer.learned), self.trainer.learned.state_dict()
        in_last_lesson = self.trainer.lesson >= len(self.trainer.lessons) - 1
        if in_last_lesson and metrics.accuracy >= self.best["accuracy"]:  # of equals the later
            self.best = {"accuracy": metrics.accuracy, "step": step}
            self.best_weights = {name: tensor.cpu().clone() for name, tensor in weights.items()}
            self._keep(BEST, self.best_weights, step)
        if step <= self.settings.validate_every:
            self._keep(EARLY, weights, step)
        return {"step": step, "seconds": round(self.seconds, 3), "validation": metrics.as_facts()}

    def _tested(self) -> dict[str, Any]:
        """A point of the test curve; no choice depends on it."""
        return {"test": self.prepared.test(self.trainer.learned).as_facts()}

    def _checkpoint(self) -> None:
        tensors, place = self.trainer.state()
        facts = {
            "place": place,
            "seconds": self.seconds,
            "best": self.best,
            "config": self.config.as_facts(),
            "data": self.prepared.parts.data.digest,
        }
        # The chosen network too: a run killed between two files must not mix networks of different steps.
        tensors |= {BEST_PREFIX + name: tensor for name, tensor in self.best_weights.items()}
        self._save(CHECKPOINT, A_CHECKPOINT, tensors, facts)

    def _keep(self, name: str, weights: Mapping[str, Tensor], step: int) -> None:
        facts = {"step": step, DATA: self.prepared.parts.data.digest, **self.prepared.network_facts()}
        self._save(name, A_NETWORK, weights, facts)

    def _save(self, name: str, kind: str, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        if self.trainer.accelerator.is_main_process:
            tensor_file.save(self.folder / name, kind, tensors, facts)

    def _finish(self) -> Progress:
        step, accelerator, prepared = self.trainer.steps_done, self.trainer.accelerator, self.prepared
        accelerator.wait_for_everyone()
        if not self.best_weights:  # no step was asked for
            self._validate(step)
        network = prepared.network()
        network.load_state_dict(self.best_weights)
        network.to(accelerator.device)
        result = {
            "data": prepared.parts.data.name,
            "digest": prepared.parts.data.digest,
            "method": self.settings.method,
            "steps": step,
            "epochs": self._epochs(),
            "chosen_step": self.best["step"],
            "chosen_by": prepared.held_out,
            "training_seconds": round(self.seconds, 3),
            **prepared.result_facts(),
            "validation": prepared.validate(network).as_facts(),
            "test": prepared.test(network).as_facts(),
            "peak_memory_mb": peak_memory_mb(),
        }
        self.record.write(RESULT, result)
        return Progress(step, step, result)

    def _epochs(self) -> float:
        examples = len(self.trainer.lessons[-1].examples)
        batch = batch_taken(self.settings.batch_size, examples, self.trainer.accelerator.num_processes)
        return round(float(self.settings.steps * batch / examples), 2)


def _row(steps: list[Step]) -> dict[str, Any]:
    """The mean over some steps; an NGSError if the loss is not finite."""
    last = steps[-1]
    row = {"step": last.number, "lesson": last.lesson, "learning_rate": last.learning_rate}
    loss = float(torch.stack([step.loss for step in steps]).mean())
    if not isfinite(loss):
        raise NGSError(
            f"the loss is {loss} at step {last.number}; lower the learning rate, or use float32 throughout"
        )
    same = [step.measures for step in steps if step.measures.keys() == last.measures.keys()]
    means = {name: float(torch.stack([each[name] for each in same]).mean()) for name in last.measures}
    return {**row, "loss": loss, **means}


def evaluate_run(run: Path, data: str | None = None, task: Trainable | None = None) -> tuple[str, Metrics]:
    """The name of the data and the test scores of a run's network, on its own data or on others."""
    found, settings = load_config(run, task)
    if data is None:
        check_there(run, settings)
    with found.products():
        return found.evaluate(settings, run, data, Accelerator().device)
