"""The engines on a GPU against the same engines on the CPU."""

import random
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

import ngs
from ngs.experiments.record import METRICS, read_rows
from ngs.experiments.run import train
from ngs.gpu import rounded_products
from ngs.grammar.constraint import Given, enumerate_sentences
from ngs.grammar.library import arithmetic
from ngs.learning.loop import Lesson, Settings, Trainer
from ngs.learning.methods import METHODS, Objective
from ngs.networks.lenet import NETWORKS
from ngs.networks.pointer import Encoded, Memory, PointerNetwork, Size
from ngs.parsing import chart
from ngs.parsing.autoregressive import Autoregressive
from ngs.parsing.circuit import derivation_circuit
from ngs.parsing.derivations import best_derivation, has_kernel, log_total
from ngs.search.back_search import back_search, sample_corrections
from ngs.search.support import Effort
from ngs.tasks.clevr.batched_execution import SceneTables
from ngs.tasks.clevr.examples import Part
from ngs.tasks.clevr.grammars import clevr
from ngs.tasks.clevr.language import Programs, TidyPrograms
from ngs.tasks.clevr.noun_phrases import NounPhrases, TidyEdits, switches
from ngs.tasks.hwf.composition import composed
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.modular_arithmetic import modular_judge
from ngs.tasks.pictures.picture_augmentation import Lighting
from ngs.tasks.pictures.picture_examples import PictureExamples
from ngs.tasks.pictures.picture_images import JoinedImages, RawImages
from ngs.tasks.pictures.rendered_pictures import rendered_pictures
from ngs.tasks.pictures.scene_loss import SceneTargets, Seeing
from ngs.tasks.pictures.scene_network import SCENE_NETWORKS, SceneMaps, SceneNetwork
from ngs.tasks.pictures.seen_objects import seen_objects
from tests.experiments.finished_runs import finished
from tests.networks import asked as asking
from tests.tasks.clevr.programs import LANGUAGES, counts_of, encoded, random_programs
from tests.tasks.clevr.readers import some_questions
from tests.tasks.pictures.picture_folders import few, packed_pictures, short_config
from tests.tasks.pictures.scene_maps import made_targets, perfect_maps

tiles = pytest.importorskip("ngs.kernels.tiles", exc_type=ImportError)
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

GRAMMAR, ARITHMETIC = arithmetic(), ngs.Arithmetic
GPU = "cuda"


@pytest.fixture(params=range(3), ids=lambda seed: f"seed {seed}")
def batch(request):
    """Scores, ragged lengths and reachable answers."""
    generator = torch.Generator().manual_seed(request.param)
    log_probs = (3 * torch.randn(64, 7, 14, generator=generator, dtype=torch.float64)).log_softmax(-1)
    lengths = torch.tensor(random.Random(request.param).choices([1, 3, 5, 7], k=64))
    drawn = ngs.independent(GRAMMAR, log_probs, lengths).sample(generator)
    values = [ngs.evaluate(drawn.tree(b), ARITHMETIC) for b in range(64)]
    return log_probs, lengths, [Fraction(1) if value is ngs.UNDEFINED else value for value in values]


def test_parsing(batch):
    log_probs, lengths, _ = batch
    here = ngs.independent(GRAMMAR, log_probs, lengths)
    there = ngs.independent(GRAMMAR, log_probs.cuda(), lengths.cuda())
    assert_same(here, there)
    drawn = there.sample(torch.Generator("cuda").manual_seed(0))
    assert all(ngs.recognises(GRAMMAR, drawn[b]) for b in range(64))


def assert_same(here, there):
    """Two distributions give the same sentences and the same sums."""
    for one, other in ((here.best(), there.best()), (here.topk(4), there.topk(4))):
        assert torch.equal(one.symbols, other.symbols.cpu())
        assert torch.allclose(one.log_probs, other.log_probs.cpu())
    for name in ("log_z", "marginals", "entropy"):
        assert torch.allclose(getattr(here, name), getattr(there, name).cpu())


def test_parsing_in_one_launch(batch, monkeypatch):
    """The kernel against the plain engine on the same GPU."""
    log_probs = batch[0].cuda()
    circuit = derivation_circuit(GRAMMAR, 7, log_probs.device)
    scores = log_probs.masked_fill(log_probs < -8, -torch.inf).requires_grad_()
    roots = circuit.select([circuit.root(n) for n in batch[1].tolist()])

    def passes():
        totals = log_total(circuit, scores, roots)
        (marginals,) = torch.autograd.grad(totals.sum(), scores)
        return best_derivation(circuit, scores.detach(), roots), totals.detach(), marginals

    assert has_kernel(circuit, scores)
    by_kernel = passes()
    monkeypatch.setattr(chart, "MAX_KERNEL_EDGES", 0)
    for one, other in zip(by_kernel, passes(), strict=True):
        assert torch.allclose(one, other)


