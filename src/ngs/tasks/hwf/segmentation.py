"""One line of handwriting: which pieces of ink are one symbol, decided together with the formula they make.

Ink that hangs together is a piece; a symbol is a run of neighbouring pieces, since a division sign has
three and a 5 may have two. Let c_1 ... c_n be the pieces from left to right, S a way to cut them into runs
and z a sentence with a symbol for each run s. We look for

    argmax over S, z in L(G) of   sum over s of  |s| log p(z_s | s)  +  sum over k > 1 of  log p(S at k | x_k)

where |s| counts the pieces of a run: every piece must be explained, so that each segmentation has n
factors of the network and n - 1 of the gaps, and few wide runs have no advantage over many narrow ones.
At k, a segmentation joins c_k to c_k-1 or cuts between them; x_k is their overlap (`Page.overlap`), and

    p(joined | x) = sigmoid(STEEPNESS x) = 1 - p(cut | x)

The maximum is found along the pieces, over the states of the prefix automaton: Earley's columns, which say
what symbols may come next. Symbols that touch each other are one piece, and are not taken apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageFilter
from torch import Tensor

from ngs.errors import DataError
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.parsing.scores import check_scores
from ngs.tasks.hwf.dataset import GRAMMAR, SIDE, as_ink
from ngs.tasks.hwf.formula_reading import Box, Seen

T = TypeVar("T")
Grey = NDArray[np.uint8]  # [height, width]: dark strokes on light paper
Mask = NDArray[np.bool_]  # [height, width]: where there is ink
Points = NDArray[np.float64]  # [point, 2]: x and y in pixels
Run = tuple[int, int]  # first and last + 1 of the pieces of a symbol
Best = tuple[float, tuple[Run, ...]]  # A sum of scores, and the runs that give it
Network = Callable[[Tensor], Tensor]  # ink [image, 1, SIDE, SIDE] -> scores [image, symbol]

WORKING_PIXELS, MOST_ENLARGED = 1_000_000, 3.0
"""Pictures are looked at in this size, small ones enlarged: a line one pixel wide has no middle to find."""
LEAST_CONTRAST = 48
"""Levels of 255 by which ink is darker than its paper. Noise stays below; a pencil does not."""
LEAST_SIZE = 8  # pixels of the picture that a symbol is high or wide
SPECK, BLOT = 0.04, 0.12
"""Sizes, against a symbol's. The smallest dots of division signs in HWF are just above a SPECK."""
STEEPNESS = 6.0
WIDEST_GAP = 0.25  # pieces farther apart, against a symbol's size, are never one symbol
LONGEST_RUN = 6
MOST_PIECES, MOST_SPECKS = 150, 5_000
"""More are no line of symbols: those that count, and with the specks of a grainy picture."""
FINE = 128  # pixels of a piece's longer side that are enough to thin it: a symbol is drawn in SIDE of them
_SYMBOLS = " | ".join(f'"{symbol}"' for symbol in GRAMMAR.symbols)
ANYTHING = Grammar.parse(f"start: symbol | start symbol\nsymbol: {_SYMBOLS}")
"""Any sequence of symbols: what a line is read as that is no formula."""


def read_page(page: Page, network: Network) -> Seen:
    """The likeliest symbols that some pieces of ink are; those of a formula, unless the pieces allow none."""
    _check_one_line(page)
    scores, images, log_probs = _candidates(page, network)
    count = len(page.pieces)
    runs = likeliest_runs(GRAMMAR, count, scores) or likeliest_runs(ANYTHING, count, scores)
    rows = [list(scores).index(run) for run in runs]
    boxes = (page.box(page.pieces[first:end]) for first, end in runs)
    return Seen(images[rows], log_probs[rows], tuple(boxes))


def as_symbol(grey: Grey) -> Tensor:
    """All the ink of a picture as one symbol, uint8 [SIDE, SIDE]."""
    page = pieces_of(grey)
    return drawn([page.pieces], page.unit)[0]


