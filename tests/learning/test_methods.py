"""Every method against enumeration, for both kinds of networks: losses, gradients, what must teach nothing.

Then: each learns from answers alone, in seconds.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from ngs.errors import NGSError
from ngs.grammar.padding import PAD
from ngs.learning.loop import Lesson, Settings, Trainer
from ngs.learning.methods import (
    METHODS,
    KBest,
    MakeMethod,
    MultiStep,
    OneStep,
    Posterior,
    Start,
    Supervised,
    a_sample,
    k_best,
    mapo,
    most_likely,
    multi_step,
    one_step,
    reinforce,
)
from ngs.learning.metrics import Score, measure
from ngs.search.back_search import ChainSettings, back_search, sample_corrections
from tests.learning.tasks import IN_TURN, ONE_BY_ONE, TASKS, UNREACHABLE, Case, Task, objective

ALL = 40
"""More than the sentences of any one example with the right answer."""
LENGTHS = {"one by one": (1, 3), "in turn": (3, 5)}
CHAIN = ChainSettings(steps=3, back_search=0.5)


def case_of(name: str, seed: int, number: int = 12) -> Case:
    return Case(TASKS[name], TASKS[name].examples(number, seed, LENGTHS[name]), seed)


@pytest.fixture(params=[(name, seed) for name in TASKS for seed in range(2)], ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    """Examples whose answers all can be reached."""
    return case_of(*request.param)


def mean(case: Case, each: Callable[[int], Tensor]) -> Tensor:
    """(1/|z|) of a number for each example, averaged."""
    return torch.stack([each(row) / case.batch.lengths[row] for row in range(len(case.batch))]).mean()


def distinct(case: Case, row: int) -> Tensor:
    """log p(z|x) of the right sentences, of those that mean the same the most likely one."""
    right = case.right(row)
    log_p = case.log_p(row, right)
    if case.task is ONE_BY_ONE:
        return log_p
    numbers = IN_TURN.same(case.encoded(right))
    return torch.stack([log_p[numbers == number].max() for number in numbers.unique()])


def test_posterior_is_the_sum_over_right_sentences(case: Case) -> None:
    loss = case.loss(Posterior())
    case.check(loss.value, -mean(case, lambda row: distinct(case, row).logsumexp(0)))
    assert loss.measures["found"] == 1


@pytest.mark.parametrize("k", [1, 2, 3])
def test_k_best_weighs_by_the_posterior_among_them(case: Case, k: int) -> None:
    def label(row: int) -> Tensor:
        best = distinct(case, row)
        best = best.topk(min(k, len(best))).values
        return (best.detach().softmax(0) * best).sum()

    case.check(case.loss(KBest(k)).value, -mean(case, label))


def test_supervised_is_cross_entropy(case: Case) -> None:
    assert case.batch.labels is not None
    log_p = case.p.score(case.batch.rows, case.batch.labels)
    case.check(case.loss(Supervised()).value, -mean(case, lambda row: log_p[row]))
    case.batch = replace(case.batch, labels=None)
    with pytest.raises(NGSError, match="have no labels"):
        case.loss(Supervised())


@pytest.mark.parametrize("wrong", ["none", "outside of the language"])
def test_labels_that_cannot_be_teach_nothing(wrong: str) -> None:
    case = case_of("in turn", 0)
    assert case.batch.labels is not None
    labels = case.batch.labels.clone()
    # Prefix notation does not end with an operator.
    labels[:4] = PAD if wrong == "none" else labels[:4].flip(1)
    case.batch = replace(case.batch, labels=labels)
    loss = case.loss(Supervised())
    assert loss.measures["found"] == pytest.approx(8 / 12)
    log_p = case.p.score(case.batch.rows[4:], labels[4:])
    case.check(loss.value, -(log_p / case.batch.lengths[4:]).sum() / 12)


@pytest.mark.parametrize("start", [most_likely, a_sample])
@pytest.mark.parametrize("steps", [1, 3])
def test_back_search_gives_the_labels(case: Case, steps: int, start: Start) -> None:
    """-(1/|z*|) log p(z*|x) of what was found; an example for which nothing was counts as 0."""
    generator = torch.Generator().manual_seed(4)
    z, judge = start(case.p, generator), case.reasoner.judge_of(case.batch)
    with torch.no_grad():
        if steps == 1:
            found = back_search(z, case.p.score, case.reasoner.edits, judge)
        else:
            found = sample_corrections(z, case.p.score, case.reasoner.edits, judge, CHAIN, generator)
    loss = case.loss(OneStep(start) if steps == 1 else MultiStep(CHAIN, start), seed=4)
    log_p = case.p.score(case.batch.rows, found.z)
    case.check(loss.value, -mean(case, lambda row: log_p[row] * found.found[row]))
    assert loss.measures["found"] == found.found.float().mean() > 0
    for row in found.found.nonzero().flatten().tolist():
        assert case.grammar.decode(s for s in found.z[row].tolist() if s != PAD) in case.right(row)


def test_back_search_sets_out_from_the_most_likely_or_from_a_sample(case: Case) -> None:
    best = most_likely(case.p, torch.Generator())
    assert torch.equal(best, case.p.best().symbols)
    samples = [a_sample(case.p, torch.Generator().manual_seed(seed)) for seed in range(20)]
    assert torch.equal(samples[3], case.p.sample(torch.Generator().manual_seed(3)).symbols)
    assert any(not torch.equal(sample, best) for sample in samples)


@pytest.mark.parametrize("effort", ["least", "default"])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", sorted(set(METHODS) - {"supervised"}))
def test_an_answer_out_of_reach_teaches_nothing(name: str, task: str, effort: str) -> None:
    """Alone, and beside an example that can be learned from; never NaN."""
    sizes = {"one by one": {"budget": 1}, "in turn": {"enumerated": 1, "samples": 1, "fresh": 1}}
    examples = TASKS[task].examples(2, 0, LENGTHS[task])
    hopeless = replace(examples, answers=(UNREACHABLE, examples.answers[1]))
    for numbers in ([0], [0, 1]):
        case = Case(TASKS[task], hopeless, **(sizes[task] if effort == "least" else {}))
        case.batch = hopeless.batch(np.array(numbers))
        loss = case.loss(METHODS[name](hopeless))
        found = case.gradient(loss.value)
        assert loss.value.isfinite() and found.isfinite().all()
        if numbers == [0]:
            assert loss.value == 0 and not found.any()


@pytest.mark.parametrize("name", METHODS)
def test_padding_neither_teaches_nor_learns(name: str) -> None:
    """The gradient behind an example's end is zero, and what stands there makes no difference."""
    case = case_of("one by one", 1)
    behind = torch.arange(case.batch.time) >= case.batch.lengths[:, None]
    assert behind.any()

    def loss(log_probs: Tensor) -> Tensor:
        case.p = replace(case.p, log_probs=log_probs)
        value: Tensor = case.loss(METHODS[name](case.examples)).value
        return value

    log_probs = case.p.log_probs.detach().requires_grad_()
    first = loss(log_probs)
    (found,) = torch.autograd.grad(first, log_probs)
    assert (found[behind] == 0).all()
    assert torch.isclose(loss(log_probs.detach().masked_fill(behind[..., None], -0.5)), first)


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"m-bs", "mapo", "reinforce"}))  # these draw numbers
def test_a_loss_is_a_mean_over_examples(case: Case, name: str) -> None:
    """So that halves of a batch on two processes make the same step as the whole on one."""
    together, parts = case.loss(METHODS[name](case.examples)).value, []
    for part in (0, 1):
        case.batch = case.examples.batch(np.arange(12)[part::2])
        case.p = case.of(case.batch)
        parts.append(case.loss(METHODS[name](case.examples)).value)
    assert torch.isclose(torch.stack(parts).mean(), together)