CHAIN = ngs.ChainSettings(steps=5, back_search=0.5, epsilon=0.1)


def searched(log_probs, lengths, answers, device, judge=None):
    """What 1-BS and m-BS, with the same draws everywhere, make of the best sentences."""
    inputs = [torch.zeros(length, 1) for length in lengths.tolist()]
    reasons = ngs.reasoner(
        GRAMMAR, ARITHMETIC, ngs.Examples.of(inputs, answers).to(torch.device(device)), judge=judge
    )
    p = ngs.independent(GRAMMAR, log_probs.to(device), lengths.to(device))
    z = ngs.independent(GRAMMAR, log_probs, lengths).best().symbols.to(device)
    asked = z, p.score, reasons.edits, reasons.judge
    return back_search(*asked), sample_corrections(*asked, CHAIN, torch.Generator().manual_seed(0))


@pytest.mark.parametrize("judge", [None, modular_judge], ids=["by tables", "modulo primes"])
def test_corrections(batch, judge):
    pairs = zip(searched(*batch, "cpu", judge), searched(*batch, GPU, judge), strict=True)
    for here, there in pairs:
        assert torch.equal(here.z, there.z.cpu()) and torch.equal(here.found, there.found.cpu())
        assert 0 < here.found.sum() < 64


@pytest.fixture(params=range(3), ids=lambda seed: f"seed {seed}")
def long_batch(request):
    """Formulas too long for tables, with answers one change or two away from the likeliest reading."""
    generator, chance = torch.Generator().manual_seed(request.param), random.Random(request.param)
    log_probs = (3 * torch.randn(64, 31, 14, generator=generator, dtype=torch.float64)).log_softmax(-1)
    lengths = torch.tensor(chance.choices(range(1, 32, 2), k=64))
    readings = ngs.independent(GRAMMAR, log_probs, lengths).best()
    values = []
    for b in range(64):
        changed = list(readings[b])
        for t in chance.choices(range(len(changed)), k=chance.choice([0, 1, 1, 2])):
            changed[t] = chance.choice("+-*/" if t % 2 else "0123456789")
        values.append(ngs.evaluate(ngs.parse(GRAMMAR, changed), ARITHMETIC))
    answers = [Fraction(1) if value is ngs.UNDEFINED else value for value in values]
    return log_probs, lengths, answers


def test_corrections_of_long_formulas(long_batch):
    pairs = zip(
        searched(*long_batch, "cpu", modular_judge), searched(*long_batch, GPU, modular_judge), strict=True
    )
    for here, there in pairs:
        assert torch.equal(here.z, there.z.cpu()) and torch.equal(here.found, there.found.cpu())
        assert 0 < here.found.sum() < 64


def test_learning_from_long_formulas():
    """The whole question as learning asks it: read, correct, judge."""
    data = composed(embedded(train=90, test=60), {7: 1, 15: 1}, train=32, test=1)
    examples = data.examples(data.train).to(torch.device(GPU))
    reasons = ngs.reasoner(GRAMMAR, ARITHMETIC, examples, judge=modular_judge)
    batch = examples.batch(np.arange(32))
    generator = torch.Generator(GPU).manual_seed(0)
    scores = torch.randn(len(batch.inputs), 14, generator=generator, device=GPU)
    p = reasons.distribution(scores + 4 * one_hot(batch.labels[batch.labels != ngs.PAD], 14), batch)
    asked = p.best().symbols, p.score, reasons.edits, reasons.judge_of(batch)
    for found in (back_search(*asked), sample_corrections(*asked, ngs.ChainSettings(), generator)):
        assert found.found.any() and torch.equal(reasons.right(batch, found.z), found.found)


def test_posterior(batch):
    log_probs, lengths, answers = batch
    here = ngs.posterior(GRAMMAR, ARITHMETIC, log_probs, lengths, answers)
    there = ngs.posterior(GRAMMAR, ARITHMETIC, log_probs.cuda(), lengths.cuda(), answers)
    assert_same(here, there)
    drawn = there.sample(torch.Generator("cuda").manual_seed(0))
    assert all(ngs.evaluate(drawn.tree(b), ARITHMETIC) == answers[b] for b in range(64))


