"""Networks from symbol images, as ink [image, 1, height, width], to scores of symbols [image, symbol]."""

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor, nn

SIDE = 45  # height and width, in pixels, of symbol images


class ChannelsLast(nn.Sequential):
    """Layers one after another, on images in the layout that convolutions are fastest in."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__(*layers)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, ink: Tensor) -> Tensor:
        scores: Tensor = super().forward(ink.contiguous(memory_format=torch.channels_last))  # type: ignore[no-untyped-call]
        return scores


class Bias(nn.Module):
    """A number for each channel, added to the quarter of pixels after a pooling: max(x + b) = max(x) + b."""

    def __init__(self, convolution: nn.Conv2d) -> None:
        super().__init__()
        bound = convolution.weight[0].numel() ** -0.5  # what `nn.Conv2d` begins with
        self.bias = nn.Parameter(torch.empty(convolution.out_channels).uniform_(-bound, bound))

    def forward(self, features: Tensor) -> Tensor:
        return features + self.bias[:, None, None]


class Pixels(nn.Module):
    """Flattens without a copy, and without a gradient in a layout that makes the layers before it slow."""

    def forward(self, features: Tensor) -> Tensor:
        return features.permute(0, 2, 3, 1).flatten(1)


class PaperLeNet(ChannelsLast):
    """The network of the paper as its authors released it: no pooling between its two convolutions."""

    def __init__(self, symbols: int, side: int = SIDE) -> None:
        first, second = nn.Conv2d(1, 32, 3, padding=1), nn.Conv2d(32, 64, 3, padding=1, bias=False)
        super().__init__(
            first,
            nn.ReLU(),
            second,
            nn.MaxPool2d(2),
            Bias(second),
            nn.Dropout(0.25),
            Pixels(),
            nn.Linear(64 * (side // 2) ** 2, 128),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(128, symbols),
        )


class LeNet(ChannelsLast):
    """Three 3x3 convolutions, each halved by max-pooling, and a hidden layer, all with batch norm."""

    def __init__(self, symbols: int, side: int = SIDE, *, width: int = 16, dropout: float = 0.1) -> None:
        super().__init__(
            *_block(nn.Conv2d(1, width, 3, padding=1, bias=False)),
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
    return convolution, nn.MaxPool2d(2), nn.BatchNorm2d(convolution.out_channels), nn.ReLU()


NETWORKS: Mapping[str, Callable[[int], nn.Module]] = {
    "small": LeNet,  # fast on a CPU: 16, 32 and 64 channels
    "wide": partial(LeNet, width=48, dropout=0.3),  # three times as wide, for a GPU
    "paper": PaperLeNet,
}
