"""The pointer network: padding changes nothing, keywords speak for their modules, everything is learned."""

import subprocess
import sys
from collections.abc import Sequence
from copy import deepcopy
from random import Random

import pytest
import torch
from torch import Tensor

from ngs.grammar.constraint import Given
from ngs.grammar.padding import PAD
from ngs.networks.pointer import Asked, Encoded, PointerNetwork, Size
from ngs.parsing.autoregressive import Autoregressive
from ngs.tasks.clevr.program import GRAMMAR, MODULES, Program
from tests.tasks.clevr.programs import LANGUAGES, counts_of, encoded, random_programs
from tests.tasks.clevr.test_execution import random_source

WORDS = 12


def network(seed: int = 0, *, copies: bool = True, sharpness: float = 3.0) -> PointerNetwork:
    """Random weights, with scores that differ enough to matter."""
    torch.manual_seed(seed)
    made = PointerNetwork(WORDS, len(MODULES), size=Size(hidden=12, embedding=6), copies=copies)
    with torch.no_grad():
        made.score.weight *= sharpness
        made.key.weight *= sharpness
    return made


def questions(rng: Random, programs: Sequence[Program]) -> Asked:
    """Random words for each program, some unknown (0), some that speak of one of its modules."""
    counts = torch.tensor([rng.randint(1, 9) for _ in programs])
    words = torch.full((len(programs), int(counts.max())), PAD)
    keywords = torch.zeros((*words.shape, len(MODULES)))
    for row, (program, count) in enumerate(zip(programs, counts.tolist(), strict=True)):
        words[row, :count] = torch.tensor([rng.randrange(WORDS) for _ in range(count)])
        for word in range(count):
            keywords[row, word, MODULES.index(rng.choice(program))] = rng.choice([0.0, 1.0])
    return Asked(words, keywords)


def alone(asked: Asked, row: int) -> Asked:
    """One question, without the padding of the others."""
    count = int((asked.words[row] != PAD).sum())
    return Asked(asked.words[row : row + 1, :count], asked.keywords[row : row + 1, :count])


def distribution(
    reader: PointerNetwork, asked: Asked, programs: Sequence[Program], name: str = "tidy"
) -> Autoregressive:
    """p(z|x) of questions whose modules are those of the programs, on the device of the questions."""
    device = asked.words.device
    given = Given(multiset=counts_of(programs).to(device))
    return Autoregressive(GRAMMAR, reader(asked), deepcopy(LANGUAGES[name]).to(device), given, given.longest)


def moved(asked: Asked, device: str, dtype: torch.dtype = torch.float32) -> Asked:
    """On a device."""
    return Asked(asked.words.to(device), asked.keywords.to(device, dtype))


def test_a_question_is_read_as_if_it_were_alone() -> None:
    rng = random_source()
    asked, reader = questions(rng, random_programs(rng, 8, 10)), network()
    together = reader(asked)
    for row, count in enumerate((asked.words != PAD).sum(1).tolist()):
        single = reader(alone(asked, row))
        assert torch.allclose(together.keys[row, :count], single.keys[0], atol=1e-6)
        assert torch.allclose(together.values[row, :count], single.values[0], atol=1e-6)
        assert together.padding[row].tolist() == [k >= count for k in range(asked.words.shape[1])]
        for both, one in zip(together.state, single.state, strict=True):
            assert torch.allclose(both[:, row], one[:, 0], atol=1e-6)


def test_following_step_by_step_is_following_at_once() -> None:
    rng = random_source()
    programs = random_programs(rng, 6, 10)
    reader, columns = network(), encoded(programs)
    encoding = reader(questions(rng, programs))
    before = torch.cat([torch.full((6, 1), PAD), columns[:, :-1]], 1)
    at_once, _ = encoding.follow(before)
    for time, symbol in enumerate(before.unbind(1)):
        scores, encoding = encoding.follow(symbol[:, None])
        assert torch.allclose(scores[:, 0], at_once[:, time], atol=1e-5)


def test_rows_can_be_chosen_in_any_order_and_number() -> None:
    rng = random_source()
    programs = random_programs(rng, 4, 10)
    reader, rows = network(), torch.tensor([3, 0, 0, 2, 3])
    encoding = reader(questions(rng, programs))
    first = torch.full((4, 1), PAD)
    scores, _ = encoding.follow(first)
    chosen, _ = encoding.select(rows).follow(first[rows])
    assert torch.allclose(chosen, scores[rows], atol=1e-6)


def without_opinions(*, copies: bool) -> PointerNetwork:
    reader = network(copies=copies)
    torch.nn.init.zeros_(reader.score.weight)
    torch.nn.init.zeros_(reader.score.bias)
    return reader


