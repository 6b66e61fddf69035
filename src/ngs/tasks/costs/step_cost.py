"""The cost of a step in seconds and memory as its work grows, with the exponents of both."""

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
from torch.utils.benchmark import Measurement as Timing
from torch.utils.benchmark import TaskSpec, timer

from ngs.errors import NGSError
from ngs.gpu import rounded_products
from ngs.tasks.costs.workloads import Actions, Workload
from ngs.tasks.results.job import Measurement, Measuring, Progress

MEASURED = ("seconds", "memory_mb")


@dataclass(frozen=True)
class StepCost(Measurement):
    """Some methods on work of several sizes.

    Seconds are the median over `rounds` synchronised steps, with the methods in turn. Memory is the peak of
    tensors, with Adam's state, in the first step of a fresh training after compilation. A GPU rounds
    products.
    """

    workload: Workload
    values: tuple[int, ...]  # the sizes
    methods: tuple[str, ...]
    rounds: int = 20
    warm_up: int = 5  # steps before the timed ones
    device: str = "cpu"  # cpu or cuda; each device has its own result

    def __post_init__(self) -> None:
        if self.device not in ("cpu", "cuda"):
            raise NGSError(f"the device is {self.device!r}; give cpu or cuda")

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "job": "step-cost",
            "version": 2,  # of the question; the commit tells the code
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
        """Measure all sizes anew: those of two attempts would not be comparable."""
        if self.device == "cuda" and not torch.cuda.is_available():
            raise NGSError("the device is cuda, and PyTorch finds none here; run this where there is a GPU")
        with rounded_products():
            return (yield from self._measured(torch.device(self.device)))

    def _measured(self, device: torch.device) -> Measuring:
        measured: dict[str, list[dict[str, float]]] = {method: [] for method in self.methods}
        for number, value in enumerate(self.values, 1):
            # Once unmeasured: the first use of something also makes it.
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


def timed(actions: Actions, rounds: int, warm_up: int = 2) -> dict[str, Timing]:
    """The seconds of each action, timed in turn so that a slow moment affects all of them.

    PyTorch's `timer` waits for a GPU. Its `Timer` chooses the number of steps itself, and a training is
    finite.
    """
    spent: dict[str, list[float]] = {name: [] for name in actions}
    for action in actions.values():
        for _ in range(warm_up):
            action()
    for _ in range(rounds):
        for name, action in actions.items():
            begin = timer()
            action()
            spent[name].append(timer() - begin)
    threads = torch.get_num_threads()
    return {name: Timing(1, spent[name], TaskSpec(name, "", num_threads=threads)) for name in actions}


def _laws(rows: Sequence[dict[str, float]]) -> dict[str, Any]:
    """The exponents of the measurements; None for one that is 0 somewhere."""
    x = [row["x"] for row in rows]
    values = {name: [row[name] for row in rows] for name in MEASURED}
    return {name: power_law(x, y)._asdict() if min(y) > 0 else None for name, y in values.items()}


def peak_tensor_mb(action: Callable[[], object], device: torch.device) -> float:
    """The peak memory of tensors during `action`, beyond what they took before it.

    On a GPU from PyTorch's allocator, on a CPU from its profiler (the memory of the process never falls). The
    profiler counts what operations allocate inside, and does not know memory from before that is freed now.
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
    standard_error: float | None  # of the exponent; None for two points, which cannot tell it
    constant: float


def power_law(x: Sequence[float], y: Sequence[float]) -> PowerLaw:
    """The least-squares line a + b u through the points (u, v) = (log x, log y), and

        se(b)^2 = sum of (v - a - b u)^2 / ((n - 2) S_uu),    S_uu the sum of (u - mean u)^2

    which takes the errors of v as independent and alike; it says nothing about x beyond the points.

    >>> law = power_law([1, 2, 4], [3, 12, 48])
    >>> round(law.exponent, 9), round(law.constant, 9)
    (2.0, 3.0)
    """
    u, v = [log(value) for value in x], [log(value) for value in y]
    exponent, offset = linear_regression(u, v)
    left_over = sum((b - offset - exponent * a) ** 2 for a, b in zip(u, v, strict=True))
    freedom = len(x) - 2
    error = sqrt(left_over / freedom / (len(x) - 1) / variance(u)) if freedom else None
    return PowerLaw(exponent, error, exp(offset))
