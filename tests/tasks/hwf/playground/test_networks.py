"""Which run is taken, what is taken from it, and the weak network: it misreads, and learns it back."""

import os
from fractions import Fraction
from statistics import mean

import pytest
import torch

from ngs.apps.serve.run_folders import RunFolders
from ngs.errors import DataError
from ngs.tasks.hwf.formula_reading import likeliest
from ngs.tasks.hwf.playground.learning import drawn_of, learn, own_copy
from ngs.tasks.hwf.playground.networks import HALF, Networks, symbols_read, weakened
from ngs.tasks.hwf.playground.strokes import seen_in
from ngs.tasks.run_folder import BEST, CONFIG, RESULT
from tests.apps.serve.made_runs import write_run
from tests.tasks.hwf.playground.drawings import BY_HAND
from tests.tasks.hwf.playground.drawings import trained as good_network

# Runs


def test_there_is_none_until_a_run_is_loaded_and_then_a_weak_one_too(tmp_path) -> None:
    networks = Networks()
    assert dict(networks) == {"trained": None, "weak": None}
    networks.load(write_run(tmp_path / "run", accuracy=0.98))
    trained, weak = networks["trained"], networks["weak"]
    assert trained is not None and weak is not None
    assert trained.accuracy == 0.98 and weak.accuracy is None and weak.symbols <= HALF
    assert not trained.network.training and not weak.network.training
    images = torch.rand(2, 1, 45, 45)
    assert not torch.allclose(trained.network(images), weak.network(images))


def test_an_unfinished_run_can_be_given_but_none_without_a_network(tmp_path) -> None:
    run, networks = write_run(tmp_path / "run"), Networks()
    (run / RESULT).unlink()
    networks.load(run)
    assert networks["trained"] is not None and networks["trained"].accuracy is None
    (run / BEST).unlink()
    with pytest.raises(DataError, match="ngs train hwf"):
        Networks().load(run)


def test_the_run_that_finished_last_is_taken(tmp_path) -> None:
    write_run(tmp_path / "b", finished=200)
    write_run(tmp_path / "a", finished=300)
    write_run(tmp_path / "c", finished=100)
    assert RunFolders(tmp_path).newest("hwf") == tmp_path / "a"
    assert RunFolders(tmp_path).newest("clevr") is None
    (tmp_path / "a" / RESULT).unlink()
    assert RunFolders(tmp_path).newest("hwf") == tmp_path / "b"
    (tmp_path / "b" / CONFIG).write_text("{")
    assert RunFolders(tmp_path).newest("hwf") == tmp_path / "c"


def test_where_there_are_no_runs_there_is_none(tmp_path) -> None:
    (tmp_path / "file").touch()
    os.mkdir(tmp_path / "empty")
    assert RunFolders(tmp_path).newest("hwf") is None
    assert RunFolders(tmp_path / "missing").newest("hwf") is None


# The weak network

ANSWERS = {"3*4": 12, "7+1": 8, "6/2": 3}


def test_the_good_one_stays_as_it_is_and_the_weak_one_is_always_the_same() -> None:
    good = good_network()
    before = {name: value.clone() for name, value in good.state_dict().items()}
    first, second = weakened(good).state_dict(), weakened(good).state_dict()
    assert all(value.equal(second[name]) for name, value in first.items())
    assert all(value.equal(before[name]) for name, value in good.state_dict().items())


def test_it_reads_about_half_of_the_symbols() -> None:
    good = good_network()
    assert symbols_read(good) > 0.9
    assert HALF / 2 < symbols_read(weakened(good)) <= HALF


def test_learning_is_seen() -> None:
    """With as many steps as the page takes when it is not told otherwise."""
    weak, before = weakened(good_network()), []
    for formula, answer in ANSWERS.items():
        own = own_copy(weak)
        drawn = drawn_of(seen_in(BY_HAND[formula], own), Fraction(answer))
        taken = list(learn(own, drawn, [], 10, torch.Generator().manual_seed(0)))
        before.append(taken[0].before)
        assert taken[-1].after > taken[0].before + 0.2, formula
        assert likeliest(seen_in(BY_HAND[formula], own).log_probs, 1)[0].value == answer
    assert mean(before) < 0.5
