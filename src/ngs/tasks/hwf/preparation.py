"""A run that learns to read formulas: which to train, choose and test on, with which network."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ngs.learning import metrics
from ngs.learning.examples import Examples
from ngs.learning.loop import Lesson
from ngs.learning.methods import Objective, Supervised
from ngs.learning.metrics import Scores, read_all
from ngs.networks.augmentation import Handwriting
from ngs.networks.lenet import NETWORKS
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.reasoner import Reasoner, reasoner
from ngs.tasks.hwf.composition import composed
from ngs.tasks.hwf.dataset import GRAMMAR, PRETRAIN_STEPS, HandwrittenFormulas, divided
from ngs.tasks.hwf.integer_judge import integer_judge
from ngs.tasks.hwf.listing import TOLERANCE
from ngs.tasks.hwf.packed import load
from ngs.tasks.hwf.report.report import FormulaReadings
from ngs.tasks.hwf.settings import SHARES, TrainHWF
from ngs.tasks.report.readings import some_of
from ngs.tasks.report.sections import as_picture
from ngs.tasks.run_folder import BEST, check_data, read_network
from ngs.tasks.settings import EMBEDDED
from ngs.tasks.task import PreparedAnswers
from ngs.tasks.trainable import Parts, cut

SYMBOLS = {"symbols": list(GRAMMAR.symbols)}  # what a network that reads formulas must know

LONGEST_TABLED = 9
"""Symbols of the longest formulas whose tables fit the budget. `reasoner` would take a second to find out."""


def parts_of(settings: TrainHWF, device: torch.device) -> Parts[HandwrittenFormulas, Reasoner]:
    data = formulas_of(settings)
    there = replace(data, images=data.images.to(device))  # once: all parts show images of one pool
    train, test = (there.examples(part).to(device) for part in (data.train, data.test))
    return Parts(data, *map(reasoner_of, cut(settings, train, test, divided, "formulas")))


def formulas_of(settings: TrainHWF) -> HandwrittenFormulas:
    """The formulas a configuration is about: those of its data, or new ones with the same images."""
    data = load(settings.data)
    if settings.longest:
        lengths = {length: 1.0 for length in range(1, settings.longest + 1, 2)}
        data = composed(data, lengths, len(data.train), len(data.test))
    return data.restricted(settings.lengths) if settings.lengths else data


def reasoner_of(examples: Examples) -> Reasoner:
    """By tables where they fit, and in whole numbers where formulas are too long for them."""
    long = examples.time > LONGEST_TABLED
    return reasoner(GRAMMAR, Arithmetic, examples, judge=integer_judge if long else None)


def measure(network: nn.Module, reasoner: Reasoner) -> Scores:
    return replace(metrics.measure(network, reasoner), names=SHARES)


class PreparedFormulas(PreparedAnswers):
    measure = staticmethod(measure)
    settings: TrainHWF
    parts: Parts[HandwrittenFormulas, Reasoner]

    def __init__(self, settings: TrainHWF, device: torch.device) -> None:
        self.settings, self.device, self.parts = settings, device, parts_of(settings, device)

    @property
    def augment(self) -> Handwriting | None:
        return Handwriting() if self.settings.augments else None

    def network(self) -> nn.Module:
        return _made(self.settings.network)

    def network_facts(self) -> dict[str, Any]:
        return {"network": self.settings.network, **SYMBOLS}

    def lessons(self) -> list[Lesson]:
        lessons = super().lessons()
        return [self._pretraining(self.settings.pretrain), *lessons] if self.settings.pretrain else lessons

    def _pretraining(self, goal: float) -> Lesson:
        examples = self.reasoner.examples
        labelled = reasoner_of(
            divided(examples, min(1.0, self.settings.pretrain_formulas / len(examples)), seed=2)[0]
        )

        def enough(network: nn.Module) -> bool:
            share = measure(network, labelled).total.symbol
            return share is not None and share >= goal

        objective = Objective(Supervised(), labelled, torch.Generator(self.device))
        return Lesson("pretrain", labelled.examples, objective, PRETRAIN_STEPS, enough, ask_every=5)

    def result_facts(self) -> dict[str, Any]:
        # of results on import; what is read is compared exactly
        return {"tolerance": 0.0 if self.settings.data == EMBEDDED else float(TOLERANCE)}

    def readings(self, run: Path, file: str, part: str, limit: int | None) -> FormulaReadings:
        every: Examples = getattr(self.parts, part).examples
        chosen = some_of(len(every), limit)
        reasoner, network = reasoner_of(every.select(chosen)), load_network(run, file)
        names = [self.parts.data.test.names[k] for k in chosen] if part == "test" else ()
        reading = read_all(network, reasoner)
        of = len(every)
        return FormulaReadings(GRAMMAR, reasoner, network, reading, of, chosen, Arithmetic, as_picture, names)


def evaluate(settings: TrainHWF, run: Path, data: str | None, device: torch.device) -> tuple[str, Scores]:
    formulas = formulas_of(settings) if data is None else load(data)
    network = load_network(run).to(device)
    if data is None:
        check_data(run / BEST, settings.data, formulas.digest)
    return formulas.name, measure(network, reasoner_of(formulas.examples(formulas.test).to(device)))


def load_network(folder: Path, name: str = BEST) -> nn.Module:
    """The network that was best on the validation part (or the EARLY one), ready to read images."""
    return read_network(folder / name, "hwf", SYMBOLS, lambda facts: _made(facts["network"]))[0]


def _made(network: str) -> nn.Module:
    return NETWORKS[network](len(GRAMMAR.symbols))
