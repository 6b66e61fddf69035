"""Keeping answers from being guessable: of the answers that can be had, the one that is most behind."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from random import Random

from ngs.tasks.clevr.scenes import ANSWERS, ATTRIBUTES, MOST_OBJECTS

SHARES = (1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02)
"""How often each number is wanted as an answer, against the others: scenes seldom have ten red cubes."""

JITTER = 2.0
"""How many questions an answer may be behind without being the next: so that answers take no turns."""

START = 2
"""How often every answer may be given before it has to wait for the others."""

_NUMBERS = tuple(str(number) for number in range(MOST_OBJECTS + 1))


def _shares() -> list[tuple[float, float]]:
    """For each answer: its share of the answers of its sort, and the most that it may have."""
    even = [dict.fromkeys(values, 1 / len(values)) for values in (("yes", "no"), *ATTRIBUTES.values())]
    shares = {answer: share for values in even for answer, share in values.items()}
    most = {answer: 1.04 * share for answer, share in shares.items()}
    shares |= {number: share / sum(SHARES) for number, share in zip(_NUMBERS, SHARES, strict=True)}
    # Large numbers are hard to come by: the small ones may take part of their place.
    most |= {number: 1.7 * shares[number] for number in _NUMBERS}
    return [(shares[answer], most[answer]) for answer in ANSWERS]


class Balance:
    """How often each answer has been given to each type of question.

    Within a type, yes and no, the values of an attribute, and the numbers by SHARES are wanted equally often.
    An answer with too large a part of all answers is not to be had until others have caught up.
    """

    def __init__(self) -> None:
        self.used: defaultdict[Hashable, Counter[int]] = defaultdict(Counter)

    def behind(self, type_: Hashable, answers: Iterable[int], random: Random) -> int | None:
        """That of the answers which has been given least often for its share, nearly; None if none is due."""
        used = self.used[type_]
        total = used.total() + 1
        due = [answer for answer in answers if used[answer] < START + _SHARES[answer][1] * total]
        return min(due, key=lambda a: (used[a] + JITTER * random.random()) / _SHARES[a][0], default=None)

    def count(self, type_: Hashable, answer: int) -> None:
        self.used[type_][answer] += 1


_SHARES = _shares()
