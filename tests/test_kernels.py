"""The kernels for GPUs in Triton's interpreter, on a CPU, against the plain engines.

It runs the same operations on small inputs, one program after the other. What only a GPU can show (threads
that are too early or too late, rounding) is for tests/test_gpu.py and its like, which run compiled kernels.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ngs.grammar.constraint import Counting
from ngs.grammar.padding import PAD
from ngs.kernels import HAS_TRITON
from ngs.networks.pointer import Encoded, PointerNetwork, Size, kernel_decoder
from ngs.parsing.autoregressive import Autoregressive
from ngs.tasks.clevr import batched_execution as batched_programs
from ngs.tasks.clevr import language as language_module
from ngs.tasks.clevr.batched_execution import SceneTables, execute_batch
from ngs.tasks.clevr.program import MODULES
from ngs.tasks.clevr.semantics import Unique, lenient, strict
from tests.networks import test_pointer as asking
from tests.tasks.clevr.programs import encoded, random_programs
from tests.tasks.clevr.test_execution import random_scene, random_source

if TYPE_CHECKING:
    from ngs.kernels.decoder import Decoder

pytestmark = [
    pytest.mark.skipif(
        not HAS_TRITON and os.environ.get("NGS_TRITON") != "required",
        reason="needs Triton, which comes with PyTorch for GPUs; NGS_TRITON=required to fail without it",
    ),
    pytest.mark.skipif(torch.cuda.is_available(), reason="here the kernels are compiled"),
    pytest.mark.usefixtures("kernels_on_any_device"),
    # NumPy's, of what lanes that are masked or have no example compute.
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]
CPU = torch.device("cpu")


@pytest.mark.parametrize("unique", [strict, lenient])
def test_programs_are_executed_and_judged(unique: Unique) -> None:
    from ngs.kernels.program_execution import executed

    rng, told = random_source(), batched_programs._CONSTANTS
    tables = SceneTables.of([random_scene(rng) for _ in range(9)], unique)
    programs = random_programs(rng, 200, 12)
    scenes, questions = torch.tensor(rng.choices(range(9), k=50)), torch.tensor(rng.choices(range(50), k=200))
    columns = encoded(programs, extra=1)
    shuffled = columns[:, torch.randperm(columns.shape[1])]  # few of them are programs
    for each in (shuffled, columns):
        want = execute_batch(tables, each, scenes[questions])
        assert torch.equal(executed(tables, each, scenes[questions], told), want)
        answers = want[torch.searchsorted(questions.sort().values, torch.arange(50)).clamp(max=199)]
        right = executed(tables, each, scenes, told, (questions, answers))
        assert torch.equal(right, want == answers[questions])
    assert 0 < right.sum() < 200
    unknown = torch.full((2, 3), 99)
    assert (executed(tables, unknown, scenes[:2], told) < 0).all()


def test_rules_know_the_numbers_of_the_language() -> None:
    from ngs.kernels import program_rules

    names = ("NOTHING", "TRUTH", "INTEGER", "CONCEPT", "OBJECT", "OBJECTS")
    for name in (*names, "NEED_AT", "RANK_AT", "SCENE_AT", "BRANCHES_AT"):
        assert getattr(program_rules, name).value == getattr(language_module, name), name
    assert program_rules.RANKS.value == len(language_module.ORDER)


def in_single_precision(p: Autoregressive) -> Decoder:
    """What a network has read, as the kernels take it, with exact products."""
    multiset = p.given.multiset
    assert multiset is not None and isinstance(p.constraint, Counting) and isinstance(p.decoder, Encoded)
    rule = p.constraint.rule()
    assert rule is not None
    return kernel_decoder(p.decoder, multiset, rule, torch.float32)


@pytest.mark.parametrize(
    ("name", "layers", "copies"), [("any order", 1, False), ("grammar", 2, True), ("tidy", 3, True)]
)
@torch.no_grad()
def test_decoding(name: str, layers: int, copies: bool) -> None:
    from ngs.kernels.decoder import MOST_ROWS

    rng = random_source()
    programs = random_programs(rng, 10, 8)
    z = encoded(programs)
    time = z.shape[1]
    torch.manual_seed(rng.randrange(2**32))
    network = PointerNetwork(asking.WORDS, len(MODULES), size=Size(32, 12, layers), copies=copies)
    p = asking.distribution(network, asking.questions(rng, programs), programs, name)
    decoder = in_single_precision(p)

    best, log_p = decoder.best(time)
    assert torch.equal(best, p.best().symbols)
    assert torch.allclose(log_p, p.best().log_probs, atol=1e-4)
    rows = torch.tensor([3, 3, 0, 9, 1])
    drawn, log_p = replace(decoder, rows=rows).sample(time, torch.Generator())
    assert torch.allclose(log_p.double(), p.score(rows, drawn), atol=1e-4)
    assert torch.equal(drawn.sort(1).values, z[rows].sort(1).values)
    nobody, _ = replace(decoder, rows=rows[:0]).best(time)
    assert nobody.shape == (0, time)
    with pytest.raises(ValueError, match="at most"):
        replace(decoder, rows=rows[:1].expand(MOST_ROWS + 1)).best(time)


@torch.no_grad()
def test_a_decoder_that_has_diverged_chooses_something() -> None:
    rng = random_source()
    programs = random_programs(rng, 5, 8)
    network = PointerNetwork(asking.WORDS, len(MODULES), size=Size(16, 12, 1))
    network.score.bias.fill_(torch.nan)
    p = asking.distribution(network, asking.questions(rng, programs), programs, "grammar")
    decoder = in_single_precision(p)
    for z, _ in (decoder.best(8), decoder.sample(8, torch.Generator())):
        assert z.min() >= PAD and z.max() < len(MODULES) and (z[:, 0] >= 0).all()


@pytest.mark.parametrize("ragged", [True, False])
def test_a_layer_of_an_lstm(ragged: bool) -> None:
    from ngs.kernels.lstm import Layer

    torch.manual_seed(random_source().randrange(2**32))
    rows, time, lstm = 19, 5, nn.LSTM(6, 16, batch_first=True)
    counts = torch.randint(1, time + 1, (rows,)) if ragged else torch.full((rows,), time)
    inputs, state, cell = torch.randn(rows, time, 6), torch.randn(rows, 16), torch.randn(rows, 16)
    given = [each.requires_grad_() for each in (inputs, state, cell)]
    packed = pack_padded_sequence(inputs, counts, batch_first=True, enforce_sorted=False)
    outputs, (last_state, last_cell) = lstm(packed, (state[None], cell[None]))
    want = [pad_packed_sequence(outputs, batch_first=True, total_length=time)[0], last_state[0], last_cell[0]]
    outputs, *last = Layer.apply(inputs.transpose(0, 1), state, cell, *lstm.all_weights[0], counts, False)
    have = [outputs.transpose(0, 1), *last]
    learned = [*given, *lstm.parameters()]
    toward = [torch.randn_like(each) for each in want]
    asked = 3 if ragged else 1  # whether the ends matter, too
    slopes = [torch.autograd.grad(each[:asked], learned, toward[:asked]) for each in (want, have)]
    for one, other in (*zip(want, have, strict=True), *zip(*slopes, strict=True)):
        assert torch.allclose(one, other, atol=1e-4)
