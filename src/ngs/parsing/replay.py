"""A function of tensors as one CUDA graph: a chart is many small kernels, and launching them is the cost."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import torch
from torch import Tensor

Tensors = tuple[Tensor, ...]


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
        with torch.cuda.graph(graph):
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
        self._recorded: dict[Hashable, Replay] = {}

    def __call__(self, key: Hashable, function: Callable[..., Tensors], inputs: Tensors) -> Tensors:
        """`function(*inputs)`: replayed on a GPU, called plainly elsewhere and inside another recording."""
        if not inputs[0].is_cuda or torch.cuda.is_current_stream_capturing():
            return function(*inputs)
        shapes = key, *((tensor.shape, tensor.dtype, tensor.device) for tensor in inputs)
        if shapes not in self._recorded:
            self._recorded[shapes] = Replay.capture(function, inputs)
        return self._recorded[shapes](*inputs)
