"""How fast the core is: every speed next to a reference timed in the same run, round by round."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from math import nan
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ngs.experiments.environment import environment, peak_memory_mb
from ngs.experiments.results.tables import rows_of
from ngs.experiments.timed_steps import timed
from ngs.grammar.library import arithmetic
from ngs.grammar.normal_form import normal_form
from ngs.learning.examples import Examples
from ngs.learning.methods import METHODS, Objective
from ngs.parsing.earley import parse_aligned
from ngs.parsing.independent import independent
from ngs.parsing.sentences import Sentences
from ngs.parsing.tables import compile_tables
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.elementwise import at_once
from ngs.reasoning.operation import UNDEFINED
from ngs.reasoning.semantics import evaluate, interpret
from ngs.search.back_search import ChainSettings, back_search, sample_corrections
from ngs.search.compiled import BUDGET, value_circuit
from ngs.search.multi_step import multi_step
from ngs.search.one_step import one_step
from ngs.search.reasoner import reasoner
from ngs.search.support import posterior

GRAMMAR = arithmetic()
Results = dict[str, Any]
BATCH = 64
IMAGE = 45


@dataclass(frozen=True)
class Speed:
    """One thing timed, against another timed alternately with it."""

    name: str
    seconds: float
    """median over the rounds, for one batch"""
    per_second: float
    reference: str
    reference_seconds: float
    """the same work done by the reference"""
    ratio: float
    """seconds / reference_seconds"""


@dataclass(frozen=True)
class Target:
    """A promise, the measured figure, and whether it is kept."""

    promise: str
    measured: float
    kept: bool


def lattice(length: int, device: torch.device) -> tuple[Tensor, list[Fraction]]:
    """Log-probabilities as of an unsure network, and answers that some likely sentence gives."""
    generator = torch.Generator().manual_seed(0)
    log_probs = _unsure(length, generator)
    answers: list[Fraction | None] = [None] * BATCH
    while None in answers:
        drawn = independent(GRAMMAR, log_probs).sample(generator)
        for b in range(BATCH):
            value = evaluate(drawn.tree(b), Arithmetic)
            answers[b] = answers[b] if value is UNDEFINED or answers[b] is not None else value
    return log_probs.to(device), [answer for answer in answers if answer is not None]


def _unsure(length: int, generator: torch.Generator) -> Tensor:
    return (3 * torch.randn(BATCH, length, len(GRAMMAR.symbols), generator=generator)).log_softmax(-1)


def compare(
    name: str,
    fast: Callable[[], object],
    reference: str,
    slow: Callable[[], object],
    device: torch.device,
    rounds: int,
    part: int,
    batch: int = BATCH,
) -> Speed:
    """Time `fast` on a batch against `slow` on `part` of its examples, scaled up to the batch."""
    spent = timed({"fast": fast, "slow": slow}, rounds, device)
    seconds, whole = spent["fast"], spent["slow"] * batch / part
    return Speed(name, seconds, batch / seconds, reference, whole, seconds / whole)


def table_speed(rounds: int) -> Speed:
    """Entries of the value tables, by arrays against asking the functions for every pair of values."""
    form, algebra = normal_form(GRAMMAR), interpret(GRAMMAR, Arithmetic)
    by_arrays = partial(compile_tables, form, algebra, 7, BUDGET, at_once=partial(at_once, algebra))
    pair_by_pair = partial(compile_tables, form, algebra, 7, BUDGET)
    entries = by_arrays().entries
    name, reference, cpu = "table entry, length 7", "pair by pair", torch.device("cpu")
    return compare(name, by_arrays, reference, pair_by_pair, cpu, rounds, entries, entries)


def parsing_speeds(device: torch.device, rounds: int) -> list[Speed]:
    """The chart against the generalized Earley parser."""
    speeds = []
    for length, part in ((7, 8), (19, 2)):
        log_probs = _unsure(length, torch.Generator().manual_seed(0))
        fast, slow = partial(_best, log_probs.to(device)), partial(_parses, log_probs[:part].double())
        name = f"best parse, length {length}"
        speeds.append(compare(name, fast, "generalized Earley", slow, device, rounds, part))
    return speeds


def _best(log_probs: Tensor) -> Sentences:
    return independent(GRAMMAR, log_probs).best()


def _parses(log_probs: Tensor) -> object:
    return [parse_aligned(GRAMMAR, row) for row in log_probs]


def search_speeds(device: torch.device, rounds: int, part: int = 8) -> list[Speed]:
    """Batched back-search against the reference."""
    log_probs, answers = lattice(7, device)
    p = independent(GRAMMAR, log_probs)
    start = p.best()
    reasons = reasoner(GRAMMAR, Arithmetic, Examples.of(list(log_probs), answers))
    generator = torch.Generator(device).manual_seed(0)
    rows = log_probs[:part].cpu()
    reference_generator = torch.Generator().manual_seed(0)

    def one_by_one() -> list[object]:
        return [one_step(GRAMMAR, Arithmetic, rows[b], answers[b], start[b]) for b in range(part)]

    def chain_by_chain() -> list[object]:
        return [
            multi_step(GRAMMAR, Arithmetic, rows[b], answers[b], start[b], generator=reference_generator)
            for b in range(part)
        ]

    given = start.symbols, p.score, reasons.edits, reasons.judge
    one = partial(back_search, *given)
    many = partial(sample_corrections, *given, ChainSettings(steps=5), generator)
    return [
        compare("1-BS, length 7", one, "Algorithm 1, one by one", one_by_one, device, rounds, part),
        compare("m-BS(5), length 7", many, "Algorithm 2, one by one", chain_by_chain, device, rounds, part),
    ]


def le_net() -> nn.Sequential:
    """Two 3x3 convolutions of 32 and 64 channels, each halved by pooling, and 128 hidden units."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * (IMAGE // 4) ** 2, 128),
        nn.ReLU(),
        nn.Linear(128, len(GRAMMAR.symbols)),
    )


