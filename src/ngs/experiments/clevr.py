"""Questions about scenes as a course: which questions to train, choose and test on, with which network."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn

from ngs.errors import DataError, NGSError
from ngs.experiments.config import LANGUAGES, UNIQUE, TrainCLEVR, config_of, read_facts
from ngs.experiments.folder import BEST, CONFIG, check_data, read_network
from ngs.learning.loop import Augmentation, Lesson
from ngs.learning.methods import Objective
from ngs.networks.pointer import SIZES, PointerNetwork, Size
from ngs.processes import own_seed
from ngs.tasks.clevr.batched_execution import SceneTables
from ngs.tasks.clevr.dataset import Questions, VisualQuestions
from ngs.tasks.clevr.examples import Part
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.clevr.reading import QuestionReader
from ngs.tasks.clevr.scores import ProgramScores, measure
from ngs.tasks.clevr.source import divided, load


@dataclass(frozen=True, eq=False)
class Parts:
    """A data set cut as a configuration says."""

    data: VisualQuestions
    train: Part
    validation: Part
    """held out from the training questions; chooses the network"""
    test: Part
    """the validation questions of the data set"""


def parts_of(config: TrainCLEVR, device: torch.device) -> Parts:
    """What to train, choose and test on. The cut depends on the data alone, so that runs can be compared."""
    data = load(config.data)
    used, _ = divided(data.train, config.fraction, seed=0)
    held_out, train = divided(used, config.validation, seed=1)
    tables = SceneTables.of(data.scenes).to(device)

    def part(name: str, questions: Questions) -> Part:
        made = part_of(config, questions, tables, device)
        if not len(made.questions):
            raise NGSError(
                f"no questions are left to {name} on: of {len(questions)}, {len(questions) - len(made)} have "
                f"no answer and {len(made.not_understood)} are not understood; use more of the data"
            )
        return made

    return Parts(data, part("train", train), part("validate", held_out), part("test", data.validation))


def part_of(config: TrainCLEVR, questions: Questions, tables: SceneTables, device: torch.device) -> Part:
    """Questions in the language and with the `unique` of a configuration."""
    language, unique = LANGUAGES[config.grammar]().to(device), UNIQUE[config.unique]
    return Part.of(questions, tables, language, device, unique=unique)


class CLEVRCourse:
    """Learn to turn questions into programs."""

    def __init__(self, config: TrainCLEVR, device: torch.device) -> None:
        self.config, self.device = config, device
        self.parts = parts_of(config, device)
        self.data_name, self.digest = self.parts.data.name, self.parts.data.digest
        self.held_out = len(self.parts.validation.questions)
        self.augment: Augmentation | None = None

    def network(self) -> PointerNetwork:
        facts = self.network_facts()
        return _made(facts, Path(), self.config.dropout)

    def network_facts(self) -> dict[str, Any]:
        config = self.config
        return {
            "vocabulary": list(self.parts.data.vocabulary),
            "modules": list(MODULES),
            "copies": config.copies,
            "size": asdict(SIZES[config.network]),
        }

    def lessons(self) -> list[Lesson]:
        config, part = self.config, self.parts.train
        generator = torch.Generator(self.device).manual_seed(own_seed(config.seed, "objective"))
        reasoner = part.reasoner(config.edits, config.effort)
        objective = Objective(config.make_method()(part.examples), reasoner, generator)
        return [Lesson(config.method, part.examples, objective, config.steps)]

    def validate(self, network: nn.Module) -> ProgramScores:
        return measure(network, self.parts.validation)

    def test(self, network: nn.Module) -> ProgramScores:
        return measure(network, self.parts.test)

    def result_facts(self) -> dict[str, Any]:
        return {"not_understood": len(self.parts.train.not_understood)}


def load_reader(folder: Path, name: str = BEST) -> QuestionReader:
    """What a run learned (or its EARLY network), ready to be asked."""
    config = load_config(folder)
    network, facts = read_network(folder / name, "clevr", _made)
    vocabulary = tuple(facts["vocabulary"])
    return QuestionReader(network, vocabulary, LANGUAGES[config.grammar](), UNIQUE[config.unique])


def load_config(folder: Path) -> TrainCLEVR:
    config = config_of(read_facts(folder / CONFIG), folder / CONFIG)
    if not isinstance(config, TrainCLEVR):
        raise DataError(f"{folder} was trained on {config.task}; give a run of `ngs train clevr`")
    return config


def _made(facts: Any, path: Path, dropout: float = 0.0) -> PointerNetwork:
    if facts.get("modules") != list(MODULES):
        raise DataError(
            f"{path} is no network that arranges the {len(MODULES)} modules of CLEVR; train one with "
            f"`ngs train clevr`"
        )
    return PointerNetwork(
        len(facts["vocabulary"]),
        len(MODULES),
        size=Size(**facts["size"]),
        copies=facts["copies"],
        dropout=dropout,
    )


def evaluate(config: TrainCLEVR, folder: Path, data: str | None) -> tuple[str, ProgramScores]:
    """The name of the data and the test scores of a run's network, on its own data or on other."""
    questions = load(config.data if data is None else data)
    device = Accelerator().device
    network, facts = read_network(folder / BEST, "clevr", _made)
    if data is None:
        check_data(folder / BEST, config.data, questions.digest)
    test = questions.validation.numbered_by(tuple(facts["vocabulary"]))
    tables = SceneTables.of(questions.scenes).to(device)
    return questions.name, measure(network.to(device), part_of(config, test, tables, device))
