"""The pointer network (Vinyals et al. 2015; Li et al. 2020, supplement): it puts given modules in order.

An encoder reads the words, and at each step a decoder attends to them and names a module,

    attention  a_w   = softmax over words w of  h . K m_w
    context    c     = sum over w of a_w m_w
    score      s_u   = v_u . tanh(W [h; c])  +  g * sum over w that speak of u of a_w

and takes the softmax of s over the modules that are left and that the language allows. h is the decoder's
state, m_w the encoder's at word w. The last term, the copy score, is ours: looking at "red" speaks for
`filter_color[red]` before anything is learned. Without it, this is the network of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import ngs.kernels
from ngs.gpu import products_are_rounded
from ngs.grammar.constraint import Constraint, Counting, Given, KernelRule
from ngs.grammar.padding import PAD

if TYPE_CHECKING:
    from ngs.kernels.decoder import Decoder

Recurrent = tuple[Tensor, Tensor]  # the state of an LSTM: twice [layer, row, hidden]


@dataclass(frozen=True)
class Size:
    """Of the two LSTMs and of the embeddings of words and modules."""

    hidden: int
    embedding: int
    layers: int = 2


SIZES: Mapping[str, Size] = {"small": Size(128, 64), "paper": Size(256, 300)}
"""One that two CPU cores train in minutes, and that of the supplement."""


@dataclass(frozen=True)
class Asked:
    """Texts, and what their words name."""

    words: Tensor  # int64 [question, word]: PAD after the end
    keywords: Tensor  # float [question, word, module]: 1 where a word speaks of a module


@dataclass(frozen=True)
class Encoded:
    """Encoded texts: the decoder of a distribution over programs, for some rows."""

    keys: Tensor
    values: Tensor  # [row, word, hidden]
    padding: Tensor  # bool [row, word]
    keywords: Tensor  # [row, word, module]
    state: Recurrent  # of the LSTM that writes
    reader: PointerNetwork  # who has read them

    def select(self, rows: Tensor) -> Encoded:
        states, cells = (part[:, rows].contiguous() for part in self.state)
        words = (self.keys, self.values, self.padding, self.keywords)
        keys, values, padding, keywords = (part[rows] for part in words)
        return Encoded(keys, values, padding, keywords, (states, cells), self.reader)

    def follow(self, before: Tensor) -> tuple[Tensor, Encoded]:
        """As `PointerNetwork.follow`: scores, and the decoder of what follows."""
        scores, state = self.reader.follow(self, before)
        return scores, replace(self, state=state)

    def accelerated(self, constraint: Constraint[Any], given: Given) -> Decoder | None:
        """The same on a GPU, a whole sentence in one launch; None where there is no kernel for it.

        It rounds products, and has no dropout and no gradients. Weights are those of this moment.
        """
        network, device = self.reader, self.keys.device
        single = self.keys.dtype == network.key.weight.dtype == torch.float32
        drops = network.training and network.dropout.p > 0
        there = device.type in ngs.kernels.DEVICES["decoder"] and products_are_rounded()
        if not isinstance(constraint, Counting) or given.multiset is None or drops or not (single and there):
            return None
        from ngs.kernels.tiles import fits  # Triton is only there where kernels are

        rule = constraint.rule() if fits(network.decoder.hidden_size, device) else None
        return None if rule is None else kernel_decoder(self, given.multiset, rule)


class PointerNetwork(nn.Module):
    """Reads a question; then gives scores for the next module, given those before it."""

    def __init__(
        self,
        words: int,
        modules: int,
        *,
        size: Size = SIZES["paper"],
        copies: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        hidden, embedding, layers = size.hidden, size.embedding, size.layers
        self.beginning = modules
        self.word_embedding = nn.Embedding(words, embedding)
        self.module_embedding = nn.Embedding(modules + 1, embedding)  # the last stands before the first
        between = dropout if layers > 1 else 0.0
        self.encoder = nn.LSTM(embedding, hidden, layers, batch_first=True, dropout=between)
        self.decoder = nn.LSTM(embedding, hidden, layers, batch_first=True, dropout=between)
        self.dropout = nn.Dropout(dropout)
        self.key = nn.Linear(hidden, hidden, bias=False)
        self.combine = nn.Linear(2 * hidden, hidden)
        self.score = nn.Linear(hidden, modules)
        self.copy_gain = nn.Parameter(torch.tensor(4.0)) if copies else None

    def forward(self, asked: Asked) -> Encoded:
        embedded = self.dropout(self.word_embedding(asked.words.clamp(min=0)))
        padding = asked.words == PAD
        values, state = recurrent_to_ends(self.encoder, embedded, padding)
        # Mixed precision ends here: the decoder is called later, with weights as they are.
        own = self.key.weight.dtype
        states, cells = (part.to(own) for part in state)
        keys, values = self.key(values).to(own), values.to(own)
        return Encoded(keys, values, padding, asked.keywords, (states, cells), self)

    def follow(self, read: Encoded, before: Tensor) -> tuple[Tensor, Recurrent]:
        """Scores of the next module [row, time, module] after each of `before` [row, time], PAD at first."""
        inputs = self.module_embedding(torch.where(before == PAD, self.beginning, before))
        hidden, state = recurrent(self.decoder, self.dropout(inputs), read.state)
        attention = hidden @ read.keys.transpose(1, 2)
        attention = attention.masked_fill(read.padding[:, None], -torch.inf).softmax(-1)
        context = attention @ read.values
        combined = torch.tanh(self.combine(self.dropout(torch.cat([hidden, context], -1))))
        scores: Tensor = self.score(combined)
        if self.copy_gain is not None:
            scores = scores + self.copy_gain * (attention @ read.keywords)
        return scores, state


class SequenceNetwork(nn.Module):
    """Reads words, and gives the decoder that writes symbols: two LSTMs with attention (Luong et al. 2015).

    Inputs are word numbers [example, word] from 0 to `words` - 1, with `ngs.PAD` after the end.

    >>> import torch, ngs
    >>> grammar = ngs.arithmetic_grammar()
    >>> network = SequenceNetwork(words=5, symbols=len(grammar.symbols))
    >>> decoder = network(torch.tensor([[4, 0, 2], [1, ngs.PAD, ngs.PAD]]))
    >>> scores, _ = decoder.follow(torch.tensor([[ngs.PAD], [ngs.PAD]]))
    >>> scores.shape  # of the first symbol
    torch.Size([2, 1, 14])
    """

    def __init__(
        self, words: int, symbols: int, *, size: Size = SIZES["small"], dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.network = PointerNetwork(words, symbols, size=size, copies=False, dropout=dropout)

    def forward(self, words: Tensor) -> Encoded:
        nothing_named = words.new_zeros((*words.shape, self.network.beginning)).float()
        read: Encoded = self.network(Asked(words, nothing_named))
        return read


@torch.no_grad()
def kernel_decoder(
    encoded: Encoded, multiset: Tensor, rule: KernelRule, dtype: torch.dtype = torch.float16
) -> Decoder:
    """The kernel's decoder, with products in this `dtype`: half precision has as many digits as TF32."""
    from ngs.kernels.decoder import Decoder, Read

    network = encoded.reader
    of_input, of_own, bias_input, bias_own = zip(*network.decoder.all_weights, strict=True)
    biases = torch.stack(bias_input) + torch.stack(bias_own)
    read = Read(
        first_states=encoded.state[0].contiguous(),
        first_cells=encoded.state[1].contiguous(),
        keys=encoded.keys.to(dtype).contiguous(),
        values=encoded.values.to(dtype).contiguous(),
        padding=encoded.padding.contiguous(),
        keywords=encoded.keywords.contiguous(),
        modules=multiset.contiguous(),
        inputs=torch.addmm(biases[0], network.module_embedding.weight, of_input[0].T),
        of_below=_turned(of_input[1:] or of_own[:1], dtype),  # a single layer has none below it
        of_own=_turned(of_own, dtype),
        biases=biases[1:],
        combine=_turned([network.combine.weight], dtype)[0],
        combine_bias=network.combine.bias,
        score=network.score.weight.to(dtype),
        score_bias=network.score.bias,
        gain=network.score.bias if network.copy_gain is None else network.copy_gain,
        facts=rule.facts,
    )
    rows = torch.arange(len(multiset), device=multiset.device)
    return Decoder(read, rows, rule.function, copies=network.copy_gain is not None)


