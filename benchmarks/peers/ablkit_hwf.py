"""ABLkit learns to read handwritten formulas: through its public interface, with its own example's settings.

Run by run.py, in an environment that has ABLkit and PyTorch, but not NGS.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from ablkit.bridge import SimpleBridge
from ablkit.data.evaluation import ReasoningMetric, SymbolAccuracy
from ablkit.data.structures import ListData
from ablkit.learning import ABLModel, BasicNN
from ablkit.reasoning import KBBase, Reasoner
from contestant import SIDE, first_use, parser, tell
from torch import nn

# What examples/hwf/main.py of ABLkit sets. All else is what ABLkit takes when nothing is said.
LOOPS = 3
EPOCHS = 3
SEGMENT = 1000
BATCH = 128
LEARNING_RATE = 1e-3
LABEL_SMOOTHING = 0.2


@dataclass(frozen=True)
class Part:
    """Formulas as ABLkit takes them."""

    images: list[list[torch.Tensor]]
    symbols: list[list[str]]  # only looked at to count what was read right
    values: list[float]


def part_of(data: Any, pixels: torch.Tensor, name: str) -> Part:
    """Some of the formulas that run.py wrote, with the images in `pixels`."""
    rows = [[row for row in formula if row >= 0] for formula in data[f"{name}_where"].tolist()]
    return Part(
        [[pixels[row] for row in formula] for formula in rows],
        [[str(data["symbols"][row]) for row in formula] for formula in rows],
        data[f"{name}_values"].tolist(),
    )


class Formulas(KBBase):  # type: ignore[misc]
    """Which readings give a value: found by trying them, fewest changes first, as the example does."""

    def logic_forward(self, formula: list[str]) -> float:
        """What a formula comes to; infinity, which none does, for what is none and divisions by zero."""
        if not all(symbol.isdigit() == (place % 2 == 0) for place, symbol in enumerate(formula)):
            return math.inf
        total, term = 0.0, float(formula[0])
        for operator, digit in zip(formula[1::2], formula[2::2], strict=True):
            number = float(digit)
            if operator == "*":
                term *= number
            elif operator == "/":
                if not number:
                    return math.inf
                term /= number
            else:
                total, term = total + term, number if operator == "+" else -number
        return total + term


def network(classes: int) -> nn.Module:
    """The example's: two 5x5 convolutions, each with ReLU, max-pooling and batch norm, and three layers."""

    def block(inputs: int, outputs: int, padding: int) -> list[nn.Module]:
        norm = nn.BatchNorm2d(outputs, momentum=0.99, eps=1e-3)
        return [nn.Conv2d(inputs, outputs, 5, padding=padding), nn.ReLU(), nn.MaxPool2d(2), norm]

    side = ((SIDE - 4) // 2) // 2
    return nn.Sequential(
        *block(1, 32, 0),
        *block(32, 64, 2),
        nn.Flatten(),
        nn.Linear(64 * side**2, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, classes),
    )


def bridge_of(symbols: list[str], device: torch.device) -> SimpleBridge:
    net = network(len(symbols))
    learner = BasicNN(
        net,
        nn.CrossEntropyLoss(label_smoothing=LABEL_SMOOTHING),
        torch.optim.Adam(net.parameters(), lr=LEARNING_RATE),
        device=device,
        batch_size=BATCH,
        num_epochs=EPOCHS,
    )
    # No metrics: what the bridge looks at between two segments would be on the clock.
    return SimpleBridge(ABLModel(learner), Reasoner(Formulas(symbols)), [])


def accuracies(bridge: SimpleBridge, part: Part) -> dict[str, float]:
    """The shares of formulas with the right value and of symbols read right, by ABLkit's own count."""
    examples = ListData(X=part.images, gt_pseudo_label=part.symbols, Y=part.values)
    bridge.predict(examples)
    bridge.idx_to_pseudo_label(examples)
    formulas, symbols = ReasoningMetric(kb=bridge.reasoner.kb), SymbolAccuracy()
    formulas.process(examples)
    symbols.process(examples)
    answers, right = formulas.evaluate()["reasoning_accuracy"], symbols.evaluate()["character_accuracy"]
    return {"answers": float(answers), "symbols": float(right)}


def train(bridge: SimpleBridge, train: Part, test: Part, device: torch.device) -> list[dict[str, float]]:
    """The test accuracy after each segment, with the seconds that training took until then.

    A call of the bridge for each segment lets us test in between; each call ends with a validation, here of
    one formula.
    """
    one = test.images[:1], None, test.values[:1]
    curve: list[dict[str, float]] = []
    seconds = 0.0
    for _ in range(LOOPS):
        for begin in range(0, len(train.values), SEGMENT):
            part = slice(begin, begin + SEGMENT)
            segment = train.images[part], None, train.values[part]  # no symbols
            start = time.perf_counter()
            bridge.train(segment, val_data=one, loops=1, segment_size=len(segment[0]))
            if device.type == "cuda":
                torch.cuda.synchronize()
            seconds += time.perf_counter() - start
            curve.append({"seconds": seconds, **accuracies(bridge, test)})
    return curve


def main() -> None:
    options = parser(__doc__, "what run.py wrote: formulas.npz").parse_args()
    torch.manual_seed(options.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with np.load(options.data) as data:
        arrays = dict(data)
    # Between -0.5 and 0.5, as in the example.
    pixels = torch.from_numpy(arrays.pop("images")).float().div_(255).sub_(0.5).unsqueeze(1)
    parts = [part_of(arrays, pixels, name) for name in ("train", "test")]
    known = np.unique(arrays["symbols"]).tolist()  # without 0 on HWF, as in the example
    if not options.cold:
        first_use(partial(network, len(known)), BATCH, device)
    bridge = bridge_of(known, device)
    before = time.time() - options.began
    curve = train(bridge, *parts, device)
    last = dict(curve[-1])
    tell(options, before, curve, training_seconds=last.pop("seconds"), **last)


if __name__ == "__main__":
    main()
