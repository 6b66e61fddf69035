"""Short runs of each task and of one of the tests' own, for tests of what all of them share."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import ngs
from ngs.experiments import run
from ngs.learning import tensor_file
from ngs.tasks.clevr import packed as packed_questions
from ngs.tasks.clevr.dataset import Questions, VisualQuestions
from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.clevr.examples import Part
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.clevr.trainable import CLEVR
from ngs.tasks.hwf import packed as packed_formulas
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.hwf.trainable import HWF
from ngs.tasks.run_folder import A_CHECKPOINT, A_NETWORK, BEST, CHECKPOINT
from ngs.tasks.settings import TaskSettings
from ngs.tasks.trainable import Prepared, Trainable

CPU = torch.device("cpu")
TESTED = 20
"""Examples in the test part of each."""
SHARED: dict[str, Any] = {
    "batch_size": 8,
    "learning_rate": 1e-2,
    "averaging": 0.5,
    "validation": 0.2,
    "seed": 1,
}


@dataclass(frozen=True)
class Short:
    """A task with the settings of a run of a second, and what tests must know of its data."""

    task: Trainable
    settings: Any
    what: str
    """what its examples are called"""
    write: Callable[[Path], None]
    """into a file: its data"""
    write_other: Callable[[Path], None]
    """other data, which differ as little as may be"""
    shown: Callable[[Any], list[Hashable]]
    """what a network sees in a part, by which parts are told apart"""

    def but(self, **changes: Any) -> Short:
        return replace(self, settings=replace(self.settings, **changes))

    def train(self, folder: Path, **options: Any) -> Iterator[run.Progress]:
        return run.training(self.task, self.settings, folder, **options)

    def finished(self, folder: Path, **options: Any) -> dict[str, Any]:
        """Run to the end; the result."""
        *_, last = self.train(folder, **options)
        return dict(last.row)

    def left(self, folder: Path, events: int) -> run.Progress:
        """Run until some signs of life were given; the last of them."""
        running = self.train(folder)
        for _ in range(events):
            last = next(running)
        running.close()  # type: ignore[attr-defined]
        return last

    def prepared(self) -> Prepared:
        return self.task.prepare(self.settings, CPU)


Straight = Callable[[Short], Path]
"""The folder of a run to the end."""


def weights(folder: Path, name: str = BEST) -> dict[str, Tensor]:
    return tensor_file.load(folder / name, A_CHECKPOINT if name == CHECKPOINT else A_NETWORK, "")[0]


def same_tensors(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def of_formulas(folder: Path) -> Short:
    """With everything that a checkpoint has to keep; checkpoints do not fall on lines of the record."""
    write_formulas(path := folder / "formulas.ngs")
    settings = TrainHWF(str(path), **SHARED, method="m-bs", steps=12, validate_every=5, augment=True)
    other = partial(write_formulas, seed=1)
    return Short(HWF, settings, "formulas", write_formulas, other, _images)


def write_formulas(path: Path, *, seed: int = 0) -> None:
    packed_formulas.write(path, embedded(seed=seed, train=80, test=TESTED, lengths={1: 0.5, 3: 0.5}))


def _images(part: Any) -> list[Hashable]:
    return [row for row in part.examples.inputs.where.flatten().tolist() if row != -1]


def of_questions(folder: Path) -> Short:
    """The posterior searches, and remembers what it finds."""
    write_questions(path := folder / "questions.ngs")
    searching = {"enumerated": 1, "samples": 4, "memory": 3, "walk_steps": 2}
    settings = TrainCLEVR(
        str(path), **SHARED, **searching, steps=7, validate_every=3, dropout=0.1, test_curve=True
    )
    return Short(CLEVR, settings, "questions", write_questions, _write_other_questions, asked)


def few_questions(longest: int = 12, train: int = 48) -> VisualQuestions:
    """Few and short ones to learn from, and 20 to be tested on."""

    def short(questions: Questions, number: int) -> Questions:
        return questions.select((questions.modules.lengths <= longest).nonzero().flatten()[:number])

    made = synthetic(scenes=10, per_scene=8, validation_scenes=5, validation_per_scene=8)
    return replace(made, train=short(made.train, train), validation=short(made.validation, TESTED))


def write_questions(path: Path) -> None:
    packed_questions.write(path, few_questions())


def _write_other_questions(path: Path) -> None:
    """With a single answer that differs."""
    questions = few_questions()
    answers = questions.train.answers.clone()
    answers[5] = (answers[5] + 1) % 28
    packed_questions.write(path, replace(questions, train=replace(questions.train, answers=answers)))


def asked(part: Part) -> list[Hashable]:
    """The number and the scene of each question."""
    return list(zip(part.questions.numbers.tolist(), part.questions.scenes.tolist(), strict=True))


GRAMMAR = ngs.Grammar.parse("""
start: digit digit -> add
digit: "0" | "1" | "2" | "3" | "4"
""")


class Sums(ngs.Semantics):
    symbol = int

    def add(a, b):  # type: ignore[no-untyped-def]
        return a + b


@dataclass(frozen=True)
class SumsSettings(TaskSettings):
    data: str = ngs.setting("sums.json", "A file with digits, and what they come to.")


def write_sums(path: Path, *, seed: int = 0, mistaken: int = 0) -> None:
    """80 sums to learn from, and 20 to be tested on; `mistaken` is added to the answers of those."""
    generator = torch.Generator().manual_seed(seed)
    digits = torch.randint(5, (80 + TESTED, 2), generator=generator).tolist()
    answers = [a + b + (mistaken if k >= 80 else 0) for k, (a, b) in enumerate(digits)]
    path.write_text(json.dumps({"digits": digits, "answers": answers}))


def _sums_of(settings: Any) -> ngs.Splits:
    """Each digit is seen as a vector that has noise on it."""
    facts = json.loads(Path(settings.data).read_text())
    digits = torch.tensor(facts["digits"])
    noise = 0.1 * torch.randn(*digits.shape, 5, generator=torch.Generator().manual_seed(0))
    seen = torch.eye(5)[digits] + noise

    def part(rows: slice) -> ngs.Examples:
        return ngs.Examples.of(list(seen[rows]), facts["answers"][rows], digits[rows].tolist())

    return ngs.Splits(train=part(slice(80)), test=part(slice(80, None)), name="few sums")


SUMS = ngs.Task(
    name="sums",
    grammar=GRAMMAR,
    semantics=Sums,
    settings=SumsSettings,
    data=_sums_of,
    network=lambda settings: nn.Linear(5, len(GRAMMAR.symbols)),
)
"""Two digits and their sum: not installed, and learned in milliseconds."""


def of_sums(folder: Path) -> Short:
    write_sums(path := folder / "sums.json")
    settings = SumsSettings(str(path), **SHARED, steps=12, validate_every=6, test_curve=True)
    return Short(SUMS, settings, "examples", write_sums, partial(write_sums, seed=1), _vectors)


def _vectors(part: Any) -> list[Hashable]:
    pool = part.examples.inputs
    return [tuple(vector) for vector in pool.inputs[pool.where].flatten(0, 1).tolist()]
