"""Back-search for one question: which modules to put elsewhere so that its program gives the answer.

This is the plain reference of `ngs.search.back_search`. One step switches two modules of one group (Li et
al. 2020, supplement, Sec. 3.2) or, in the tidy language, moves one filter to another noun phrase or turns a
chain of noun phrases round. All programs with the answer show if a correction is right for a wrong reason.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise, product
from math import exp
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import torch

from ngs.errors import NGSError
from ngs.grammar.constraint import enumerate_sentences
from ngs.grammar.multisets import symbol_classes
from ngs.parsing.autoregressive import Autoregressive
from ngs.reasoning.operation import Value
from ngs.search import correction
from ngs.search.correction import Action, Correction, Edit, Event
from ngs.search.one_step import one_step_among
from ngs.tasks.clevr.execution import Type, modules
from ngs.tasks.clevr.language import CLOSES, RANK, TidyPrograms
from ngs.tasks.clevr.noun_phrases import Form, normal
from ngs.tasks.clevr.program import GRAMMAR, MODULES, Program, program_of
from ngs.tasks.clevr.program_text import Executed
from ngs.tasks.clevr.reading import LikelyProgram, QuestionReader, QuestionReading
from ngs.tasks.clevr.scenes import ANSWERS, Scene
from ngs.tasks.clevr.semantics import ProgramSemantics, Unique

FEW = 2000  # arrangements up to which all are looked at
BEAM = 64  # likely programs that are looked at where there are more
AT_ONCE = 256


@dataclass(frozen=True)
class RightPrograms:
    """The programs that give the answer, likeliest first; each meaning once, by its likeliest program."""

    programs: tuple[LikelyProgram, ...]  # with log p of all programs that mean the same
    of: int  # how many programs were looked at
    exact: bool  # whether these were all arrangements, not only likely ones and neighbours

    @property
    def log_evidence(self) -> float:
        """log p(y|x), or what is known of it at least"""
        return _log_sum(self.programs)

    @property
    def shares(self) -> list[float]:
        """p(z|x,y) of each"""
        log_evidence = self.log_evidence
        return [exp(each.log_prob - log_evidence) for each in self.programs]

    def place(self, program: Program) -> int:
        """Which of them means the same as a right program."""
        meant = normal(program)
        return next(k for k, each in enumerate(self.programs) if normal(each.program) == meant)


@dataclass(frozen=True)
class ProgramCorrection:
    """What one-step back-search makes of a question with a known answer."""

    reading: QuestionReading
    scene: Scene
    unique: Unique
    answer: str
    search: Correction
    alternatives: RightPrograms

    @property
    def first(self) -> Executed:
        return Executed.of(self.search.read.sentence, self.scene, self.unique)

    @property
    def corrected(self) -> Executed | None:
        """The program with the answer; the first where that is right, None where nothing is."""
        found = self.search.sentence
        return None if found is None else Executed.of(found, self.scene, self.unique)

    @property
    def neighbours(self) -> tuple[Event, ...]:
        """Every edit with its ratio p(z')/p(z), likeliest first; none where the first program is right."""
        return tuple(event for event in self.search.trace if event.action is Action.PUSH)


def value_of(answer: str) -> Value:
    return int(answer) if answer.isdecimal() else answer


def correct(
    reader: QuestionReader, text: str, scene: Scene, answer: str, *, few: int = FEW
) -> ProgramCorrection:
    """1-BS from the likeliest program of a question, with the edits of the reader's language."""
    if answer not in ANSWERS:
        raise NGSError(f"the answer is {answer!r}; give one of {', '.join(ANSWERS)}")
    reading, p = reader.read(text), reader.distribution(text)
    first = reading.programs[0].program
    found = one_step_among(
        GRAMMAR,
        ProgramSemantics(scene, reader.unique),
        lambda programs: _log_probs(p, programs),
        value_of(answer),
        first,
        edits_of(reader)(first),
    )
    known = (first, *(event.edit.sentence for event in found.trace if event.edit))
    right = _right_programs(reader, p, scene, answer, known, few)
    return ProgramCorrection(reading, scene, reader.unique, answer, found, right)


@torch.no_grad()
def _log_probs(p: Autoregressive, programs: Sequence[Program]) -> list[float]:
    batches = (programs[k : k + AT_ONCE] for k in range(0, len(programs), AT_ONCE))
    parts = [torch.tensor(list(map(GRAMMAR.encode, batch))) for batch in batches]
    # All programs are of the only question.
    return [log_p for part in parts for log_p in p.score(part.new_zeros(len(part)), part).tolist()]


def edits_of(reader: QuestionReader) -> Callable[[Program], Iterator[Edit]]:
    """What one step of back-search could change in training: in the tidy language more than the paper's."""
    tidy = isinstance(reader.language, TidyPrograms)
    return partial(tidy_edits, moves=reader.moves) if tidy else switches


def switches(program: Program) -> Iterator[Edit]:
    return correction.switches(program, _GROUP)


def tidy_edits(program: Program, moves: bool = True) -> Iterator[Edit]:
    """Every switch and, with `moves`, every move of a filter to another noun phrase and every turn of a chain
    of noun phrases, tidied; without what cannot be, and without what changes nothing."""
    kinds = (_switches, _moves, _turns) if moves else (_switches,)
    made = (edit for kind in kinds for edit in kind(program, _phrases(program)))
    return (edit for edit in made if _is_tidy(edit.sentence) and edit.sentence != program)


class _Phrase(NamedTuple):
    """Positions in a program: those of filters, and of the module behind them."""

    filters: tuple[int, ...]
    end: int


_Phrases = Sequence[_Phrase]


def _phrases(program: Program) -> _Phrases:
    ends = [k for k, module in enumerate(program) if _RANK[module] < 0]
    return [_Phrase(tuple(range(before + 1, end)), end) for before, end in pairwise([-1, *ends])]


def _switches(program: Program, phrases: _Phrases) -> Iterator[Edit]:
    for edit in switches(program):
        other = {k: k for k in range(len(program))} | dict(zip(edit.old, edit.new, strict=True))
        switched = [_Phrase(tuple(other[k] for k in filters), other[end]) for filters, end in phrases]
        yield _arranged(program, switched, edit.old, edit.text)


def _moves(program: Program, phrases: _Phrases) -> Iterator[Edit]:
    for source, phrase in enumerate(phrases):
        for moved, (target, (filters, end)) in product(phrase.filters, enumerate(phrases)):
            if _CLOSES[program[end]] and target != source:
                changed = list(phrases)
                changed[source] = _Phrase(tuple(k for k in phrase.filters if k != moved), phrase.end)
                changed[target] = _Phrase((*filters, moved), end)
                text = f"{program[moved]} moves to the noun phrase of {program[end]}"
                yield _arranged(program, changed, (moved,), text)


def _turns(program: Program, phrases: _Phrases) -> Iterator[Edit]:
    """The filters of the noun phrases a to b, and the relations between them, in the opposite order."""
    nouns = [k for k, phrase in enumerate(phrases) if _CLOSES[program[phrase.end]]]
    for a, b in combinations(range(len(nouns)), 2):
        turned = [phrases[k] for k in nouns[a : b + 1]]
        *relations, last = (phrase.end for phrase in turned)
        if all(modules()[program[k]].takes == (Type.OBJECT,) for k in relations):
            changed, ends = list(phrases), [*reversed(relations), last]
            for k, phrase, end in zip(nouns[a : b + 1], reversed(turned), ends, strict=True):
                changed[k] = phrase._replace(end=end)
            old = (*(k for phrase in turned for k in phrase.filters), *relations)
            text = f"the chain of {', '.join(program[k] for k in old)} turns round"
            yield _arranged(program, changed, old, text)


def _arranged(program: Program, phrases: _Phrases, old: tuple[int, ...], text: str) -> Edit:
    """The program in the order of the phrases, filters sorted; `old` are the positions to follow."""
    tidied = ((*sorted(filters, key=lambda k: _RANK[program[k]]), end) for filters, end in phrases)
    origin = [k for phrase in tidied for k in phrase]
    return Edit(tuple(program[k] for k in origin), old, tuple(map(origin.index, old)), text)


def _is_tidy(program: Program) -> bool:
    """Whether the filters of each noun phrase are in order, one for each attribute."""
    ranks = [_RANK[module] for module in program]
    return all(after < 0 or before < after for before, after in pairwise(ranks))


_RANK = dict(zip(MODULES, RANK.tolist(), strict=True))
_CLOSES = dict(zip(MODULES, CLOSES.tolist(), strict=True))
_GROUP = dict(zip(MODULES, symbol_classes(GRAMMAR), strict=True))


def _right_programs(
    reader: QuestionReader, p: Autoregressive, scene: Scene, answer: str, known: Sequence[Program], few: int
) -> RightPrograms:
    """Among all arrangements, or among the likeliest and those that are known."""
    every = enumerate_sentences(reader.language, p.given, few)
    exact = bool(every.complete[0])
    rows = every.sentences if exact else p.topk(BEAM).symbols[0]
    programs = list(dict.fromkeys([*map(program_of, rows.tolist()), *known]))
    programs = [program for program in programs if len(program) == p.time]
    right = [z for z in programs if Executed.of(z, scene, reader.unique).answer == answer]
    found = map(LikelyProgram, right, _log_probs(p, right))
    return RightPrograms(_by_meaning(found), len(programs), exact)


def _by_meaning(programs: Iterator[LikelyProgram]) -> tuple[LikelyProgram, ...]:
    """One program for each meaning, with the probability of all that have it."""
    groups: dict[Form, list[LikelyProgram]] = {}
    for each in programs:
        groups.setdefault(normal(each.program), []).append(each)
    summed = [
        LikelyProgram(max(group, key=attrgetter("log_prob")).program, _log_sum(group))
        for group in groups.values()
    ]
    return tuple(sorted(summed, key=attrgetter("log_prob"), reverse=True))


def _log_sum(programs: Sequence[LikelyProgram]) -> float:
    return float(np.logaddexp.reduce([each.log_prob for each in programs]))
