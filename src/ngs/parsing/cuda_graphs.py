"""A function of tensors as one CUDA graph: a chart is many small kernels, and launching them is the cost."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import RLock

import torch
from torch import Tensor

Tensors = tuple[Tensor, ...]

MAX_GRAPHS = 16  # graphs an object keeps, the latest used: each holds its own device memory


class CudaGraphs:
    """The CUDA graphs of one circuit: one for each `key` and each shape and type of the inputs."""

    def __init__(self) -> None:
        self._captured: OrderedDict[Hashable, Callable[..., Tensors]] = OrderedDict()
        self._lock = RLock()  # the buffers are shared: one caller at a time

    def __call__(self, key: Hashable, function: Callable[..., Tensors], inputs: Tensors) -> Tensors:
        """`function(*inputs)`: captured once and replayed on a GPU, called plainly elsewhere."""
        device = inputs[0].device
        if device.type != "cuda":
            return function(*inputs)
        stream = torch.cuda.current_stream(device)
        shapes = key, stream, *((tensor.shape, tensor.dtype, tensor.device) for tensor in inputs)
        # Not in inference mode: buffers made there could not be written outside it.
        with self._lock, torch.cuda.device(device), torch.inference_mode(False), torch.no_grad():
            if shapes not in self._captured:
                self._captured[shapes] = _captured(function, inputs)
            self._captured.move_to_end(shapes)
            while len(self._captured) > MAX_GRAPHS:
                self._captured.popitem(last=False)
            return self._captured[shapes](*inputs)


def _captured(function: Callable[..., Tensors], inputs: Tensors) -> Callable[..., Tensors]:
    """`function` as a CUDA graph, with buffers of its own. It must not synchronise or draw random numbers."""
    buffers = tuple(tensor.detach().clone() for tensor in inputs)
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        function(*buffers)  # kernels load and caches fill outside the capture
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    # thread_local: another thread's allocations (a data loader pinning memory) are none of our business
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        outputs = function(*buffers)

    def replay(*inputs: Tensor) -> Tensors:
        for buffer, tensor in zip(buffers, inputs, strict=True):
            buffer.copy_(tensor)
        graph.replay()
        return tuple(output.clone() for output in outputs)

    return replay