def _turned(weights: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """[weight, input, output], of weights [output, input]: what is added up lies side by side."""
    return torch.stack([weight.T for weight in weights]).to(dtype)


def recurrent(lstm: nn.LSTM, inputs: Tensor, state: Recurrent) -> tuple[Tensor, Recurrent]:
    """Outputs [row, time, hidden] and the last state, from `inputs` [row, time, number] and the first."""
    if _by_kernels(lstm, inputs):
        everywhere = torch.full((len(inputs),), inputs.shape[1], device=inputs.device)
        return _in_layers(lstm, inputs, state, everywhere)
    outputs, state = lstm(inputs, state)
    return outputs, state


def recurrent_to_ends(lstm: nn.LSTM, inputs: Tensor, padding: Tensor) -> tuple[Tensor, Recurrent]:
    """The same from a state of zeros for rows with `padding` (bool [row, time]), which outputs 0."""
    counts = padding.logical_not().sum(1)
    if _by_kernels(lstm, inputs):
        zeros = inputs.new_zeros(lstm.num_layers, len(inputs), lstm.hidden_size)
        return _in_layers(lstm, inputs, (zeros, zeros), counts)
    packed = pack_padded_sequence(inputs, counts.cpu(), batch_first=True, enforce_sorted=False)
    outputs, state = lstm(packed)
    unpacked, _ = pad_packed_sequence(outputs, batch_first=True, total_length=inputs.shape[1])
    return unpacked, state


def _by_kernels(lstm: nn.LSTM, inputs: Tensor) -> bool:
    there = inputs.device.type in ngs.kernels.DEVICES["lstm"]
    single = inputs.dtype == torch.float32 and not torch.is_autocast_enabled("cuda")
    if not (there and single and inputs.dim() == 3 and inputs.shape[1]):
        return False
    from ngs.kernels.lstm import takes

    return takes(lstm)


def _in_layers(lstm: nn.LSTM, inputs: Tensor, state: Recurrent, counts: Tensor) -> tuple[Tensor, Recurrent]:
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
