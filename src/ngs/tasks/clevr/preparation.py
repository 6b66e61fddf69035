"""A run that learns to read questions: which to train, choose and test on, with which network."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from ngs.errors import NGSError
from ngs.learning.metrics import read_all
from ngs.networks.pointer import SIZES, PointerNetwork, Size
from ngs.search.reasoner import Reasoner
from ngs.tasks.clevr.batched_execution import SceneTables
from ngs.tasks.clevr.dataset import Questions, VisualQuestions, divided
from ngs.tasks.clevr.examples import Part
from ngs.tasks.clevr.language import LANGUAGES
from ngs.tasks.clevr.packed import load
from ngs.tasks.clevr.program import GRAMMAR, MODULES
from ngs.tasks.clevr.reading import QuestionReader
from ngs.tasks.clevr.report.report import QuestionReadings
from ngs.tasks.clevr.scores import ProgramScores, measure
from ngs.tasks.clevr.semantics import UNIQUE
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.clevr.trainable import CLEVR
from ngs.tasks.report.readings import some_of
from ngs.tasks.run_folder import BEST, check_data, read_network, settings_for
from ngs.tasks.task import PreparedAnswers
from ngs.tasks.trainable import Parts, cut

KNOWN = {"modules": list(MODULES)}  # what a network that reads questions must know


def parts_of(settings: TrainCLEVR, device: torch.device) -> Parts[VisualQuestions, Part]:
    data = load(settings.data)
    train, held_out, test = cut(settings, data.train, data.validation, divided, "questions")
    tables = tables_of(settings, data, device)

    def part(purpose: str, questions: Questions) -> Part:
        made = Part.of(questions, tables, LANGUAGES[settings.grammar]())
        if not len(made.questions):
            raise NGSError(
                f"no questions are left to {purpose} on: of {len(questions)}, {len(questions) - len(made)} "
                f"have no answer and {len(made.not_understood)} are not understood; use more of the data"
            )
        return made

    return Parts(data, part("train", train), part("validate", held_out), part("test", test))


def tables_of(settings: TrainCLEVR, data: VisualQuestions, device: torch.device) -> SceneTables:
    return SceneTables.of(data.scenes, UNIQUE[settings.unique]).to(device)


class PreparedQuestions(PreparedAnswers):
    measure = staticmethod(measure)
    settings: TrainCLEVR
    parts: Parts[VisualQuestions, Part]

    def __init__(self, settings: TrainCLEVR, device: torch.device) -> None:
        self.settings, self.device, self.parts = settings, device, parts_of(settings, device)

    @property
    def reasoner(self) -> Reasoner:
        return self.parts.train.reasoner(self.settings.edits, self.settings.effort)

    def network(self) -> PointerNetwork:
        return _made(self.network_facts(), self.settings.dropout)

    def network_facts(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "vocabulary": list(self.parts.data.vocabulary),
            **KNOWN,
            "copies": settings.copies,
            "size": asdict(SIZES[settings.network]),
        }

    def result_facts(self) -> dict[str, Any]:
        return {"not_understood": len(self.parts.train.not_understood)}

    def readings(self, run: Path, file: str, part: str, limit: int | None) -> QuestionReadings:
        every: Part = getattr(self.parts, part)
        of, scenes, unread = len(every.questions), self.parts.data.scenes, len(every.not_understood)
        chosen = some_of(of, limit)
        reader = load_reader(run, file)
        made = Part.of(every.questions.select(chosen), every.judge.tables.to("cpu"), reader.language)
        reasoner = made.reasoner(self.settings.edits)
        return QuestionReadings(
            GRAMMAR,
            reasoner,
            reader.network,
            read_all(reader.network, reasoner),
            of,
            chosen,
            reader=reader,
            part=made,
            scenes=scenes,
            not_understood=unread,
        )


def evaluate(
    settings: TrainCLEVR, run: Path, data: str | None, device: torch.device
) -> tuple[str, ProgramScores]:
    questions = load(settings.data if data is None else data)
    network, facts = read_network(run / BEST, CLEVR.name, KNOWN, _made)
    if data is None:
        check_data(run / BEST, settings.data, questions.digest)
    test = questions.validation.numbered_by(tuple(facts["vocabulary"]))
    part = Part.of(test, tables_of(settings, questions, device), LANGUAGES[settings.grammar]())
    return questions.name, measure(network.to(device), part)


def load_reader(folder: Path, name: str = BEST) -> QuestionReader:
    """What a run learned (or its EARLY network), ready to be asked."""
    settings = settings_for(folder, CLEVR, TrainCLEVR)
    network, facts = read_network(folder / name, CLEVR.name, KNOWN, _made)
    vocabulary = tuple(facts["vocabulary"])
    language, unique = LANGUAGES[settings.grammar](), UNIQUE[settings.unique]
    return QuestionReader(network, vocabulary, language, unique, settings.moves)


def _made(facts: Any, dropout: float = 0.0) -> PointerNetwork:
    words, size = len(facts["vocabulary"]), Size(**facts["size"])
    return PointerNetwork(words, len(MODULES), size=size, copies=facts["copies"], dropout=dropout)
