"""What a step costs in seconds and in memory as its work grows, with the exponents of both."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import exp, log, sqrt
from pathlib import Path
from statistics import linear_regression, variance
from typing import Any, NamedTuple

import torch
from torch.profiler import ProfilerActivity, profile

from ngs.errors import NGSError
from ngs.gpu import rounded_products
from ngs.tasks.costs.timed_steps import timed
from ngs.tasks.costs.workloads import Workload
from ngs.tasks.results.job import Measurement, Measuring, Progress

MEASURED = ("seconds", "memory_mb")


@dataclass(frozen=True)
class StepCost(Measurement):
    """Some methods on work of several sizes.

    Seconds are the median over `rounds` steps, the methods in turn, each waited for. On a GPU products are
    rounded. Memory is what tensors take at most during the first step of a fresh training, Adam's state
    included, once everything is compiled.
    """

    workload: Workload
    values: tuple[int, ...]
    """the sizes, as the workload takes them"""
    methods: tuple[str, ...]
    rounds: int = 20
    warm_up: int = 5
    """steps before those that are timed"""
    device: str = "cpu"
    """cpu or cuda: the same work on another device is another result"""

    def __post_init__(self) -> None:
        unknown = [method for method in self.methods if method not in self.workload.known_methods]
        if unknown or not self.methods:
            raise NGSError(
                f"the methods are {', '.join(self.methods) or 'none'}; choose from "
                f"{', '.join(self.workload.known_methods)}"
            )
        if len(set(self.values)) < 2 or min(self.values) < 1:
            raise NGSError(f"the sizes are {self.values}; give at least two different ones of 1 or more")
        if self.rounds < 1 or self.warm_up < 0:
            raise NGSError(
                f"rounds is {self.rounds} and warm_up {self.warm_up}; at least one step must be timed"
            )
        if self.device not in ("cpu", "cuda"):
            raise NGSError(f"the device is {self.device!r}; give cpu or cuda")

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "job": "step-cost",
            "version": 2,  # of what is asked; code that answers it sooner is told by the commit
            "workload": {"kind": type(self.workload).__name__, **vars(self.workload)},
            "values": list(self.values),
            "methods": list(self.methods),
            "rounds": self.rounds,
            "warm_up": self.warm_up,
            "device": self.device,
        }

    @property
    def alone(self) -> bool:
        return True

    @property
    def runs_on(self) -> str:
        return self.device

    def measure(self, folder: Path, needed: Sequence[Path]) -> Measuring:
        """Size by size, from the first: measurements of two attempts would not be of one moment."""
        if self.device == "cuda" and not torch.cuda.is_available():
            raise NGSError("the device is cuda, and PyTorch finds none here; run this where there is a GPU")
        with rounded_products():
            return (yield from self._measured(torch.device(self.device)))

    def _measured(self, device: torch.device) -> Measuring:
        measured: dict[str, list[dict[str, float]]] = {method: [] for method in self.methods}
        for number, value in enumerate(self.values, 1):
            # Once unmeasured: what is made a single time, by whoever comes first, is nobody's cost.
            for step in self.workload.at(value, self.methods, 1, device)[1].values():
                step()
            x, steps = self.workload.at(value, self.methods, 1 + self.warm_up + self.rounds, device)
            memory = {method: peak_tensor_mb(step, device) for method, step in steps.items()}
            spent = timed(steps, self.rounds, self.warm_up)
            rows = {m: {"x": x, "seconds": spent[m].median, "memory_mb": memory[m]} for m in self.methods}
            for method, row in rows.items():
                measured[method].append(row)
            yield Progress(number, len(self.values), rows)
        costs = {method: {"measured": rows, "exponents": _laws(rows)} for method, rows in measured.items()}
        return {"unit": self.workload.unit, "costs": costs}


def _laws(rows: Sequence[dict[str, float]]) -> dict[str, Any]:
    """The exponent of everything that was measured; none of what was 0 somewhere."""
    x = [row["x"] for row in rows]
    values = {name: [row[name] for row in rows] for name in MEASURED}
    return {name: power_law(x, y)._asdict() if min(y) > 0 else None for name, y in values.items()}


def peak_tensor_mb(action: Callable[[], object], device: torch.device) -> float:
    """The most that tensors took at once during `action`, beyond what they took before it.

    On a GPU by what PyTorch's allocator says; on a CPU, where it says nothing, by its profiler, which notes
    all that is allocated and freed. (The memory of the process would not do: it never falls.)
    """
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        action()
        torch.cuda.synchronize(device)
        return (torch.cuda.max_memory_allocated(device) - before) / 2**20
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # or the profiler prints that it starts and stops
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as noted:
        action()
    assert noted.profiler is not None and noted.profiler.kineto_results is not None
    events = [each for each in noted.profiler.kineto_results.events() if each.name() == "[memory]"]
    events.sort(key=lambda each: each.start_ns())
    return float(max(accumulate((each.nbytes() for each in events), initial=0))) / 2**20


class PowerLaw(NamedTuple):
    """y = constant * x ** exponent"""

    exponent: float
    standard_error: float | None
    """of the exponent; None of two points, which tell nothing about it"""
    constant: float


def power_law(x: Sequence[float], y: Sequence[float]) -> PowerLaw:
    """The line a + b u through the points (u, v) = (log x, log y) with the least squares, and

        se(b)^2 = sum of (v - a - b u)^2 / ((n - 2) S_uu),    S_uu the sum of (u - mean u)^2

    The errors of v count as independent and alike, so the standard error says how well a power fits these
    points, and nothing about x beyond them.

    >>> law = power_law([1, 2, 4], [3, 12, 48])
    >>> round(law.exponent, 9), round(law.constant, 9)
    (2.0, 3.0)
    """
    if len(x) != len(y) or len(set(x)) < 2:
        raise NGSError(
            f"a power is fitted to {len(x)} and {len(y)} values with {len(set(x))} different x; give as many "
            f"y as x, and at least 2 different x"
        )
    if not all(value > 0 for value in (*x, *y)):
        raise NGSError(f"the smallest x is {min(x)}, the smallest y {min(y)}; powers need positive values")
    u, v = [log(value) for value in x], [log(value) for value in y]
    exponent, offset = linear_regression(u, v)
    left_over = sum((b - offset - exponent * a) ** 2 for a, b in zip(u, v, strict=True))
    freedom = len(x) - 2
    error = sqrt(left_over / freedom / (len(x) - 1) / variance(u)) if freedom else None
    return PowerLaw(exponent, error, exp(offset))