# With settings


def test_settings_reach_the_methods() -> None:
    examples = ONE_BY_ONE.examples(5)
    one, many, best = one_step(a_sample)(examples), multi_step(CHAIN, a_sample)(examples), k_best(7)(examples)
    assert isinstance(one, OneStep) and isinstance(many, MultiStep) and isinstance(best, KBest)
    assert one.start is many.start is a_sample and many.chain is CHAIN and best.k == 7


# In training


STEPS = {("one by one", "reinforce"): 500, ("one by one", "mapo"): 300}
"""What learns from rewarded samples alone needs more of them; for the others 150."""
ENOUGH = {"one by one": 0.97, "in turn": 0.8}
"""The share of answers that must be right in the end. In turn, more than every second guess is right; and
where factors change places, nothing says which way round they were."""


def taught(task: Task, lessons: list[Lesson], seed: int, lengths: tuple[int, ...] = (1, 3)) -> Score:
    """How good the network is after these lessons on sentences it has not seen."""
    trainer = Trainer(task.network(seed), lessons, Settings(batch_size=30, learning_rate=0.05, seed=seed))
    for _ in trainer:
        pass
    return measure(trainer.learned, task.reasoner(task.examples(200, 99, lengths))).total


def lesson(task: Task, make: MakeMethod, steps: int, seed: int, lengths: tuple[int, ...] = (1, 3)) -> Lesson:
    examples = task.examples(120, 0, lengths)
    return Lesson("answers", examples, objective(make(examples), task.reasoner(examples), seed), steps)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", TASKS)
