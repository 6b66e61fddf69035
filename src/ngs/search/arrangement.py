"""Corrections of arrangements: the same symbols in another order (Li et al. 2020, supplement, Sec. 3.2).

Where the symbols of a sentence are given and only their order is hidden, one step of back-search switches
two symbols of one group: symbols that can stand in each other's place. One-step and multi-step back-search
are those of the paper with this step in place of a substitution. All sentences of a batch at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from math import exp, log

import torch
from torch import Tensor

from ngs.gpu import Resident
from ngs.parsing.decode import PAD
from ngs.search.multi_step import Walk


@dataclass(frozen=True)
class Candidates:
    """Some sentences for each of some rows."""

    rows: Tensor
    """int64 [candidate], in rising order"""
    columns: Tensor
    """int64 [candidate, time]: PAD behind the end"""

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, chosen: Tensor) -> Candidates:
        """Some of them: a mask, or numbers that keep the order of the rows."""
        return Candidates(self.rows[chosen], self.columns[chosen])

    def of(self, rows: Tensor) -> Candidates:
        """The same sentences, where row k is called `rows[k]`; these rise as well."""
        return Candidates(rows[self.rows], self.columns)

    def of_several(self) -> Candidates:
        """Those that are not alone in their row."""
        before = torch.searchsorted(self.rows, self.rows)
        behind = torch.searchsorted(self.rows, self.rows, right=True)
        return self.select(behind - before > 1)


def joined(*parts: Candidates) -> Candidates:
    """All of them; the parts have equally long columns."""
    rows = torch.cat([part.rows for part in parts])
    order = rows.argsort(stable=True)
    return Candidates(rows[order], torch.cat([part.columns for part in parts])[order])


def distinct(candidates: Candidates) -> Candidates:
    """Each sentence of a row once."""
    if not len(candidates):
        return candidates
    # By one number each: comparing whole rows takes a hundred times as long. 64 bits do not collide.
    names = fingerprints(candidates.columns)
    order = names.argsort(stable=True)
    order = order[candidates.rows[order].argsort(stable=True)]
    rows, names = candidates.rows[order], names[order]
    first = torch.ones_like(rows, dtype=torch.bool)
    first[1:] = (rows[1:] != rows[:-1]) | (names[1:] != names[:-1])
    return candidates.select(order[first])


def fingerprints(columns: Tensor) -> Tensor:
    """int64 [sentence]: practically another number for every other sentence of the same padded length."""
    weights = _WEIGHTS.on(columns.device)[: columns.shape[1]]
    mixed = (columns + 2) * weights  # wraps around, as it should
    return (mixed ^ (mixed >> 29)).mul(weights.flip(0) | 1).sum(1)


_WEIGHTS = Resident(torch.randint(-(2**63), 2**63 - 1, (1024,), generator=torch.Generator().manual_seed(0)))
"""Odd and even numbers of 64 bits, one for each position; fixed, so that runs can be repeated."""


def places(rows: Tensor) -> Tensor:
    """[candidate]: how many candidates of the same row stand before each; `rows` rise."""
    return torch.arange(len(rows), device=rows.device) - torch.searchsorted(rows, rows)


@dataclass(frozen=True)
class Edits:
    """What one step can change.

    For a random walk to be symmetric, how many edits there are must depend on the symbols alone, not on
    their order, and as many must lead from one sentence to another as lead back. An edit may fail: its
    result then does not count.
    """

    results: Callable[[Tensor], Candidates]
    """sentences [row, time] -> what each edit makes of them"""
    counts: Callable[[Tensor], Tensor]
    """sentences [row, time] -> bool [row]: whether a result is in the language"""

    def neighbours(self, columns: Tensor) -> Candidates:
        """What some edit makes of sentences [row, time], inside the language."""
        made = self.results(columns)
        return made.select(self.counts(made.columns))

    def number(self, columns: Tensor) -> Tensor:
        """int64 [row]: how many edits there are of sentences [row, time]."""
        return counted(self.results(columns).rows, len(columns))

    def wander(self, columns: Tensor, distance: Tensor, draws: Tensor) -> Tensor:
        """Sentences [row, time] after `distance` [row] edits drawn uniformly; one that fails changes nothing.

        `draws` are uniform numbers [edit, row], for no fewer edits than any distance.
        """
        for k, draw in enumerate(draws):
            columns = torch.where((k < distance)[:, None], self._edited(columns, draw), columns)
        return columns

    def _edited(self, columns: Tensor, draws: Tensor) -> Tensor:
        made = self.results(columns)
        if not len(made):
            return columns
        number = counted(made.rows, len(columns))
        result = made.columns[(number.cumsum(0) - number + chosen(draws, number)).clamp(max=len(made) - 1)]
        moved = (number > 0) & self.counts(result)
        return torch.where(moved[:, None], result, columns)

    def ways(self, columns: Tensor, others: Tensor) -> Tensor:
        """int64 [row]: how many edits make sentences `others` [row, time] of `columns`."""
        made = self.results(columns)
        same = (made.columns == others[made.rows]).all(1)
        return counted(made.rows[same], len(columns))


def counted(rows: Tensor, number: int) -> Tensor:
    """int64 [number]: how many candidates each row has; `bincount` would wait for a GPU."""
    return rows.new_zeros(number).index_add(0, rows, torch.ones_like(rows))


def chosen(draws: Tensor, number: Tensor) -> Tensor:
    """int64 [row]: one of `number` [row] things each, from 0 on, by uniform numbers [row].

    A number just below 1 may round to the whole, and means the last.
    """
    return (draws * number).long().minimum((number - 1).clamp(min=0))


@dataclass(frozen=True)
class Switches(Edits):
    """Two different symbols of one group change places; whatever comes of that is in the language."""

    groups: Resident
    """[symbol]: the number of its group"""

    @classmethod
    def of(cls, groups: Tensor) -> Switches:
        """`groups` [symbol] numbers the group of each symbol, from 0 on."""
        resident = Resident(groups)
        return cls(partial(_switched, resident), _always, resident)

    def number(self, columns: Tensor) -> Tensor:
        return _switchable(columns, self.groups.on(columns.device)).sum((1, 2))

    def ways(self, columns: Tensor, others: Tensor) -> Tensor:
        """One, where the sentences differ in two places, with the same two symbols of one group."""
        if not columns.shape[1]:
            return columns.new_zeros(len(columns))
        group = _group_of(columns, self.groups.on(columns.device))
        differ = columns != others
        return (
            (differ.sum(1) == 2)
            & (_least(group, differ) == _most(group, differ))
            & (_least(columns, differ) == _least(others, differ))
            & (_most(columns, differ) == _most(others, differ))
        ).long()


def _switched(groups: Resident, columns: Tensor) -> Candidates:
    return switches(columns, groups.on(columns.device))


def _always(columns: Tensor) -> Tensor:
    return torch.ones(len(columns), dtype=torch.bool, device=columns.device)


def _least(numbers: Tensor, among: Tensor) -> Tensor:
    return numbers.masked_fill(~among, torch.iinfo(numbers.dtype).max).amin(1)


def _most(numbers: Tensor, among: Tensor) -> Tensor:
    return numbers.masked_fill(~among, torch.iinfo(numbers.dtype).min).amax(1)


def _group_of(columns: Tensor, groups: Tensor) -> Tensor:
    return torch.where(columns == PAD, PAD, groups[columns.clamp(min=0)])


def _switchable(columns: Tensor, groups: Tensor) -> Tensor:
    """bool [row, first, second]: whether two places have different symbols of one group."""
    group = _group_of(columns, groups)  # PAD is of one group, but never different
    alike = group[:, :, None] == group[:, None]
    return (alike & (columns[:, :, None] != columns[:, None])).triu(1)


def switches(columns: Tensor, groups: Tensor) -> Candidates:
    """Every sentence that switching two different symbols of one group makes.

    `groups` [symbol] numbers the group of each symbol.
    """
    row, first, second = _switchable(columns, groups).nonzero(as_tuple=True)
    changed = columns[row]
    one, other = changed.gather(1, first[:, None]), changed.gather(1, second[:, None])
    return Candidates(row, changed.scatter(1, first[:, None], other).scatter(1, second[:, None], one))


LogProbs = Callable[[Tensor, Tensor], Tensor]
"""(rows [candidate], sentences [candidate, time]) -> log p(z|x) [candidate]"""
Judge = Callable[[Tensor, Tensor], Tensor]
"""(rows [candidate], sentences [candidate, time]) -> bool [candidate]: whether f(z) = y"""


@dataclass(frozen=True)
class Corrected:
    """What one-step back-search makes of some sentences."""

    columns: Tensor
    """[row, time]: the sentence itself where it is right; PAD throughout where nothing was found"""
    found: Tensor
    """bool [row]"""
    right: Tensor
    """bool [row]: whether the sentence was right as it stood"""


def one_step(columns: Tensor, edits: Edits, log_probs: LogProbs, judge: Judge) -> Corrected:
    """1-BS of each sentence [row, time]: its likeliest neighbour that gives the answer (Algorithm 1)."""
    right, around = _judged(columns, edits, judge)
    several = around.of_several()
    return _corrected(columns, right, around, several, log_probs(several.rows, several.columns))


def _judged(columns: Tensor, edits: Edits, judge: Judge) -> tuple[Tensor, Candidates]:
    """Whether each sentence [row, time] is right, and the right neighbours of those that are not."""
    right = judge(torch.arange(len(columns), device=columns.device), columns)
    wrong = (~right).nonzero().flatten()
    around = edits.neighbours(columns[wrong]).of(wrong)
    return right, around.select(judge(around.rows, around.columns))


def _corrected(
    columns: Tensor, right: Tensor, around: Candidates, several: Candidates, log_p: Tensor
) -> Corrected:
    """What is likeliest `around` each sentence; `log_p` is that of the `several` to choose from."""
    fixed, found = torch.where(right[:, None], columns, PAD), right.clone()
    fixed[around.rows], found[around.rows] = around.columns, True  # where there is one, this is it
    best = likeliest(several, log_p)
    fixed[best.rows] = best.columns
    return Corrected(fixed, found, right)


def likeliest(candidates: Candidates, log_p: Tensor) -> Candidates:
    """The likeliest candidate of each row that has any, by their log p."""
    order = log_p.argsort(descending=True)
    order = order[candidates.rows[order].argsort(stable=True)]
    return candidates.select(order[places(candidates.rows[order]) == 0])


def multi_step(
    columns: Tensor,
    edits: Edits,
    log_probs: LogProbs,
    judge: Judge,
    walk: Walk,
    generator: torch.Generator,
) -> Corrected:
    """m-BS: `walk.steps` steps of a Metropolis-Hastings chain from each sentence [row, time] (Algorithm 2).

    Its distribution is p'(z|x,y) ~ q(z) = [p(y|z) + epsilon] p(z|x) (Eq. 11). A step proposes the one-step
    correction of z with probability lambda (0 where there is none), otherwise d ~ Poisson(beta) random
    edits. Random edits are symmetric, so with d != 1 the move is accepted with probability

        min(1, q(z') (1 - lambda(z')) / (q(z) (1 - lambda(z))))

    The correction and a single edit are one kind of move, with the probability

        Q(z'|z) = lambda(z) [z' = 1-BS(z)] + (1 - lambda(z)) Poisson(1; beta) ways(z, z') / edits

    and the ratio q(z') Q(z|z') / (q(z) Q(z'|z)); `ways` is the number of edits that make z' of z.
    """
    return walk_along(columns, edits, log_probs, judge, walk, drawn_along(walk, columns, generator))


@dataclass(frozen=True)
class Drawn:
    """What chance decides in one step of the chains."""

    uniform: Tensor
    """[row]: below lambda the correction is proposed, where there is one"""
    accept: Tensor
    """[row]: uniform too; the proposal is accepted where the ratio is no smaller"""
    distance: Tensor
    """int64 [row]: how many random edits are proposed otherwise"""
    edits: Tensor
    """[edit, row]: which these are; for no fewer edits than any distance"""


def drawn_along(walk: Walk, columns: Tensor, generator: torch.Generator) -> Iterator[Drawn]:
    """The draws for each step of a walk from sentences [row, time], with edits for the largest distance."""
    # On a GPU for all steps at once, since every draw is a launch.
    at_once = max(1, walk.steps) if columns.device.type == "cuda" else 1
    for _ in range(0, walk.steps, at_once):
        yield from _drawn(at_once, walk, columns, generator)


def _drawn(steps: int, walk: Walk, columns: Tensor, generator: torch.Generator) -> Iterator[Drawn]:
    rows, device = len(columns), columns.device
    uniform, accept = torch.rand((2, steps, rows), generator=generator, device=device)
    rate = torch.full((steps, rows), walk.distance, device=device)
    distance = torch.poisson(rate, generator=generator).long()
    most = max(1, int(distance.max()) if distance.numel() else 0)
    edits = torch.rand((steps, most, rows), generator=generator, device=device)
    return map(Drawn, uniform, accept, distance, edits)


def walk_along(
    columns: Tensor, edits: Edits, log_probs: LogProbs, judge: Judge, walk: Walk, draws: Iterable[Drawn]
) -> Corrected:
    """`multi_step` along given draws, one for each step."""
    state = _State.of(columns, edits, log_probs, judge)
    number = edits.number(columns).clamp(min=1)
    for drawn in draws:
        corrects = (drawn.uniform < walk.back_search) & state.found
        wandered = edits.wander(state.columns, drawn.distance, drawn.edits)
        proposed = torch.where(corrects[:, None], state.fix, wandered)
        other = _State.of(proposed, edits, log_probs, judge)
        share = edits.ways(state.columns, proposed) / number
        backwards, forwards = (
            torch.where(corrects | (drawn.distance == 1), a.log_single(b, share, walk), a.log_wandering(walk))
            for a, b in ((other, state), (state, other))
        )
        log_ratio = other.log_q(walk) - state.log_q(walk) + backwards - forwards
        # An edit that fails proposes the state itself, where the ratio may be 0 / 0: either way it stays.
        smallest = torch.finfo(drawn.accept.dtype).tiny
        state = state.replaced(other, drawn.accept.clamp(min=smallest).log() <= log_ratio)
    return Corrected(state.columns, state.right, state.right)


@dataclass(frozen=True)
class _State:
    """Where the chains are, with what they need to know of it."""

    columns: Tensor
    log_p: Tensor
    right: Tensor
    fix: Tensor
    """1-BS(z) [row, time]"""
    found: Tensor
    """whether there is one"""

    @staticmethod
    def of(columns: Tensor, edits: Edits, log_probs: LogProbs, judge: Judge) -> _State:
        right, around = _judged(columns, edits, judge)
        several = around.of_several()
        rows = torch.arange(len(columns), device=columns.device)
        # One question for both: a network takes as long for a hundred sentences as for ten.
        log_p = log_probs(torch.cat([rows, several.rows]), torch.cat([columns, several.columns]))
        fix = _corrected(columns, right, around, several, log_p[len(columns) :])
        return _State(columns, log_p[: len(columns)], fix.right, fix.columns, fix.found)

    def replaced(self, other: _State, rows: Tensor) -> _State:
        """This, with some rows [row] of the other."""
        return _State(
            *(
                torch.where(rows.view(-1, *[1] * (old.dim() - 1)), new, old)
                for new, old in zip(vars(other).values(), vars(self).values(), strict=True)
            )
        )

    def log_q(self, walk: Walk) -> Tensor:
        return torch.where(self.right, log(1 + walk.epsilon), log(walk.epsilon)) + self.log_p

    def chance(self, walk: Walk) -> Tensor:
        """lambda(z)"""
        return walk.back_search * self.found

    def log_wandering(self, walk: Walk) -> Tensor:
        return (1 - self.chance(walk)).log()

    def log_single(self, other: _State, share: Tensor, walk: Walk) -> Tensor:
        """log Q(other|self) of a correction or a single edit; `share` [row] of the edits leads there."""
        corrects = self.found & (self.fix == other.columns).all(1)
        once = walk.distance * exp(-walk.distance) * share
        return (self.chance(walk) * corrects + (1 - self.chance(walk)) * once).log()
