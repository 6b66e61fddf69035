"""The engines on a GPU, replayed as CUDA graphs or not, against the same engines on the CPU."""

import random
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

import ngs
from ngs.experiments.record import METRICS, read_rows
from ngs.experiments.run import train
from ngs.gpu import rounded_products
from ngs.learning.loop import Lesson, Settings, Trainer
from ngs.learning.objective import Supervised
from ngs.learning.program_methods import PROGRAM_METHODS, Searching
from ngs.learning.program_posterior import ProgramPosterior
from ngs.learning.reasoner import BEAM, Substituting
from ngs.networks.decoding import Policy
from ngs.networks.lenet import NETWORKS
from ngs.networks.pointer import Encoded, Memory, PointerNetwork, Size
from ngs.parsing import chart
from ngs.parsing.arrangement import AnyOrder, Arranging, arrangements, legal_along
from ngs.parsing.chart import has_kernel, log_total
from ngs.parsing.circuit import derivation_circuit
from ngs.parsing.decode import best_columns
from ngs.search.arrangement import multi_step
from ngs.search.batched import Batch, correct
from ngs.search.batched_walk import walk_batch
from ngs.search.compiled import BUDGET
from ngs.search.multi_step import Draws, Walk
from ngs.search.substitution import Substitutions
from ngs.tasks.clevr.grammars import clevr
from ngs.tasks.clevr.language import Programs, TidyPrograms
from ngs.tasks.clevr.noun_phrases import SWITCHES, TIDY_EDITS, TIDY_SWITCHES, meanings, mirrored
from ngs.tasks.hwf.composition import composed
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.modular_arithmetic import residues
from ngs.tasks.pictures.picture_augmentation import Lighting
from ngs.tasks.pictures.picture_examples import PictureExamples
from ngs.tasks.pictures.picture_images import JoinedImages, RawImages
from ngs.tasks.pictures.rendered_pictures import rendered_pictures
from ngs.tasks.pictures.scene_loss import SceneTargets, Seeing
from ngs.tasks.pictures.scene_network import SCENE_NETWORKS, SceneMaps, SceneNetwork
from ngs.tasks.pictures.seen_objects import seen_objects
from tests.experiments.finished_runs import finished
from tests.learning import program_tasks
from tests.networks import asked as asking
from tests.tasks.clevr.programs import counts_of, encoded, random_programs
from tests.tasks.pictures.picture_folders import few, packed_pictures, short_config
from tests.tasks.pictures.scene_maps import made_targets, perfect_maps

tiles = pytest.importorskip("ngs.kernels.tiles", exc_type=ImportError)
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

GRAMMAR, ARITHMETIC = ngs.arithmetic_grammar(), ngs.Arithmetic
GPU = "cuda"


@pytest.fixture(params=range(3), ids=lambda seed: f"seed {seed}")
def batch(request):
    """Scores, ragged lengths and reachable answers; the same shapes each time, so graphs are replayed."""
    generator = torch.Generator().manual_seed(request.param)
    log_probs = (3 * torch.randn(64, 7, 14, generator=generator, dtype=torch.float64)).log_softmax(-1)
    lengths = torch.tensor(random.Random(request.param).choices([1, 3, 5, 7], k=64))
    drawn = ngs.sample(GRAMMAR, log_probs, lengths, generator=generator)
    values = [ngs.evaluate(drawn.tree(b), ARITHMETIC) for b in range(64)]
    return log_probs, lengths, [Fraction(1) if value is ngs.UNDEFINED else value for value in values]


def test_parsing(batch):
    log_probs, lengths, _ = batch
    on_gpu = log_probs.cuda(), lengths.cuda()
    best, there = ngs.best(GRAMMAR, log_probs, lengths), ngs.best(GRAMMAR, *on_gpu)
    assert torch.equal(best.columns, there.columns.cpu())
    assert torch.allclose(best.log_probs, there.log_probs.cpu())
    ranked, there = ngs.k_best(GRAMMAR, log_probs, lengths, k=4), ngs.k_best(GRAMMAR, *on_gpu, k=4)
    assert torch.equal(ranked.columns, there.columns.cpu())
    total = ngs.log_partition(GRAMMAR, log_probs, lengths)
    assert torch.allclose(total, ngs.log_partition(GRAMMAR, *on_gpu).cpu())
    marginals = ngs.marginals(GRAMMAR, log_probs, lengths)
    assert torch.allclose(marginals, ngs.marginals(GRAMMAR, *on_gpu).cpu())
    drawn = ngs.sample(GRAMMAR, *on_gpu, generator=torch.Generator("cuda").manual_seed(0))
    assert all(ngs.recognises(GRAMMAR, drawn[b]) for b in range(64))