PROGRAMS = random_programs(random.Random(0), 60, 14)


@pytest.mark.parametrize("language", [Programs, TidyPrograms])
def test_all_programs_of_a_multiset(language):
    known = Given(multiset=counts_of(PROGRAMS))
    here = enumerate_sentences(language(), known, 50)
    there = enumerate_sentences(language().to(GPU), known.to(torch.device(GPU)), 50)
    assert len(here.rows) > 200 and not here.complete.all()
    for name in ("rows", "sentences", "complete"):
        assert torch.equal(getattr(here, name), getattr(there, name).cpu())


@pytest.mark.parametrize("edits", [switches, partial(TidyEdits, False), TidyEdits])
def test_edits(edits):
    z = encoded(PROGRAMS)
    here, there = edits().neighbours(z), edits().to(GPU).neighbours(z.to(GPU))
    assert torch.equal(here.rows, there.rows.cpu()) and torch.equal(here.symbols, there.symbols.cpu())
    for name in ("mirrored", "meanings"):
        on_cpu, on_gpu = getattr(NounPhrases(), name), getattr(NounPhrases().to(GPU), name)
        assert torch.equal(on_cpu(z), on_gpu(z.to(GPU)).cpu())


def test_a_distribution_over_programs():
    """In double precision: single precision has fewer digits on a GPU."""
    asked, z, rows = asking.questions(random.Random(0), PROGRAMS), encoded(PROGRAMS), torch.arange(60)
    here, there = (
        asking.distribution(
            asking.network().double().to(device), asking.moved(asked, device, torch.float64), PROGRAMS
        )
        for device in ("cpu", GPU)
    )
    assert torch.allclose(here.score(rows, z), there.score(rows.to(GPU), z.to(GPU)).cpu())
    assert torch.allclose(here.topk(4).log_probs, there.topk(4).log_probs.cpu())
    assert torch.equal(here.best().symbols, there.best().symbols.cpu())
    drawn = there.sample(torch.Generator(GPU).manual_seed(0))
    assert torch.allclose(drawn.log_probs.double(), there.score(rows.to(GPU), drawn.symbols))
    assert torch.allclose(drawn.log_probs.double().cpu(), here.score(rows, drawn.symbols.cpu()))


@pytest.mark.parametrize("name", LANGUAGES)
def test_what_may_come_next(name):
    """Also of programs in the wrong order, and of those that are cut short."""
    known, z = Given(multiset=counts_of(PROGRAMS)), encoded(PROGRAMS, extra=1)
    cut = z.masked_fill(torch.arange(z.shape[1]) > 4, ngs.PAD)
    here, there = LANGUAGES[name], deepcopy(LANGUAGES[name]).to(GPU)
    for each in (z, z.flip(1), cut):
        on_gpu = there.masks(known.to(torch.device(GPU)), each.to(GPU))
        assert torch.equal(here.masks(known, each), on_gpu.cpu())


def on_cpu(p: Autoregressive, name: str) -> Autoregressive:
    """The same probabilities, by the plain engine."""
    memory, state = p.decoder.memory, p.decoder.state
    decoder = Encoded(
        Memory(*(part.cpu() for part in vars(memory).values())),
        (state[0].cpu(), state[1].cpu()),
        deepcopy(p.decoder.reader).cpu(),
    )
    return replace(p, decoder=decoder, constraint=LANGUAGES[name], given=p.given.to(torch.device("cpu")))


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("layers, hidden", [(1, 64), (2, 256), (2, 128), (3, 32)])
@pytest.mark.parametrize("name", LANGUAGES)
def test_a_decoder_by_a_kernel(name, layers, hidden, copies):
    """As the plain engine on the CPU, up to the rounding of products."""
    torch.manual_seed(0)
    size = Size(hidden, 24, layers)
    network = PointerNetwork(asking.WORDS, len(clevr().symbols), size=size, copies=copies).to(GPU)
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(1.5)
    asked = asking.moved(asking.questions(random.Random(0), PROGRAMS), GPU)
    z, every = encoded(PROGRAMS).to(GPU), torch.arange(60, device=GPU)
    with rounded_products(), torch.no_grad():
        by_kernel = asking.distribution(network, asked, PROGRAMS, name)
        assert by_kernel._accelerated is not None
        plain = on_cpu(by_kernel, name)
        for each in (z, z.flip(1)):
            here, there = plain.score(every.cpu(), each.cpu()), by_kernel.score(every, each)
            assert torch.equal(here.isneginf(), there.isneginf().cpu())
            assert torch.allclose(here, there.cpu(), atol=0.02)
        here, there = plain.best(), by_kernel.best()
        assert torch.allclose(here.log_probs, there.log_probs.cpu(), atol=0.02)
        assert (here.symbols == there.symbols.cpu()).all(1).float().mean() > 0.9  # where two are as likely
        drawn = by_kernel.sample(torch.Generator(GPU).manual_seed(0))
        exact = plain.score(every.cpu(), drawn.symbols.cpu())
        assert torch.allclose(drawn.log_probs.double().cpu(), exact, atol=0.02)
        with torch.enable_grad():
            taught = by_kernel.score(every, drawn.symbols)
        assert taught.requires_grad and torch.allclose(drawn.log_probs.double(), taught, atol=0.02)