def posterior_share(device: torch.device, rounds: int) -> Speed:
    """The posterior's forward and backward pass against the network's, for 64 formulas of 7 symbols."""
    log_probs, answers = lattice(7, device)
    images = torch.randn(BATCH * 7, 1, IMAGE, IMAGE, device=device)
    network = le_net().to(device)

    def posterior_step() -> None:
        scores = log_probs.clone().requires_grad_()
        posterior(GRAMMAR, Arithmetic, scores, None, answers).log_z.sum().backward()  # type: ignore[no-untyped-call]

    def network_step() -> None:
        network(images).log_softmax(-1).sum().backward()

    name, reference = "posterior step, length 7", "LeNet forward and backward"
    return compare(name, posterior_step, reference, network_step, device, rounds, BATCH)


def training_steps(device: torch.device, rounds: int) -> dict[str, float]:
    """Seconds of a whole training step of LeNet (forward, loss, backward, Adam) by objective.

    The methods look the answers up beforehand, as in a training loop. The last objective calls the public
    function, which checks its input and looks the answers up in every step.
    """
    _, answers = lattice(7, torch.device("cpu"))
    images = torch.randn(BATCH, 7, 1, IMAGE, IMAGE)
    generator = torch.Generator(device).manual_seed(0)
    labels = torch.randint(len(GRAMMAR.symbols), (BATCH, 7), generator=torch.Generator().manual_seed(0))
    examples = Examples.of(list(images), answers, labels.tolist()).to(device)
    batch, reasons = examples.batch(np.arange(BATCH)), reasoner(GRAMMAR, Arithmetic, examples)

    def method(name: str) -> Callable[[Tensor], Tensor]:
        objective = Objective(METHODS[name](examples), reasons, generator)
        return lambda logits: objective(logits, batch).value

    def called_posterior(logits: Tensor) -> Tensor:
        return -posterior(GRAMMAR, Arithmetic, batch.log_probs(logits), None, answers).log_z.mean()

    objectives = {
        "supervised": method("supervised"),
        "posterior": method("posterior"),
        "m-BS(5)": method("m-bs"),
        "posterior, by ngs.posterior": called_posterior,
    }
    steps = {name: _trainer(objective, batch.inputs, device) for name, objective in objectives.items()}
    return timed(steps, rounds, device)


def _trainer(
    objective: Callable[[Tensor], Tensor], images: Tensor, device: torch.device
) -> Callable[[], None]:
    torch.manual_seed(0)
    network = le_net().to(device)
    adam = torch.optim.Adam(network.parameters(), 5e-4, fused=device.type == "cuda")

    def step() -> None:
        adam.zero_grad()
        objective(network(images)).backward()  # type: ignore[no-untyped-call]
        adam.step()

    return step


