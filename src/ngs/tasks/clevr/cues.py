"""The words of a question, and its cues: what the dictionary knows, and how that hangs together."""

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from importlib.resources import files
from itertools import product
from typing import NamedTuple, NoReturn

from ngs.errors import ParseError

_WORD = re.compile(r"[a-z0-9'-]+|[;,]")
_PART = re.compile(r"\[([^]]*)\]|\(([^)]*)\)|(\S+)")


class Meaning(NamedTuple):
    """What a phrase stands for: a section of the dictionary and a key in it."""

    kind: str
    value: str
    tells: tuple[int, ...]  # which of its words tell most


class Cue(NamedTuple):
    """A phrase found in a question: its words are those from `start` to before `stop`."""

    kind: str
    value: str
    start: int
    stop: int
    tells: tuple[int, ...]  # positions in the question, at least one


def words_of(text: str) -> tuple[str, ...]:
    """Lower case, without the final mark; `;` and `,` are words, since they separate clauses.

    >>> words_of("There is a cube; what color is it?")
    ('there', 'is', 'a', 'cube', ';', 'what', 'color', 'is', 'it')
    """
    return tuple(_WORD.findall(text.lower()))


def cues_of(words: Sequence[str]) -> tuple[Cue, ...]:
    """Every word is part of exactly one cue; a ParseError names the words for which that cannot be."""
    found, unknown = [], []
    start = 0
    while start < len(words):
        stop, meanings = _longest(words, start)
        if not meanings:
            unknown.append(start)
        elif len(meanings) > 1:
            _refuse_ambiguous(words, start, stop, meanings)
        else:
            kind, value, tells = meanings[0]
            found.append(Cue(kind, value, start, stop, tuple([start + k for k in tells])))
        start = stop
    if unknown:
        _refuse_unknown(words, unknown)
    return tuple(found)


def _longest(words: Sequence[str], start: int) -> tuple[int, tuple[Meaning, ...]]:
    """Where the longest phrase that begins at `start` ends, and what it means."""
    phrases, longest = _phrases()
    for stop in range(min(start + longest, len(words)), start, -1):
        if meanings := phrases.get(tuple(words[start:stop])):
            return stop, meanings
    return start + 1, ()


@cache
def _phrases() -> tuple[Mapping[tuple[str, ...], tuple[Meaning, ...]], int]:
    text = files("ngs.tasks.clevr").joinpath("data", "dictionary.toml").read_text(encoding="utf-8")
    phrases: dict[tuple[str, ...], tuple[Meaning, ...]] = {}
    for words, meaning in _entries(tomllib.loads(text)):
        phrases[words] = tuple(dict.fromkeys((*phrases.get(words, ()), meaning)))
    return phrases, max(map(len, phrases))


def _entries(
    sections: Mapping[str, Mapping[str, Sequence[str]]],
) -> Iterator[tuple[tuple[str, ...], Meaning]]:
    for section, keys in sections.items():
        for key, patterns in keys.items():
            kind, value = (key, "") if section == "structure" else (section, key)
            for pattern in patterns:
                for phrase in _spelled_out(pattern):
                    yield from _forms(phrase, kind, value)


def _forms(phrase: list[str], kind: str, value: str) -> Iterator[tuple[tuple[str, ...], Meaning]]:
    """The phrase, and a noun's plural and possessives."""
    tells = tuple(k for k, word in enumerate(phrase) if word.isupper()) or (len(phrase) - 1,)
    lower = tuple(word.lower() for word in phrase)
    yield lower, Meaning(kind, value, tells)
    if kind == "noun":
        *before, noun = lower
        plural = noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")
        yield (*before, f"{noun}'s"), Meaning("noun", value, tells)
        yield (*before, plural), Meaning("nouns", value, tells)
        yield (*before, f"{plural}'"), Meaning("nouns", value, tells)


def _spelled_out(pattern: str) -> Iterator[list[str]]:
    """Every phrase of a pattern: `[a|b]` may be left out, `(a|b)` may not.

    >>> [" ".join(phrase) for phrase in _spelled_out("[to the] LEFT (of|from)")]
    ['LEFT of', 'LEFT from', 'to the LEFT of', 'to the LEFT from']
    """
    parts = [
        ["", *optional.split("|")] if optional else (choice or word).split("|")
        for optional, choice, word in _PART.findall(pattern)
    ]
    for chosen in product(*parts):
        yield " ".join(chosen).split()


@cache
def _known() -> tuple[str, ...]:
    return tuple(" ".join(words) for words in sorted(_phrases()[0], key=len))


def _near(word: str) -> list[str]:
    """Phrases with this word, or else words spelled like it."""
    return [phrase for phrase in _known() if word in phrase.split()][:3] or get_close_matches(word, _known())


def _refuse_unknown(words: Sequence[str], positions: Iterable[int]) -> NoReturn:
    named = []
    for position in positions:
        near = ", ".join(_near(words[position]))
        named.append(f"{words[position]!r} (word {position + 1}{f'; near: {near}' if near else ''})")
    raise ParseError(
        f"not in the dictionary: {', '.join(named)}, in {' '.join(words)!r}; say it with colors, sizes, "
        f"materials, shapes, relations (left of, right of, in front of, behind) and question words"
    )


def _refuse_ambiguous(words: Sequence[str], start: int, stop: int, meanings: Sequence[Meaning]) -> NoReturn:
    could = ", ".join(sorted({meaning.value or meaning.kind for meaning in meanings}))
    raise ParseError(
        f"{' '.join(words[start:stop])!r} (word {start + 1}) is ambiguous in {' '.join(words)!r}: "
        f"it could mean {could}; use a word that means only one of them"
    )


# Cues together: noun phrases, and attributes by their role

ARTICLES = ("the", "a", "any")
NOUNS = ("noun", "nouns", "pronoun")
_BEGIN = frozenset((*ARTICLES, *NOUNS, "adjective", "other"))


class NounPhrase(NamedTuple):
    """A noun phrase, or adjectives that stand alone: the cues from `first` to before `behind`."""

    first: int
    behind: int
    word: int  # position of its article, or else of its last word
    end: int  # position of its last word
    named: bool  # has an article or a noun
    definite: bool  # names one thing: "the", and no plural


@dataclass(frozen=True)
class CuedQuestion:
    """The words of a question, and its cues; cues are numbered."""

    words: tuple[str, ...]
    cues: tuple[Cue, ...]

    def all(self, *kinds: str) -> list[int]:
        return [k for kind in kinds for k, cue in enumerate(self.cues) if cue.kind == kind]

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

    def text(self, first: int, last: int | None = None) -> str:
        return " ".join(self.words[self.cues[first].start : self.cues[first if last is None else last].stop])

    def attributes(self, cues: Iterable[int]) -> set[str]:
        return {self.cues[k].value for k in cues}

    def refuse(self, why: str) -> NoReturn:
        raise ParseError(f"{why}, in {' '.join(self.words)!r}")

    @cached_property
    def phrases(self) -> dict[int, NounPhrase]:
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