def test_samples_by_a_kernel_have_their_probabilities():
    program = next(each for each in PROGRAMS if 6 <= len(each) <= 8)
    every = enumerate_sentences(Programs(), Given(multiset=counts_of([program])), 500)
    assert every.complete.all() and len(every.sentences) > 5
    asked = asking.moved(asking.questions(random.Random(0), [program]), GPU)
    torch.manual_seed(0)
    network = PointerNetwork(asking.WORDS, len(clevr().symbols), size=Size(32, 24)).to(GPU)
    with rounded_products(), torch.no_grad():
        p = asking.distribution(network, asked, [program], "grammar")
        many = p.select(torch.zeros(20_000, dtype=torch.long, device=GPU))
        drawn = many.sample(torch.Generator(GPU)).symbols
        exact = p.score(every.rows.to(GPU), every.sentences.to(GPU)).exp().cpu()
    shares = (drawn.cpu()[:, None] == every.sentences).all(2).double().mean(0)
    assert shares.sum().item() == pytest.approx(1) and exact.sum().item() == pytest.approx(1, abs=1e-3)
    assert (shares - exact).abs().max() < 0.02


@pytest.mark.parametrize("why", ["dropout", "exact products", "float64", "no whole tiles", "no memory"])
def test_the_plain_engine_is_used_where_the_kernel_is_not_made_for_it(why, monkeypatch):
    if why == "no memory":
        monkeypatch.setattr(tiles, "shared_memory", lambda device: 1000)
    size = Size(96 if why == "no whole tiles" else 32, 24)
    dtype = torch.float64 if why == "float64" else torch.float32
    dropout = 0.5 if why == "dropout" else 0.0
    network = PointerNetwork(asking.WORDS, len(clevr().symbols), size=size, dropout=dropout).to(GPU, dtype)
    asked = asking.moved(asking.questions(random.Random(0), PROGRAMS), GPU, dtype)
    with nullcontext() if why == "exact products" else rounded_products(), torch.no_grad():
        p = asking.distribution(network, asked, PROGRAMS, "grammar")
        assert p._accelerated is None
        drawn = p.sample(torch.Generator(GPU))
    assert drawn.log_probs.isfinite().all()
    assert torch.equal(drawn.symbols.sort(1).values.cpu(), encoded(PROGRAMS).sort(1).values)


def part_on(device: str) -> Part:
    """Some questions to learn from."""
    data, there = some_questions(), torch.device(device)
    tables = SceneTables.of(data.scenes).to(there)
    return Part.of(data.train.select(range(12)), tables, TidyPrograms().to(there), there)


def pointer_network() -> PointerNetwork:
    torch.manual_seed(0)
    return PointerNetwork(len(some_questions().vocabulary), len(clevr().symbols), size=Size(12, 6))


def test_corrections_of_programs():
    part, generator = part_on(GPU), torch.Generator(GPU).manual_seed(0)
    reasons, batch = part.reasoner(TidyEdits()), part.examples.batch(np.arange(12))
    with torch.no_grad():
        p = reasons.distribution(pointer_network().to(GPU)(batch.inputs), batch)
        first, judge = p.sample(generator).symbols, reasons.judge_of(batch)
        found = sample_corrections(first, p.score, reasons.edits, judge, ngs.ChainSettings(), generator)
    assert found.found.any()
    assert torch.equal(reasons.right(batch, found.z), found.found)
    assert torch.equal(found.z.sort(1).values, first.sort(1).values)


