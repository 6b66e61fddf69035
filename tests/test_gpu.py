"""The engines on a GPU, with and without `ngs.kernels`, against the same engines on the CPU."""

import random
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor

import ngs
import ngs.kernels
from ngs.gpu import rounded_products
from ngs.grammar.constraint import Given, enumerate_sentences
from ngs.grammar.grammar import arithmetic
from ngs.learning.loop import Trainer
from ngs.learning.methods import METHODS
from ngs.networks.lenet import NETWORKS
from ngs.networks.pointer import Encoded, PointerNetwork, Size
from ngs.parsing.autoregressive import Autoregressive
from ngs.search.back_search import back_search, sample_corrections
from ngs.search.judges import TableJudge
from ngs.tasks.clevr.noun_phrases import rearrangements, switches
from ngs.tasks.clevr.preparation import PreparedQuestions
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf.integer_judge import integer_judge
from ngs.tasks.hwf.preparation import PreparedFormulas
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.task import PreparedAnswers
from tests.networks import test_pointer as asking
from tests.tasks.clevr.programs import LANGUAGES, counts_of, encoded, random_programs

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

GPU = torch.device("cuda")
GRAMMAR, ARITHMETIC = arithmetic(), ngs.Arithmetic


@pytest.fixture(params=["kernels", "plain engine"], autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "plain engine":
        for name in ngs.kernels.NAMES:
            monkeypatch.setitem(ngs.kernels.DEVICES, name, ())
    return str(request.param)


def assert_equal(here: Any, there: Any, *names: str) -> None:
    """The same on both devices: whole numbers exactly, others up to rounding."""
    for name in names:
        one, other = getattr(here, name), getattr(there, name).cpu()
        if one.is_floating_point():
            assert torch.allclose(one, other), name
        else:
            assert torch.equal(one, other), name


# Independent scores: arithmetic

Problems = tuple[Tensor, Tensor, list[Fraction]]


@pytest.fixture(params=range(3), ids=lambda seed: f"seed {seed}")
def problems(request: pytest.FixtureRequest) -> Problems:
    """Scores, lengths of 1 to 7 symbols, and answers that some sentence gives."""
    generator = torch.Generator().manual_seed(request.param)
    log_probs = (3 * torch.randn(64, 7, 14, generator=generator, dtype=torch.float64)).log_softmax(-1)
    lengths = torch.tensor(random.Random(request.param).choices([1, 3, 5, 7], k=64))
    drawn = ngs.independent(GRAMMAR, log_probs, lengths).sample(generator)
    values = [ngs.evaluate(drawn.tree(b), ARITHMETIC) for b in range(64)]
    return log_probs, lengths, [Fraction(1) if value is ngs.UNDEFINED else value for value in values]


def assert_same_distribution(here: ngs.Independent, there: ngs.Independent) -> ngs.Sentences:
    """Best sentences, sums and marginals are equal; returns samples of the second."""
    for one, other in ((here.best(), there.best()), (here.topk(4), there.topk(4))):
        assert_equal(one, other, "symbols", "log_probs")
    assert_equal(here, there, "log_z", "marginals", "entropy")
    return there.sample(torch.Generator(GPU).manual_seed(0))


def test_parsing(problems: Problems) -> None:
    log_probs, lengths, _ = problems
    here = ngs.independent(GRAMMAR, log_probs, lengths)
    drawn = assert_same_distribution(here, ngs.independent(GRAMMAR, log_probs.to(GPU), lengths.to(GPU)))
    assert all(ngs.recognises(GRAMMAR, drawn[b]) for b in range(64))


def test_posterior(problems: Problems) -> None:
    log_probs, lengths, answers = problems
    here = ngs.posterior(GRAMMAR, ARITHMETIC, log_probs, lengths, answers)
    there = ngs.posterior(GRAMMAR, ARITHMETIC, log_probs.to(GPU), lengths.to(GPU), answers)
    drawn = assert_same_distribution(here, there)
    assert all(ngs.evaluate(drawn.tree(b), ARITHMETIC) == answers[b] for b in range(64))


@pytest.mark.parametrize("judge", [None, integer_judge], ids=["by tables", "in whole numbers"])
def test_corrections(problems: Problems, judge: Any) -> None:
    """1-BS, and m-BS by the same draws, from the same sentences."""
    log_probs, lengths, answers = problems
    z = ngs.independent(GRAMMAR, log_probs, lengths).best().symbols
    chain, found = ngs.ChainSettings(steps=5, back_search=0.5, epsilon=0.1), []
    for device in (torch.device("cpu"), GPU):
        inputs = [torch.zeros(length, 1) for length in lengths.tolist()]
        examples = ngs.Examples.of(inputs, answers).to(device)
        reasons = ngs.reasoner(GRAMMAR, ARITHMETIC, examples, judge=judge)
        assert judge is not None or isinstance(reasons.judge, TableJudge)
        p = ngs.independent(GRAMMAR, log_probs.to(device), lengths.to(device))
        asked = z.to(device), p.score, reasons.edits, reasons.judge
        draws = torch.Generator().manual_seed(0)
        found.append((back_search(*asked), sample_corrections(*asked, chain, draws)))
    for here, there in zip(*found, strict=True):
        assert_equal(here, there, "z", "found")
        assert 0 < here.found.sum() < 64


# Autoregressive scores: programs

PROGRAMS = random_programs(random.Random(0), 60, 14)
ROWS = torch.arange(60)


@pytest.mark.parametrize("name", LANGUAGES)
def test_what_may_come_next(name: str) -> None:
    """Also of programs in the wrong order, and of those that are cut short."""
    known, z = Given(multiset=counts_of(PROGRAMS)), encoded(PROGRAMS, extra=1)
    here, there = LANGUAGES[name], deepcopy(LANGUAGES[name]).to(GPU)
    for each in (z, z.flip(1), z.masked_fill(torch.arange(z.shape[1]) > 4, ngs.PAD)):
        assert torch.equal(here.masks(known, each), there.masks(known.to(GPU), each.to(GPU)).cpu())
    every = [enumerate_sentences(rule, known.to(z.device), 50) for rule, z in ((here, z), (there, z.to(GPU)))]
    assert_equal(*every, "rows", "sentences", "complete")


@pytest.mark.parametrize("edits", [switches, rearrangements])
def test_edits(edits: Any) -> None:
    z = encoded(PROGRAMS)
    assert_equal(edits().neighbours(z), edits().to(GPU).neighbours(z.to(GPU)), "rows", "symbols")


def test_a_decoder_in_double_precision() -> None:
    """It has no kernel, and agrees to the last digits."""
    asked, z = asking.questions(random.Random(0), PROGRAMS), encoded(PROGRAMS)
    here, there = (
        asking.distribution(
            asking.network().double().to(device), asking.moved(asked, device, torch.float64), PROGRAMS
        )
        for device in ("cpu", GPU.type)
    )
    assert torch.allclose(here.score(ROWS, z), there.score(ROWS.to(GPU), z.to(GPU)).cpu())
    assert torch.allclose(here.topk(4).log_probs, there.topk(4).log_probs.cpu())
    assert torch.equal(here.best().symbols, there.best().symbols.cpu())


def on_cpu(p: Autoregressive, name: str) -> Autoregressive:
    """The same probabilities, by the plain engine."""
    *words, (states, cells), reader = vars(p.decoder).values()
    state = states.cpu(), cells.cpu()
    decoder = Encoded(*(part.cpu() for part in words), state, deepcopy(reader).cpu())
    return replace(p, decoder=decoder, constraint=LANGUAGES[name], given=p.given.to(torch.device("cpu")))


@pytest.mark.parametrize("layers, hidden", [(1, 64), (2, 256), (3, 32)])
@pytest.mark.parametrize("name", LANGUAGES)
def test_a_decoder_with_rounded_products(engine: str, name: str, layers: int, hidden: int) -> None:
    """Scores, best sentences and samples with their probabilities, up to rounding."""
    torch.manual_seed(0)
    network = PointerNetwork(asking.WORDS, len(asking.MODULES), size=Size(hidden, 24, layers)).to(GPU)
    asked = asking.moved(asking.questions(random.Random(0), PROGRAMS), GPU.type)
    with rounded_products(), torch.no_grad():
        p = asking.distribution(network, asked, PROGRAMS, name)
        plain = on_cpu(p, name)
        assert (p._accelerated is not None) == (engine == "kernels")
        drawn = p.sample(torch.Generator(GPU).manual_seed(0))
        for z in (encoded(PROGRAMS), encoded(PROGRAMS).flip(1), drawn.symbols.cpu()):
            here, there = plain.score(ROWS, z), p.score(ROWS.to(GPU), z.to(GPU)).cpu()
            assert torch.equal(here.isneginf(), there.isneginf())
            assert torch.allclose(here, there, atol=0.02)
        assert torch.allclose(drawn.log_probs.double().cpu(), here, atol=0.02)
        assert plain.constraint.contains(plain.given, drawn.symbols.cpu()).all()
        assert torch.allclose(plain.best().log_probs, p.best().log_probs.cpu(), atol=0.02)


# Training


def course(task: str, method: str) -> PreparedAnswers:
    alike: dict[str, Any] = {"batch_size": 16, "averaging": 0.5, "steps": 4, "method": method}
    if task == "hwf":
        return PreparedFormulas(TrainHWF(fraction=0.1, **alike), GPU)
    return PreparedQuestions(TrainCLEVR(fraction=0.05, **alike), GPU)


def training(learner: PreparedAnswers) -> Trainer:
    torch.manual_seed(0)
    return Trainer(learner.network(), learner.lessons(), learner.settings.settings, augment=learner.augment)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("task", ["hwf", "clevr"])
def test_a_training_step(task: str, method: str) -> None:
    learner = course(task, method)
    trainer = training(learner)
    before = [weight.detach().clone() for weight in trainer.network.parameters()]
    step = next(iter(trainer))
    after = list(trainer.network.parameters())
    assert step.loss.isfinite() and all(part.isfinite() for part in step.measures.values())
    assert all(weight.isfinite().all() for weight in after)
    rewarded = step.measures.get("reward", 1) > 0  # policy gradients learn nothing from wrong samples alone
    assert not rewarded or any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))
    assert 0 <= learner.validate(trainer.learned).accuracy <= 1