def test_every_method_learns(kind: str, name: str) -> None:
    task, lengths = TASKS[kind], LENGTHS[kind]
    untrained = taught(task, [], 0, lengths)
    score = taught(task, [lesson(task, METHODS[name], STEPS.get((kind, name), 150), 0, lengths)], 0, lengths)
    print(f"{name}: answers {untrained.answer:.3f} -> {score.answer:.3f}, symbols {score.symbol:.3f}")
    assert untrained.answer < ENOUGH[kind] - 0.15
    assert score.answer >= ENOUGH[kind]


@pytest.mark.parametrize("make", [reinforce(), mapo()], ids=["reinforce", "mapo"])
def test_a_few_labels_first_help_what_learns_from_rewards(make: MakeMethod) -> None:
    """Pre-training is a first lesson with labels, here of four sentences; the second needs none.

    With this seed, rewards alone end where every operator is read as one and the other is never tried.
    """
    seed, steps, task = 1, 100, ONE_BY_ONE
    labelled = task.of([("0",), ("1",), ("2", "+", "3"), ("3", "*", "1")], seed=7)
    first = Lesson("pretrain", labelled, objective(Supervised(), task.reasoner(labelled)), 4)
    pretrained = taught(task, [first], seed)
    alone = taught(task, [lesson(task, make, steps, seed)], seed)
    both = taught(task, [first, lesson(task, make, steps, seed)], seed)
    print(f"labels {pretrained.answer:.3f}, rewards {alone.answer:.3f}, both {both.answer:.3f}")
    assert max(pretrained.answer, alone.answer) < 0.85
    assert both.answer >= 0.97


def test_a_lesson_may_end_when_enough_is_learned() -> None:
    examples = ONE_BY_ONE.examples()
    reasoner = ONE_BY_ONE.reasoner(examples)

    def enough(net: torch.nn.Module) -> bool:
        share = measure(net, reasoner).total.symbol
        return share is not None and share >= 0.8

    lessons = [
        Lesson("labels", examples, objective(Supervised(), reasoner), 500, enough, ask_every=3),
        Lesson("answers", examples, objective(KBest(), reasoner), 4),
    ]
    trainer = Trainer(ONE_BY_ONE.network(), lessons, Settings(batch_size=30, learning_rate=0.02))
    assert trainer.steps_left == 504
    steps = list(trainer)
    labels = [step for step in steps if step.lesson == "labels"]
    assert 0 < len(labels) < 100 and len(labels) % 3 == 0
    assert [step.lesson for step in steps[len(labels) :]] == 4 * ["answers"]
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert trainer.steps_left == 0
