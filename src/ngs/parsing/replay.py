"""A function of tensors as one CUDA graph: a chart is many small kernels, and launching them is the cost."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import RLock

import torch
from torch import Tensor

Tensors = tuple[Tensor, ...]

MOST_RECORDED = 16
"""Recordings an object keeps, the latest used: each holds its own device memory."""


@dataclass(frozen=True)
class Replay:
    """A captured function with the buffers it reads and writes."""

    graph: torch.cuda.CUDAGraph
    inputs: Tensors
    outputs: Tensors

    @classmethod
    def capture(cls, function: Callable[..., Tensors], inputs: Tensors) -> Replay:
        """Run `function` once for real, then record it. It must not wait for the device or draw numbers."""
        buffers = tuple(tensor.detach().clone() for tensor in inputs)
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            function(*buffers)  # kernels load and caches fill outside the recording
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        # thread_local: another thread's allocations (a data loader pinning memory) are none of our business
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            outputs = function(*buffers)
        return cls(graph, buffers, outputs)

    def __call__(self, *inputs: Tensor) -> Tensors:
        for buffer, tensor in zip(self.inputs, inputs, strict=True):
            buffer.copy_(tensor)
        self.graph.replay()
        return tuple(output.clone() for output in self.outputs)


class Replays:
    """The recordings of one compiled object: one for each `key` and each shape and type of the inputs."""

    def __init__(self) -> None:
        self._recorded: OrderedDict[Hashable, Replay] = OrderedDict()
        self._lock = RLock()  # the buffers are shared: one caller at a time

    def __call__(self, key: Hashable, function: Callable[..., Tensors], inputs: Tensors) -> Tensors:
        """`function(*inputs)`: replayed on a GPU, called plainly elsewhere and inside another recording."""
        device = inputs[0].device
        if device.type != "cuda" or torch.cuda.is_current_stream_capturing():
            return function(*inputs)
        stream = torch.cuda.current_stream(device)
        shapes = key, stream, *((tensor.shape, tensor.dtype, tensor.device) for tensor in inputs)
        # Not in inference mode: buffers made there could not be written outside it.
        with self._lock, torch.cuda.device(device), torch.inference_mode(False), torch.no_grad():
            if shapes not in self._recorded:
                self._recorded[shapes] = Replay.capture(function, inputs)
            self._recorded.move_to_end(shapes)
            while len(self._recorded) > MOST_RECORDED:
                self._recorded.popitem(last=False)
            return self._recorded[shapes](*inputs)
