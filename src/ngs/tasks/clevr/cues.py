"""The words of a question, and its cues: words and phrases that the dictionary knows, longest first."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
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
    tells: tuple[int, ...]
    """which of its words tell most"""


class Cue(NamedTuple):
    """A phrase found in a question: its words are those from `start` to before `stop`."""

    kind: str
    value: str
    start: int
    stop: int
    tells: tuple[int, ...]
    """positions in the question, at least one"""


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
    for stop in range(min(start + longest[words[start]], len(words)), start, -1):
        if meanings := phrases.get(tuple(words[start:stop])):
            return stop, meanings
    return start + 1, ()


@cache
def _phrases() -> tuple[Mapping[tuple[str, ...], tuple[Meaning, ...]], Counter[str]]:
    """What each phrase of the dictionary means, and how long phrases are at most that begin with a word."""
    text = files("ngs.tasks.clevr").joinpath("data", "dictionary.toml").read_text(encoding="utf-8")
    phrases: dict[tuple[str, ...], tuple[Meaning, ...]] = {}
    longest = Counter[str]()
    for words, meaning in _entries(tomllib.loads(text)):
        phrases[words] = tuple(dict.fromkeys((*phrases.get(words, ()), meaning)))
        longest[words[0]] = max(longest[words[0]], len(words))
    return phrases, longest


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
    """All phrases of the dictionary, the short ones first."""
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
