"""Networks from symbol images, as ink [image, 1, height, width], to scores of symbols [image, symbol]."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import torch
from torch import Tensor, nn

from ngs.gpu import has_kernels, products_are_rounded
from ngs.networks.halving import Halving

SIDE = 45
"""Height and width, in pixels, of the symbol images these networks are made for."""


class ChannelsLast(nn.Sequential):
    """Layers one behind the other, on images in the layout that convolutions are fastest in."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__(*layers)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, ink: Tensor) -> Tensor:
        scores: Tensor = super().forward(ink.contiguous(memory_format=torch.channels_last))  # type: ignore[no-untyped-call]
        return scores


class FirstConvolution(nn.Conv2d):
    """3x3 pixels of ink at a time, the image as large as before; on a GPU by a kernel of our own."""

    def __init__(self, outputs: int, bias: bool = True) -> None:
        super().__init__(1, outputs, 3, padding=1, bias=bias)

    def forward(self, ink: Tensor) -> Tensor:
        as_usual = ink.dim() == 4 and ink.shape[1] == 1 and ink.dtype == self.weight.dtype
        if not (as_usual and has_kernels(ink) and ink.device == self.weight.device) or ink.requires_grad:
            return super().forward(ink)
        from ngs.networks.kernels.first_convolution import Convolved

        rounded = torch.is_autocast_enabled("cuda") and ink.dtype == torch.float32
        dtype = torch.get_autocast_dtype("cuda") if rounded else ink.dtype
        outputs: Tensor = Convolved.apply(ink, self.weight, self.bias, dtype)  # type: ignore[no-untyped-call]
        return outputs


class Bias(nn.Module):
    """A number of its own for each channel, to be added behind a pooling instead of before it: there is a
    quarter of the pixels there, and max(x + b) = max(x) + b."""

    def __init__(self, convolution: nn.Conv2d) -> None:
        super().__init__()
        bound = convolution.weight[0].numel() ** -0.5  # what `nn.Conv2d` begins with
        self.bias = nn.Parameter(torch.empty(convolution.out_channels).uniform_(-bound, bound))

    def forward(self, features: Tensor) -> Tensor:
        return features + self.bias[:, None, None]


class Pixels(nn.Module):
    """All pixels of an image in a row, the channels of each side by side: nothing moves in memory.

    `nn.Flatten` has them the other way round and copies, and its gradient comes back in a layout that makes
    the layers before it slow.
    """

    def forward(self, features: Tensor) -> Tensor:
        return features.permute(0, 2, 3, 1).flatten(1)


UntilHidden = tuple[nn.Conv2d, nn.Conv2d, Bias, nn.Dropout, nn.Linear]


class PaperLeNet(ChannelsLast):
    """The network of the paper as its authors released it: no pooling between its two convolutions."""

    def __init__(self, symbols: int, side: int = SIDE) -> None:
        first, second = FirstConvolution(32), nn.Conv2d(32, 64, 3, padding=1, bias=False)
        super().__init__(
            first,
            nn.ReLU(),
            second,
            Halving(),
            Bias(second),
            nn.Dropout(0.25),
            Pixels(),
            nn.Linear(64 * (side // 2) ** 2, 128),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(128, symbols),
        )
        self.side = side

    def forward(self, ink: Tensor) -> Tensor:
        if not self._has_kernels_for(ink):
            return super().forward(ink)
        from ngs.networks.kernels.ink_to_hidden import BYTE, InkToHidden

        (first, second, bias, dropout, linear), rest = self._parts
        weights = first.weight, first.bias, second.weight, bias.bias, linear.weight, linear.bias
        dropped = round(BYTE * dropout.p) if dropout.training else 0
        scores: Tensor = InkToHidden.apply(ink, *weights, dropped)  # type: ignore[no-untyped-call]
        for layer in rest:
            scores = layer(scores)
        return scores

    @property
    def _parts(self) -> tuple[UntilHidden, list[nn.Module]]:
        """The layers up to the hidden one that have weights or a share to tell, and those behind it."""
        first, _, second, _, bias, dropout, _, linear, *rest = self
        return cast(UntilHidden, (first, second, bias, dropout, linear)), rest

    def _has_kernels_for(self, ink: Tensor) -> bool:
        """Whether kernels of our own can go from ink to the hidden layer: on a GPU, where products may be
        rounded, for images of the kind and shape that they are made for."""
        (first, *_, dropout, _), _ = self._parts
        if not (has_kernels(ink) and ink.device == first.weight.device) or ink.requires_grad:
            return False
        plain = ink.dtype == first.weight.dtype == torch.float32 and not torch.is_autocast_enabled("cuda")
        if ink.shape[1:] != (1, self.side, self.side) or not (plain and products_are_rounded()):
            return False
        from ngs.networks.kernels.ink_to_hidden import takes

        return takes(ink, dropout.p)


class LeNet(ChannelsLast):
    """Three 3x3 convolutions, each halved by max-pooling, and a hidden layer, all with batch norm.

    Every pixel is looked at before the first halving: strokes are one pixel wide, and a stride there
    would throw some of them away.
    """

    def __init__(self, symbols: int, side: int = SIDE, *, width: int = 16, dropout: float = 0.1) -> None:
        super().__init__(
            *_block(FirstConvolution(width, bias=False)),
            *_block(nn.Conv2d(width, 2 * width, 3, padding=1, bias=False)),
            *_block(nn.Conv2d(2 * width, 4 * width, 3, padding=1, bias=False)),
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(4 * width * (side // 8) ** 2, 8 * width, bias=False),
            nn.BatchNorm1d(8 * width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(8 * width, symbols),
        )


def _block(convolution: nn.Conv2d) -> tuple[nn.Module, ...]:
    # Pooled before the norm, which then has a quarter of the work; no bias, since the norm has one.
    return convolution, Halving(), nn.BatchNorm2d(convolution.out_channels), nn.ReLU()


def small(symbols: int) -> nn.Module:
    """Fast on a CPU: 16, 32 and 64 channels."""
    return LeNet(symbols)


def wide(symbols: int) -> nn.Module:
    """Three times as wide, for a GPU."""
    return LeNet(symbols, width=48, dropout=0.3)


NETWORKS: Mapping[str, Callable[[int], nn.Module]] = {"small": small, "wide": wide, "paper": PaperLeNet}
