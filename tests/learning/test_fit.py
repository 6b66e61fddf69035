"""`fit` and `score`: a task of one's own in a few lines, and what it says when something does not fit."""

from dataclasses import replace
from fractions import Fraction

import pytest
import torch
from torch import nn

import ngs
from ngs.errors import NGSError, ShapeError
from ngs.learning.examples import Examples
from ngs.learning.fit import fit, score
from ngs.learning.loop import Settings, Step
from ngs.learning.methods import METHODS, supervised
from ngs.learning.schedule import constant
from ngs.reasoning.arithmetic import Arithmetic
from tests.learning.tasks import IN_TURN, ONE_BY_ONE, SIZE

GRAMMAR, network, tiny = ONE_BY_ONE.grammar, ONE_BY_ONE.network, ONE_BY_ONE.examples
FAST = Settings(batch_size=30, learning_rate=0.1)


def test_fit_learns_symbols_from_answers() -> None:
    net, test = network(), tiny(100, seed=1)
    before = score(net, GRAMMAR, Arithmetic, test).total
    steps: list[Step] = []
    learned = fit(net, GRAMMAR, Arithmetic, tiny(), steps=60, settings=FAST, on_step=steps.append)
    assert learned is net  # in place
    after = score(net, GRAMMAR, Arithmetic, test).total
    assert after.symbol is not None and before.symbol is not None
    assert after.symbol > 0.98 > 0.6 > before.symbol
    assert [step.number for step in steps] == list(range(1, 61))
    assert steps[-1].loss < steps[0].loss


def test_fit_leaves_the_global_random_numbers_as_they_were() -> None:
    """Repetitions that follow would otherwise all begin with the same weights."""
    net = network()
    torch.manual_seed(3)
    before = torch.get_rng_state()
    fit(net, GRAMMAR, Arithmetic, tiny(), steps=2, settings=FAST)
    assert torch.equal(torch.get_rng_state(), before)


def test_dropout_is_seeded_by_the_settings_whatever_the_global_random_numbers() -> None:
    weights = []
    for seed in range(2):
        net = nn.Sequential(nn.Dropout(0.5), network())
        torch.manual_seed(seed)
        weights.append(fit(net, GRAMMAR, Arithmetic, tiny(), steps=5, settings=FAST).state_dict()["1.weight"])
    assert torch.equal(*weights)


def test_fit_returns_the_average_where_one_is_asked_for() -> None:
    net = network()
    settings = Settings(batch_size=30, learning_rate=0.1, averaging=0.5, schedule=constant)
    learned = fit(net, GRAMMAR, Arithmetic, tiny(), steps=5, settings=settings)
    assert learned is not net
    assert not torch.equal(learned.state_dict()["weight"], net.state_dict()["weight"])


def test_a_network_of_another_size_is_refused_before_anything_is_compiled() -> None:
    with pytest.raises(ShapeError, match=r"makes \[2, 5\] of 2 inputs; the grammar has 6 symbols \(\+ \* 0"):
        fit(nn.Linear(SIZE, 5), GRAMMAR, Arithmetic, tiny())
    with pytest.raises(ShapeError, match=r"makes \[2, 6, 1\]"):
        fit(nn.Sequential(network(), nn.Unflatten(1, (6, 1))), GRAMMAR, Arithmetic, tiny())


def test_checking_and_no_steps_leave_the_network_alone() -> None:
    net = nn.Sequential(nn.BatchNorm1d(SIZE), network())
    before = net[0].running_mean.clone()
    fit(net, GRAMMAR, Arithmetic, tiny(), steps=0)
    assert net.training and torch.equal(net[0].running_mean, before)
    assert torch.equal(net[1].weight, network().weight)


def test_no_examples_are_refused() -> None:
    with pytest.raises(NGSError, match="there are no examples to learn from"):
        fit(network(), GRAMMAR, Arithmetic, tiny(5).select([]))


@pytest.mark.parametrize("method", [None, supervised], ids=["posterior", "supervised"])
def test_a_network_that_has_lost_its_numbers_is_no_result(method) -> None:  # type: ignore[no-untyped-def]
    """The exact posterior takes NaN for `impossible`, which would look like a loss of zero."""
    settings = Settings(batch_size=30, learning_rate=1e30, schedule=constant)
    options = {} if method is None else {"method": method}
    deep = nn.Sequential(nn.Linear(SIZE, SIZE), network())
    with pytest.raises(NGSError, match="the loss is nan after 5 steps"):
        fit(deep, GRAMMAR, Arithmetic, tiny(), steps=5, settings=settings, **options)


def test_answers_may_be_any_equal_number() -> None:
    """2, 2.0 and Fraction(2) are one answer."""
    counts = []
    for kind in (int, float, Fraction):
        examples = tiny(40)
        same = replace(examples, answers=tuple(kind(answer) for answer in examples.answers))
        counts.append(score(network(), GRAMMAR, Arithmetic, same).total.answers_right)
    assert len(set(counts)) == 1 and counts[0] > 0


@pytest.mark.parametrize(
    "method",
    [
        *("posterior", ngs.posterior, ngs.multi_step, ngs.methods.multi_step, ngs.methods.reinforce),
        *(ngs.methods.OneStep, ngs.methods.Posterior()),
    ],
)
def test_what_is_no_method_is_refused(method) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NGSError, match=r"which does not make a method for examples; give ngs\.methods"):
        fit(network(), GRAMMAR, Arithmetic, tiny(10), method=method)


def test_settings_are_settings() -> None:
    with pytest.raises(NGSError, match=r"the settings are .*; give ngs\.Settings"):
        fit(network(), GRAMMAR, Arithmetic, tiny(10), settings={"batch_size": 3})  # type: ignore[arg-type]


@pytest.mark.parametrize("label", [6, -2])
def test_labels_the_grammar_lacks_are_refused(label: int) -> None:
    examples = Examples.of([torch.zeros(1, SIZE)], [2], [[label]])
    for use in (fit, score):
        with pytest.raises(ShapeError, match=r"the labels are .*; the grammar's 6 symbols are 0 to 5"):
            use(network(), GRAMMAR, Arithmetic, examples)


def test_examples_for_a_network_that_writes_are_refused() -> None:
    with pytest.raises(
        NGSError, match=r"the inputs are Stacked, and fit reads symbols one by one; .*ngs\.Trainer"
    ):
        fit(IN_TURN.network(), IN_TURN.grammar, Arithmetic, IN_TURN.examples(5, 0, (3,)))


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"supervised"}))
def test_a_training_that_found_nothing_is_no_result(name: str) -> None:
    examples = replace(tiny(20), answers=("six",) * 20)
    with pytest.raises(NGSError, match=r"in 3 steps no sentence was found that gives .* such as 'six'"):
        fit(network(), GRAMMAR, Arithmetic, examples, method=METHODS[name], steps=3, settings=FAST)
