"""What a CLEVR program says about a scene: the exact reference, one program and one scene at a time.

A program is in prefix notation, so a fold from right to left takes the place of a parser: it calls the same
functions of `ProgramSemantics` as the reasoning tree would, and says where types do not fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

from ngs.errors import ParseError
from ngs.grammar.rules import Nonterminal, Symbol
from ngs.reasoning.operation import UNDEFINED, Special, Value
from ngs.tasks.clevr.program import clevr
from ngs.tasks.clevr.scenes import RELATIONS, Scene
from ngs.tasks.clevr.semantics import ProgramSemantics, Unique, strict

NO_OBJECTS = Scene((), dict.fromkeys(RELATIONS, ()), {})  # for what is the same in every scene


class Type(StrEnum):
    """What a module takes and gives: nonterminals of the grammar, in the words of an error message."""

    OBJECTS = "a set of objects"
    OBJECT = "an object"
    INTEGER = "an integer"
    CONCEPT = "a concept"
    TRUTH = "a truth value"

    @classmethod
    def of(cls, symbol: Symbol) -> Type:
        return cls[symbol.name.upper()]


ANSWER_TYPES = tuple(Type.of(rule.body[0]) for rule in clevr().by_head[clevr().start])
"""What a whole program gives: never objects, which have no name."""


@dataclass(frozen=True)
class Module:
    """A symbol of the grammar as a typed function: the rule that it begins says which."""

    takes: tuple[Type, ...]
    gives: Type
    function: str  # of the semantics
    symbol: tuple[str, ...]  # the symbol itself, if the rule hands it to the function

    def apply(self, semantics: ProgramSemantics, *arguments: Value) -> Value:
        if UNDEFINED in arguments:
            return UNDEFINED
        return getattr(semantics, self.function)(*self.symbol, *arguments)


@cache
def modules() -> Mapping[str, Module]:
    """The forty modules by name (Li et al. 2020, supplement; Johnson et al. 2017), families written out."""
    found = {}
    for rule in clevr().rules:
        if rule.alias is not None:
            first, *needed = rule.body
            takes, gives = tuple(map(Type.of, needed)), Type.of(rule.head)
            if isinstance(first, Nonterminal):
                for member in clevr().by_head[first]:
                    name = member.body[0].name
                    found[name] = Module(takes, gives, rule.alias, (name,))
            else:
                found[first.name] = Module(takes, gives, rule.alias, ())
    return found


@dataclass(frozen=True)
class Step:
    """A module of a program, what it gave, and the steps that gave its arguments."""

    module: str
    value: Value
    arguments: tuple[Step, ...]
    position: int = field(default=0, compare=False)
    """of the module in the program"""


def execute(program: Sequence[str], scene: Scene, *, unique: Unique = strict) -> int | str | Special:
    """The value of a whole program; UNDEFINED if a `unique` in it is. ParseError where types do not fit."""
    value: int | str | Special = trace(program, scene, unique=unique).value
    return value


def trace(program: Sequence[str], scene: Scene, *, unique: Unique = strict) -> Step:
    """The program as a tree with the value of every step. ParseError if it does not type-check."""
    known, semantics = modules(), ProgramSemantics(scene, unique)
    waiting: list[Step] = []  # a stack of steps that no module has taken yet
    for position in reversed(range(len(program))):
        name = program[position]
        if name not in known:
            raise ParseError(
                f"position {position}: {name!r} is no module; the modules are {', '.join(known)}"
            )
        module = known[name]
        arguments = tuple(waiting.pop() for _ in module.takes[: len(waiting)])
        if tuple(known[step.module].gives for step in arguments) != module.takes:
            raise _type_error(position, name, arguments)
        value = module.apply(semantics, *(step.value for step in arguments))
        waiting.append(Step(name, value, arguments, position))
    return _whole(waiting)


def _type_error(position: int, name: str, arguments: Sequence[Step]) -> ParseError:
    known, takes = modules(), modules()[name].takes
    for needed, argument in zip(takes, (step.module for step in arguments), strict=False):
        given = known[argument].gives
        if given != needed:
            return ParseError(
                f"position {position}: {name} needs {needed}, and `{argument}` gives {given}; "
                f"give it {needed}, or put a module that takes {given} in its place"
            )
    missing = " and ".join(takes[len(arguments) :])
    return ParseError(f"position {position}: {name} still needs {missing} where the program ends; add it")


def _whole(waiting: list[Step]) -> Step:
    if not waiting:
        raise ParseError(
            'the program is empty; give its modules in prefix notation, as in ("count", "scene")'
        )
    root = waiting.pop()
    if waiting:
        raise ParseError(
            f"position {waiting[-1].position}: the program is complete before `{waiting[-1].module}`; "
            f"leave that out, and what follows it"
        )
    gives = modules()[root.module].gives
    if gives not in ANSWER_TYPES:
        raise ParseError(f"position 0: a program gives {_LISTED}, and `{root.module}` gives {gives}")
    return root


_LISTED = f"{', '.join(ANSWER_TYPES[:-1])} or {ANSWER_TYPES[-1]}"


def spoken(value: int | str | Special) -> str | Special:
    """The answer as text, one of ANSWERS; UNDEFINED stays what it is."""
    return value if isinstance(value, Special) else str(value)