def test_parsing_in_one_launch(batch, monkeypatch):
    """The kernel against the plain engine on the same GPU."""
    circuit, log_probs = derivation_circuit(GRAMMAR, 7), batch[0].cuda()
    scores = log_probs.masked_fill(log_probs < -8, -torch.inf).requires_grad_()
    roots = circuit.select([circuit.root(n) for n in batch[1].tolist()]).to(scores.device)

    def passes():
        totals = log_total(circuit, scores, roots)
        (marginals,) = torch.autograd.grad(totals.sum(), scores)
        return best_columns(circuit, scores.detach(), roots), totals.detach(), marginals

    assert has_kernel(circuit, scores)
    by_kernel = passes()
    monkeypatch.setattr(chart, "MAX_KERNEL_EDGES", 0)
    for one, other in zip(by_kernel, passes(), strict=True):
        assert torch.allclose(one, other)


def test_back_search(batch):
    log_probs, lengths, answers = batch
    here = ngs.one_step_batch(GRAMMAR, ARITHMETIC, log_probs, lengths, answers)
    there = ngs.one_step_batch(GRAMMAR, ARITHMETIC, log_probs.cuda(), lengths.cuda(), answers)
    assert torch.equal(here.sentences.columns, there.sentences.columns.cpu())
    assert torch.equal(here.found, there.found.cpu())


def test_walks(batch):
    log_probs, lengths, answers = batch
    walk = Walk(steps=5, back_search=0.5, epsilon=0.1)
    draws = Draws.of(walk, 64, 7, torch.Generator().manual_seed(0))
    columns = ngs.best(GRAMMAR, log_probs, lengths).columns
    on_cpu = Batch.of(GRAMMAR, ARITHMETIC, log_probs, lengths, answers)
    on_gpu = Batch.of(GRAMMAR, ARITHMETIC, log_probs.cuda(), lengths.cuda(), answers)
    here, there = walk_batch(on_cpu, columns, walk, draws), walk_batch(on_gpu, columns.cuda(), walk, draws)
    assert torch.equal(here[0], there[0].cpu())
    assert torch.equal(here[1], there[1].cpu())


@pytest.fixture(params=range(3), ids=lambda seed: f"seed {seed}")
def long_batch(request):
    """Formulas too long for tables, with answers one change or two away from the likeliest reading."""
    generator, chance = torch.Generator().manual_seed(request.param), random.Random(request.param)
    log_probs = (3 * torch.randn(64, 31, 14, generator=generator, dtype=torch.float64)).log_softmax(-1)
    lengths = torch.tensor(chance.choices(range(1, 32, 2), k=64))
    readings = ngs.best(GRAMMAR, log_probs, lengths)
    values = []
    for b in range(64):
        changed = list(readings[b])
        for t in chance.choices(range(len(changed)), k=chance.choice([0, 1, 1, 2])):
            changed[t] = chance.choice("+-*/" if t % 2 else "0123456789")
        values.append(ngs.evaluate(ngs.parse(GRAMMAR, changed), ARITHMETIC))
    answers = [Fraction(1) if value is ngs.UNDEFINED else value for value in values]
    return log_probs, lengths, readings.columns, answers


def long_searches(long_batch):
    """The same search on both devices."""
    log_probs, lengths, _, answers = long_batch
    for device in (torch.device("cpu"), torch.device("cuda", torch.cuda.current_device())):
        engine = LONG_ENGINES.setdefault(device, Substitutions.of(GRAMMAR, 31, device, residues))
        yield Batch(engine, log_probs.to(device), lengths.to(device), engine.values.targets(answers))


LONG_ENGINES = {}
"""Kept from test to test, as they take long to make."""


def test_corrections_of_long_formulas(long_batch):
    columns = long_batch[2]
    here, there = (correct(search, columns.to(search.lengths.device)) for search in long_searches(long_batch))
    assert 0 < here.found.sum() < 64
    for name in ("columns", "found", "right", "in_language"):
        assert torch.equal(getattr(here, name), getattr(there, name).cpu())