def log_probs_of(network: Network, images: Tensor) -> Tensor:
    """log p(symbol | image) [image, symbol] for uint8 images [image, SIDE, SIDE]."""
    with torch.inference_mode():
        log_probs = network(as_ink(images)).double().log_softmax(-1)
    check_scores(GRAMMAR, log_probs)
    return log_probs.clone()  # a plain tensor, which later steps may differentiate


# Runs


def likeliest_runs(grammar: Grammar, count: int, scores: Mapping[Run, Sequence[float]]) -> tuple[Run, ...]:
    """The runs that cover pieces 0 to `count` with the largest sum of scores as symbols of a sentence.

    `scores[run][column]` is what a run adds as that symbol; no runs where no sentence can be made. With
    q' the state of the automaton after q and k,

        best(0, start) = 0,  best(j, q') = max over runs (i, j) and symbols k of  best(i, q) + scores[i, j][k]
    """
    automaton = prefix_automaton(grammar)
    best: list[dict[int, Best]] = [{automaton.start: (0.0, ())}, *({} for _ in range(count))]
    for run in sorted(scores):  # what ends where a run begins has begun earlier, so it is complete
        first, end = run
        for state, (total, runs) in best[first].items():
            for column in automaton.legal(state):
                reached = automaton.advance(state, column)
                score = total + scores[run][column]
                if score > best[end].get(reached, (-inf,))[0]:
                    best[end][reached] = score, (*runs, run)
    ends = (found for state, found in best[count].items() if automaton.accepts(state))
    return max(ends, default=(-inf, ()))[1]


def _candidates(page: Page, network: Network) -> tuple[dict[Run, list[float]], Tensor, Tensor]:
    """What each run adds to the score as each symbol, how it looks, and log p(symbol | image)."""
    pieces = page.pieces
    overlaps = [page.overlap(one, other) for one, other in pairwise(pieces)]  # x_k at k - 1
    joined, cut = ((-np.logaddexp(0, sign * STEEPNESS * np.array(overlaps))).tolist() for sign in (-1, 1))
    gaps: dict[Run, float] = {}
    for first in range(len(pieces)):
        gap = cut[first - 1] if first else 0.0
        gaps[first, first + 1] = gap
        for k in range(first, min(first + LONGEST_RUN - 1, len(overlaps))):
            if overlaps[k] < -WIDEST_GAP:
                break
            gap += joined[k]
            gaps[first, k + 2] = gap
    images = drawn([pieces[first:end] for first, end in gaps], page.unit)
    log_probs = log_probs_of(network, images)
    weights = torch.tensor([end - first for first, end in gaps])[:, None]
    scores = (weights * log_probs + torch.tensor(list(gaps.values()))[:, None]).tolist()
    return dict(zip(gaps, scores, strict=True)), images, log_probs


# Pieces of ink


