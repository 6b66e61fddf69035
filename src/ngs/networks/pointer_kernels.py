"""What a pointer network writes, by the kernels of `ngs.kernels`: a whole sentence in one launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import ngs.kernels
from ngs.gpu import products_are_rounded
from ngs.grammar.constraint import Constraint, Counting, Given, KernelRule
from ngs.networks.pointer import Encoded

if TYPE_CHECKING:
    from ngs.kernels.choices import Choice
    from ngs.kernels.decoder import Decoder


@dataclass(frozen=True)
class PointerKernels:
    """Writes sentences for the rows that a network has read.

    It rounds products, and knows neither dropout nor gradients. Weights are those of the moment it was made.
    """

    decoder: Decoder
    rows: Tensor
    symbols: int

    def sample(self, time: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Sentences of up to `time` symbols drawn from p [row, time], and their log p."""
        from ngs.kernels.choices import sampling

        return self._written(time, sampling(self.rows, time, self.symbols, generator))

    def best(self, time: int) -> tuple[Tensor, Tensor]:
        """The most likely symbol at each step [row, time], and log p of the sentences."""
        from ngs.kernels.choices import greedy

        return self._written(time, greedy(self.rows))

    def _written(self, time: int, choice: Choice) -> tuple[Tensor, Tensor]:
        written: tuple[Tensor, Tensor] = self.decoder.decode(self.rows, time, choice)
        return written


def pointer_kernels(encoded: Encoded, constraint: Constraint[Any], given: Given) -> PointerKernels | None:
    """The kernels for what a network has read; None where there are none, as on every CPU."""
    if given.multiset is None or not (isinstance(constraint, Counting) and _has_kernel(encoded)):
        return None
    rule = constraint.rule()
    if rule is None:
        return None
    with torch.no_grad():
        decoder = kernel_decoder(encoded, given.multiset, rule)
    return PointerKernels(decoder, torch.arange(len(given), device=given.device), given.multiset.shape[1])


def _has_kernel(encoded: Encoded) -> bool:
    """Whether a kernel can decode: in single precision with rounded products, where nothing is dropped."""
    network, keys = encoded.reader, encoded.memory.keys
    single = keys.dtype == network.key.weight.dtype == torch.float32
    drops = network.training and network.dropout.p > 0
    there = keys.device.type in ngs.kernels.DEVICES["decoder"]
    if drops or not (single and there and products_are_rounded()):
        return False
    from ngs.kernels.tiles import fits

    return fits(network.decoder.hidden_size, keys.device)


def kernel_decoder(
    encoded: Encoded, multiset: Tensor, rule: KernelRule, dtype: torch.dtype = torch.float16
) -> Decoder:
    """What a network has read, as the kernel takes it; products are made of numbers of this `dtype`."""
    from ngs.kernels.decoder import Decoder

    network, memory = encoded.reader, encoded.memory
    return Decoder.of(
        (memory.keys, memory.values, memory.padding, memory.keywords, multiset),
        encoded.state,
        network.decoder.all_weights,
        network.module_embedding.weight,
        (network.combine.weight, network.combine.bias),
        (network.score.weight, network.score.bias),
        network.copy_gain,
        rule.function,
        rule.facts,
        dtype,
    )
