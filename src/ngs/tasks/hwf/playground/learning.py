"""Learning from what a visitor drew and its answer alone: a few gradient steps of the visitor's own copy.

The loss is -log p(y|x), summed exactly over all formulas with the right answer (Li et al. 2020, Eq. 7), for
views of the drawing and for earlier drawings. So that the network does not forget the rest, it also sees
made-up handwriting without labels, and should stay sure of what it was sure of there (Li & Hoiem 2016,
"Learning without forgetting"). Batch norm keeps the averages of training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import exp, inf

import numpy as np
import torch
from torch import Tensor, nn

from ngs.errors import NGSError
from ngs.learning.examples import Examples
from ngs.networks.augmentation import Handwriting
from ngs.parsing.independent import independent
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.support import posterior
from ngs.tasks.hwf.dataset import GRAMMAR, as_ink, value_of
from ngs.tasks.hwf.formula_reading import Seen, likeliest
from ngs.tasks.hwf.handwriting import chances, write, writer
from ngs.tasks.hwf.preparation import LONGEST_TABLED
from ngs.tasks.playground.messages import Message, part

LEARNING_RATE = 3e-4
"""Of the first step; it falls to nothing behind the last. Larger ones learn in one step, and forget."""
VIEWS, REPEATED = 6, 6  # in a step: views of the new drawing, and earlier drawings
SLIGHTLY = Handwriting(rotation=0.12, shear=0.12, scale=0.1, shift=0.06, elastic=0.05)
WRITERS, SHOWN_AGAIN = 20, 70  # of the handwriting that is not to be forgotten, and its images in a step
SURE = 0.8
REMEMBERED = 50  # drawings of a visitor, the latest ones
KEEPING = 5.0  # the weight of not forgetting


@dataclass(frozen=True, eq=False)
class Drawn:
    images: Tensor  # uint8 [symbol, SIDE, SIDE]
    answer: Fraction
    right_before: bool

    def same_as(self, other: Drawn) -> bool:
        return self.answer == other.answer and torch.equal(self.images, other.images)


class Score(Message):
    """Of what a visitor drew with an answer."""

    drawn: int = part("Drawings.", 3, default=0)
    right_before: int = part("Read correctly when they were drawn.", 1, default=0)
    right_now: int = part("Read correctly by the visitor's own network.", 3, default=0)


@dataclass(frozen=True, eq=False)
class Taught:
    """What is kept of a visitor."""

    drawn: tuple[Drawn, ...] = ()  # the latest last
    network: nn.Module | None = None  # the visitor's own copy, once something was learned
    score: Score = field(default_factory=Score)

    def with_lesson(self, drawn: Drawn, network: nn.Module) -> Taught:
        """After a network learned from a drawing; the same drawing counts once."""
        known = any(each.same_as(drawn) for each in self.drawn)
        kept = self.drawn if known else (*self.drawn, drawn)[-REMEMBERED:]
        before = sum(each.right_before for each in kept)
        return Taught(
            kept, network, Score(drawn=len(kept), right_before=before, right_now=right(network, kept))
        )


@dataclass(frozen=True)
class Taken:
    before: float  # p(y|x) of the new drawing
    after: float
    loss: float  # -log p(y|x), the mean over the views


def drawn_of(seen: Seen, answer: Fraction) -> Drawn:
    """The drawing to learn from; an NGSError where nothing can be learned."""
    count = len(seen.log_probs)
    if seen.no_formula:
        raise NGSError(f"there is no formula to learn from: {seen.no_formula}")
    if count > LONGEST_TABLED:
        raise NGSError(
            f"{count} symbols are too many to learn from here; draw a formula of at most {LONGEST_TABLED}"
        )
    return Drawn(seen.images, answer, likeliest(seen.log_probs, 1)[0].value == answer)


def own_copy(network: nn.Module) -> nn.Module:
    """A network that may be changed, while others read with the one it is copied from."""
    copy = deepcopy(network).eval()
    return copy.requires_grad_()


def learn(
    network: nn.Module, drawn: Drawn, earlier: Sequence[Drawn], steps: int, generator: torch.Generator
) -> Iterator[Taken]:
    """Change `network` step by step; no step where no formula gives the answer."""
    before = log_probability(network, drawn)
    if before == -inf:
        return
    forgetting = _forgetting(network)
    optimizer = torch.optim.Adam(network.parameters())
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - step / steps)
        chosen = torch.randperm(len(earlier), generator=generator)[:REPEATED].tolist()
        batch = [*[drawn] * VIEWS, *(earlier[k] for k in chosen)]
        loss = -_log_p_answer(network, batch, generator).mean()
        optimizer.zero_grad()
        total = loss + KEEPING * forgetting(generator)
        total.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        after = log_probability(network, drawn)
        yield Taken(exp(before), exp(after), loss.item())
        before = after


def _forgetting(network: nn.Module) -> Callable[[torch.Generator], Tensor]:
    """The loss of what a network was sure of before it learns: the cross entropy on some of those images."""
    with torch.no_grad():
        probs: Tensor = network(familiar()).softmax(-1)
    sure = probs.amax(-1) >= SURE
    ink, probs = familiar()[sure], probs[sure]

    def lost(generator: torch.Generator) -> Tensor:
        if not len(ink):
            return torch.zeros(())
        some = torch.randperm(len(ink), generator=generator)[:SHOWN_AGAIN]
        log_probs: Tensor = network(SLIGHTLY(ink[some], generator)).log_softmax(-1)
        return -(probs[some] * log_probs).sum(-1).mean()

    return lost


@cache
def familiar() -> Tensor:
    """Ink [image, 1, SIDE, SIDE] of every symbol by some made-up writers."""
    generator, count = torch.Generator().manual_seed(0), len(GRAMMAR.symbols)
    hands = [writer(generator) for _ in range(WRITERS)]
    images = [write(hand, torch.arange(count), chances(count, generator)) for hand in hands]
    return as_ink(torch.cat(images))


def log_probability(network: nn.Module, drawn: Drawn) -> float:
    """log p(y|x) of a drawing as it is; -inf where no formula of its length gives the answer."""
    with torch.no_grad():
        return min(0.0, _log_p_answer(network, [drawn], None).item())


def right(network: nn.Module, drawings: Sequence[Drawn]) -> int:
    if not drawings:
        return 0
    with torch.no_grad():
        log_probs, lengths = _log_probs(network, drawings, None)
    best = independent(GRAMMAR, log_probs, lengths).best()
    return sum(value_of(best[k]) == each.answer for k, each in enumerate(drawings))


def _log_p_answer(network: nn.Module, drawings: Sequence[Drawn], generator: torch.Generator | None) -> Tensor:
    log_probs, lengths = _log_probs(network, drawings, generator)
    answers = [each.answer for each in drawings]
    return posterior(GRAMMAR, Arithmetic, log_probs, lengths, answers).log_z


def _log_probs(
    network: nn.Module, drawings: Sequence[Drawn], generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """[drawing, time, symbol] and lengths; slightly changed views where there is a generator."""
    examples = Examples.of(
        [each.images for each in drawings], [each.answer for each in drawings], view=as_ink
    )
    batch = examples.batch(np.arange(len(drawings)))
    ink = batch.inputs if generator is None else SLIGHTLY(batch.inputs, generator)
    return batch.log_probs(network(ink).double()), batch.lengths
