"""Sentences and their reasoning trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ngs.grammar.rules import Rule

Sentence = tuple[str, ...]


@dataclass(frozen=True)
class Leaf:
    """One symbol of the sentence, at its position."""

    position: int
    symbol: str

    def __str__(self) -> str:
        return self.symbol


@dataclass(frozen=True)
class Node:
    """One use of `rule`; its `children` are in the order of `rule.body`.

    Rules that only rename (`expr: term`) make no node, so each node is a step of reasoning.
    """

    rule: Rule
    children: tuple[Tree, ...]

    def __str__(self) -> str:
        return f"{self.rule.name}({', '.join(map(str, self.children))})"


Tree = Leaf | Node


def leaves(tree: Tree) -> Iterator[Leaf]:
    """The leaves from left to right; their symbols are the sentence."""
    if isinstance(tree, Leaf):
        yield tree
    else:
        for child in tree.children:
            yield from leaves(child)


def sentence_of(tree: Tree) -> Sentence:
    return tuple(leaf.symbol for leaf in leaves(tree))


def pretty(tree: Tree, indent: str = "") -> str:
    """Return the tree as indented text, one node a line.

    >>> from ngs import arithmetic_grammar, parse
    >>> print(pretty(parse(arithmetic_grammar(), "1+2")))
    add
      1
      +
      2
    """
    if isinstance(tree, Leaf):
        return indent + tree.symbol
    return "\n".join([indent + tree.rule.name, *(pretty(child, indent + "  ") for child in tree.children)])
