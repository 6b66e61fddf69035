"""A memory of sentences that were found right, a few for each example."""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from ngs.errors import check_setting
from ngs.grammar.padding import PAD
from ngs.processes import all_gather


class Memory(nn.Module):
    """Sentences by example. Checkpoints keep them, since they are buffers.

    Processes that train one network store what any of them found, and so agree.
    """

    def __init__(self, examples: int, size: int, time: int, device: torch.device) -> None:
        super().__init__()
        check_setting("the size of a memory", size, size >= 1, "at least one sentence for each example")
        self.time = time
        self.stored = nn.Buffer(torch.full((examples, size, time), PAD, dtype=torch.int16, device=device))
        """[example, size, time]: PAD throughout where a place is empty"""
        self.added = nn.Buffer(torch.zeros(examples, dtype=torch.long, device=device))
        """[example]: how many sentences were ever added"""

    def of(self, examples: Tensor) -> Tensor:
        """int64 [row, size, time]: the sentences of some examples."""
        return self.stored[examples].long()

    def contains(self, examples: Tensor, z: Tensor) -> Tensor:
        """bool [row]: whether each sentence [row, time] is stored for its example."""
        return (self.stored[examples, :, : z.shape[1]] == z[:, None]).all(2).any(1)

    def add(self, examples: Tensor, z: Tensor, wanted: Tensor) -> None:
        """Store the sentences where `wanted` [row], each once, in place of the oldest of its example."""
        z = pad(z, (0, self.time - z.shape[1]), value=PAD)
        examples, z, wanted = all_gather(examples), all_gather(z), all_gather(wanted)
        new = wanted & ~self.contains(examples, z)
        place = self.added[examples] % self.stored.shape[1]
        old = self.stored[examples, place]
        self.stored[examples, place] = torch.where(new[:, None], z.to(torch.int16), old)
        self.added[examples] += new

    def replace(self, examples: Tensor, z: Tensor) -> None:
        """Store these sentences [row, size, time] in place of all others of their examples."""
        self.stored[all_gather(examples)] = all_gather(z).to(torch.int16)  # gloo exchanges no int16