def test_walks_over_long_formulas(long_batch):
    columns = long_batch[2]
    walk = Walk(steps=5, back_search=0.5, epsilon=0.1)
    draws = Draws.of(walk, 64, 31, torch.Generator().manual_seed(0))
    here, there = (
        walk_batch(search, columns.to(search.lengths.device), walk, draws)
        for search in long_searches(long_batch)
    )
    assert torch.equal(here[0], there[0].cpu())
    assert torch.equal(here[1], there[1].cpu())


def test_learning_from_long_formulas():
    """The whole question as learning asks it: read, correct, judge."""
    data = composed(embedded(train=90, test=60), {7: 1, 15: 1}, train=32, test=1)
    examples = data.examples(data.train).to(torch.device(GPU))
    engine = Substituting(GRAMMAR, ARITHMETIC, examples, BUDGET, BEAM, residues)
    batch = examples.batch(np.arange(32))
    generator = torch.Generator(GPU).manual_seed(0)
    scores = torch.randn(len(batch.inputs), 14, generator=generator, device=GPU)
    log_probs = batch.beliefs(scores + 4 * one_hot(batch.labels[batch.labels != ngs.PAD], 14))
    for columns, found in (
        engine.one_step(log_probs, batch),
        engine.multi_step(log_probs, batch, Walk(), generator),
    ):
        assert found.any() and torch.equal(engine.right(columns, batch), found)


def test_posterior(batch):
    log_probs, lengths, answers = batch
    here = ngs.posterior(GRAMMAR, ARITHMETIC, log_probs, lengths, answers)
    there = ngs.posterior(GRAMMAR, ARITHMETIC, log_probs.cuda(), lengths.cuda(), answers)
    assert torch.allclose(here.log_evidence, there.log_evidence.cpu())
    assert torch.allclose(here.marginals, there.marginals.cpu())
    assert torch.equal(here.best().columns, there.best().columns.cpu())
    drawn = there.sample(torch.Generator("cuda").manual_seed(0))
    assert all(ngs.evaluate(drawn.tree(b), ARITHMETIC) == answers[b] for b in range(64))


PROGRAMS = random_programs(random.Random(0), 60, 14)


@pytest.mark.parametrize("language", [Programs, TidyPrograms])
def test_arrangements(language):
    here = arrangements(language(), counts_of(PROGRAMS), 50)
    there = arrangements(language(GPU), counts_of(PROGRAMS).to(GPU), 50)
    assert len(here.rows) > 200 and not here.complete.all()
    for name in ("rows", "columns", "complete"):
        assert torch.equal(getattr(here, name), getattr(there, name).cpu())


@pytest.mark.parametrize("edits", [SWITCHES, TIDY_SWITCHES, TIDY_EDITS])
def test_edits(edits):
    columns = encoded(PROGRAMS)
    here, there = edits.neighbours(columns), edits.neighbours(columns.to(GPU))
    assert torch.equal(here.rows, there.rows.cpu()) and torch.equal(here.columns, there.columns.cpu())
    assert torch.equal(mirrored(columns), mirrored(columns.to(GPU)).cpu())
    assert torch.equal(meanings(columns), meanings(columns.to(GPU)).cpu())


def test_a_policy():
    """In double precision: single precision has fewer digits on a GPU."""
    asked, columns = asking.questions(random.Random(0), PROGRAMS), encoded(PROGRAMS)
    time = columns.shape[1]
    on_cpu, on_gpu = (
        Policy(
            asking.network().double().to(device)(asking.moved(asked, device, torch.float64)),
            TidyPrograms(device),
            time,
        )
        for device in ("cpu", GPU)
    )
    here = on_cpu.log_probs(on_cpu.rows, columns)
    there = on_gpu.log_probs(on_gpu.rows, columns.to(GPU))
    assert torch.allclose(here, there.cpu())
    assert torch.allclose(on_cpu.likeliest(4)[1], on_gpu.likeliest(4)[1].cpu())
    assert torch.equal(on_cpu.likeliest()[0], on_gpu.likeliest()[0].cpu())
    drawn, log_p = on_gpu.sample(on_gpu.rows, torch.Generator(GPU).manual_seed(0))
    assert torch.allclose(log_p, on_gpu.log_probs(on_gpu.rows, drawn))
    assert torch.allclose(log_p.cpu(), on_cpu.log_probs(on_cpu.rows, drawn.cpu()))


