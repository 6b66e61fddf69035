"""The kernels for GPUs in Triton's interpreter, on a CPU, against the plain engines.

It runs the same operations on small inputs, one program after the other. What only a GPU can show (threads
that are too early or too late, rounding) is for tests/test_gpu.py and its like, which run compiled kernels.
"""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ngs.networks.decoding import Policy, kernel_decoder
from ngs.networks.pointer import PointerNetwork, Size
from ngs.parsing.arrangement import AnyOrder, legal_along
from ngs.parsing.decode import PAD
from ngs.tasks.clevr import batched_execution as batched_programs
from ngs.tasks.clevr import language as language_module
from ngs.tasks.clevr.batched_execution import SceneTables, execute_batch
from ngs.tasks.clevr.execution import Unique, lenient, strict
from ngs.tasks.clevr.language import Programs, TidyPrograms
from ngs.tasks.clevr.program import MODULES
from tests.kernels import needs_the_interpreter, needs_triton, on_any_device, without_warnings
from tests.networks import asked as asking
from tests.tasks.clevr.programs import counts_of, encoded, random_programs
from tests.tasks.clevr.test_execution import random_scene, random_source

pytestmark = [needs_triton, needs_the_interpreter, on_any_device, without_warnings]
CPU = torch.device("cpu")


@pytest.mark.parametrize("unique", [strict, lenient])
def test_programs_are_executed_and_judged(unique: Unique) -> None:
    rng = random_source()
    tables = SceneTables.of([random_scene(rng) for _ in range(9)])
    programs = random_programs(rng, 200, 12)
    scenes, questions = torch.tensor(rng.choices(range(9), k=50)), torch.tensor(rng.choices(range(50), k=200))
    columns = encoded(programs, extra=1)
    shuffled = columns[:, torch.randperm(columns.shape[1])]  # few of them are programs
    for each in (shuffled, columns):
        want = execute_batch(tables, each, scenes[questions], unique)
        have = batched_programs._executed_by_kernel(tables, each, scenes[questions], unique)
        assert torch.equal(have, want)
        answers = want[torch.searchsorted(questions.sort().values, torch.arange(50)).clamp(max=199)]
        judged = batched_programs._judged_by_kernel(tables, each, questions, scenes, answers, unique)
        assert torch.equal(judged, want == answers[questions])
    assert 0 < judged.sum() < 200
    unknown = torch.full((2, 3), 99)
    assert (batched_programs._executed_by_kernel(tables, unknown, scenes[:2], unique) < 0).all()


def test_rules_know_the_numbers_of_the_language() -> None:
    from ngs.kernels import program_rules

    names = ("NOTHING", "TRUTH", "INTEGER", "CONCEPT", "OBJECT", "OBJECTS")
    for name in (*names, "NEED_AT", "RANK_AT", "SCENE_AT", "BRANCHES_AT"):
        assert getattr(program_rules, name).value == getattr(language_module, name), name
    assert program_rules.RANKS.value == len(language_module.ORDER)


@pytest.mark.parametrize("language", [AnyOrder(), Programs(), TidyPrograms()])
def test_legality(language: AnyOrder | Programs) -> None:
    """Also of programs in the wrong order, and of those that are cut short."""
    from ngs.kernels import legal_symbols

    programs = random_programs(random_source(), 30, 12)
    counts, columns = counts_of(programs), encoded(programs, extra=1)
    rule = language.rule(counts.shape[1], CPU)
    for each in (columns, columns.flip(1), columns.masked_fill(torch.arange(columns.shape[1]) > 4, PAD)):
        legal = legal_symbols.legal_along(rule.function, rule.facts, counts, each)
        assert torch.equal(legal, legal_along(language, counts, each))
    assert len(legal_symbols.legal_along(rule.function, rule.facts, counts[:0], columns[:0])) == 0


