"""How the learning rate changes: a factor for each fraction of the training that is done."""

from collections.abc import Callable, Mapping
from math import cos, pi

Schedule = Callable[[float], float]


def constant(_: float) -> float:
    """The paper's: the same rate throughout."""
    return 1.0


def one_cycle(done: float, warm_up: float = 0.25, start: float = 0.04, end: float = 1e-4) -> float:
    """Up from `start` to 1 during `warm_up`, then down to `end`, along cosines (Smith and Topin 2019)."""
    if done < warm_up:
        return _between(start, 1.0, done / warm_up)
    return _between(1.0, end, (done - warm_up) / (1 - warm_up))


def late_decay(done: float, warm_up: float = 0.05, stay: float = 0.5) -> float:
    """Up to 1 during `warm_up`, then 1 until `stay`, then down to 0 along a cosine: for late progress."""
    if done < stay:
        return min(1.0, (done + 1e-3) / warm_up)
    return _between(1.0, 0.0, (done - stay) / (1 - stay))


def _between(a: float, b: float, fraction: float) -> float:
    return b + (a - b) * (1 + cos(pi * min(fraction, 1.0))) / 2


SCHEDULES: Mapping[str, Schedule] = {"one-cycle": one_cycle, "late-decay": late_decay, "constant": constant}
