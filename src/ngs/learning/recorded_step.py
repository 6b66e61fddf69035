"""A training step as one CUDA graph: its kernels are small, and launching them one by one is the cost.

A graph is the kernels of a step with the places in memory that they read and write. To repeat it, all that
differs from step to step is written to where it was found before: which examples, and the learning rate.
Weights, what the optimizer knows and what objectives remember change in place anyway, and random numbers go
on where the step before left off.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

PLAIN_STEPS = 3
"""Before the recording: kernels are compiled, caches filled and an optimizer's state made in these."""
AHEAD = 2
"""Steps that are launched and not done: enough for the GPU to go from one to the next. A launch that finds no
room any more would keep a core busy until there is some."""

Measures = Mapping[str, Tensor]


class RecordedStep:
    """`learn(rows, rate)`: a step on the examples `rows` [example] at a learning `rate`, both on the device.

    It must neither wait for the device nor draw random numbers from others than `generators` and PyTorch's
    own. What it returns are scalars.
    """

    def __init__(
        self,
        learn: Callable[[Tensor, Tensor], Measures],
        examples: int,
        device: torch.device,
        generators: Sequence[torch.Generator],
    ) -> None:
        self._learn, self._generators = learn, generators
        self._rows = torch.zeros(examples, dtype=torch.int64, device=device)
        self._rate = torch.zeros((), device=device)
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._plain_steps = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._ends: deque[torch.cuda.Event] = deque()
        """of the steps that were launched last"""
        self._measures: Measures = {}

    @property
    def is_repeated(self) -> bool:
        """Whether the recording is there."""
        return self._graph is not None

    def __call__(self, numbers: NDArray[np.int64], rate: float) -> dict[str, Tensor]:
        """Learn from the examples of these numbers, as many each time."""
        with torch.cuda.device(self._rows.device):
            return self._step(numbers, rate)

    def _step(self, numbers: NDArray[np.int64], rate: float) -> dict[str, Tensor]:
        # From memory that does not move: a copy from elsewhere would wait for the step before.
        self._rows.copy_(torch.from_numpy(numbers).pin_memory(), non_blocking=True)
        self._rate.fill_(rate)
        if self._plain_steps < PLAIN_STEPS:
            self._plain_steps += 1
            return self._aside()
        if self._graph is None:
            self._graph = self._recorded()
        while len(self._ends) >= AHEAD:
            self._ends.popleft().synchronize()
        self._graph.replay()
        end = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        end.record()
        self._ends.append(end)
        return {name: measure.clone() for name, measure in self._measures.items()}

    def _aside(self) -> dict[str, Tensor]:
        """A step on a stream of its own, where the recording will not meet what it leaves unfinished."""
        here = torch.cuda.current_stream()
        self._stream.wait_stream(here)
        with torch.cuda.stream(self._stream):
            measures = self._learn(self._rows, self._rate)
        here.wait_stream(self._stream)
        return dict(measures)

    def _recorded(self) -> torch.cuda.CUDAGraph:
        """The graph of a step, which is not done yet."""
        graph = torch.cuda.CUDAGraph()
        for generator in self._generators:
            graph.register_generator_state(generator)
        # thread_local: what other threads do with the device is none of our business
        with torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"):
            self._measures = self._learn(self._rows, self._rate)
        return graph
