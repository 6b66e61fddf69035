"""How good a reader of questions is: answers right and programs right, by kind of question and by length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ngs.errors import ParseError
from ngs.grammar.padding import PAD
from ngs.learning.metrics import read_all
from ngs.tasks.clevr.dataset import Questions
from ngs.tasks.clevr.equivalence import equivalent
from ngs.tasks.clevr.examples import Part
from ngs.tasks.clevr.program import Kind, Program, program_of


@dataclass(frozen=True)
class ProgramScore:
    """Counts over some questions; those of programs are None where nobody knows the true ones."""

    examples: int
    answers_right: int
    programs_right: int | None
    """identical to the true program"""
    programs_equivalent: int | None
    """identical up to equivalence"""

    def as_facts(self) -> dict[str, float | int | None]:
        def share(count: int | None) -> float | None:
            return None if count is None else count / max(self.examples, 1)

        return {
            "examples": self.examples,
            "answers": share(self.answers_right),
            "programs": share(self.programs_right),
            "equivalent": share(self.programs_equivalent),
        }


@dataclass(frozen=True)
class ProgramScores:
    """The score of all questions, of each kind, and of each length of program."""

    total: ProgramScore
    by_kind: Mapping[str, ProgramScore]
    by_length: Mapping[int, ProgramScore]

    @property
    def accuracy(self) -> float:
        """The share of questions that are answered rightly."""
        return self.total.answers_right / max(self.total.examples, 1)

    def as_facts(self) -> dict[str, object]:
        """For JSON."""
        by_kind = {kind: score.as_facts() for kind, score in self.by_kind.items()}
        by_length = {str(length): score.as_facts() for length, score in self.by_length.items()}
        return {**self.total.as_facts(), "by_kind": by_kind, "by_length": by_length}


@dataclass(frozen=True)
class Outcome:
    """What became of one question."""

    kind: Kind | None
    length: int
    right: bool
    same: bool | None
    """whether the program is the true one; None where that is not known"""
    equivalent: bool | None


def outcomes(questions: Questions, programs: Tensor, right: Tensor) -> list[Outcome]:
    """What became of each question, given what `read_all` says."""

    def outcome(k: int) -> Outcome:
        true = questions.program(k)
        read = program_of(programs[k].tolist())
        same = None if true is None else read == true
        length = len(read or true or ())
        return Outcome(questions.kind(k), length, bool(right[k]), same, same_meaning(read, true))

    return [outcome(k) for k in range(len(questions))]


def same_meaning(read: Program, true: Program | None) -> bool | None:
    """Whether a program is equivalent to the true one, if that is known.

    One without a form (a policy without grammar, or no program at all) is not.
    """
    try:
        return None if true is None else read == true or equivalent(read, true)
    except ParseError:
        return False


def scores_of(found: Iterable[Outcome]) -> ProgramScores:
    rows = list(found)
    kinds = [kind for kind in Kind if any(row.kind == kind for row in rows)]
    lengths = sorted({row.length for row in rows})
    return ProgramScores(
        _score(rows),
        {str(kind): _score([row for row in rows if row.kind == kind]) for kind in kinds},
        {length: _score([row for row in rows if row.length == length]) for length in lengths},
    )


def _score(rows: list[Outcome]) -> ProgramScore:
    known = all(row.same is not None for row in rows)
    return ProgramScore(
        len(rows),
        sum(row.right for row in rows),
        sum(bool(row.same) for row in rows) if known else None,
        sum(bool(row.equivalent) for row in rows) if known else None,
    )


def measure(network: nn.Module, part: Part) -> ProgramScores:
    """Read every question and count what is right; what nobody understands is read as nothing."""
    read, unread = read_all(network, part.reasoner()), part.not_understood
    nothing = torch.full((len(unread), 1), PAD), torch.zeros(len(unread))
    return scores_of([*outcomes(part.questions, read.symbols, read.right), *outcomes(unread, *nothing)])
