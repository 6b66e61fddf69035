"""Back-search for one question: which modules to put elsewhere so that its program gives the answer.

The plain reference of what `ngs.search.back_search` does for many questions at once: one step
switches two modules of one group (Li et al. 2020, supplement, Sec. 3.2) or, in the tidy language, moves one
filter to another noun phrase or turns a chain of noun phrases round. Next to it stand the programs that give
the answer at all: a correction that is right for the wrong reason is seen there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, pairwise
from math import exp, log

import torch
from torch import Tensor

from ngs.errors import NGSError
from ngs.grammar.constraint import enumerate_sentences
from ngs.grammar.multisets import symbol_classes
from ngs.parsing.autoregressive import Autoregressive
from ngs.reasoning.operation import Special
from ngs.tasks.clevr.equivalence import Form, normal
from ngs.tasks.clevr.execution import Type, modules
from ngs.tasks.clevr.language import RANK, TidyPrograms
from ngs.tasks.clevr.program import GRAMMAR, MODULES, Program, program_of
from ngs.tasks.clevr.program_text import Executed
from ngs.tasks.clevr.reading import LikelyProgram, QuestionReader, QuestionReading, columns_of
from ngs.tasks.clevr.scenes import ANSWERS, Scene

FEW = 2000
"""Arrangements up to which all are looked at."""
BEAM = 64
"""Likely programs that are looked at where there are more."""
AT_ONCE = 256
"""Programs whose probabilities are computed together."""


@dataclass(frozen=True)
class Edit:
    """A program made from another by putting modules elsewhere."""

    program: Program
    old: tuple[int, ...]
    """where they stood: two that have changed places, a filter that has moved, or all of a turned chain"""
    new: tuple[int, ...]
    """where each of them stands in `program`"""
    turns: bool = False
    """whether a chain is turned"""

    @property
    def changed(self) -> tuple[str, ...]:
        return tuple(self.program[position] for position in self.new)

    def __str__(self) -> str:
        if self.turns:
            return f"the chain of {', '.join(self.changed)} turns round"
        if len(self.new) == 2:
            return " and ".join(self.changed) + " change places"
        described = self.program[noun_phrase_end(self.program, self.new[0])]
        return f"{self.changed[0]} moves to the noun phrase of {described}"


Edits = Callable[[Program], Iterator[Edit]]


@dataclass(frozen=True)
class Neighbour:
    """A program one step away."""

    edit: Edit
    answer: str | Special
    """one of ANSWERS, or UNDEFINED"""
    log_prob: float


@dataclass(frozen=True)
class RightPrograms:
    """The programs that give the answer, likeliest first; each meaning once, by its likeliest program."""

    programs: tuple[LikelyProgram, ...]
    """with log p of all programs that mean the same"""
    of: int
    """how many programs were looked at"""
    exact: bool
    """whether these were all arrangements, not only likely ones and neighbours"""

    @property
    def log_evidence(self) -> float:
        """log p(y|x), or what is known of it at least"""
        return _log_sum(self.programs)

    @property
    def shares(self) -> list[float]:
        """p(z|x,y) of each"""
        return [exp(each.log_prob - self.log_evidence) for each in self.programs]

    def place(self, program: Program) -> int:
        """Which of them means the same as a right program."""
        meant = normal(program)
        return next(k for k, each in enumerate(self.programs) if normal(each.program) == meant)


@dataclass(frozen=True)
class ProgramCorrection:
    """What one-step back-search makes of a question with a known answer."""

    reading: QuestionReading
    target: str
    first: Executed
    """the likeliest program"""
    neighbours: tuple[Neighbour, ...]
    """every program one step away, likeliest first; none where the first is right"""
    corrected: Executed | None
    """the likeliest that gives the answer; the first where that is right, None where nothing is"""
    alternatives: RightPrograms

    @property
    def is_right(self) -> bool:
        return self.first.answer == self.target

    @property
    def right(self) -> tuple[Neighbour, ...]:
        """The neighbours that give the answer, likeliest first."""
        return tuple(each for each in self.neighbours if each.answer == self.target)

    @property
    def chosen(self) -> Neighbour | None:
        return next(iter(self.right), None)


def correct(
    reader: QuestionReader,
    text: str,
    scene: Scene,
    answer: str,
    *,
    edits: Edits | None = None,
    few: int = FEW,
) -> ProgramCorrection:
    """1-BS from the likeliest program of a question; by default with the edits of the reader's language."""
    if answer not in ANSWERS:
        raise NGSError(f"the answer is {answer!r}; give one of {', '.join(ANSWERS)}")
    reading, p = reader.read(text), reader.distribution(text)
    first = Executed.of(reading.programs[0].program, scene, reader.unique)
    neighbours: tuple[Neighbour, ...] = ()
    if first.answer != answer:
        made = distinct((edits or edits_of(reader))(first.program), first.program)
        neighbours = _judged(reader, p, scene, made)
    found = next((each for each in neighbours if each.answer == answer), None)
    fixed = None if found is None else Executed.of(found.edit.program, scene, reader.unique)
    known = (first.program, *(each.edit.program for each in neighbours))
    return ProgramCorrection(
        reading,
        answer,
        first,
        neighbours,
        first if first.answer == answer else fixed,
        _right_programs(reader, p, scene, answer, known, few),
    )


