"""Which run is taken, and what is taken from it."""

import os

import pytest
import torch

from ngs.apps.serve.run_folders import RunFolders
from ngs.errors import DataError
from ngs.tasks.hwf.playground.networks import HALF, Networks
from ngs.tasks.run_folder import BEST, CONFIG, RESULT
from tests.apps.serve.made_runs import write_run


def test_there_is_none_until_a_run_is_loaded(tmp_path) -> None:
    networks = Networks()
    assert dict(networks) == {"trained": None, "weak": None}
    networks.load(write_run(tmp_path / "run"))
    assert all(networks.values())
    with pytest.raises(KeyError):
        networks["mine"]


def test_the_weak_one_is_another_and_each_has_its_numbers(tmp_path) -> None:
    networks = Networks()
    networks.load(write_run(tmp_path / "run", accuracy=0.98))
    trained, weak = networks["trained"], networks["weak"]
    assert trained is not None and weak is not None
    assert trained.accuracy == 0.98 and weak.accuracy is None and weak.symbols <= HALF
    assert not trained.network.training and not weak.network.training
    images = torch.rand(2, 1, 45, 45)
    assert not torch.allclose(trained.network(images), weak.network(images))


def test_an_unfinished_run_can_be_given(tmp_path) -> None:
    run = write_run(tmp_path / "run")
    (run / RESULT).unlink()
    networks = Networks()
    networks.load(run)
    trained = networks["trained"]
    assert trained is not None and trained.accuracy is None


def test_a_run_without_a_network_is_an_error(tmp_path) -> None:
    run = write_run(tmp_path / "run")
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
