"""What the tests of programs share: random programs of every shape, and modules arranged one by one."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random

import torch
from torch import Tensor

from ngs.grammar.automaton import PrefixAutomaton, prefix_automaton
from ngs.grammar.constraint import AnyOrder, Counting
from ngs.grammar.padding import PAD
from ngs.tasks.clevr.execution import modules
from ngs.tasks.clevr.language import Programs, TidyPrograms
from ngs.tasks.clevr.program import MODULES, Program, clevr, clevr_tidy
from ngs.tasks.clevr.scenes import ATTRIBUTES, RELATIONS

LANGUAGES: Mapping[str, Counting] = {
    "any order": AnyOrder(len(MODULES)),
    "grammar": Programs(),
    "tidy": TidyPrograms(),
}
AUTOMATA = {"grammar": prefix_automaton(clevr()), "tidy": prefix_automaton(clevr_tidy())}

FILTERS = {name: [f"filter_{name}[{value}]" for value in values] for name, values in ATTRIBUTES.items()}
ALL_FILTERS = [name for names in FILTERS.values() for name in names]
SYMMETRIC = ("union", "intersect", "equal_integer", *(f"equal_{name}" for name in ATTRIBUTES))
RELATES = [*(f"relate[{name}]" for name in RELATIONS), *(f"same_{name}" for name in ATTRIBUTES)]

SHORT = {module.partition("[")[2].rstrip("]") or module: module for module in MODULES}
"""Filters and relations by their value alone: red, left."""


def program_of(text: str) -> Program:
    """count red cube scene -> ("count", "filter_color[red]", "filter_shape[cube]", "scene")"""
    return tuple(SHORT.get(word, word) for word in text.split())


def random_program(rng: Random, size: int, *, tidy: bool = True) -> Program:
    """Any program of about `size` modules; set operations and comparisons are as likely as relations."""
    compare = [rng.choice(["equal_integer", "greater_than", "less_than"])]
    equal = [f"equal_{rng.choice([*ATTRIBUTES])}"]
    query = [f"query_{rng.choice([*ATTRIBUTES])}", "unique"]
    head, argument, number = rng.choice(
        [([], ["exist"], 1), ([], ["count"], 1), ([], query, 1), (compare, ["count"], 2), (equal, query, 2)]
    )
    sets = (random_set(rng, size // number, tidy=tidy) for _ in range(number))
    return (*head, *(module for objects in sets for module in [*argument, *objects]))


def random_set(rng: Random, size: int, *, tidy: bool) -> list[str]:
    """A noun phrase, and those in it."""
    names = rng.sample([*FILTERS], k=rng.choice([0, 1, 1, 2, 4]))
    filters = [rng.choice(FILTERS[name]) for name in reversed(FILTERS) if name in names]
    if not tidy:
        filters = rng.choices(ALL_FILTERS, k=len(filters))
    left = size - 1 - len(filters)
    closing = rng.choice(["scene", "relation", "set operation"]) if left > 0 else "scene"
    if closing == "relation":
        return [*filters, rng.choice(RELATES), "unique", *random_set(rng, left - 1, tidy=tidy)]
    if closing == "set operation":
        branches = (random_set(rng, left // 2, tidy=tidy) for _ in range(2))
        return [*filters, rng.choice(["union", "intersect"]), *(m for branch in branches for m in branch)]
    return [*filters, "scene"]


def random_programs(
    rng: Random, number: int, longest: int, *, shortest: int = 1, tidy: bool = True
) -> list[Program]:
    """Of `shortest` to `longest` modules; where not tidy, half of them still are."""
    found: list[Program] = []
    while len(found) < number:
        program = random_program(rng, rng.randint(shortest, longest), tidy=tidy or rng.random() < 0.5)
        found += [program] * (shortest <= len(program) <= longest)
    return found


def encoded(programs: Sequence[Sequence[str]], extra: int = 0) -> Tensor:
    """int64 [program, time], with `extra` columns that are padding throughout."""
    time = max(map(len, programs), default=0) + extra
    rows = [[*map(MODULES.index, program), *[PAD] * (time - len(program))] for program in programs]
    return torch.tensor(rows, dtype=torch.int64).reshape(len(programs), time)


def decoded(columns: Tensor) -> list[Program]:
    """The programs of [program, time]."""
    return [tuple(MODULES[column] for column in row if column != PAD) for row in columns.tolist()]


def counts_of(programs: Sequence[Sequence[str]]) -> Tensor:
    """int64 [program, module]: how many of each."""
    found = [Counter(program) for program in programs]
    return torch.tensor([[each[module] for module in MODULES] for each in found])


def exchanged(program: Program) -> Program:
    """With the branches of its only branching module exchanged, if that is symmetric."""
    forks = [k for k, module in enumerate(program) if len(modules()[module].takes) == 2]
    if len(forks) != 1 or program[forks[0]] not in SYMMETRIC:
        return program
    middle, fork = program.index("scene") + 1, forks[0] + 1
    return program[:fork] + program[middle:] + program[fork:middle]


def recognised(name: str, program: Program) -> bool:
    return AUTOMATA[name].recognises([MODULES.index(module) for module in program])


def arranged(name: str, program: Program) -> Iterator[Program]:
    """All arrangements of a program's modules in a language, found one module after another."""
    left = Counter(map(MODULES.index, program))
    automaton = AUTOMATA.get(name)
    orders = _orders(left) if automaton is None else _sentences(automaton, automaton.start, left)
    return (tuple(MODULES[column] for column in order) for order in orders)


def _orders(left: Counter[int]) -> Iterator[tuple[int, ...]]:
    if not left:
        yield ()
    for column in sorted(left):
        yield from ((column, *rest) for rest in _orders(left - Counter([column])))


def _sentences(automaton: PrefixAutomaton, state: int, left: Counter[int]) -> Iterator[tuple[int, ...]]:
    if not left:
        yield ()
    for column in automaton.legal_from(state, left):
        following = automaton.advance(state, column)
        yield from ((column, *rest) for rest in _sentences(automaton, following, left - Counter([column])))