def _judged(
    reader: QuestionReader, p: Autoregressive, scene: Scene, edits: Sequence[Edit]
) -> tuple[Neighbour, ...]:
    """What the edits make, likeliest first."""
    log_probs = _log_probs(p, [edit.program for edit in edits])
    answers = [Executed.of(edit.program, scene, reader.unique).answer for edit in edits]
    found = map(Neighbour, edits, answers, log_probs)
    return tuple(sorted(found, key=lambda each: -each.log_prob))


@torch.no_grad()
def _log_probs(p: Autoregressive, programs: list[Program]) -> list[float]:
    parts = [columns_of(programs[k : k + AT_ONCE]) for k in range(0, len(programs), AT_ONCE)]
    return [log_p for part in parts for log_p in p.score(_zeros(part), part).tolist()]


def _zeros(columns: Tensor) -> Tensor:
    """All programs are of the only question."""
    return columns.new_zeros(len(columns))


# Edits


def edits_of(reader: QuestionReader) -> Edits:
    """In the tidy language its own edits, elsewhere the paper's."""
    return tidy_edits if isinstance(reader.language, TidyPrograms) else switches


def switches(program: Program) -> Iterator[Edit]:
    """Every switch of two different modules of one group."""
    for one, other in combinations(range(len(program)), 2):
        if program[one] != program[other] and _GROUP[program[one]] == _GROUP[program[other]]:
            origin = list(range(len(program)))
            origin[one], origin[other] = other, one
            yield _rearranged(program, origin, (one, other))


def tidy_edits(program: Program) -> Iterator[Edit]:
    """Every switch, every move of a filter to another noun phrase and every turn of a chain of noun phrases,
    tidied; without what cannot be."""
    edits = chain(_tidy_switches(program), _moves(program), _turns(program))
    return (edit for edit in edits if _is_tidy(edit.program))


def tidy_switches(program: Program) -> Iterator[Edit]:
    """Every switch, tidied; without what cannot be."""
    return (edit for edit in _tidy_switches(program) if _is_tidy(edit.program))


def distinct(edits: Iterator[Edit], program: Program) -> list[Edit]:
    """One edit for each program that is made, and none that changes nothing."""
    made = {program: Edit(program, (), ())}
    for edit in edits:
        made.setdefault(edit.program, edit)
    return list(made.values())[1:]


