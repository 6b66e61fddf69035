"""A network that reads a sequence and writes another: for tasks of your own whose inputs are words."""

from __future__ import annotations

from torch import Tensor, nn

from ngs.networks.pointer import SIZES, Asked, Encoded, PointerNetwork, Size


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
