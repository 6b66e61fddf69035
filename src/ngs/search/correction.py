"""A correction of one sentence by back-search, with every step of the search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import combinations

from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import fold
from ngs.grammar.rules import Symbol
from ngs.grammar.tree import Leaf, Node, Sentence, Tree
from ngs.parsing.sentence import find_tree
from ngs.reasoning.operation import UNDEFINED, Expected, Value
from ngs.reasoning.semantics import Interpretation

Path = tuple[int, ...]  # the way from the root to a node: the number of the child at each step


@dataclass(frozen=True)
class Evaluated:
    """A sentence with its reasoning tree and the value of each node."""

    sentence: Sentence
    tree: Tree | None  # None where the sentence is outside the language
    values: Mapping[Path, Value]

    @classmethod
    def of(cls, grammar: Grammar, algebra: Interpretation, sentence: Sentence) -> Evaluated:
        tree = find_tree(grammar, sentence)
        return cls(sentence, tree, {} if tree is None else dict(_values(algebra, tree, ())))

    @property
    def value(self) -> Value:
        return self.values.get((), UNDEFINED)


@dataclass(frozen=True)
class Edit:
    """A sentence made from another, in the language or not."""

    sentence: Sentence
    old: tuple[int, ...]
    """positions of the changed symbols before the edit"""
    new: tuple[int, ...]
    """where each of them, or what takes its place, stands in `sentence`"""
    text: str
    """how to say it: the symbol that is put there, or `* and + change places`"""

    @property
    def changed(self) -> tuple[str, ...]:
        return tuple(self.sentence[position] for position in self.new)

    @property
    def is_substitution(self) -> bool:
        """Whether one symbol takes the place of another."""
        return len(self.new) == 1 and self.old == self.new

    def __str__(self) -> str:
        return self.text


def switches(sentence: Sentence, classes: Mapping[str, int]) -> Iterator[Edit]:
    """Every switch of two different symbols of one class: the reference of `edits.Switch`."""
    for one, other in combinations(range(len(sentence)), 2):
        first, second = sentence[one], sentence[other]
        if first != second and classes[first] == classes[second]:
            changed = list(sentence)
            changed[one], changed[other] = second, first
            yield Edit(tuple(changed), (one, other), (other, one), f"{first} and {second} change places")


class Action(Enum):
    """What can happen to an entry of the queue."""

    PUSH = "push"
    POP = "pop"
    DISCARD = "discard"
    """no symbol that could stand there has an expected value"""
    ACCEPT = "accept"
    """the changed sentence was parsed and executed again, and gives the answer"""
    REFUSE = "refuse"
    """the changed sentence is outside the language, or gives another answer"""


@dataclass(frozen=True)
class Event:
    """One thing that happened to the queue: (A, alpha_A, p) of Algorithm 1."""

    action: Action
    path: Path
    name: str
    expected: Expected
    """the values that would make the answer right"""
    log_priority: float
    edit: Edit | None = None
    """what is to be tried; None for a node that is looked into"""


@dataclass(frozen=True)
class Correction:
    """What back-search found, and every step it took."""

    read: Evaluated
    target: Value
    corrected: Evaluated | None
    """the sentence itself where it gives the target; None where no edit does"""
    edit: Edit | None = None
    trace: tuple[Event, ...] = ()

    @property
    def tree(self) -> Tree:
        """The reasoning tree of a sentence of the language."""
        assert self.read.tree is not None
        return self.read.tree

    @property
    def values(self) -> Mapping[Path, Value]:
        return self.read.values

    @property
    def sentence(self) -> Sentence | None:
        """The corrected sentence; None where no edit gives the target."""
        return None if self.corrected is None else self.corrected.sentence

    @property
    def position(self) -> int | None:
        """Where a symbol was replaced; None where none was."""
        return self.edit.new[0] if self.edit is not None and self.edit.is_substitution else None

    @property
    def change(self) -> str | None:
        return None if self.edit is None else self.edit.text

    @property
    def is_right(self) -> bool:
        """Whether the sentence gives the target without an edit."""
        return self.corrected is self.read


@dataclass(frozen=True)
class Part:
    """A child of a reasoning node: an argument of its function, or punctuation."""

    tree: Tree
    path: Path
    symbol: Symbol
    is_argument: bool


def reasoning_parts(node: Node, path: Path) -> Iterator[Part]:
    """The children of a node, with those of inlined nodes in their place."""
    for k, (child, symbol) in enumerate(zip(node.children, node.rule.body, strict=True)):
        inlined = isinstance(child, Node) and child.rule.head.inlined and child.rule.alias is None
        if isinstance(child, Node) and inlined:
            for part in reasoning_parts(child, (*path, k)):
                yield Part(part.tree, part.path, part.symbol, part.is_argument and k in node.rule.arguments)
        else:
            yield Part(child, (*path, k), symbol, k in node.rule.arguments)


def name_of(tree: Tree) -> str:
    return tree.symbol if isinstance(tree, Leaf) else tree.rule.name


def _values(algebra: Interpretation, tree: Tree, path: Path) -> Iterator[tuple[Path, Value]]:
    yield path, algebra.value(fold(tree, algebra))
    if isinstance(tree, Node):
        for part in reasoning_parts(tree, path):
            if part.is_argument:
                yield from _values(algebra, part.tree, part.path)
