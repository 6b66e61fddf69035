"""`ngs bench`: how fast this machine is, by batches of formulas against one formula after the other."""

import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Annotated, Any

import torch
import typer
from rich.table import Table
from torch import Tensor

from ngs.console.options import device_of
from ngs.console.printing import plain_console, print_json
from ngs.experiments.environment import environment
from ngs.gpu import rounded_products
from ngs.grammar.grammar import arithmetic
from ngs.learning.examples import Examples
from ngs.learning.loop import Settings
from ngs.learning.methods import METHODS
from ngs.networks.lenet import NETWORKS, SIDE
from ngs.parsing.earley import parse_aligned
from ngs.parsing.independent import independent
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import UNDEFINED
from ngs.reasoning.semantics import evaluate
from ngs.search.back_search import ChainSettings, back_search, sample_corrections
from ngs.search.multi_step import multi_step
from ngs.search.one_step import one_step
from ngs.search.reasoner import reasoner
from ngs.search.support import posterior
from ngs.tasks.costs.step_cost import timed
from ngs.tasks.costs.workloads import training_steps

GRAMMAR, LENGTH, BATCH = arithmetic(), 7, 64
FEW = 8  # formulas of the batch that a reference is timed on
WARM_UP = 2

Work = Callable[[], object]
Speed = dict[str, Any]


def compared(rounds: int, name: str, fast: Work, reference: str, slow: Work, part: int = FEW) -> Speed:
    """How soon a batch is done by `fast`, and how soon it would be by `slow`, which does a part of it."""
    spent = timed({"fast": fast, "slow": slow}, rounds, WARM_UP)
    seconds, whole = spent["fast"].median, spent["slow"].median * BATCH / part
    return {
        "name": name,
        "per_second": BATCH / seconds,
        "seconds": seconds,
        "reference": reference,
        "reference_seconds": whole,
        "times_as_fast": whole / seconds,
        "steady": all(each.meets_confidence() for each in spent.values()),
    }


def unsure(length: int) -> tuple[Tensor, list[Fraction]]:
    """Log-probabilities as of an unsure network, and for each example the answer of a likely formula."""
    generator = torch.Generator().manual_seed(0)
    scores = (3 * torch.randn(BATCH, length, len(GRAMMAR.symbols), generator=generator)).log_softmax(-1)
    drawn = independent(GRAMMAR, scores).sample(generator)
    values = [evaluate(drawn.tree(b), Arithmetic) for b in range(BATCH)]
    return scores, [Fraction(0) if value is UNDEFINED else value for value in values]


def parsing_speed(length: int, device: torch.device, rounds: int) -> Speed:
    scores, _ = unsure(length)
    there, few = scores.to(device), scores[:FEW].double()
    return compared(
        rounds,
        f"best parse, length {length}",
        lambda: independent(GRAMMAR, there).best(),
        "generalized Earley",
        lambda: [parse_aligned(GRAMMAR, row) for row in few],
    )


def search_speeds(device: torch.device, rounds: int) -> Iterator[Speed]:
    """1-BS and m-BS."""
    scores, answers = unsure(LENGTH)
    p = independent(GRAMMAR, scores.to(device))
    start, reasons = p.best(), reasoner(GRAMMAR, Arithmetic, Examples.of(list(scores), answers).to(device))
    batch = start.symbols, p.score, reasons.edits, reasons.judge
    alone = [(GRAMMAR, Arithmetic, scores[b], answers[b], start[b]) for b in range(FEW)]

    def each_by(search: Callable[..., object]) -> Work:
        return lambda: [search(*one) for one in alone]

    yield compared(rounds, "1-BS", partial(back_search, *batch), "Algorithm 1", each_by(one_step))
    chain, generators = ChainSettings(steps=5), [torch.Generator(d).manual_seed(0) for d in (device, "cpu")]
    many = partial(sample_corrections, *batch, chain, generators[0])
    by_one = partial(multi_step, chain=chain, generator=generators[1])
    yield compared(rounds, "m-BS(5)", many, "Algorithm 2", each_by(by_one))


def posterior_speed(device: torch.device, rounds: int) -> Speed:
    """Posteriors with their gradients."""
    scores, answers = unsure(LENGTH)
    there = scores.to(device)

    def learn(*parts: slice) -> None:
        for part in parts:
            log_probs = there[part].clone().requires_grad_()
            log_z = posterior(GRAMMAR, Arithmetic, log_probs, None, answers[part]).log_z
            log_z.sum().backward()  # type: ignore[no-untyped-call]

    each = partial(learn, *(slice(b, b + 1) for b in range(FEW)))
    return compared(rounds, "posterior", partial(learn, slice(BATCH)), "one by one", each)


def training_speed(device: torch.device, rounds: int) -> Speed:
    """A step of the small network that learns from answers, against one that learns from labels."""
    scores, answers = unsure(LENGTH)
    images = torch.rand(BATCH, LENGTH, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    labels = independent(GRAMMAR, scores).best().symbols.tolist()
    reasons = reasoner(GRAMMAR, Arithmetic, Examples.of(list(images), answers, labels).to(device))
    network = partial(NETWORKS["small"], len(GRAMMAR.symbols))
    methods = {name: METHODS[name] for name in ("posterior", "supervised")}
    steps = training_steps(methods, reasons, network, Settings(BATCH), WARM_UP + rounds)
    return compared(rounds, "training", steps["posterior"], "from labels", steps["supervised"], part=BATCH)


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
    speeds = [
        *(parsing_speed(length, there, rounds) for length in (LENGTH, 19)),
        *search_speeds(there, rounds),
        posterior_speed(there, rounds),
        training_speed(there, rounds),
    ]
    if as_json:
        facts = environment(there, ["ngs", *sys.argv[1:]])
        print_json({"environment": facts, "rounds": rounds, "batch": BATCH, "speeds": speeds})
        return
    title = f"{BATCH} formulas of length {LENGTH}; {there}, threads: {threads}"
    table = Table("", "a second", "times as fast as", "", title=title, title_justify="left")
    for speed in speeds:
        times = f"{speed['times_as_fast']:.1f}{'' if speed['steady'] else ' ?'}"
        table.add_row(speed["name"], f"{speed['per_second']:,.0f}", times, speed["reference"])
    plain_console().print(table)
    plain_console().print("?: the middle half of the rounds spans more than a tenth of their median")
