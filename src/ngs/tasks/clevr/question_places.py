"""Questions in the making: places of noun phrases, descriptions that fit there, and answers that are due.

A set of objects is a bit mask: bit k is object k.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngs.errors import NGSError
from ngs.tasks.clevr.program import Kind
from ngs.tasks.clevr.question_phrases import LENGTH, NAMING, SHORTER, VALUES, Link, NounPhrase, Question
from ngs.tasks.clevr.scenes import ANSWERS, ATTRIBUTES, MOST_OBJECTS, RELATIONS, Scene, bits_of

Masks = NDArray[np.int64]

SIZE = np.array([mask.bit_count() for mask in range(1 << MOST_OBJECTS)])
"""[mask]: how many objects are in the set"""

OBJECT = np.array([max(mask.bit_length() - 1, 0) for mask in range(1 << MOST_OBJECTS)])
"""[mask]: the object that alone is in the set"""


class SceneMasks:
    """Which objects of a scene have a description or a relation to an object."""

    def __init__(self, scene: Scene) -> None:
        things = scene.things
        self.all = (1 << len(things)) - 1
        having = {
            name: {v: bits_of(k for k in range(len(things)) if getattr(things[k], name) == v) for v in values}
            for name, values in ATTRIBUTES.items()
        }
        tables = [np.array([self.all, *masks.values()]) for masks in having.values()]
        self.described: Masks = np.bitwise_and.reduce(
            [table[k] for table, k in zip(tables, VALUES.T, strict=True)]
        )
        """[description]"""
        self.values = {
            name: np.array([ANSWERS.index(getattr(thing, name)) for thing in things]) for name in ATTRIBUTES
        }
        """attribute -> [object]: which of ANSWERS"""
        self.related: Mapping[str, tuple[int, ...]] = {
            **{f"relate[{name}]": tuple(map(bits_of, scene.relations[name])) for name in RELATIONS},
            **{
                f"same_{name}": tuple(masks[getattr(each, name)] & ~(1 << k) for k, each in enumerate(things))
                for name, masks in having.items()
            },
        }
        """module -> [object]: the objects in this relation to the object"""
        self._concise: dict[int, NDArray[np.bool_]] = {}

    def concise(self, within: int) -> NDArray[np.bool_]:
        """bool [description]: whether, among these objects, fewer words would admit more."""
        if within not in self._concise:
            found = self.described & within
            self._concise[within] = ((found[SHORTER] != found[:, None]) | (VALUES == 0)).all(1)
        return self._concise[within]


class DeadEnd(NGSError):
    """No description fits here, or none with an answer that is due: begin anew."""


@dataclass(frozen=True, eq=False)
class Form:
    """A kind of question with its first module; answers are balanced within each."""

    kind: Kind
    root: str
    compose: Callable[[Draft], Question]  # raises DeadEnd where chance led nowhere
    weight: float  # how often it is asked, against the others


class Place(NamedTuple):
    """A position of a noun phrase in a question."""

    links: tuple[Link, ...]
    within: int  # the objects that its links admit
    outside: tuple[int, ...] = ()  # of each of these sets its description is to admit an object
    taken: int = 0  # objects that were spoken of before

    def fitting(self, masks: SceneMasks, without: Iterable[str] = ()) -> Masks:
        """The descriptions that keep the rules here and do not name some attributes."""
        good = masks.concise(self.within)
        for others in self.outside:
            good = good & ((masks.described & others) != 0)
        for attribute in without:
            good = good & ~NAMING[attribute]
        return np.flatnonzero(good)

    def phrases(self, description: int, other: Place, of_other: int) -> tuple[NounPhrase, NounPhrase]:
        return NounPhrase(description, self.links), NounPhrase(of_other, other.links)

    def singling_out(self, masks: SceneMasks, without: Iterable[str] = ()) -> tuple[Masks, Masks]:
        """Those that fit one object alone, which has not been spoken of; and the objects."""
        fitting = self.fitting(masks, without)
        found = masks.described[fitting] & self.within
        one = (SIZE[found] == 1) & (found & self.taken == 0)
        return fitting[one], OBJECT[found[one]]


@dataclass(frozen=True)
class Draft:
    form: Form
    masks: SceneMasks
    balance: Balance

    # Descriptions

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
        answer = self.balance.answer(self.form, np.flatnonzero(np.bincount(answers)).tolist())
        if answer is None:
            raise DeadEnd
        return self.description(fitting[answers == answer]), answer

    def _any(self, choices: Masks) -> int:
        return int(choices[int(self.balance.random.random() * len(choices))])

    # Places

    @property
    def anywhere(self) -> Place:
        return Place((), self.masks.all)

    def linked(self, place: Place, relation: str, without: Iterable[str] = ()) -> Place:
        """In a relation to one object at a place, by a description without some attributes."""
        fitting, objects = place.singling_out(self.masks, without)
        description = self.description(fitting)
        landmark = int(objects[fitting == description][0])
        within = self.masks.related[relation][landmark]
        outside = self.masks.all & ~within & ~(1 << landmark)
        link = Link(relation, NounPhrase(description, place.links))
        return Place((link,), within, (outside,), place.taken | 1 << landmark)

    def hops(self, number: int) -> Place:
        place = self.anywhere
        for _ in range(number):
            place = self.linked(place, self._relation())
        return place

    def alike(self, attribute: str) -> Place:
        return self.linked(self.anywhere, f"same_{attribute}", (attribute,))

    def both(self) -> Place:
        first = self.hops(1)
        second = self.linked(self.anywhere._replace(taken=first.taken), self._relation())
        one, other, taken = first.within, second.within, second.taken
        outside = (one & ~other & ~taken, other & ~one & ~taken)
        return Place(first.links + second.links, one & other, outside, taken)

    def two_places(self) -> tuple[Place, Place]:
        """Two, each in at most one relation, and not both in the same one to the same object."""
        first, second = (self.hops(self.balance.random.randrange(2)) for _ in range(2))
        if first.links and first.within == second.within:
            raise DeadEnd
        return first, second

    def _relation(self) -> str:
        return f"relate[{self.balance.random.choice(RELATIONS)}]"


# Answers that cannot be guessed

SHARES = (1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02)
"""How often each number is wanted as an answer, against the others: scenes seldom have ten red cubes."""

JITTER = 2.0
"""How many questions a choice may be behind without being the next: so that choices take no turns."""

START = 2  # how often every answer may be given before it has to wait for the others


def _shares() -> list[tuple[float, float]]:
    """For each answer: its share of the answers of its sort, and the most that it may have."""
    even = [dict.fromkeys(values, 1 / len(values)) for values in (("yes", "no"), *ATTRIBUTES.values())]
    shares = {answer: share for values in even for answer, share in values.items()}
    limits = {answer: (share, 1.04 * share) for answer, share in shares.items()}
    # Large numbers are hard to come by: the small ones may take part of their place.
    numbers = {str(k): (share / sum(SHARES), 1.7 * share / sum(SHARES)) for k, share in enumerate(SHARES)}
    return [(limits | numbers)[answer] for answer in ANSWERS]


_SHARES = _shares()


class Balance:
    """How often each form of question has been asked, and each answer been given to it.

    Forms are asked by their weights. Within a form, yes and no, the values of an attribute, and the numbers
    by SHARES are wanted equally often. An answer that has too large a share of all answers waits until others
    have caught up.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.forms: Counter[Form] = Counter()
        self.answers: defaultdict[Form, Counter[int]] = defaultdict(Counter)

    def form(self, forms: Iterable[Form]) -> Form | None:
        """The form that is most behind, nearly; None if there are no forms."""
        return min(forms, key=lambda form: self._jittered(self.forms[form]) / form.weight, default=None)

    def answer(self, form: Form, answers: Iterable[int]) -> int | None:
        """The answer that is most behind, nearly; None if none is due."""
        used = self.answers[form]
        total = used.total() + 1
        due = [answer for answer in answers if used[answer] < START + _SHARES[answer][1] * total]
        return min(due, key=lambda answer: self._jittered(used[answer]) / _SHARES[answer][0], default=None)

    def count(self, form: Form, answer: int) -> None:
        self.forms[form] += 1
        self.answers[form][answer] += 1

    def _jittered(self, number: int) -> float:
        return number + JITTER * self.random.random()
