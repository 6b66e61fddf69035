"""How good a reader of questions is: answers right and programs right, by kind of question and by length."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ngs.errors import ParseError
from ngs.grammar.padding import PAD
from ngs.learning.metrics import Score, Scores, read_all
from ngs.tasks.clevr.dataset import Questions
from ngs.tasks.clevr.examples import Part
from ngs.tasks.clevr.noun_phrases import equivalent
from ngs.tasks.clevr.program import Kind, Program, program_of

SHARES = ("answers", "programs", "equivalent")
"""What a `Score` counts here: right answers, programs identical to the true ones, and equivalent to them."""

NONE = Score(0, 0, 0, 0, 0)


@dataclass(frozen=True)
class ProgramScores(Scores):
    """A score for each length of programs and for each kind of question."""

    names: Sequence[str] = SHARES
    by_kind: Mapping[str, Score] = field(default_factory=dict)

    def as_facts(self) -> dict[str, object]:
        by_kind = {kind: score.as_facts(self.names) for kind, score in self.by_kind.items()}
        return {**super().as_facts(), "by_kind": by_kind}


class Outcome(NamedTuple):
    kind: Kind | None
    length: int
    score: Score


def outcomes(questions: Questions, programs: Tensor, right: Tensor) -> Iterator[Outcome]:
    for k, read in enumerate(map(program_of, programs.tolist())):
        true = questions.program(k)
        same = None if true is None else read == true
        score = Score(1, 1, int(right[k]), same, same_meaning(read, true))
        yield Outcome(questions.kind(k), len(read or true or ()), score)


def same_meaning(read: Program, true: Program | None) -> bool | None:
    """Whether a program is equivalent to the true one, if that is known."""
    try:
        return None if true is None else read == true or equivalent(read, true)
    except ParseError:  # of a policy without grammar, or no program at all
        return False


def scores_of(found: Iterable[Outcome]) -> ProgramScores:
    kinds: dict[Kind | None, Score] = {}
    lengths: dict[int, Score] = {}
    for kind, length, score in found:
        kinds[kind] = kinds.get(kind, NONE) + score
        lengths[length] = lengths.get(length, NONE) + score
    by_kind = {str(kind): kinds[kind] for kind in Kind if kind in kinds}
    return ProgramScores(dict(sorted(lengths.items())), by_kind=by_kind)


def measure(network: nn.Module, part: Part) -> ProgramScores:
    """Read every question and count what is right; what nobody understands is read as nothing."""
    read, unread = read_all(network, part.reasoner()), part.not_understood
    nothing = torch.full((len(unread), 1), PAD), torch.zeros(len(unread))
    return scores_of([*outcomes(part.questions, read.symbols, read.right), *outcomes(unread, *nothing)])