@pytest.mark.parametrize("name", METHODS)
def test_methods_over_programs(name):
    """Some questions that can be answered, and a batch of those that cannot: nothing to take the loss of."""
    part, reader = part_on(GPU), pointer_network().to(GPU)
    nowhere = replace(part, judge=replace(part.judge, answers=torch.full_like(part.judge.answers, -5)))
    for each in (part, nowhere):
        reasons = each.reasoner(TidyEdits(), Effort(enumerated=12))
        generator = torch.Generator(GPU).manual_seed(0)
        objective = Objective(METHODS[name](each.examples), reasons, generator)
        batch = each.examples.batch(np.arange(12))
        loss = objective(reader(batch.inputs), batch).value
        slopes = torch.autograd.grad(loss, [*reader.parameters()], allow_unused=True)
        taught = any(slope is not None and slope.any() for slope in slopes)
        assert loss.isfinite() and taught == (each is part or name == "supervised")
        assert all(slope is None or slope.isfinite().all() for slope in slopes)
        objective.load_state_dict(objective.state_dict())


def test_the_posterior_of_programs():
    losses = []
    for device in ("cpu", GPU):
        part = part_on(device)
        reasons = part.reasoner(TidyEdits(), Effort(enumerated=60, few=60))
        objective = Objective(METHODS["posterior"](part.examples), reasons, torch.Generator(device))
        chosen = reasons.plan.exact.cpu().nonzero().flatten().numpy()
        batch = part.examples.batch(chosen)
        losses.append(objective(pointer_network().to(device)(batch.inputs), batch).value.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-2)


def test_the_average_of_a_recurrent_network():
    """Is read as it is: cuDNN warns, and a warning fails here, where a copy's weights lie apart in memory."""
    part = part_on(GPU)
    reasons = part.reasoner()
    objective = Objective(METHODS["supervised"](part.examples), reasons, torch.Generator(GPU))
    settings = Settings(batch_size=4, learning_rate=0.01, averaging=0.5)
    lesson = Lesson("supervised", part.examples, objective, 2)
    trainer = Trainer(pointer_network(), [lesson], settings)
    assert len(list(trainer)) == 2
    batch = part.examples.batch(np.arange(12))
    assert len(reasons.distribution(trainer.learned(batch.inputs), batch).best().symbols) == 12


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_symbols(name):
    """Scores and gradients, in double precision: in float32 the GPU's convolutions round to ten bits."""
    torch.manual_seed(0)
    network, ink = NETWORKS[name](14).double().eval(), torch.rand(12, 1, 45, 45, dtype=torch.float64)

    def scores_and_slopes(device):
        network.zero_grad()
        scores = network.to(device)(ink.to(device))
        scores.square().sum().backward()
        return [scores.detach().cpu(), *(each.grad.cpu() for each in network.parameters())]

    for here, there in zip(scores_and_slopes("cpu"), scores_and_slopes(GPU), strict=True):
        assert (there - here).norm() <= 1e-9 * here.norm()


def test_images_go_on_after_a_checkpoint():
    """Weights in the layout of convolutions, and what the optimizer keeps of them, come back as they were."""
    data = embedded(train=24, test=1, train_writers=2)
    examples = data.examples(data.train).to(torch.device(GPU))
    reasons = ngs.reasoner(GRAMMAR, ARITHMETIC, examples)

    def training() -> Trainer:
        torch.manual_seed(0)
        objective = Objective(METHODS["supervised"](examples), reasons, torch.Generator(GPU))
        lesson = Lesson("supervised", examples, objective, 5)
        return Trainer(
            NETWORKS["small"](len(GRAMMAR.symbols)), [lesson], Settings(batch_size=8, averaging=0.5)
        )

    losses = [float(step.loss) for step in training()]
    begun = training()
    for step in begun:
        if step.number == 2:
            break
    tensors, place = begun.state()
    resumed = training()
    resumed.restore({name: tensor.cpu() for name, tensor in tensors.items()}, place)
    assert [float(step.loss) for step in resumed] == pytest.approx(losses[2:], rel=1e-3)


# Pictures of scenes


def test_rendered_pictures():
    """The same scenes, cameras and lamps, so that no more than rounding tells the images apart."""
    here, there = few(), rendered_pictures(len(few()), 5, torch.device(GPU))
    numbers = np.arange(len(here))
    assert there.decoded(numbers).is_cuda and torch.equal(here.cameras, there.cameras)
    assert [scene.name for scene in here.scenes] == [scene.name for scene in there.scenes]
    assert (here.boxes - there.boxes).abs().max() <= 2
    assert (here.visible - there.visible).abs().max() <= 5
    apart = (here.decoded(numbers).int() - there.decoded(numbers).cpu().int()).abs()
    assert (apart <= 2).float().mean() > 0.999 and apart.float().mean() < 0.1