@pytest.mark.parametrize("task, method", [("hwf", "posterior"), ("hwf", "m-bs"), ("clevr", "mapo")])
def test_training_goes_on_after_a_checkpoint(task: str, method: str) -> None:
    """With the same losses: weights, optimizer, memory and random numbers come back."""
    learner = course(task, method)
    losses = [float(step.loss) for step in training(learner)]
    begun = training(learner)
    for step in begun:
        if step.number == 2:
            break
    tensors, place = begun.state()
    resumed = training(learner)
    resumed.restore({name: tensor.cpu() for name, tensor in tensors.items()}, place)
    assert [float(step.loss) for step in resumed] == pytest.approx(losses[2:], rel=1e-3)


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_symbols(name: str) -> None:
    """Scores and gradients, in double precision: in float32 the GPU's convolutions round to ten bits."""
    torch.manual_seed(0)
    network, ink = NETWORKS[name](14).double().eval(), torch.rand(12, 1, 45, 45, dtype=torch.float64)
    found = []
    for device in (torch.device("cpu"), GPU):
        network.zero_grad()
        scores = network.to(device)(ink.to(device))
        scores.square().sum().backward()
        found.append([scores.detach().cpu(), *(each.grad.cpu() for each in network.parameters())])
    for here, there in zip(*found, strict=True):
        assert (there - here).norm() <= 1e-9 * here.norm()