@pytest.mark.parametrize(
    ("language", "layers", "copies"),
    [(AnyOrder(), 1, False), (Programs(), 2, True), (TidyPrograms(), 3, True)],
)
@torch.no_grad()
def test_decoding(language: AnyOrder | Programs, layers: int, copies: bool) -> None:
    from ngs.kernels.decoder import MOST_ROWS, greedy, sampling
    from ngs.kernels.sequence_log_probs import sequence_log_probs

    rng = random_source()
    programs = random_programs(rng, 10, 8)
    columns, asked = encoded(programs), asking.questions(rng, programs)
    time = columns.shape[1]
    torch.manual_seed(rng.randrange(2**32))
    network = PointerNetwork(asking.WORDS, len(MODULES), size=Size(32, 12, layers), copies=copies)
    policy = Policy(network(asked), language, time)
    decoder = kernel_decoder(policy.encoded, language.rule(len(MODULES), CPU), torch.float32)
    short = columns.masked_fill(torch.arange(time) >= 3, PAD)
    for each in (columns, columns.flip(1), short, torch.full_like(columns, PAD)):
        assert torch.allclose(
            sequence_log_probs(decoder, policy.rows, each), policy.log_probs(policy.rows, each), atol=1e-4
        )
    rows = torch.tensor(rng.choices(range(10), k=40))
    want = policy.log_probs(rows, columns[rows])
    assert (
        torch.allclose(sequence_log_probs(decoder, rows, columns[rows]), want, atol=1e-4)
        and want.isfinite().all()
    )
    assert len(sequence_log_probs(decoder, rows[:0], columns[:0])) == 0
    best, log_p = decoder.decode(policy.rows, time, greedy(policy.rows))
    assert torch.equal(best, policy.likeliest()[0][:, 0])
    assert torch.allclose(log_p, policy.likeliest()[1][:, 0], atol=1e-4)
    rows = torch.tensor([3, 3, 0, 9, 1])
    drawn, log_p = decoder.decode(rows, time, sampling(rows, time, len(MODULES), torch.Generator()))
    assert torch.allclose(log_p, policy.log_probs(rows, drawn), atol=1e-4)
    assert torch.equal(drawn.sort(1).values, columns[rows].sort(1).values)
    nobody, _ = decoder.decode(rows[:0], time, greedy(rows[:0]))
    assert nobody.shape == (0, time)
    with pytest.raises(ValueError, match="at most"):
        decoder.decode(rows[:1].expand(MOST_ROWS + 1), time, greedy(rows))


@torch.no_grad()
def test_log_p_of_long_arrangements_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 16 modules at once, by few programs: each takes several rows, and each row several parts."""
    from ngs.kernels import sequence_log_probs as kernel

    rng = random_source()
    programs = [*random_programs(rng, 15, 24), *random_programs(rng, 5, 24, shortest=17)]
    columns = encoded(programs, extra=2)
    network = PointerNetwork(asking.WORDS, len(MODULES), size=Size(16, 12, 2))
    policy = Policy(network(asking.questions(rng, programs)), Programs(), columns.shape[1])
    decoder = kernel_decoder(policy.encoded, Programs().rule(len(MODULES), CPU), torch.float32)
    columns[rng.randrange(20)] = PAD
    for name, number in (("TIMES", 16), ("PROGRAMS", 1), ("AT_ONCE", 17)):
        monkeypatch.setattr(kernel, name, number)
    want = policy.log_probs(policy.rows, columns)
    assert torch.allclose(kernel.sequence_log_probs(decoder, policy.rows, columns), want, atol=1e-4)
    assert want.isfinite().all() and (want < -1).sum() >= 4


@torch.no_grad()
def test_a_decoder_that_has_diverged_chooses_something() -> None:
    from ngs.kernels.decoder import greedy, sampling

    rng = random_source()
    programs = random_programs(rng, 5, 8)
    network = PointerNetwork(asking.WORDS, len(MODULES), size=Size(16, 12, 1))
    network.score.bias.fill_(torch.nan)
    policy = Policy(network(asking.questions(rng, programs)), Programs(), 8)
    decoder = kernel_decoder(policy.encoded, Programs().rule(len(MODULES), CPU), torch.float32)
    for choice in (greedy(policy.rows), sampling(policy.rows, 8, len(MODULES), torch.Generator())):
        columns, _ = decoder.decode(policy.rows, 8, choice)
        assert columns.min() >= PAD and columns.max() < len(MODULES) and (columns[:, 0] >= 0).all()


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
    outputs, *last = Layer.apply(
        inputs.transpose(0, 1), state, cell, *lstm.all_weights[0], counts if ragged else None, False
    )
    have = [outputs.transpose(0, 1), *last]
    learned = [*given, *lstm.parameters()]
    toward = [torch.randn_like(each) for each in want]
    slopes = [torch.autograd.grad(each, learned, toward) for each in (want, have)]
    for one, other in (*zip(want, have, strict=True), *zip(*slopes, strict=True)):
        assert torch.allclose(one, other, atol=1e-4)
