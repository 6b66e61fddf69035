"""What is in the folder of a run, and what is said of it where it does not fit."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from ngs.errors import DataError
from ngs.learning import tensor_file
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.run_folder import A_NETWORK, DATA, check_data, check_there, read_network


def made(facts: Any) -> nn.Linear:
    return nn.Linear(facts["inputs"], 2)


def test_a_network_is_read_as_it_was_kept(tmp_path: Path) -> None:
    kept = nn.Linear(3, 2)
    tensor_file.save(tmp_path / "network", A_NETWORK, kept.state_dict(), {"inputs": 3})
    network, facts = read_network(tmp_path / "network", "hwf", {"inputs": 3}, made)
    assert torch.equal(network.weight, kept.weight) and facts["inputs"] == 3 and not network.training


@pytest.mark.parametrize("layer", [nn.Linear(4, 2), nn.Conv2d(3, 2, 1), nn.Sequential(nn.Linear(3, 2))])
def test_a_network_that_is_built_otherwise_is_refused(tmp_path: Path, layer: nn.Module) -> None:
    tensor_file.save(tmp_path / "network", A_NETWORK, layer.state_dict(), {"inputs": 3})
    with pytest.raises(
        DataError, match="builds otherwise; use the version it was trained with, or train one"
    ):
        read_network(tmp_path / "network", "hwf", {"inputs": 3}, made)


@pytest.mark.parametrize("facts, told", [({}, "it has no inputs"), ({"inputs": 4}, "it has other inputs")])
def test_a_network_of_another_kind_is_refused(facts: dict[str, int], told: str, tmp_path: Path) -> None:
    tensor_file.save(tmp_path / "network", A_NETWORK, nn.Linear(3, 2).state_dict(), facts)
    with pytest.raises(DataError, match=f"is no network of `ngs train hwf`: {told}; train one"):
        read_network(tmp_path / "network", "hwf", {"inputs": 3}, made)


def test_other_data_in_the_same_place_are_refused(tmp_path: Path) -> None:
    weights = nn.Linear(3, 2).state_dict()
    tensor_file.save(tmp_path / "network", A_NETWORK, weights, {DATA: "abc"})
    check_data(tmp_path / "network", "x.ngs", "abc")
    with pytest.raises(DataError, match=r"x\.ngs is not what .*network was trained on; put that back, or"):
        check_data(tmp_path / "network", "x.ngs", "abd")
    tensor_file.save(tmp_path / "older", A_NETWORK, weights, {})
    check_data(tmp_path / "older", "x.ngs", "abd")


def test_data_that_are_not_there_are_named(tmp_path: Path) -> None:
    check_there(tmp_path, TrainHWF())
    config = TrainHWF(data=str(tmp_path / "x.ngs"))
    with pytest.raises(DataError, match=r"x\.ngs, which .* was trained on, is not there; run this where"):
        check_there(tmp_path, config)
    (tmp_path / "x.ngs").touch()
    check_there(tmp_path, config)