def compile_cost() -> dict[str, float]:
    """Seconds and peak memory (MB, of the whole process before and after) of the length-7 circuit."""
    before = peak_memory_mb() or nan
    begin = time.perf_counter()
    circuit = value_circuit(GRAMMAR, Arithmetic, 7, BUDGET, torch.device("cpu"))
    seconds = time.perf_counter() - begin
    after = peak_memory_mb() or nan
    return {
        "seconds": seconds,
        "process_mb": after,
        "added_mb": after - before,
        "rows": circuit.rows,
        "edges": circuit.edges,
    }


def run(device: torch.device, rounds: int = 21) -> Results:
    """Every measurement, the machine it ran on, and the promises it keeps or misses."""
    compiled = compile_cost()  # first: nothing is cached yet
    speeds = [
        table_speed(rounds),
        *parsing_speeds(device, rounds),
        *search_speeds(device, rounds),
        posterior_share(device, rounds),
    ]
    steps = training_steps(device, rounds)
    targets = promises(device, speeds, steps, compiled)
    return {
        "machine": machine(device),
        "rounds": rounds,
        "batch": BATCH,
        "compile": compiled,
        "speeds": [asdict(speed) for speed in speeds],
        "training_step_seconds": steps,
        "targets": [asdict(target) for target in targets],
    }


def promises(
    device: torch.device, speeds: Sequence[Speed], steps: Mapping[str, float], compiled: Mapping[str, float]
) -> list[Target]:
    by_name = {speed.name: speed for speed in speeds}
    supervised = steps["supervised"]
    if device.type == "cuda":
        return [
            at_most("posterior step / supervised step", steps["posterior"] / supervised, 1.3),
            at_most("m-BS(5) step / supervised step", steps["m-BS(5)"] / supervised, 2.0),
        ]
    return [
        at_least("length-7 parses a second, batch 64", by_name["best parse, length 7"].per_second, 5_000),
        at_least("one-step corrections a second", by_name["1-BS, length 7"].per_second, 20_000),
        at_most("posterior step / LeNet step", by_name["posterior step, length 7"].ratio, 0.15),
        at_most("seconds to compile length 7", compiled["seconds"], 10),
        at_most("MB of the process after compiling", compiled["process_mb"], 1024),
    ]


def at_least(what: str, measured: float, bound: float) -> Target:
    return Target(f"{what}: at least {bound:g}", measured, measured >= bound)


def at_most(what: str, measured: float, bound: float) -> Target:
    return Target(f"{what}: at most {bound:g}", measured, measured <= bound)


def machine(device: torch.device) -> dict[str, object]:
    facts = environment(device)
    return {name: facts[name] for name in ("device", "threads", "python")} | {"torch": torch.__version__}


ShownTable = tuple[str, list[str], list[list[str]]]
"""title, header, rows"""


def tables(results: Results) -> list[ShownTable]:
    machine_name = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    rows = [
        [
            speed["name"],
            f"{speed['per_second']:,.0f}",
            f"{1000 * speed['seconds']:.2f}",
            speed["reference"],
            f"{1000 * speed['reference_seconds']:.1f}",
            f"{1 / speed['ratio']:.1f}",
        ]
        for speed in results["speeds"]
    ]
    head = ["what", "a second", "ms", "reference", "its ms", "times faster"]
    return [
        (f"Speed for a batch of {results['batch']} ({machine_name})", head, rows),
        table_of_steps("One training step of LeNet on 448 images", results["training_step_seconds"]),
        table_of_promises(results["targets"]),
    ]


def table_of_steps(title: str, seconds: Mapping[str, float]) -> ShownTable:
    """By method or objective, against a supervised step."""
    supervised = seconds["supervised"]
    rows = [[name, f"{1000 * s:.2f}", f"{s / supervised:.2f}"] for name, s in seconds.items()]
    return title, ["method", "ms a step", "times supervised"], rows


def table_of_promises(targets: Sequence[Mapping[str, Any]]) -> ShownTable:
    rows = [[t["promise"], f"{t['measured']:,.3g}", "yes" if t["kept"] else "no"] for t in targets]
    return "Promises", ["promise", "measured", "kept"], rows


def as_markdown(results: Results) -> str:
    return "\n".join(f"### {title}\n\n{rows_of(head, rows)}\n" for title, head, rows in tables(results))
