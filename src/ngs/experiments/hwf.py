"""Handwritten formulas as a course: which formulas to train, choose and test on, with which network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn

from ngs.errors import DataError, NGSError
from ngs.experiments.config import TrainHWF
from ngs.experiments.folder import BEST, check_data, read_network
from ngs.learning.examples import Examples
from ngs.learning.loop import Augmentation, Lesson
from ngs.learning.methods import Objective, Supervised
from ngs.learning.metrics import Scores, measure
from ngs.networks.augmentation import Handwriting
from ngs.networks.first_use import used_meanwhile
from ngs.networks.lenet import NETWORKS, SIDE
from ngs.processes import own_seed
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.reasoner import Reasoner, reasoner
from ngs.tasks.hwf.composition import composed
from ngs.tasks.hwf.dataset import GRAMMAR, Formulas, HandwrittenFormulas
from ngs.tasks.hwf.listing import TOLERANCE
from ngs.tasks.hwf.modular_arithmetic import modular_judge
from ngs.tasks.hwf.source import EMBEDDED, divided, load

PRETRAIN_STEPS = 2000
"""Pre-training that has not reached its accuracy by then is over anyway."""

FIRST_SHOWN = 12, 1, SIDE, SIDE
"""Images by which a GPU gets ready: like those of most batches, no multiple of 16, for which Triton has other
kernels."""

LONGEST_TABLED = 9
"""Symbols of the longest formulas whose tables fit the budget. `reasoner` would take a second to find out."""


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
    data = formulas_of(config)
    used, _ = divided(data.train, config.fraction, seed=0)
    held_out, train = divided(used, config.validation, seed=1)
    for name, formulas in (("train", train), ("validate", held_out), ("test", data.test)):
        if not len(formulas):
            raise NGSError(f"no formulas are left to {name} on; use more of the data, or other lengths")

    there = replace(data, images=data.images.to(device))  # once: all parts show images of one pool

    def part(formulas: Formulas) -> Reasoner:
        return reasoner_of(there.examples(formulas).to(device))

    share = min(1.0, config.pretrain_formulas / len(train))
    labelled = part(divided(train, share, seed=2)[0]) if config.pretrain else None
    return Parts(data, labelled, part(train), part(held_out), part(data.test))


def formulas_of(config: TrainHWF) -> HandwrittenFormulas:
    """The formulas a configuration is about: those of its data, or new ones with the same images."""
    data = load(config.data)
    if config.longest:
        lengths = {length: 1.0 for length in range(1, config.longest + 1, 2)}
        data = composed(data, lengths, len(data.train), len(data.test))
    return data.restricted(config.lengths) if config.lengths else data


def reasoner_of(examples: Examples) -> Reasoner:
    """By tables where they fit, and by modular arithmetic where formulas are too long for them."""
    long = examples.time > LONGEST_TABLED
    return reasoner(GRAMMAR, Arithmetic, examples, judge=modular_judge if long else None)


class HWFCourse:
    """Learn to read handwritten formulas."""

    def __init__(self, config: TrainHWF, device: torch.device) -> None:
        self.config, self.device = config, device
        with used_meanwhile(self.network, FIRST_SHOWN, device, config.settings.precision):
            self.parts = parts_of(config, device)
        self.data_name, self.digest = self.parts.data.name, self.parts.data.digest
        self.held_out = len(self.parts.validation.examples)
        self.augment: Augmentation | None = Handwriting() if config.augments else None

    def network(self) -> nn.Module:
        return NETWORKS[self.config.network](len(GRAMMAR.symbols))

    def network_facts(self) -> dict[str, Any]:
        return {"network": self.config.network, "symbols": list(GRAMMAR.symbols)}

    def lessons(self) -> list[Lesson]:
        config, parts = self.config, self.parts
        generator = torch.Generator(self.device).manual_seed(own_seed(config.seed, "objective"))
        objective = Objective(config.make_method()(parts.train.examples), parts.train, generator)
        lessons = [Lesson(config.method, parts.train.examples, objective, config.steps)]
        if parts.labelled is None:
            return lessons
        labelled = parts.labelled

        def enough(network: nn.Module) -> bool:
            share = measure(network, labelled).total.symbol
            return share is not None and share >= config.pretrain

        supervised = Objective(Supervised(), labelled, generator)
        pretrain = Lesson("pretrain", labelled.examples, supervised, PRETRAIN_STEPS, enough, ask_every=5)
        return [pretrain, *lessons]

    def validate(self, network: nn.Module) -> Scores:
        return measure(network, self.parts.validation)

    def test(self, network: nn.Module) -> Scores:
        return measure(network, self.parts.test)

    def result_facts(self) -> dict[str, Any]:
        # of results on import; what is read is compared exactly
        return {"tolerance": 0.0 if self.config.data == EMBEDDED else float(TOLERANCE)}


def load_network(folder: Path, name: str = BEST) -> nn.Module:
    """The network that was best on the validation part (or the EARLY one), ready to read images."""
    return read_network(folder / name, "hwf", _made)[0]


def _made(facts: Any, path: Path) -> nn.Module:
    if "symbols" not in facts:
        raise DataError(f"{path} is no network that reads formulas; train one with `ngs train hwf`")
    if facts["symbols"] != list(GRAMMAR.symbols):
        raise DataError(
            f"{path} reads the symbols {' '.join(facts['symbols'])}, and {' '.join(GRAMMAR.symbols)} "
            f"are needed; train one with `ngs train hwf`"
        )
    return NETWORKS[facts["network"]](len(GRAMMAR.symbols))


def evaluate(config: TrainHWF, folder: Path, data: str | None) -> tuple[str, Scores]:
    """The name of the data and the test scores of a run's network, on its own data or on other."""
    formulas = formulas_of(config) if data is None else load(data)
    device = Accelerator().device
    network = load_network(folder).to(device)
    if data is None:
        check_data(folder / BEST, config.data, formulas.digest)
    return formulas.name, measure(network, reasoner_of(formulas.examples(formulas.test).to(device)))
