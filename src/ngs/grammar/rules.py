"""Symbols and rules as frozen values that print in Lark's notation."""

import json
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Terminal:
    """A symbol the network can see; printed in quotes."""

    name: str

    def __str__(self) -> str:
        return json.dumps(self.name, ensure_ascii=False)


@dataclass(frozen=True)
class Nonterminal:
    """A name that rules expand. A leading underscore inlines what it stands for into its parent."""

    name: str

    @property
    def inlined(self) -> bool:
        return self.name.startswith("_")

    def __str__(self) -> str:
        return self.name


Symbol = Terminal | Nonterminal


@dataclass(frozen=True)
class Rule:
    """`head: body -> alias`, one alternative of one rule.

    Its function is not given the terminals, unless the rule keeps them (`!head: ...` in Lark's notation).
    """

    head: Nonterminal
    body: tuple[Symbol, ...]
    alias: str | None = None
    keeps_terminals: bool = False
    line: int = field(default=0, compare=False)

    @cached_property
    def arguments(self) -> tuple[int, ...]:
        """Positions in `body` whose values the function receives."""
        return tuple(
            k for k, symbol in enumerate(self.body) if self.keeps_terminals or isinstance(symbol, Nonterminal)
        )

    @cached_property
    def passes_through(self) -> bool:
        """Whether the value is that of its one symbol or argument (`expr: term`, `group: "(" expr ")"`)."""
        if self.alias is not None or self.head.inlined:
            return False
        passed = self.body if len(self.body) == 1 else [self.body[k] for k in self.arguments]
        return len(passed) == 1 and not (isinstance(passed[0], Nonterminal) and passed[0].inlined)

    @cached_property
    def renames(self) -> bool:
        """Whether the rule adds nothing to its one symbol (`expr: term`, `factor: "3"`)."""
        return len(self.body) == 1 and self.passes_through

    @cached_property
    def function(self) -> str | None:
        """The alias, or else the head's name; None where a value passes through or is inlined."""
        if self.alias is not None:
            return self.alias
        return None if self.passes_through or self.head.inlined else self.head.name

    @property
    def name(self) -> str:
        return self.function or self.head.name

    def __str__(self) -> str:
        text = " ".join(map(str, self.body))
        return text if self.alias is None else f"{text} -> {self.alias}".lstrip()