def test_looking_at_a_keyword_speaks_for_its_module() -> None:
    """The more attention, the higher the score, up to the gain; with nothing else learned."""
    red, blue = MODULES.index("filter_color[red]"), MODULES.index("filter_color[blue]")
    reader = without_opinions(copies=True)
    state = (torch.zeros(2, 1, 12), torch.zeros(2, 1, 12))
    hidden, _ = reader.decoder(reader.module_embedding(torch.tensor([[reader.beginning]])), state)
    keywords = torch.zeros(1, 2, len(MODULES))
    keywords[0, 0, red] = keywords[0, 1, blue] = 1.0
    scores = []
    for gaze in (-300.0, 0.0, 5.0, 300.0):  # at the first word
        keys = torch.cat([gaze * hidden, torch.zeros_like(hidden)], 1)
        padding = torch.zeros(1, 2, dtype=torch.bool)
        read = Encoded(keys, torch.zeros_like(keys), padding, keywords, state, reader)
        given, _ = read.follow(torch.tensor([[PAD]]))
        scores.append(given[0, 0, red].item())
        assert given.sum().item() == pytest.approx(4.0)
        assert given[0, 0, blue].item() == pytest.approx(4.0 - scores[-1], abs=1e-5)
    assert scores == sorted(scores) and len({round(score, 3) for score in scores}) == 4
    assert (scores[0], scores[1], scores[-1]) == pytest.approx((0.0, 2.0, 4.0), abs=1e-2)


def test_without_copies_keywords_say_nothing() -> None:
    rng = random_source()
    asked = questions(rng, random_programs(rng, 5, 8))
    reader = without_opinions(copies=False)
    assert reader.copy_gain is None
    scores, _ = reader(asked).follow(torch.full((5, 1), PAD))
    assert not scores.any()


def test_dropout_is_for_training_alone() -> None:
    rng = random_source()
    asked, first = questions(rng, random_programs(rng, 5, 8)), torch.full((5, 1), PAD)
    size = Size(hidden=12, embedding=6)
    reader = PointerNetwork(WORDS, len(MODULES), size=size, dropout=0.5)
    same = PointerNetwork(WORDS, len(MODULES), size=size)
    same.load_state_dict(reader.state_dict())

    def scores(network: PointerNetwork) -> Tensor:
        return network(asked).follow(first)[0]

    assert not torch.equal(scores(reader.train()), scores(reader))
    assert torch.equal(scores(reader.eval()), scores(same))


def test_mixed_precision_ends_where_the_question_is_read() -> None:
    """The decoder is called outside of it, with weights in single precision."""
    rng = random_source()
    asked, reader = questions(rng, random_programs(rng, 5, 8)), network(sharpness=1.0)
    exact = reader(asked)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = reader(asked)
    first = torch.full((5, 1), PAD)
    for before, after in zip((exact.keys, *exact.state), (mixed.keys, *mixed.state), strict=True):
        assert after.dtype == torch.float32 and torch.allclose(before, after, atol=0.05)
    assert mixed.follow(first)[0].dtype == torch.float32


def test_everything_is_learned() -> None:
    rng = random_source()
    programs = random_programs(rng, 12, 10)
    asked, reader = questions(rng, programs), network()
    p = distribution(reader, asked, programs, "any order")  # elsewhere some have no choice
    p.score(torch.arange(12), encoded(programs)).sum().backward()
    for parameter, weight in reader.named_parameters():
        assert weight.grad is not None and weight.grad.isfinite().all() and weight.grad.any(), parameter
    touched = reader.word_embedding.weight.grad
    assert touched is not None and len(touched) == WORDS
    assert touched.any(1).nonzero().flatten().tolist() == sorted({*asked.words.flatten().tolist()} - {PAD})


WITHOUT_TRITON = """
import sys
sys.modules["triton"] = None  # as where it is not installed
import torch, ngs
from ngs.grammar.constraint import AnyOrder, Given
from ngs.parsing.autoregressive import Autoregressive

network = ngs.SequenceNetwork(words=3, symbols=2).eval()
decoder = network(torch.tensor([[0, 1]]))
grammar = ngs.Grammar.parse('start: letter | start letter\\nletter: "a" | "b"')
p = Autoregressive(grammar, decoder, AnyOrder(2), Given(multiset=torch.tensor([[2, 1]])), 3)
print(sorted(p.best().symbols[0].tolist()))
"""


def test_sentences_are_written_where_triton_is_not_installed() -> None:
    run = subprocess.run([sys.executable, "-c", WITHOUT_TRITON], capture_output=True, text=True)
    assert run.stdout == "[0, 0, 1]\n", run.stderr
