"""How fast the core and the parts of CLEVR are, next to references timed in the same run, round by round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from math import nan
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ngs.errors import NGSError
from ngs.experiments.environment import environment, peak_memory_mb
from ngs.experiments.timed_steps import step_times, timed, training_steps
from ngs.grammar.library import arithmetic
from ngs.grammar.normal_form import normal_form
from ngs.learning.examples import Batch, Examples
from ngs.learning.loop import Settings
from ngs.learning.loss import Loss
from ngs.learning.methods import METHODS, MakeMethod, Method
from ngs.parsing.earley import parse_aligned
from ngs.parsing.independent import Independent, independent
from ngs.parsing.tables import compile_tables
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.elementwise import at_once
from ngs.reasoning.operation import UNDEFINED
from ngs.reasoning.semantics import evaluate, interpret
from ngs.search.back_search import ChainSettings, back_search, sample_corrections
from ngs.search.compiled import BUDGET, value_circuit
from ngs.search.multi_step import multi_step
from ngs.search.one_step import one_step
from ngs.search.reasoner import Reasoner, reasoner
from ngs.search.support import posterior
from ngs.tasks.clevr.batched_execution import SceneTables, execute_batch
from ngs.tasks.clevr.dataset import VisualQuestions
from ngs.tasks.clevr.dictionary import modules_of
from ngs.tasks.clevr.execution import execute
from ngs.tasks.clevr.packed import load
from ngs.tasks.clevr.preparation import PreparedQuestions
from ngs.tasks.clevr.question_sampling import questions
from ngs.tasks.clevr.scene_sampling import scenes
from ngs.tasks.clevr.settings import TrainCLEVR

GRAMMAR = arithmetic()
Results = dict[str, Any]
Promise = dict[str, Any]
"""What was promised, the measured figure, and whether it is kept."""
BATCH = 64
IMAGE = 45
REFERENCE_PROGRAMS, BATCHED_PROGRAMS = 2_000, 100_000
"""Executed one by one and (at least) at once in each round."""
SCENES, PER_SCENE = 100, 10
"""Made in each round."""


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


def unsure_scores(length: int, device: torch.device) -> tuple[Tensor, list[Fraction]]:
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
    return [_parsing_speed(7, 8, device, rounds), _parsing_speed(19, 2, device, rounds)]


def _parsing_speed(length: int, part: int, device: torch.device, rounds: int) -> Speed:
    log_probs = _unsure(length, torch.Generator().manual_seed(0))
    there, few = log_probs.to(device), log_probs[:part].double()
    return compare(
        f"best parse, length {length}",
        lambda: independent(GRAMMAR, there).best(),
        "generalized Earley",
        lambda: [parse_aligned(GRAMMAR, row) for row in few],
        device,
        rounds,
        part,
    )


def search_speeds(device: torch.device, rounds: int, part: int = 8) -> list[Speed]:
    """Batched back-search against the reference."""
    log_probs, answers = unsure_scores(7, device)
    p = independent(GRAMMAR, log_probs)
    start = p.best()
    reasons = reasoner(GRAMMAR, Arithmetic, Examples.of(list(log_probs), answers))
    generator = torch.Generator(device).manual_seed(0)
    rows = log_probs[:part].cpu()

    def each_by(search: Callable[..., object], **options: Any) -> Callable[[], object]:
        given = [(GRAMMAR, Arithmetic, rows[b], answers[b], start[b]) for b in range(part)]
        return lambda: [search(*one, **options) for one in given]

    one_by_one = each_by(one_step)
    chain_by_chain = each_by(multi_step, generator=torch.Generator().manual_seed(0))
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
    log_probs, answers = unsure_scores(7, device)
    images = torch.randn(BATCH * 7, 1, IMAGE, IMAGE, device=device)
    network = le_net().to(device)

    def posterior_step() -> None:
        scores = log_probs.clone().requires_grad_()
        posterior(GRAMMAR, Arithmetic, scores, None, answers).log_z.sum().backward()  # type: ignore[no-untyped-call]

    def network_step() -> None:
        network(images).log_softmax(-1).sum().backward()

    name, reference = "posterior step, length 7", "LeNet forward and backward"
    return compare(name, posterior_step, reference, network_step, device, rounds, BATCH)


class CalledPosterior(Method):
    """The posterior by its public function, which checks its input and looks the answers up in every step."""

    def __init__(self, answers: Sequence[Fraction]) -> None:
        super().__init__()
        self.answers = answers

    def forward(self, p: Independent, reasoner: Reasoner, batch: Batch, generator: torch.Generator) -> Loss:
        answers = [self.answers[k] for k in batch.examples.tolist()]
        return Loss(-posterior(GRAMMAR, Arithmetic, p.log_probs, None, answers).log_z.mean())


def objective_times(device: torch.device, rounds: int) -> dict[str, float]:
    """Seconds of a whole training step of LeNet by objective; the methods look the answers up beforehand."""
    _, answers = unsure_scores(7, torch.device("cpu"))
    images = torch.randn(BATCH, 7, 1, IMAGE, IMAGE)
    labels = torch.randint(len(GRAMMAR.symbols), (BATCH, 7), generator=torch.Generator().manual_seed(0))
    examples = Examples.of(list(images), answers, labels.tolist()).to(device)
    methods: dict[str, MakeMethod] = {
        "supervised": METHODS["supervised"],
        "posterior": METHODS["posterior"],
        "m-BS(5)": METHODS["m-bs"],
        "posterior, by ngs.posterior": lambda examples: CalledPosterior(answers),
    }
    settings = Settings(BATCH, learning_rate=5e-4)
    steps = training_steps(methods, reasoner(GRAMMAR, Arithmetic, examples), le_net, settings, 2 + rounds)
    return timed(steps, rounds, device)


def compile_cost() -> dict[str, float]:
    """Seconds and peak memory (MB, of the whole process before and after) of the length-7 circuit."""
    cpu, before = torch.device("cpu"), peak_memory_mb() or nan
    compile_it = partial(value_circuit, GRAMMAR, Arithmetic, 7, BUDGET, cpu)
    seconds = timed({"compile": compile_it}, 1, cpu, warm_up=0)["compile"]
    after, circuit = peak_memory_mb() or nan, compile_it()  # cached by now
    memory = {"process_mb": after, "added_mb": after - before}
    return {"seconds": seconds, **memory, "rows": circuit.rows, "edges": circuit.edges}


def run(device: torch.device, rounds: int = 21) -> Results:
    """Every measurement, the machine it ran on, and the promises it keeps or misses."""
    compiled = compile_cost()  # first: nothing is cached yet
    speeds = [
        table_speed(rounds),
        *parsing_speeds(device, rounds),
        *search_speeds(device, rounds),
        posterior_share(device, rounds),
    ]
    steps = objective_times(device, rounds)
    facts = environment(device)
    machine = {name: facts[name] for name in ("device", "threads", "python")} | {"torch": torch.__version__}
    return {
        "machine": machine,
        "rounds": rounds,
        "batch": BATCH,
        "compile": compiled,
        "speeds": [asdict(speed) for speed in speeds],
        "training_step_seconds": steps,
        "targets": promises(device, speeds, steps, compiled),
    }


def promises(
    device: torch.device, speeds: Sequence[Speed], steps: Mapping[str, float], compiled: Mapping[str, float]
) -> list[Promise]:
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


def at_least(what: str, measured: float, bound: float) -> Promise:
    return {"promise": f"{what}: at least {bound:g}", "measured": measured, "kept": measured >= bound}


def at_most(what: str, measured: float, bound: float) -> Promise:
    return {"promise": f"{what}: at most {bound:g}", "measured": measured, "kept": measured <= bound}


# Questions about scenes


def clevr_speed(
    rounds: int, data: str, device: torch.device, command: Sequence[str] | None = None
) -> Results:
    """What questions about scenes need: executors, dictionary, generator, and a step of each method."""
    questions_of = load(data)
    executed = execution(questions_of, rounds, device)
    validation = questions_of.validation
    words = [validation.text_words(k) for k in range(len(validation))]
    actions = {"understood": lambda: list(map(modules_of, words)), "made": _making}
    spent = timed(actions, rounds, device, warm_up=0)
    made = SCENES * PER_SCENE / spent["made"]
    targets = [
        at_least("programs a second, one by one", executed["reference_per_second"], 5_000),
        at_least("batched execution, times the reference", executed["times_reference"], 100),
        at_least("questions made a second, scenes included, one process", made, 2_000),
    ]
    return {
        "environment": environment(device, command),
        "data": questions_of.name,
        "rounds": rounds,
        "execution": executed,
        "questions_understood_per_second": len(words) / spent["understood"],
        "questions_made_per_second": made,
        "training_step_seconds": step_times(PreparedQuestions(TrainCLEVR(data=data), device), rounds)[
            "seconds"
        ],
        "targets": targets,
    }


def execution(data: VisualQuestions, rounds: int, device: torch.device) -> dict[str, float]:
    """Programs a second by one thread, one by one and many at once, in turn."""
    tables = SceneTables.of(data.scenes).to(device)
    copies = -(-BATCHED_PROGRAMS // len(data.train))
    columns = data.train.programs.padded().repeat(copies, 1).to(device)
    numbers = data.train.scenes.long().repeat(copies).to(device)
    if not (data.train.programs.lengths > 0).all():
        raise NGSError(f"some questions of {data.name} have no program to execute; give other data")
    number = min(REFERENCE_PROGRAMS, len(data.train))
    few = [(data.train.program(k) or (), data.scenes[int(numbers[k])]) for k in range(number)]

    actions = {
        "reference": lambda: [execute(program, scene) for program, scene in few],
        "batched": lambda: execute_batch(tables, columns, numbers),
    }
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as the reference has; waking a second for each small operation costs more
    spent = timed(actions, rounds, device)
    torch.set_num_threads(threads)
    one_by_one, at_once = len(few) / spent["reference"], len(columns) / spent["batched"]
    return {
        "reference_per_second": one_by_one,
        "batched_per_second": at_once,
        "times_reference": at_once / one_by_one,
        "programs_at_once": len(columns),
    }


def _making() -> object:
    random = np.random.default_rng(0)
    return list(questions(scenes(SCENES, random), PER_SCENE, random))
