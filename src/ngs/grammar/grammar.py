"""A grammar is text and a frozen value; `str(grammar)` reads back as the same grammar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path

from ngs.errors import GrammarError, ParseError
from ngs.grammar.notation import read_rules
from ngs.grammar.rules import Nonterminal, Rule, Terminal
from ngs.grammar.tree import Sentence
from ngs.grammar.validation import check_rules


@dataclass(frozen=True)
class Grammar:
    """A context-free grammar G = (V, Sigma, R, S).

    S is the rule called `start`, or else the first rule. `symbols` is Sigma in the order of first appearance:
    output k of the network belongs to `symbols[k]`. A GrammarError refuses rules that could never be used or
    would never end.

    >>> grammar = Grammar.parse('start: start "+" digit -> add | digit' + chr(10) + 'digit: "1" | "2"')
    >>> grammar.symbols
    ('+', '1', '2')
    >>> grammar.encode("1+2"), grammar.decode([1, 0, 2])
    ([1, 0, 2], ('1', '+', '2'))
    """

    rules: tuple[Rule, ...]
    """All alternatives, those of one head next to each other."""

    @classmethod
    def parse(cls, text: str) -> Grammar:
        """Read a grammar in Lark's notation."""
        return cls(tuple(read_rules(text)))

    @classmethod
    def load(cls, path: str | Path) -> Grammar:
        """Read a grammar from a file in Lark's notation."""
        try:
            return cls.parse(Path(path).read_text(encoding="utf-8"))
        except GrammarError as error:
            raise GrammarError(f"{path}: {error}") from None

    def __post_init__(self) -> None:
        together = tuple(rule for rules in self.by_head.values() for rule in rules)
        object.__setattr__(self, "rules", together)  # as text has them, whatever order they came in
        check_rules(self.rules, self.start)

    @cached_property
    def start(self) -> Nonterminal:
        heads = [rule.head for rule in self.rules]
        if not heads:
            raise GrammarError('the grammar has no rules; write at least `start: "a"`')
        named = Nonterminal("start")
        return named if named in heads else heads[0]

    @cached_property
    def by_head(self) -> Mapping[Nonterminal, tuple[Rule, ...]]:
        heads: dict[Nonterminal, list[Rule]] = {}
        for rule in self.rules:
            heads.setdefault(rule.head, []).append(rule)
        return {head: tuple(rules) for head, rules in heads.items()}

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        found = (s.name for rule in self.rules for s in rule.body if isinstance(s, Terminal))
        return tuple(dict.fromkeys(found))

    @cached_property
    def _ids(self) -> Mapping[str, int]:
        return {symbol: k for k, symbol in enumerate(self.symbols)}

    def symbol_id(self, symbol: str) -> int:
        try:
            return self._ids[symbol]
        except KeyError:
            letters = max(map(len, self.symbols)) == 1
            hint = "" if letters else "; a string is read letter by letter, give a list"
            raise ParseError(
                f"the grammar has no symbol {symbol!r}; its symbols are {' '.join(self.symbols)}{hint}"
            ) from None

    def encode(self, sentence: Iterable[str]) -> list[int]:
        return [self.symbol_id(symbol) for symbol in sentence]

    def decode(self, symbols: Iterable[int]) -> Sentence:
        return tuple(self.symbols[k] for k in symbols)

    @cached_property
    def _hash(self) -> int:
        return hash(self.rules)

    def __hash__(self) -> int:  # grammars key the caches of compiled charts: hash the rules once
        return self._hash

    def __reduce__(self) -> tuple[type[Grammar], tuple[tuple[Rule, ...]]]:
        return Grammar, (self.rules,)  # without the hash, which another process computes anew

    def __str__(self) -> str:
        lines = []
        for head, rules in self.by_head.items():
            name = f"{'!' * rules[0].keeps_terminals}{head}"
            lines.append(f"{name}: " + f"\n{' ' * len(name)}| ".join(map(str, rules)))
        return "\n".join(lines) + "\n"


@cache
def arithmetic() -> Grammar:
    """Return the grammar of sums and products over the digits 0-9.

    >>> arithmetic().symbols[:4]
    ('+', '-', '*', '/')
    """
    return Grammar.parse(files("ngs.grammar").joinpath("data", "arithmetic.lark").read_text(encoding="utf-8"))
