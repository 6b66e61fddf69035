"""`ngs bench`: how fast this machine is, by batches of formulas against one formula after the other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, Any

import torch
import typer
from rich.table import Table
from torch import Tensor

from ngs.apps.options import device_of
from ngs.apps.printing import plain_console, print_json
from ngs.experiments.environment import environment
from ngs.experiments.timed_steps import timed, training_steps
from ngs.gpu import rounded_products
from ngs.grammar.library import arithmetic
from ngs.grammar.normal_form import normal_form
from ngs.learning.examples import Examples
from ngs.learning.loop import Settings
from ngs.learning.methods import METHODS
from ngs.networks.lenet import SIDE, LeNet
from ngs.parsing.earley import parse_aligned
from ngs.parsing.independent import independent
from ngs.parsing.tables import compile_tables
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.elementwise import at_once
from ngs.reasoning.operation import UNDEFINED
from ngs.reasoning.semantics import evaluate, interpret
from ngs.search.back_search import ChainSettings, back_search, sample_corrections
from ngs.search.compiled import BUDGET
from ngs.search.multi_step import multi_step
from ngs.search.one_step import one_step
from ngs.search.reasoner import reasoner
from ngs.search.support import posterior

GRAMMAR, LENGTH, BATCH = arithmetic(), 7, 64
FEW = 8
"""Formulas of the batch that a reference is timed on."""
WARM_UP = 2


@dataclass(frozen=True)
class Row:
    """Work on a number of things, and the reference that does some of them."""

    name: str
    fast: Callable[[], object]
    reference: str
    slow: Callable[[], object]
    number: int = BATCH
    part: int = FEW
    """how many of them the reference does"""

    def measured(self, rounds: int) -> dict[str, Any]:
        found = timed({"fast": self.fast, "slow": self.slow}, rounds, WARM_UP)
        seconds, whole = found["fast"].median, found["slow"].median * self.number / self.part
        return {
            "name": self.name,
            "per_second": self.number / seconds,
            "seconds": seconds,
            "reference": self.reference,
            "reference_seconds": whole,
            "times_as_fast": whole / seconds,
            "steady": all(each.meets_confidence() for each in found.values()),
        }


def table_row() -> Row:
    """All values of formulas by arrays, against asking the functions for every pair of values."""
    form, algebra = normal_form(GRAMMAR), interpret(GRAMMAR, Arithmetic)
    by_arrays = partial(compile_tables, form, algebra, LENGTH, BUDGET, at_once=partial(at_once, algebra))
    by_pairs = partial(compile_tables, form, algebra, LENGTH, BUDGET)
    entries = by_arrays().entries
    return Row("table entries", by_arrays, "pair by pair", by_pairs, entries, entries)


def unsure_scores(length: int) -> Tensor:
    """Log-probabilities as of an unsure network."""
    generator = torch.Generator().manual_seed(0)
    return (3 * torch.randn(BATCH, length, len(GRAMMAR.symbols), generator=generator)).log_softmax(-1)


def likely_answers(scores: Tensor) -> list[Fraction]:
    """An answer for each example that some likely formula gives."""
    drawn = independent(GRAMMAR, scores).sample(torch.Generator().manual_seed(0))
    values = [evaluate(drawn.tree(b), Arithmetic) for b in range(BATCH)]
    return [Fraction(0) if value is UNDEFINED else value for value in values]


def parsing_row(length: int, device: torch.device) -> Row:
    scores = unsure_scores(length)
    there, few = scores.to(device), scores[:FEW].double()

    def best() -> object:
        return independent(GRAMMAR, there).best()

    def parse() -> object:
        return [parse_aligned(GRAMMAR, row) for row in few]

    return Row(f"best parse, length {length}", best, "generalized Earley", parse)


def search_rows(device: torch.device) -> Iterator[Row]:
    """1-BS and m-BS."""
    scores = unsure_scores(LENGTH)
    answers = likely_answers(scores)
    p = independent(GRAMMAR, scores.to(device))
    start = p.best()
    reasons = reasoner(GRAMMAR, Arithmetic, Examples.of(list(p.log_probs), answers))
    given = start.symbols, p.score, reasons.edits, reasons.judge
    alone = [(GRAMMAR, Arithmetic, scores[b], answers[b], start[b]) for b in range(FEW)]
    chain, generators = ChainSettings(steps=5), [torch.Generator(d).manual_seed(0) for d in (device, "cpu")]

    def one_by_one(search: Callable[..., object]) -> Callable[[], object]:
        return lambda: [search(*one) for one in alone]

    reference = partial(multi_step, generator=generators[1])
    yield Row("1-BS", partial(back_search, *given), "Algorithm 1", one_by_one(one_step))
    many = partial(sample_corrections, *given, chain, generators[0])
    yield Row("m-BS(5)", many, "Algorithm 2", one_by_one(reference))


def posterior_row(device: torch.device) -> Row:
    """Posteriors and their gradients."""
    scores = unsure_scores(LENGTH)
    there, answers = scores.to(device), likely_answers(scores)

    def learn(first: int, number: int) -> None:
        part = slice(first, first + number)
        log_probs = there[part].clone().requires_grad_()
        log_z = posterior(GRAMMAR, Arithmetic, log_probs, None, answers[part]).log_z
        log_z.sum().backward()  # type: ignore[no-untyped-call]

    def each() -> None:
        for b in range(FEW):
            learn(b, 1)

    return Row("posterior", partial(learn, 0, BATCH), "one by one", each)


def training_row(device: torch.device, rounds: int) -> Row:
    """A step of a small network that learns from answers, against one that learns from labels."""
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(BATCH, LENGTH, 1, SIDE, SIDE, generator=generator)
    labels = torch.randint(len(GRAMMAR.symbols), (BATCH, LENGTH), generator=generator).tolist()
    examples = Examples.of(list(images), likely_answers(unsure_scores(LENGTH)), labels).to(device)
    methods = {name: METHODS[name] for name in ("posterior", "supervised")}
    network = partial(LeNet, len(GRAMMAR.symbols))
    reasons = reasoner(GRAMMAR, Arithmetic, examples)
    steps = training_steps(methods, reasons, network, Settings(BATCH), WARM_UP + rounds)
    return Row("training", steps["posterior"], "the same from labels", steps["supervised"], part=BATCH)


def bench_rows(device: torch.device, rounds: int) -> Iterator[Row]:
    """What is timed, in turn with its reference; formulas have seven symbols unless a row says so."""
    yield table_row()
    yield parsing_row(LENGTH, device)
    yield parsing_row(19, device)
    yield from search_rows(device)
    yield posterior_row(device)
    yield training_row(device, rounds)


@rounded_products()
def bench(
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    rounds: Annotated[int, typer.Option(min=3, help="Timed rounds; the median counts.")] = 21,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Time batches of formulas against their references on this machine, in less than a minute."""
    torch.set_num_threads(threads)
    there = device_of(device)
    measured = [row.measured(rounds) for row in bench_rows(there, rounds)]
    if as_json:
        facts = environment(there, ["ngs", *sys.argv[1:]])
        print_json({"environment": facts, "rounds": rounds, "batch": BATCH, "rows": measured})
        return
    title = f"{BATCH} formulas of length {LENGTH} on {there}, {threads} threads"
    table = Table("", "a second", "times as fast as", "", title=title, title_justify="left")
    for row in measured:
        times = f"{row['times_as_fast']:.1f}{'' if row['steady'] else ' ?'}"
        table.add_row(row["name"], f"{row['per_second']:,.0f}", times, row["reference"])
    plain_console().print(table)
    plain_console().print("?: the middle half of the rounds spans more than a tenth of their median")
