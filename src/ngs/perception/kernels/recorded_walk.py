"""Arrangements in the making on a GPU: the steps of a pointer network's decoder as one recording.

What `ngs.perception.decoding` does in some seventy launches for each module that is placed takes six here,
and they are replayed as one CUDA graph. Nothing of it has a gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton
from torch import Tensor
from torch.nn import functional as F

from ngs.parsing.arrangement import Rule
from ngs.parsing.decode import PAD
from ngs.parsing.replay import Tensors
from ngs.perception.kernels import pointing
from ngs.perception.kernels.pointing import CHUNK
from ngs.perception.pointer import Encoded, PointerNetwork

FEWEST = 64
"""Rows of a recording. There is one for each power of two from here on, and rows that nobody asked for."""


@dataclass(frozen=True)
class Choice:
    """How the next module is chosen."""

    function: Any
    """`drawn`, `likeliest` or `given` of `ngs.perception.kernels.pointing`"""
    guide: Tensor
    """what the function looks at"""


def drawn(time: int, rows: int, symbols: int, generator: torch.Generator) -> Choice:
    """From p(z|x)."""
    noise = torch.empty((time, _padded(rows), symbols), device=generator.device)
    return Choice(pointing.drawn, noise.exponential_(generator=generator))


def likeliest(rows: Tensor) -> Choice:
    """The likeliest module at each step."""
    return Choice(pointing.likeliest, rows.new_empty(1))


def given(columns: Tensor) -> Choice:
    """Those of arrangements [row, time]."""
    more = _padded(len(columns)) - len(columns)
    return Choice(pointing.given, F.pad(columns, (0, 0, 0, more), value=PAD))


def walk(encoded: Encoded, rule: Rule, time: int, rows: Tensor, choice: Choice) -> tuple[Tensor, Tensor]:
    """An arrangement for each of `rows` [row, time], and its log p, by a `choice` for as many rows."""
    network, memory = encoded.reader, encoded.memory
    more = _padded(len(rows)) - len(rows)
    inputs = (
        F.pad(rows, (0, more)),
        memory.keys,
        memory.values,
        memory.padding,
        memory.keywords,
        *encoded.state,
        encoded.asked.modules,
        choice.guide,
    )

    def walked(*given: Tensor) -> Tensors:
        return _walk(network, rule, time, choice.function, *given)

    weights = tuple(weight.data_ptr() for weight in network.parameters())  # a recording reads these very ones
    columns, log_p = network.replays((choice.function, rule.function, time, weights), walked, inputs)
    return columns[: len(rows)], log_p[: len(rows)]


def _padded(rows: int) -> int:
    return max(FEWEST, int(triton.next_power_of_2(rows)))


def _walk(
    network: PointerNetwork,
    rule: Rule,
    time: int,
    choice: Any,
    rows: Tensor,
    keys: Tensor,
    values: Tensor,
    padding: Tensor,
    keywords: Tensor,
    first_state: Tensor,
    first_cell: Tensor,
    modules: Tensor,
    guide: Tensor,
) -> Tensors:
    layers = _Layers.of(network)
    number, hidden, symbols = len(rows), keys.shape[2], modules.shape[1]
    # The states of the layers, one behind the other, then the context: the inputs of every product.
    states = torch.cat([first_state[:, rows].transpose(0, 1).flatten(1), keys.new_zeros(number, hidden)], 1)
    cells = first_cell[:, rows].contiguous()
    left, last = modules[rows].int(), rows.new_full((number,), -1, dtype=torch.int32)
    token, always = rows.new_full((number,), network.beginning), torch.zeros_like(rows)
    attention = keys.new_empty(number, keys.shape[1])
    columns, log_p = rows.new_full((number, time), PAD), keys.new_zeros(number)
    depth = len(layers.products)
    state, context = states[:, -2 * hidden : -hidden], states[:, -hidden:]
    for t in range(time):
        for k in range(depth):
            seen = states[:, max(0, k - 1) * hidden : (k + 1) * hidden]
            own = states[:, k * hidden : (k + 1) * hidden]
            products = seen @ layers.products[k].T
            pointing.recur(products, layers.inputs[k], token if k == 0 else always, cells[k], own)
        pointing.attend(state, rows, keys, values, padding, context, attention)
        combined = states[:, -2 * hidden :] @ network.combine.weight.T
        with torch.cuda.device_of(rows):
            pointing._choose[number,](
                combined,
                network.combine.bias,
                network.score.weight,
                network.score.bias,
                network.score.bias if network.copy_gain is None else network.copy_gain,
                attention,
                keywords,
                rows,
                rule.facts,
                left,
                last,
                token,
                columns,
                log_p,
                guide,
                t,
                number,
                time,
                keys.shape[1],
                symbols,
                hidden,
                S=triton.next_power_of_2(symbols),
                W=triton.next_power_of_2(keys.shape[1]),
                C=CHUNK,
                COPIES=network.copy_gain is not None,
                RULE=rule.function,
                CHOICE=choice,
                GIVEN=choice is pointing.given,
                num_warps=4,
            )
    return columns, log_p


@dataclass(frozen=True)
class _Layers:
    """The weights of the decoder's LSTM, arranged for one product a layer."""

    products: list[Tensor]
    """[4 hidden, states]: by the layer's own state, from the second layer on also by that below it"""
    inputs: list[Tensor]
    """[token, 4 hidden]: what is added, by token in the first layer, the same for all in the others"""

    @classmethod
    def of(cls, network: PointerNetwork) -> _Layers:
        products, inputs = [], []
        for k in range(network.decoder.num_layers):
            of_input, of_state, bias, more = (
                getattr(network.decoder, f"{name}_l{k}")
                for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
            if k == 0:
                products.append(of_state)
                inputs.append(torch.addmm(bias + more, network.module_embedding.weight, of_input.T))
            else:
                products.append(torch.cat([of_input, of_state], 1))
                inputs.append((bias + more)[None])
        return cls(products, inputs)
