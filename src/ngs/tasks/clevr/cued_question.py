"""The cues of a question and how they stand to each other: noun phrases, and attributes by their role."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, NoReturn

from ngs.errors import ParseError
from ngs.tasks.clevr.cues import Cue

ARTICLES = ("the", "a", "any")
NOUNS = ("noun", "nouns", "pronoun")
_BEGIN = frozenset((*ARTICLES, *NOUNS, "adjective", "other"))


class NounPhrase(NamedTuple):
    """A noun phrase, or adjectives that stand alone: the cues from `first` to before `behind`."""

    first: int
    behind: int
    word: int
    """position of its article, or else of its last word"""
    end: int
    """position of its last word"""
    named: bool
    """has an article or a noun"""
    definite: bool
    """names one thing: "the", and no plural"""


@dataclass(frozen=True)
class CuedQuestion:
    """The words of a question, and its cues; cues are numbered."""

    words: tuple[str, ...]
    cues: tuple[Cue, ...]

    def all(self, *kinds: str) -> list[int]:
        """The cues of these kinds, kind by kind."""
        return [k for kind in kinds if kind in self._where for k in self._where[kind]]

    def kind(self, k: int) -> str:
        return self.cues[k].kind if 0 <= k < len(self.cues) else "end"

    def past(self, k: int, kinds: Collection[str], step: int = 1) -> int:
        """The first cue from k on that is of none of these kinds."""
        while self.kind(k) in kinds:
            k += step
        return k

    def word(self, k: int) -> int:
        """The position of the last word of a cue that tells much."""
        return self.cues[k].tells[-1]

    def text(self, first: int, behind: int) -> str:
        return " ".join(self.words[self.cues[first].start : self.cues[behind - 1].stop])

    def attributes(self, cues: Iterable[int]) -> set[str]:
        return {self.cues[k].value for k in cues}

    def refuse(self, why: str) -> NoReturn:
        raise ParseError(f"{why}, in {' '.join(self.words)!r}")

    @cached_property
    def phrases(self) -> dict[int, NounPhrase]:
        """The noun phrases by their first cue, in order."""
        return {phrase.first: phrase for phrase in _noun_phrases(self)}

    @cached_property
    def introduced(self) -> list[NounPhrase]:
        """What "there is a ..." introduces for "it" to stand for."""
        return [self.phrases[k + 1] for k in self.all("introduced") if k + 1 in self.phrases]

    @cached_property
    def asked(self) -> list[int]:
        """Attributes asked for in so many words: "what color", "how big"."""
        named = [k for k in self.all("attribute") if self.kind(k - 1) in ("what", "which")]
        return self.all("asked") + named

    @cached_property
    def likened(self) -> list[int]:
        """Attributes in which something is said to be the same: "the same color", "share a color"."""
        named = [k for k in self.all("attribute") if self.kind(self.past(k - 1, ("the", "a"), -1)) == "same"]
        return self.all("alike") + named

    @cached_property
    def mentioned(self) -> list[int]:
        """Other attributes: "what is the color of", "made of"; not "the color red", "made of metal"."""
        made = [k for k in self.all("made") if "attribute" not in (self.kind(k + 1), self.kind(k + 2))]
        named = [k for k in self.all("attribute") if k not in self.asked and k not in self.likened]
        named = [k for k in named if self.kind(k - 1) != "adjective"]
        return sorted(k for k in made + named if self.kind(k + 1) != "adjective")

    def sames(self, *, asked: Sequence[int] = ()) -> tuple[int, ...]:
        """The attributes that things share with a landmark, where the question asks for something else."""
        spoken = self.attributes([*asked, *self.likened])
        first = {self.cues[k].value: k for k in reversed(self.mentioned) if self.cues[k].value not in spoken}
        return (*self.likened, *first.values())

    @cached_property
    def _where(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for k, cue in enumerate(self.cues):
            found.setdefault(cue.kind, []).append(k)
        return found


def _noun_phrases(question: CuedQuestion) -> Iterator[NounPhrase]:
    """[article] [other] adjectives [noun], of which an article alone is none."""
    cues, k = question.cues, 0
    while k < len(cues):
        first = k
        if cues[k].kind not in _BEGIN:
            k += 1
            continue
        inner = k + (cues[k].kind in ARTICLES)
        noun = _past_adjectives(question, inner)
        k = question.past(noun, NOUNS)
        if any(cue.kind != "other" for cue in cues[inner:k]):
            end = question.word(k - 1)
            word = question.word(first) if inner > first else end
            plural = any(cue.kind != "noun" for cue in cues[noun:k])
            definite = cues[first].kind == "the" and not plural
            yield NounPhrase(first, k, word, end, inner > first or k > noun, definite)


def _past_adjectives(question: CuedQuestion, k: int) -> int:
    """Past the adjectives from cue k on, and commas between them."""
    while (kind := question.kind(k)) in ("adjective", "other") or (
        kind == "stop" and question.kind(k - 1) == question.kind(k + 1) == "adjective"
    ):
        k += 1
    return k