@dataclass(frozen=True, eq=False)
class Piece:
    """Ink that hangs together."""

    pixels: NDArray[np.intp]  # [pixel, 2]: x and y

    @cached_property
    def box(self) -> Box:
        return Box(*self.pixels.min(0).tolist(), *(self.pixels.max(0) + 1).tolist())

    @property
    def width(self) -> int:
        return self.box.right - self.box.left

    @property
    def size(self) -> int:
        return max(self.width, self.box.bottom - self.box.top)

    def shared_width(self, other: Piece) -> int:
        """The columns of pixels that both are in; below 0, minus those between them."""
        return min(self.box.right, other.box.right) - max(self.box.left, other.box.left)

    @cached_property
    def path(self) -> Points:
        """Where the pen went: the middle of the strokes, with a point between any two that touch."""
        from scipy.spatial import KDTree  # as in `connected`

        step = max(1, self.size // FINE)
        columns, rows = ((self.pixels - self.box[:2]) // step).T
        mask = np.zeros((rows.max() + 1, columns.max() + 1), dtype=np.bool_)
        mask[rows, columns] = True
        line = thinned(mask)
        if not line.any():  # thinning leaves nothing of a square of four pixels
            line[0, 0] = True
        points = np.argwhere(line)[:, ::-1].astype(np.float64)
        touching = KDTree(points).query_pairs(1.5, output_type="ndarray")
        points = np.concatenate([points, points[touching].mean(1)])
        return step * points + self.box[:2]


@dataclass(frozen=True, eq=False)
class Page:
    """The pieces of a picture from left to right, by their middles."""

    pieces: tuple[Piece, ...]
    unit: float  # the size of a symbol in pixels
    scale: float  # pixels for each of the picture's own
    corner: tuple[int, int]  # where the page begins in the picture: x and y in its pixels

    def box(self, pieces: Sequence[Piece]) -> Box:
        """Around some pieces, in the picture's own pixels."""
        sides = np.array([piece.box for piece in pieces]) / self.scale
        low, high = np.floor(sides[:, :2].min(0)) + self.corner, np.ceil(sides[:, 2:].max(0)) + self.corner
        return Box(*low.astype(int).tolist(), *high.astype(int).tolist())

    def overlap(self, one: Piece, other: Piece) -> float:
        """The shared width as a part of the narrower piece's, or minus the gap as a part of a symbol's."""
        shared = one.shared_width(other)
        return shared / (min(one.width, other.width) if shared > 0 else self.unit)


def pieces_of(grey: Grey) -> Page:
    """The pieces of ink in a picture, without specks and lonely blots; a DataError where there is none."""
    smaller, scale = working_size(grey)
    return page_of(ink_of(smaller), scale)


def page_of(ink: Mask, scale: float, corner: tuple[int, int] = (0, 0)) -> Page:
    """The pieces of some ink, which has `scale` pixels for each of its picture's own."""
    found = [Piece(pixels) for pixels in _at_most(MOST_SPECKS, connected(ink))]
    sizes = np.array([piece.size for piece in found])
    unit = float(np.median(sizes[2 * sizes >= sizes.max()]))
    if unit < LEAST_SIZE * scale:
        raise DataError(
            f"its strokes are {unit / scale:.0f} pixels long, and at least {LEAST_SIZE} are needed; "
            f"give a larger picture of the formula"
        )
    large = _at_most(MOST_PIECES, [piece for piece in found if piece.size >= BLOT * unit])
    # A dot of a division sign is above or below its bar.
    dots = [piece for piece in found if SPECK * unit <= piece.size < BLOT * unit]
    dots = [dot for dot in dots if any(dot.shared_width(piece) > 0 for piece in large)]
    pieces = _at_most(MOST_PIECES, [*large, *dots])
    pieces.sort(key=lambda piece: piece.box.left + piece.box.right)
    return Page(tuple(pieces), unit, scale, corner)


def _at_most(limit: int, pieces: list[T]) -> list[T]:
    if len(pieces) > limit:
        raise DataError(
            f"its ink falls into {len(pieces):,} pieces, which one line of symbols does not; "
            f"give a cleaner picture, or cut the line out of it"
        )
    return pieces


def _check_one_line(page: Page) -> None:
    """Refuse several lines: an empty row, and three large pieces or more on both sides of it."""
    boxes = (piece.box for piece in page.pieces if 2 * piece.size >= page.unit)
    counts, bottom = [0], 0
    for top, end in sorted((box.top, box.bottom) for box in boxes):
        if top > bottom:
            counts.append(0)
        counts[-1] += 1
        bottom = max(bottom, end)
    lines = sum(count >= 3 for count in counts)
    if lines > 1:
        raise DataError(f"it shows {lines} lines of writing; give a picture of each line by itself")


def connected(mask: Mask) -> list[NDArray[np.intp]]:
    """The pixels [pixel, 2] of each piece of ink, x and y; diagonal neighbours hang together."""
    from scipy import ndimage  # half a second, and only pictures need it

    labels, _ = ndimage.label(mask, structure=np.ones((3, 3)))
    return [np.stack([x, y], 1) for y, x in ndimage.value_indices(labels, ignore_value=0).values()]


def thinned(mask: Mask) -> Mask:
    """The strokes worn down to lines of one pixel (Zhang & Suen 1984, "A fast parallel algorithm for
    thinning digital patterns"): from the south-east and the north-west by turns, until nothing goes.

    That of scikit-image is a variant, which leaves other lines than those that readers were judged on.
    """
    ink = np.pad(mask, 1)
    while True:
        before = ink.sum()
        for side in (1, -1):
            p = np.stack([np.roll(ink, (-side * dy, -side * dx), (0, 1)) for dy, dx in _AROUND])
            count = p.sum(0)
            changes = (~p & np.roll(p, -1, 0)).sum(0)  # from paper to ink, once around
            north, east, south, west = p[::2]
            inside = east & south & (north | west)
            ink &= (count < 2) | (count > 6) | (changes != 1) | inside
        if ink.sum() == before:
            return ink[1:-1, 1:-1]


_AROUND = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
"""The neighbours P2 ... P9 of a pixel: north, north-east, and so on."""


# Ink and paper


def working_size(grey: Grey) -> tuple[Grey, float]:
    """The picture in the size it is looked at, and the factor."""
    height, width = grey.shape
    scale = min(MOST_ENLARGED, (WORKING_PIXELS / (height * width)) ** 0.5)
    size = max(1, round(scale * width)), max(1, round(scale * height))
    return np.asarray(Image.fromarray(grey).resize(size, Image.Resampling.BICUBIC)), scale


def paper_of(grey: Grey) -> Grey:
    """What the paper alone would look like: the median of each neighbourhood, smoothly joined."""
    height, width = grey.shape
    image = Image.fromarray(grey)
    coarse = min(height, width) / 24  # strokes are less than half of nine such pixels
    if coarse > 1:
        size = max(1, round(width / coarse)), max(1, round(height / coarse))
        image = image.resize(size, Image.Resampling.BOX)
    image = image.filter(ImageFilter.MedianFilter(9)).filter(ImageFilter.GaussianBlur(3))
    return np.asarray(image.resize((width, height), Image.Resampling.BICUBIC))


def is_light_on_dark(grey: Grey) -> bool:
    smaller, _ = working_size(grey)
    difference = smaller.astype(np.float64) - paper_of(smaller)
    return bool(difference.mean() > 0)


def ink_of(grey: Grey) -> Mask:
    """Where there is ink on evenly lit paper; a DataError where there is none."""
    even = np.clip(255.0 * grey / np.maximum(paper_of(grey), 1), 0, 255).astype(np.uint8)
    threshold = otsu(even)
    ink = even <= threshold
    if not ink.any() or ink.all() or even[~ink].mean() - even[ink].mean() < LEAST_CONTRAST:
        raise DataError("there is no ink in it; a picture needs dark strokes on light paper, or the reverse")
    return ink


def otsu(grey: Grey) -> int:
    """The level that parts dark from light with the largest variance between (Otsu 1979).

        between(t) = (mean p(t) - m(t))^2 / (p(t) (1 - p(t)))

    where p(t) is the share of pixels up to level t and m(t) the sum of their levels over all pixels.
    """
    share = np.bincount(grey.ravel(), minlength=256) / grey.size
    p, m = share.cumsum(), (share * np.arange(256)).cumsum()
    spread = p * (1 - p)
    between = np.divide((m[-1] * p - m) ** 2, spread, out=np.zeros(256), where=spread > 1e-12)
    return int(between.argmax())


def drawn(symbols: Sequence[Sequence[Piece]], unit: float) -> Tensor:
    """uint8 [symbol, SIDE, SIDE]: each symbol drawn anew the way those of HWF fill their box.

    The longer side fills it, width and height stay in proportion, and the line is one sharp pixel wide
    whatever the pen was. What is no larger than a blot is not blown up to a symbol.
    """
    images = torch.full((len(symbols), SIDE, SIDE), 255, dtype=torch.uint8)
    for image, pieces in zip(images, symbols, strict=True):
        points = np.concatenate([piece.path for piece in pieces])
        low, high = points.min(0), points.max(0)
        scale = (SIDE - 2) / max(float((high - low).max()), BLOT * unit)
        x, y = ((points - (low + high) / 2) * scale + SIDE / 2).astype(np.intp).T
        image[torch.from_numpy(y), torch.from_numpy(x)] = 0
    return images