@pytest.mark.parametrize("language", [AnyOrder, Programs, TidyPrograms])
def test_legality_along_programs(language):
    """Also of programs in the wrong order, and of those that are cut short."""
    counts, columns = counts_of(PROGRAMS), encoded(PROGRAMS, extra=1)
    jumbled = columns.flip(1)
    cut = columns.masked_fill(torch.arange(columns.shape[1]) > 4, ngs.PAD)
    here, there = (language(), language()) if language is AnyOrder else (language(), language(GPU))
    for each in (columns, jumbled, cut):
        assert torch.equal(
            legal_along(here, counts, each), legal_along(there, counts.to(GPU), each.to(GPU)).cpu()
        )


def on_cpu(policy: Policy, language: Arranging) -> Policy:
    """The same probabilities, read off by the plain walk."""
    asked, memory, state = policy.encoded.asked, policy.encoded.memory, policy.encoded.state
    encoded = Encoded(
        asking.moved(asked, "cpu"),
        Memory(*(part.cpu() for part in vars(memory).values())),
        (state[0].cpu(), state[1].cpu()),
        deepcopy(policy.encoded.reader).cpu(),
    )
    return Policy(encoded, language, policy.time)


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("layers, hidden", [(1, 64), (2, 256), (2, 128), (3, 32)])
@pytest.mark.parametrize("language", [AnyOrder, Programs, TidyPrograms])
def test_walks_by_a_kernel(language, layers, hidden, copies):
    """As the plain walk on the CPU, up to the rounding of products."""
    torch.manual_seed(0)
    size = Size(hidden, 24, layers)
    network = PointerNetwork(asking.WORDS, len(clevr().symbols), size=size, copies=copies).to(GPU)
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(1.5)
    asked = asking.moved(asking.questions(random.Random(0), PROGRAMS), GPU)
    columns = encoded(PROGRAMS).to(GPU)
    rows = torch.tensor([3, 3, 0, 17, 59] * 20, device=GPU)
    with rounded_products(), torch.no_grad():
        by_kernel = Policy(network(asked), language() if language is AnyOrder else language(GPU), 14)
        assert by_kernel._decoder is not None
        plain = on_cpu(by_kernel, language())
        for each in (columns, columns.flip(1)):
            here, there = plain.log_probs(plain.rows, each.cpu()), by_kernel.log_probs(by_kernel.rows, each)
            assert torch.equal(here.isneginf(), there.isneginf().cpu())
            assert torch.allclose(here, there.cpu(), atol=0.02)
        here, there = plain.likeliest(), by_kernel.likeliest()
        assert torch.allclose(here[1], there[1].cpu(), atol=0.02)
        assert (here[0] == there[0].cpu()).all(2).float().mean() > 0.9  # where two are nearly as likely
        drawn, log_p = by_kernel.sample(rows, torch.Generator(GPU).manual_seed(0))
        assert torch.allclose(log_p.cpu(), plain.log_probs(rows.cpu(), drawn.cpu()), atol=0.02)
        with torch.enable_grad():
            taught = by_kernel.log_probs(rows, drawn)
        assert taught.requires_grad and torch.allclose(log_p, taught, atol=0.02)


def test_samples_by_a_kernel_have_their_probabilities():
    program = next(each for each in PROGRAMS if 6 <= len(each) <= 8)
    every = arrangements(Programs(), counts_of([program]), 500)
    assert every.complete.all() and len(every.columns) > 5
    asked = asking.moved(asking.questions(random.Random(0), [program]), GPU)
    torch.manual_seed(0)
    network = PointerNetwork(asking.WORDS, len(clevr().symbols), size=Size(32, 24)).to(GPU)
    with rounded_products(), torch.no_grad():
        policy = Policy(network(asked), Programs(GPU), every.columns.shape[1])
        drawn, _ = policy.sample(torch.zeros(20_000, dtype=torch.long, device=GPU), torch.Generator(GPU))
        rows = torch.zeros(len(every.columns), dtype=torch.long, device=GPU)
        p = policy.log_probs(rows, every.columns.to(GPU)).exp().cpu()
    shares = (drawn.cpu()[:, None] == every.columns).all(2).float().mean(0)
    assert shares.sum().item() == pytest.approx(1) and p.sum().item() == pytest.approx(1, abs=1e-3)
    assert (shares - p).abs().max() < 0.02