def noun_phrase_end(program: Program, position: int) -> int:
    """Where the module stands that a filter describes."""
    return next(k for k in range(position, len(program)) if _RANK[program[k]] < 0)


def _tidy_switches(program: Program) -> Iterator[Edit]:
    for edit in switches(program):
        order = _tidy_order(edit.program, _phrases(edit.program))
        tidied = tuple(edit.program[k] for k in order)
        yield Edit(tidied, edit.old, tuple(order.index(position) for position in edit.new))


def _moves(program: Program) -> Iterator[Edit]:
    phrases = _phrases(program)
    ends = [k for k, module in enumerate(program) if _gives_objects(module) and _RANK[module] < 0]
    for moved in (k for k, module in enumerate(program) if _RANK[module] >= 0):
        for end in ends:
            if phrases[end] != phrases[moved]:
                changed = [phrases[end] if k == moved else phrase for k, phrase in enumerate(phrases)]
                yield _rearranged(program, _tidy_order(program, changed), (moved,))


def _turns(program: Program) -> Iterator[Edit]:
    """The filters of the noun phrases a to b, and the relations between them, in the opposite order."""
    phrases = _phrases(program)
    ends = [k for k, module in enumerate(program) if _gives_objects(module) and _RANK[module] < 0]
    for a, b in combinations(range(len(ends)), 2):
        relations = ends[a:b]
        if not all(modules()[program[k]].takes == (Type.OBJECT,) for k in relations):
            continue
        turned = dict(zip(relations, reversed(relations), strict=True))
        to = {phrases[ends[k]]: phrases[ends[a + b - k]] for k in range(a, b + 1)}
        filters = [k for k, module in enumerate(program) if _RANK[module] >= 0 and phrases[k] in to]
        changed = [to[phrase] if k in filters else phrase for k, phrase in enumerate(phrases)]
        origin = [turned.get(k, k) for k in _tidy_order(program, changed)]
        yield replace(_rearranged(program, origin, (*filters, *relations)), turns=True)


def _rearranged(program: Program, origin: list[int], old: tuple[int, ...]) -> Edit:
    """The program with what stood at origin[k] at k; `old` are the modules to be followed."""
    return Edit(tuple(program[k] for k in origin), old, tuple(origin.index(position) for position in old))


def _phrases(program: Program) -> list[int]:
    """The number of the noun phrase that each module is in: how many that are no filters stand before it."""
    return [sum(_RANK[module] < 0 for module in program[:k]) for k in range(len(program))]


def _tidy_order(program: Program, phrases: Sequence[int]) -> list[int]:
    """Positions by noun phrase: first the filters in their order, then what they describe."""
    ranks = [_RANK[module] for module in program]
    return sorted(range(len(program)), key=lambda k: (phrases[k], ranks[k] < 0, ranks[k]))


def _is_tidy(program: Program) -> bool:
    """Whether the filters of each noun phrase are in order, one for each attribute."""
    ranks = [_RANK[module] for module in program]
    return all(after < 0 or before < after for before, after in pairwise(ranks))


def _gives_objects(module: str) -> bool:
    return modules()[module].gives is Type.OBJECTS


_RANK = dict(zip(MODULES, RANK.tolist(), strict=True))
"""The place of a filter in a noun phrase; -1 for what is no filter."""
_GROUP = dict(zip(MODULES, symbol_classes(GRAMMAR), strict=True))


# All that give the answer


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
    likeliest = (max(group, key=lambda each: each.log_prob) for group in groups.values())
    summed = [
        LikelyProgram(one.program, _log_sum(group))
        for one, group in zip(likeliest, groups.values(), strict=True)
    ]
    return tuple(sorted(summed, key=lambda each: -each.log_prob))


def _log_sum(programs: Sequence[LikelyProgram]) -> float:
    """log of the sum of their probabilities; there is at least one"""
    highest = max(each.log_prob for each in programs)
    return highest + log(sum(exp(each.log_prob - highest) for each in programs))
