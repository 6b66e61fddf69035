"""Places in a question: where a noun phrase comes to stand, and which descriptions fit there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np

from ngs.errors import NGSError
from ngs.tasks.clevr.answer_balance import Balance
from ngs.tasks.clevr.program import Kind
from ngs.tasks.clevr.question_phrases import LENGTH, NAMING, Link, NounPhrase, Question
from ngs.tasks.clevr.scene_masks import OBJECT, SIZE, Masks, SceneMasks
from ngs.tasks.clevr.scenes import RELATIONS


class DeadEnd(NGSError):
    """No description fits here, or none with an answer that is due: begin anew."""


@dataclass(frozen=True, eq=False)
class Form:
    """A kind of question with its first module; answers are balanced within each."""

    kind: Kind
    root: str
    compose: Callable[[Draft], Question]
    """raises DeadEnd where chance led nowhere"""
    weight: float
    """how often it is asked, against the others"""


@dataclass(frozen=True)
class Draft:
    """A question in the making."""

    form: Form
    masks: SceneMasks
    balance: Balance
    random: Random

    def description(self, fitting: Masks) -> int:
        """One of these: first how long it is, the longer of two lengths by chance, then which."""
        if not len(fitting):
            raise DeadEnd
        lengths = LENGTH[fitting]
        known = np.flatnonzero(np.bincount(lengths))
        wanted = max(self._any(known), self._any(known))
        return self._any(fitting[lengths == wanted])

    def answered(self, fitting: Masks, answers: Masks) -> tuple[int, int]:
        """One of these descriptions, each with its answer, and which: the answer that is most behind."""
        if not len(fitting):
            raise DeadEnd
        answer = self.balance.behind(self.form, np.flatnonzero(np.bincount(answers)).tolist(), self.random)
        if answer is None:
            raise DeadEnd
        return self.description(fitting[answers == answer]), answer

    def _any(self, choices: Masks) -> int:
        return int(choices[int(self.random.random() * len(choices))])


class Place(NamedTuple):
    """Where in a question a noun phrase comes to stand."""

    links: tuple[Link, ...]
    within: int
    """the objects that stand so"""
    outside: tuple[int, ...] = ()
    """of each of these sets its description is to admit an object"""
    taken: int = 0
    """objects that were spoken of before"""

    def fitting(self, masks: SceneMasks, without: Iterable[str] = ()) -> Masks:
        """The descriptions that keep the rules here and do not name some attributes."""
        good = masks.concise(self.within)
        for others in self.outside:
            good = good & ((masks.described & others) != 0)
        for attribute in without:
            good = good & ~NAMING[attribute]
        return np.flatnonzero(good)

    def phrases(self, description: int, other: Place, of_other: int) -> tuple[NounPhrase, NounPhrase]:
        """What stands here by its description, and what stands at another place."""
        return NounPhrase(description, self.links), NounPhrase(of_other, other.links)

    def singling_out(self, masks: SceneMasks, without: Iterable[str] = ()) -> tuple[Masks, Masks]:
        """Those that fit one object alone, which has not been spoken of; and the objects."""
        fitting = self.fitting(masks, without)
        found = masks.described[fitting] & self.within
        one = (SIZE[found] == 1) & (found & self.taken == 0)
        return fitting[one], OBJECT[found[one]]


def anywhere(draft: Draft) -> Place:
    return Place((), draft.masks.all)


def linked(draft: Draft, place: Place, relation: str, without: Iterable[str] = ()) -> Place:
    """In a relation to one object at a place, by a description without some attributes."""
    fitting, objects = place.singling_out(draft.masks, without)
    description = draft.description(fitting)
    landmark = int(objects[fitting == description][0])
    within = draft.masks.related[relation][landmark]
    outside = draft.masks.all & ~within & ~(1 << landmark)
    link = Link(relation, NounPhrase(description, place.links))
    return Place((link,), within, (outside,), place.taken | 1 << landmark)


def hops(draft: Draft, number: int) -> Place:
    """At the end of a chain of relations."""
    place = anywhere(draft)
    for _ in range(number):
        place = linked(draft, place, _relation(draft))
    return place


def alike(draft: Draft, attribute: str) -> Place:
    """With something in common with an object."""
    return linked(draft, anywhere(draft), f"same_{attribute}", (attribute,))


def both(draft: Draft) -> Place:
    """In two relations to two objects."""
    first = hops(draft, 1)
    second = linked(draft, anywhere(draft)._replace(taken=first.taken), _relation(draft))
    only_first, only_second = first.within & ~second.within, second.within & ~first.within
    taken = second.taken
    outside = (only_first & ~taken, only_second & ~taken)
    return Place(first.links + second.links, first.within & second.within, outside, taken)


def _relation(draft: Draft) -> str:
    return f"relate[{draft.random.choice(RELATIONS)}]"
