"""Reading one question: its words, what the dictionary makes of them, and the programs it may mean."""

from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
import torch

from ngs.errors import ParseError
from ngs.grammar.constraint import Constraint, Given
from ngs.networks.pointer import PointerNetwork
from ngs.parsing.autoregressive import Autoregressive
from ngs.tasks.clevr.cues import words_of
from ngs.tasks.clevr.dataset import QuestionRecord, Questions
from ngs.tasks.clevr.dictionary import Understood, modules_of
from ngs.tasks.clevr.examples import counts_of, inputs_of
from ngs.tasks.clevr.language import CLOSES
from ngs.tasks.clevr.official import LONGEST
from ngs.tasks.clevr.program import COLUMN, GRAMMAR, Program, program_of
from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.clevr.semantics import Unique


@dataclass(frozen=True)
class LikelyProgram:
    program: Program
    log_prob: float  # log p(z|x)

    @property
    def probability(self) -> float:
        return exp(self.log_prob)


@dataclass(frozen=True)
class QuestionReading:
    text: str
    understood: Understood
    unseen: tuple[str, ...]
    """words that the dictionary knows and the network has not seen in training"""
    programs: tuple[LikelyProgram, ...]  # the likeliest first; at least one


@dataclass(frozen=True, eq=False)
class QuestionReader:
    """A network that arranges the modules of a question, with what it needs to do so."""

    network: PointerNetwork
    vocabulary: tuple[str, ...]
    """the words that the network knows, by their numbers; the first stands for all others"""
    language: Constraint[Any]
    unique: Unique  # the object that "the ..." means, as in training
    moves: bool = True  # whether back-search may move filters and turn chains round, as in training

    def read(self, text: str, k: int = 1) -> QuestionReading:
        """The question with the k likeliest programs that a beam of k finds, or as many as there are."""
        understood = understand(text)
        unseen = dict.fromkeys(word for word in understood.words if word not in self.vocabulary[1:])
        top = self.distribution(text).topk(k)
        found = zip(top.symbols[0], top.log_probs[0].tolist(), strict=True)
        programs = tuple(LikelyProgram(program_of(row.tolist()), log_prob) for row, log_prob in found)
        # Where a multiset has no arrangement, decoding ends before all of it is used up.
        programs = tuple(each for each in programs if len(each.program) == len(understood.modules))
        if not programs:
            raise _not_arrangeable(understood)
        return QuestionReading(text, understood, tuple(unseen), programs)

    @torch.no_grad()
    def distribution(self, text: str) -> Autoregressive:
        """p(z|x) of the question, alone in its batch."""
        understood = understand(text)
        questions = Questions.of([QuestionRecord(text, 0, None, None, 0)], self.vocabulary)
        encoded = self.network(inputs_of(questions).batch(np.arange(1)))
        given = Given(multiset=counts_of(questions.modules).long())
        return Autoregressive(GRAMMAR, encoded, self.language, given, len(understood.modules))


def understand(text: str) -> Understood:
    """What the dictionary makes of a question; a ParseError where that is nothing."""
    if len(text) > LONGEST:
        raise ParseError(f"the question has {len(text):,} characters; ask one of at most {LONGEST:,}")
    return modules_of(words_of(text))


def _not_arrangeable(understood: Understood) -> ParseError:
    """The only reason there is: more values of an attribute than things that could have them."""
    things = sum(CLOSES[COLUMN[module]].item() for module in understood.modules)
    for attribute in ATTRIBUTES:
        prefix = f"filter_{attribute}["
        values = [m.removeprefix(prefix)[:-1] for m in understood.modules if m.startswith(prefix)]
        if len(values) > things:
            break
    return ParseError(
        f"'{' '.join(understood.words)}' names {len(values)} values of one attribute, {attribute} "
        f"({', '.join(values)}), for {things} thing{'s' if things > 1 else ''}; say 'or' between them, or "
        f"which thing has which"
    )
