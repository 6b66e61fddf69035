"""Questions in words of our own: sentences from frames whose slots are filled with noun phrases."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

from ngs.tasks.clevr.question_phrases import DESCRIPTIONS, Link, NounPhrase, Question
from ngs.tasks.clevr.scenes import ATTRIBUTES

ONE, MANY = 0, 1  # which form of a noun, and of what agrees with it

_OF_AN_ATTRIBUTE = {
    f"{family}_{attribute}": (family, attribute) for family in ("query", "equal") for attribute in ATTRIBUTES
}


def sentence(question: Question, random: Random) -> str:
    """A question in words, by chance in one of the ways of wording.toml."""
    frames = _wording()["frames"]
    frame: str = random.choice([each for name in _names(question) for each in frames.get(name, ())])
    return frame.format_map(_Speaker(question, random))


@cache
def _wording() -> Mapping[str, Mapping[str, Any]]:
    text = files("ngs.tasks.clevr").joinpath("data", "wording.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _names(question: Question) -> Iterator[str]:
    family, _ = _OF_AN_ATTRIBUTE.get(question.root, (question.root, ""))
    if question.subjects[0].either:
        yield f"{family}, either"
        return
    yield from dict.fromkeys((family, question.root))
    links = [len(subject.links) for subject in question.subjects]
    # The thing itself is introduced where one is asked about, else what the things are related say.
    if family in ("query", "equal") or links == [1]:
        yield f"{family}, introduced"
    if not any(links):
        yield f"{family}, unrelated"


@dataclass(frozen=True)
class _Speaker:
    """Fills slots, each time with words by chance."""

    question: Question
    random: Random

    def __getitem__(self, slot: str) -> str:
        return SLOTS[slot](self)

    @property
    def subject(self) -> NounPhrase:
        return self.question.subjects[0]

    def phrase(self, phrase: NounPhrase, form: int) -> str:
        """`red cubes left of the ball`, without an article."""
        words = self.described(phrase.description, form)
        return f"{words} {self.linked(phrase.links, form)}" if phrase.links else words

    def described(self, description: int, form: int) -> str:
        *adjectives, shape = DESCRIPTIONS[description]
        wording = _wording()
        words = [self.random.choice(wording["adjectives"][value]) for value in adjectives if value]
        return " ".join((*words, self.random.choice(wording["nouns"][shape or "thing"])[form]))

    def linked(self, links: tuple[Link, ...], form: int, landmark: str = "") -> str:
        """`that are left of the ball`, or left of another landmark."""
        if links[0].relation.startswith("same_"):
            pattern: str = self.random.choice(_wording()["alike"]["words"])[form]
            words = pattern.format(attribute=links[0].relation.removeprefix("same_"))
            return f"{words} {landmark or self.landmark(links[0])}"
        relations = [
            f"{self.random.choice(_wording()['relations'][link.relation])} {landmark or self.landmark(link)}"
            for link in links
        ]
        before: str = self.random.choice(_wording()["before_relation"]["words"])[form]
        return f"{before} {self.joined(relations)}".strip()

    def joined(self, relations: list[str]) -> str:
        if len(relations) == 1:
            return relations[0]
        first, second = relations
        pattern: str = self.random.choice(_wording()["two_relations"]["words"])
        return pattern.format(first=first, second=second)

    def landmark(self, link: Link) -> str:
        return f"the {self.phrase(link.landmark, ONE)}"


def _with_article(words: str) -> str:
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


SLOTS: Mapping[str, Callable[[_Speaker], str]] = {
    "the": lambda say: f"the {say.phrase(say.subject, ONE)}",
    "the2": lambda say: f"the {say.phrase(say.question.subjects[1], ONE)}",
    "a": lambda say: _with_article(say.phrase(say.subject, ONE)),
    "many": lambda say: say.phrase(say.subject, MANY),
    "many2": lambda say: say.phrase(say.question.subjects[1], MANY),
    "landmark": lambda say: _with_article(say.phrase(say.subject.links[0].landmark, ONE)),
    "rest": lambda say: say.described(say.subject.description, MANY),
    "a_rest": lambda say: _with_article(say.described(say.subject.description, ONE)),
    "rest_to_it": lambda say: say.linked(say.subject.links, ONE, "it"),
    "rests_to_it": lambda say: say.linked(say.subject.links, MANY, "it"),
    "some": lambda say: say.described(say.subject.description, MANY),
    "first": lambda say: say.phrase(say.subject.either[0], MANY),
    "second": lambda say: say.phrase(say.subject.either[1], MANY),
    "attribute": lambda say: _OF_AN_ATTRIBUTE[say.question.root][1],
}
