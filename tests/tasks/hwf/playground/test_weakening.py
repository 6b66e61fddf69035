"""A weak network reads about half of the symbols, misreads what the good one read, and learns it back."""

from fractions import Fraction
from statistics import mean

import torch

from ngs.tasks.hwf.formula_reading import likeliest
from ngs.tasks.hwf.playground.learning import drawn_of, learn, own_copy
from ngs.tasks.hwf.playground.networks import HALF, symbols_read, weakened
from ngs.tasks.hwf.playground.strokes import seen_in
from tests.tasks.hwf.playground.drawings import BY_HAND, trained

ANSWERS = {"3*4": 12, "7+1": 8, "6/2": 3}


def test_the_good_one_stays_as_it_is_and_the_weak_one_is_always_the_same() -> None:
    good = trained()
    before = {name: value.clone() for name, value in good.state_dict().items()}
    first, second = weakened(good).state_dict(), weakened(good).state_dict()
    assert all(value.equal(second[name]) for name, value in first.items())
    assert all(value.equal(before[name]) for name, value in good.state_dict().items())


def test_it_reads_about_half_of_the_symbols() -> None:
    good = trained()
    assert symbols_read(good) > 0.9
    assert HALF / 2 < symbols_read(weakened(good)) <= HALF


def test_learning_is_seen() -> None:
    """With as many steps as the page takes when it is not told otherwise."""
    weak, before = weakened(trained()), []
    for formula, answer in ANSWERS.items():
        own = own_copy(weak)
        drawn = drawn_of(seen_in(BY_HAND[formula], own), Fraction(answer))
        taken = list(learn(own, drawn, [], 10, torch.Generator().manual_seed(0)))
        before.append(taken[0].before)
        assert taken[-1].after > taken[0].before + 0.2, formula
        assert likeliest(seen_in(BY_HAND[formula], own).log_probs, 1)[0].value == answer
    assert mean(before) < 0.5