def test_images_of_two_devices_are_joined():
    pixels = few().decoded(np.arange(6))
    images = JoinedImages.of(RawImages.of(pixels[:2]), RawImages.of(pixels[2:].to(GPU)))
    for numbers in ([5, 0, 3, 0], [0, 1], [4], []):
        found = images.decoded(np.array(numbers, dtype=np.int64))
        assert torch.equal(found.cpu(), pixels[numbers]), numbers
    examples = PictureExamples.of(few(), torch.device(GPU))
    assert examples.batch(np.array([1])).inputs.is_cuda, "pictures are kept elsewhere than the network"


def test_pictures_are_changed():
    pixels = few().decoded(np.arange(6))
    here, there = (Lighting()(each, torch.Generator().manual_seed(0)) for each in (pixels, pixels.to(GPU)))
    assert torch.allclose(here, there.cpu(), atol=1e-4)
    drawn = Lighting()(pixels.to(GPU), torch.Generator(GPU).manual_seed(0))
    assert drawn.is_cuda and drawn.min() >= 0 and drawn.max() <= 1


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_a_step_of_seeing(precision):
    examples = PictureExamples.of(few(), torch.device(GPU))
    torch.manual_seed(0)
    network = SceneNetwork(SCENE_NETWORKS["small"])
    before = [weight.detach().clone() for weight in network.parameters()]
    settings = Settings(batch_size=4, precision=precision, averaging=0.5)
    trainer = Trainer(network, [Lesson("scenes", examples, Seeing(), 1)], settings, augment=Lighting())
    (step,) = trainer
    assert step.loss.is_cuda and step.loss.isfinite()
    assert all(part.isfinite() for part in step.measures.values())
    after = list(network.parameters())
    assert any(not torch.equal(old, new.cpu()) for old, new in zip(before, after, strict=True))
    assert all(weight.isfinite().all() for weight in after)


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_of_seeing(seed):
    truth = made_targets(seed)
    random = torch.Generator().manual_seed(seed)
    maps = SceneMaps(*(torch.randn(each.shape, generator=random) for each in perfect_maps(truth)))
    there = SceneMaps(*(each.to(GPU) for each in maps))
    here, found = (
        Seeing()(each, Judged(targets))
        for each, targets in ((maps, truth), (there, truth.to(torch.device(GPU))))
    )
    assert torch.allclose(here.value, found.value.cpu(), rtol=1e-4)


@dataclass(frozen=True)
class Judged:
    """A batch of which only the truth counts."""

    targets: SceneTargets


@pytest.mark.parametrize("seed", range(3))
def test_decoding_of_scenes(seed):
    maps = perfect_maps(made_targets(seed))
    here, there = seen_objects(maps), seen_objects(SceneMaps(*(each.to(GPU) for each in maps)))
    for one, other in zip(here, there, strict=True):
        assert len(one) == len(other) > 0 and torch.equal(one.camera, other.camera)
        order, others = one.columns.argsort(), other.columns.argsort()  # all are equally sure
        for name in ("scores", "boxes", "columns", "rows"):
            assert torch.allclose(getattr(one, name)[order], getattr(other, name)[others], atol=1e-4), name
        for name, probs in one.attributes.items():
            assert torch.allclose(probs[order], other.attributes[name][others], atol=1e-5), name


def test_a_run_that_sees_goes_on_after_a_checkpoint(tmp_path):
    """Imported images are decoded once and kept on the GPU beside the rendered ones."""
    config = short_config(packed_pictures(tmp_path))
    whole = finished(config, tmp_path / "whole")
    for event in train(config, tmp_path / "run"):
        if event.step == 3 and "validation" in event.row:
            break
    result = finished(config, tmp_path / "run", resume=True)
    assert (result["steps"], result["pictures"]) == (whole["steps"], whole["pictures"]) == (4, 4)
    losses = [
        [row["loss"] for row in read_rows(tmp_path / name / METRICS) if "loss" in row]
        for name in ("whole", "run")
    ]
    assert len(losses[0]) == 4 and losses[1] == pytest.approx(losses[0], rel=1e-2)
