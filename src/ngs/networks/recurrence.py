"""What an `nn.LSTM` gives; on a GPU by kernels of our own, a handful where there were hundreds."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import ngs.kernels
from ngs.gpu import products_are_rounded

Recurrent = tuple[Tensor, Tensor]
"""The state of an LSTM: twice [layer, row, hidden]."""


def recurrent(lstm: nn.LSTM, inputs: Tensor, state: Recurrent) -> tuple[Tensor, Recurrent]:
    """Outputs [row, time, hidden] and the last state, from `inputs` [row, time, number] and the first."""
    if _by_kernels(lstm, inputs):
        return _in_layers(lstm, inputs, state, None)
    outputs, state = lstm(inputs, state)
    return outputs, state


def recurrent_to_ends(lstm: nn.LSTM, inputs: Tensor, padding: Tensor) -> tuple[Tensor, Recurrent]:
    """The same for rows that end at different times, from a state of zeros: outputs behind the end of a row
    are 0, and its last state is that at its end. `padding` (bool [row, time]) is True behind the end.
    """
    counts = padding.logical_not().sum(1)
    if _by_kernels(lstm, inputs):
        zeros = inputs.new_zeros(lstm.num_layers, len(inputs), lstm.hidden_size)
        return _in_layers(lstm, inputs, (zeros, zeros), counts)
    packed = pack_padded_sequence(inputs, counts.cpu(), batch_first=True, enforce_sorted=False)
    outputs, state = lstm(packed)
    unpacked, _ = pad_packed_sequence(outputs, batch_first=True, total_length=inputs.shape[1])
    return unpacked, state


def _by_kernels(lstm: nn.LSTM, inputs: Tensor) -> bool:
    if not (inputs.is_cuda and ngs.kernels.available(inputs)):
        return False
    if inputs.dtype != torch.float32 or inputs.dim() != 3:
        return False
    if torch.is_autocast_enabled("cuda") or not inputs.shape[1]:
        return False
    from ngs.kernels.lstm import takes

    return takes(lstm)


def _in_layers(
    lstm: nn.LSTM, inputs: Tensor, state: Recurrent, counts: Tensor | None
) -> tuple[Tensor, Recurrent]:
    from ngs.kernels.lstm import Layer

    outputs, rounded = inputs.transpose(0, 1), products_are_rounded()
    states, cells = [], []
    for number, weights in enumerate(lstm.all_weights):
        if number and lstm.dropout:
            outputs = F.dropout(outputs, lstm.dropout, lstm.training)
        outputs, last_state, last_cell = Layer.apply(  # type: ignore[no-untyped-call]
            outputs, state[0][number], state[1][number], *weights, counts, rounded
        )
        states.append(last_state)
        cells.append(last_cell)
    return outputs.transpose(0, 1), (torch.stack(states), torch.stack(cells))
