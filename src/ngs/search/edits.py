"""Edits: what one step of back-search may change in a sentence.

The contract, which the acceptance ratio of `back_search.log_ratio` needs and property tests check:

    ways(z, z') = ways(z', z)
    a walk of one step goes from z to each z' != z of the language with probability ways(z, z') / count(z)
    for each distance d, the walk is reversible with respect to count:
        count(z) P(z' | z, d) = count(z') P(z | z', d)

To add a kind of edits, write `neighbours`; everything else follows, and may be replaced, as by `Substitute`.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from ngs.errors import ShapeError
from ngs.grammar.constraint import Given
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import normal_form
from ngs.grammar.padding import PAD
from ngs.grammar.prefix_constraint import Automaton
from ngs.grammar.rules import Terminal
from ngs.parsing.candidates import Candidates
from ngs.parsing.circuit import parts_of_sentences


class Edits(nn.Module, ABC):
    """Edits of sentences [row, time]. By default each neighbour is as likely as any other."""

    @abstractmethod
    def neighbours(self, z: Tensor) -> Candidates:
        """What each edit makes of each sentence, in ascending rows.

        As many edits must lead from one sentence to another as lead back. Only an `Edits` that replaces
        `around`, `ways` and `walk` may give sentences outside the language: judges say False of them.
        """

    def around(self, z: Tensor) -> tuple[Candidates, Tensor]:
        """`neighbours` and `count` of each sentence, in one go."""
        near = self.neighbours(z)
        return near, _count_by_row(near.rows, len(z)).clamp(min=1).double()

    def count(self, z: Tensor) -> Tensor:
        """float64 [row]: how many edits each sentence has; at least 1, so that it can be divided by."""
        return self.around(z)[1]

    def ways(self, z: Tensor, other: Tensor) -> Tensor:
        """float64 [row]: how many edits turn each sentence into the other one."""
        near = self.neighbours(z)
        same = (near.symbols == other[near.rows]).all(1)
        return _count_by_row(near.rows[same], len(z)).double()

    def walk(self, z: Tensor, distance: Tensor, generator: torch.Generator) -> Tensor:
        """Each sentence after `distance` [row] random edits, one after another."""
        z, rows, step = z.clone(), (distance > 0).nonzero().flatten(), 0
        while len(rows):
            z[rows] = self._edited(z[rows], generator)
            step += 1
            rows = rows[distance[rows] > step]
        return z

    def _edited(self, z: Tensor, generator: torch.Generator) -> Tensor:
        """Each sentence after one random edit."""
        draw = torch.rand(len(z), generator=generator, device=generator.device).to(z.device)
        near = self.neighbours(z)
        if not len(near.rows):
            return z
        number = _count_by_row(near.rows, len(z))
        # A number just below 1 may round up to the count; it means the last edit.
        chosen = (draw * number).long().minimum((number - 1).clamp(min=0))
        result = near.symbols[(number.cumsum(0) - number + chosen).clamp(max=len(near.rows) - 1)]
        return torch.where((number > 0)[:, None], result, z)


class Switch(Edits):
    """Two different symbols of one class change places, and the sentence stays in the language.

    For sentences that are made of known symbols in an unknown order (Li et al. 2020, supplement, Sec. 3.2).

    >>> edits = Switch(torch.tensor([0, 0, 1, 1]))
    >>> edits.neighbours(torch.tensor([[0, 2, 1, 3]])).symbols.tolist()
    [[1, 2, 0, 3], [0, 3, 1, 2]]
    """

    def __init__(self, classes: Tensor) -> None:
        """`classes` [symbol] numbers the class of each symbol: `ngs.grammar.multisets.symbol_classes`."""
        super().__init__()
        self.classes = nn.Buffer(classes, persistent=False)

    def neighbours(self, z: Tensor) -> Candidates:
        of = self._class_of(z)
        switchable = (of[:, :, None] == of[:, None]) & (z[:, :, None] != z[:, None])
        row, first, second = switchable.triu(1).nonzero(as_tuple=True)
        changed = z[row]
        one, other = changed.gather(1, first[:, None]), changed.gather(1, second[:, None])
        return Candidates(row, changed.scatter(1, first[:, None], other).scatter(1, second[:, None], one))

    def ways(self, z: Tensor, other: Tensor) -> Tensor:
        """1 where the sentences differ in two positions, by a switch of two symbols of one class."""
        two = (z != other).sum(1) == 2
        same_symbols = (z.sort(1).values == other.sort(1).values).all(1)
        same_classes = (self._class_of(z) == self._class_of(other)).all(1)
        return (two & same_symbols & same_classes).double()

    def _class_of(self, z: Tensor) -> Tensor:
        return torch.where(z == PAD, PAD, self.classes[z.clamp(min=0)])


class Phrases(nn.Module):
    """Modifiers and their heads in sentences [row, time] in prefix notation.

    A phrase is a run of modifiers before a head, as in "small red cube". It is in order if the ranks of its
    modifiers rise. A head that is a link relates its phrase to the next one.

    >>> rank = torch.tensor([0, 1, -1, -1])  # of the symbols: small red cube behind
    >>> is_link = torch.tensor([False, False, False, True])
    >>> phrases = Phrases(rank, is_head=rank < 0, is_link=is_link)
    >>> sentence = torch.tensor([[1, 0, 3, 2]])  # red small behind cube
    >>> phrases.numbers(sentence).tolist(), phrases.in_order(sentence).tolist()
    ([[0, 0, 0, 1]], [[0, 1, 3, 2]])
    """

    def __init__(self, rank: Tensor, is_head: Tensor, is_link: Tensor) -> None:
        """`rank` (int64 [symbol]) is the place of a modifier among those of its phrase, or -1."""
        super().__init__()
        self.rank = nn.Buffer(rank, persistent=False)
        self.is_head = nn.Buffer(is_head, persistent=False)
        self.is_link = nn.Buffer(is_link, persistent=False)

    def numbers(self, z: Tensor) -> Tensor:
        """int64 [row, time]: the phrase of each symbol, by how many symbols before it are no modifiers."""
        others = (self._ranks(z) < 0).long()
        return others.cumsum(1) - others

    def in_order(self, z: Tensor, number: Tensor | None = None) -> Tensor:
        """The sentences with each modifier in its phrase (or in that of this `number`), in order."""
        rank, width = self._ranks(z), len(self.rank) + 1
        number = self.numbers(z) if number is None else number
        key = number * width + torch.where(rank < 0, width - 1, rank)
        return z.gather(1, key.argsort(dim=1, stable=True))

    def are_in_order(self, z: Tensor) -> Tensor:
        """bool [row]: whether the modifiers of every phrase are in order."""
        rank = self._ranks(z)
        return ((rank[:, 1:] < 0) | (rank[:, :-1] < rank[:, 1:])).all(1)

    def moves(self, z: Tensor) -> Candidates:
        """What moving one modifier to another phrase makes: sorted by rank, but a rank may occur twice."""
        rank, number = self._ranks(z), self.numbers(z)
        elsewhere = number[:, :, None] != number[:, None]  # [row, modifier, head]
        movable = (rank >= 0)[:, :, None] & self._heads(z)[:, None] & elsewhere
        row, moved, place = movable.nonzero(as_tuple=True)
        changed = number[row].scatter(1, moved[:, None], number[row, place][:, None])
        return Candidates(row, self.in_order(z[row], changed))

    def turns(self, z: Tensor) -> Candidates:
        """What reversing a chain of linked phrases makes, for each pair of phrases a and b.

        "A left of B behind C" becomes "C behind B left of A": the modifiers of the phrases a to b and the
        links between them are reversed. A pair that no chain connects leaves the sentence as it is.
        """
        ends = self._heads(z)
        phrase = ends.long().cumsum(1) - ends.long()  # of a modifier and of its head
        where = torch.where(ends, torch.arange(z.shape[1], device=z.device), z.shape[1]).sort(1).values
        broken = (ends & ~self.is_link[z.clamp(min=0)]).long()
        broken = broken.cumsum(1) - broken
        row, first, last = (ends[:, :, None] & ends[:, None]).triu(1).nonzero(as_tuple=True)
        a, b = phrase[row, first][:, None], phrase[row, last][:, None]
        connected = (broken[row, first] == broken[row, last])[:, None]
        z, phrase, ends, where = z[row], phrase[row], ends[row], where[row]
        inside = connected & (phrase >= a) & (phrase <= b)
        turned = torch.where(inside, a + b - phrase, phrase)
        of_link = torch.where(inside & ends & (phrase < b), a + b - 1 - phrase, phrase)
        linked = z.gather(1, where.gather(1, of_link).clamp(max=z.shape[1] - 1))
        z = torch.where(inside & ends, linked, z)
        number = self.numbers(z)
        place = number.gather(1, where.gather(1, turned).clamp(max=z.shape[1] - 1))
        return Candidates(row, self.in_order(z, torch.where(self._ranks(z) >= 0, place, number)))

    def _ranks(self, z: Tensor) -> Tensor:
        return torch.where(z == PAD, -1, self.rank[z.clamp(min=0)])

    def _heads(self, z: Tensor) -> Tensor:
        return self.is_head[z.clamp(min=0)] & (z != PAD)


class Rearrange(Edits):
    """Edits of sentences whose phrases are in order: a switch, a move of a modifier, a turn of a chain.

    The result is put in order again; it is left out where a phrase has a rank twice, or nothing changed. No
    grammar is asked, so the language must have all results: any head takes any modifiers, and links can take
    each other's place.
    """

    def __init__(self, switch: Switch, phrases: Phrases, moves: bool = True) -> None:
        """`moves`: whether modifiers move and chains turn, too."""
        super().__init__()
        self.switch, self.phrases, self.moves = switch, phrases, moves

    def neighbours(self, z: Tensor) -> Candidates:
        switched = self.switch.neighbours(z)
        parts = [Candidates(switched.rows, self.phrases.in_order(switched.symbols))]
        if self.moves:
            parts += [self.phrases.moves(z), self.phrases.turns(z)]
        rows, order = torch.cat([part.rows for part in parts]).sort(stable=True)
        made = torch.cat([part.symbols for part in parts])[order]
        kept = self.phrases.are_in_order(made) & (made != z[rows]).any(1)
        return Candidates(rows[kept], made[kept])


class Substitute(Edits):
    """Another symbol at one position: the edits of the paper.

    A random walk over d symbols changes d distinct positions, so that its distance is the edit distance of
    Sec. 3.2.3. Positions and new symbols are drawn uniformly, from those that some sentence of this length
    has there. With n positions that have alternatives, and a(t) alternatives at position t:

        ways(z, z') = 1 / a(t) where they differ at t alone,    count(z) = n

    >>> edits = Substitute(Grammar.parse('start: "1" | "2" | "3"'), 1)
    >>> edits.neighbours(torch.tensor([[0]])).symbols.tolist()
    [[1], [2]]
    """

    def __init__(self, grammar: Grammar, longest: int) -> None:
        super().__init__()
        self.automaton = Automaton(grammar)
        usable = usable_symbols(grammar, longest)
        self.usable = nn.Buffer(usable, persistent=False)
        self.alternatives = nn.Buffer((usable.sum(-1) - 1).clamp(min=0), persistent=False)
        """[length, time]: a(t)"""
        self.order = nn.Buffer((~usable).int().sort(dim=-1, stable=True).indices, persistent=False)
        """[length, time, number]: the usable symbols, in order"""
        self.place = nn.Buffer(usable.cumsum(-1) - 1, persistent=False)
        """[length, time, symbol]: which of these a symbol is"""

    def neighbours(self, z: Tensor) -> Candidates:
        """Every substitution, in the language or not: no judge calls a sentence right that is outside."""
        other = torch.arange(self.usable.shape[-1], device=z.device) != z[..., None]
        row, position, symbol = (self._of(self.usable, z) & other).nonzero(as_tuple=True)
        return Candidates(row, z[row].scatter(1, position[:, None], symbol[:, None]))

    def around(self, z: Tensor) -> tuple[Candidates, Tensor]:
        return self.neighbours(z), (self._of(self.alternatives, z) > 0).sum(1).clamp(min=1).double()

    def ways(self, z: Tensor, other: Tensor) -> Tensor:
        differ = z != other
        weight = differ / self._of(self.alternatives, z).clamp(min=1).double()
        return torch.where(differ.sum(1) == 1, weight.sum(1), 0.0)

    def walk(self, z: Tensor, distance: Tensor, generator: torch.Generator) -> Tensor:
        alternatives = self._of(self.alternatives, z)
        changeable = alternatives > 0
        draws = torch.rand((2, *z.shape), generator=generator, device=generator.device, dtype=torch.float64)
        order, draw = draws.to(z.device)
        rank = order.masked_fill(~changeable, torch.inf).argsort(1).argsort(1)
        possible = distance <= changeable.sum(1)
        changes = changeable & (rank < distance[:, None]) & possible[:, None]
        current = self._of(self.place, z).gather(2, z.clamp(min=0)[..., None])[..., 0]
        number = (draw * alternatives).long()
        number = (number + (number >= current)).clamp(max=self.order.shape[-1] - 1)
        drawn = self._of(self.order, z).gather(2, number[..., None])[..., 0]
        result = torch.where(changes, drawn, z)
        return torch.where(self.automaton.contains(Given(), result)[:, None], result, z)

    def _of(self, table: Tensor, z: Tensor) -> Tensor:
        """The rows of a table for sentences of these lengths, as long as `z`."""
        lengths = lengths_of(z)
        if z.shape[1] >= len(table):
            check_longest(lengths, len(table) - 1)
        rows = table[lengths, : z.shape[1]]
        after = z.shape[1] - rows.shape[1]
        return torch.cat([rows, rows.new_zeros(len(z), after, *rows.shape[2:])], 1) if after else rows


def _count_by_row(rows: Tensor, number: int) -> Tensor:
    """int64 [number]: how many candidates each row has."""
    return rows.new_zeros(number).index_add(0, rows, torch.ones_like(rows))


def lengths_of(z: Tensor) -> Tensor:
    """int64 [row]: symbols of each sentence [row, time]."""
    return (z != PAD).sum(1)


def check_longest(lengths: Tensor, longest: int) -> None:
    """A ShapeError where a sentence has more than `longest` symbols. On a GPU this waits for the answer."""
    greatest = int(lengths.max()) if len(lengths) else 0
    if greatest > longest:
        raise ShapeError(
            f"a sentence has {greatest} symbols, and this was made for up to {longest}; "
            f"make it for the longest sentence"
        )


def usable_symbols(grammar: Grammar, longest: int) -> Tensor:
    """bool [length, time, symbol]: whether some sentence of exactly that length has the symbol there."""
    table = torch.zeros(longest + 1, longest, len(grammar.symbols), dtype=torch.bool)
    form = normal_form(grammar)
    for length in form.lengths(longest):
        for part, position, _ in parts_of_sentences(form, [length]):
            if isinstance(part, Terminal):
                table[length, position, grammar.symbol_id(part.name)] = True
    return table
