"""What the processes of one run must agree on. With a single process, all of this is the identity."""

import gc
from collections.abc import Mapping

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from ngs.errors import DataError


def world_size() -> int:
    """How many processes train one network."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def destroy_process_group() -> None:
    """End the exchange between processes, if there are several.

    What is left of trainings holds on to the exchange, and has to go first: threads that outlive it may abort
    a process as it ends.
    """
    if dist.is_available() and dist.is_initialized():
        gc.collect()
        dist.destroy_process_group()


def rank() -> int:
    return dist.get_rank() if world_size() > 1 else 0


def own_seed(seed: int, purpose: str) -> int:
    """Another for each process, since they draw for different examples, and for each purpose."""
    words = [seed, rank(), *purpose.encode()]
    return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0] >> 1)  # torch takes 63 bits


def broadcast_from_first(answer: bool, device: torch.device) -> bool:
    """The first process's answer: the others may see it otherwise, but must act alike."""
    if world_size() == 1:
        return answer
    told = torch.tensor(answer, device=device, dtype=torch.uint8)
    dist.broadcast(told, 0)
    return bool(told)


def mean_over_processes(value: Tensor) -> Tensor:
    if world_size() == 1:
        return value
    total = value.detach().clone()
    dist.all_reduce(total)
    return total / world_size()


def means_over_processes(scalars: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Of each scalar, in one exchange; all processes have the same ones."""
    if world_size() == 1:
        return dict(scalars)
    means = mean_over_processes(torch.stack([scalar.detach().float() for scalar in scalars.values()]))
    return dict(zip(scalars, means, strict=True))


def all_gather(rows: Tensor) -> Tensor:
    """The rows of all processes, one process behind the other; each has equally many."""
    if world_size() == 1:
        return rows
    parts = [torch.empty_like(rows) for _ in range(world_size())]
    dist.all_gather(parts, rows.contiguous())
    return torch.cat(parts)


def states_of_all(state: Tensor, device: torch.device) -> Tensor:
    """The states of each process's random numbers [process, byte], for a checkpoint that one writes."""
    return all_gather(state.to(device)[None]).cpu()


def own_state(states: Tensor) -> Tensor:
    """This process's part of what `states_of_all` gave."""
    if len(states) != world_size():
        raise DataError(
            f"the checkpoint is of {len(states)} processes, and these are {world_size()}; resume with as many"
        )
    return states[rank()].cpu().clone()  # torch crashes on a state that is a part of a tensor