@pytest.mark.parametrize("why", ["dropout", "exact products", "float64", "no whole tiles", "no room"])
def test_the_plain_walk_is_taken_where_the_kernel_is_not_made_for_it(why, monkeypatch):
    if why == "no room":
        monkeypatch.setattr(tiles, "shared_memory", lambda device: 1000)
    size = Size(96 if why == "no whole tiles" else 32, 24)
    dtype = torch.float64 if why == "float64" else torch.float32
    dropout = 0.5 if why == "dropout" else 0.0
    network = PointerNetwork(asking.WORDS, len(clevr().symbols), size=size, dropout=dropout).to(GPU, dtype)
    asked = asking.moved(asking.questions(random.Random(0), PROGRAMS), GPU, dtype)
    with nullcontext() if why == "exact products" else rounded_products(), torch.no_grad():
        policy = Policy(network(asked), Programs(GPU), encoded(PROGRAMS).shape[1])
        assert policy._decoder is None
        drawn, log_p = policy.sample(policy.rows, torch.Generator(GPU))
    assert log_p.isfinite().all()
    assert torch.equal(drawn.sort(1).values.cpu(), encoded(PROGRAMS).sort(1).values)


def test_corrections_of_programs():
    examples = program_tasks.moved(program_tasks.task(16, 0).examples, GPU)
    batch = program_tasks.whole(examples)
    policy = program_tasks.beliefs(asking.network().to(GPU), batch)
    generator = torch.Generator(GPU).manual_seed(0)
    first, _ = policy.sample(policy.rows, generator)
    with torch.no_grad():
        found = multi_step(first, TIDY_EDITS, policy.log_probs, batch.right, Walk(), generator)
    assert found.found.any()
    assert torch.equal(batch.right(batch.rows, found.columns), found.found)
    assert torch.equal(found.columns.sort(1).values, first.sort(1).values)


@pytest.mark.parametrize("name", PROGRAM_METHODS)
def test_objectives_over_programs(name):
    """Some questions that can be answered, and a batch of those that cannot: nothing to take the loss of."""
    task = program_tasks.task(12, 0)
    reader = asking.network().to(GPU)
    how = Searching(TIDY_EDITS, meanings, enumerated=12)
    for made in (task, task.unreachable(*range(12))):
        examples = program_tasks.moved(made.examples, GPU)
        objective = PROGRAM_METHODS[name](examples, how, torch.Generator(GPU).manual_seed(0))
        batch = program_tasks.whole(examples)
        loss = objective(program_tasks.beliefs(reader, batch), batch)
        assert loss.value.isfinite()
        taught = program_tasks.gradient(loss.value, reader)
        assert taught.isfinite().all() and (taught.any() == (made is task or name == "supervised"))
        objective.restore(objective.state())


def test_the_posterior_of_programs():
    examples = program_tasks.task(12, 0).examples
    losses = []
    for device in ("cpu", GPU):
        there = program_tasks.moved(examples, device)
        all_of_them = {"at_most": program_tasks.MANY, "few": program_tasks.MANY}
        objective = ProgramPosterior(there, TIDY_EDITS, meanings, torch.Generator(device), **all_of_them)
        batch = program_tasks.whole(there)
        losses.append(
            objective(program_tasks.beliefs(asking.network().to(device), batch), batch).value.item()
        )
    assert losses[0] == pytest.approx(losses[1], rel=1e-2)


def test_the_average_of_a_recurrent_network():
    """Is read as it is: cuDNN warns, and a warning fails here, where a copy's weights lie apart in memory."""
    examples = program_tasks.moved(program_tasks.task(12, 0).examples, GPU)
    how = Searching(TIDY_EDITS, meanings)
    objective = PROGRAM_METHODS["supervised"](examples, how, torch.Generator(GPU).manual_seed(0))
    settings = Settings(batch_size=4, learning_rate=0.01, averaging=0.5)
    trainer = Trainer(asking.network(), [Lesson("supervised", examples, objective, 2)], settings)
    assert len(list(trainer)) == 2
    batch = program_tasks.whole(examples)
    columns, _ = program_tasks.beliefs(trainer.learned, batch).likeliest()
    assert columns.shape[0] == len(batch)


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

    def training() -> Trainer:
        torch.manual_seed(0)
        lesson = Lesson("supervised", examples, Supervised(), 5)
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
