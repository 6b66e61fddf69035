"""A GPU gets ready while data are loaded: nothing that follows is changed by it, and errors are raised."""

from __future__ import annotations

from threading import Event, current_thread

import pytest
import torch
from torch import nn

from ngs.experiments.hwf import FIRST_SHOWN
from ngs.networks.first_use import first_use, meanwhile, used_meanwhile
from ngs.networks.lenet import NETWORKS

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")),
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", NETWORKS)
def test_no_random_number_is_drawn(name: str, device: str) -> None:
    """Or a run would depend on whether there was a GPU to get ready; all networks have dropout."""
    there = torch.device(device)
    torch.zeros(1, device=there)  # a GPU has no generator before it is used
    seen: list[tuple[int, ...]] = []

    def make() -> nn.Module:
        network = NETWORKS[name](14)
        network.register_forward_hook(lambda _, inputs, scores: seen.append(tuple(scores.shape)))
        return network

    before = torch.get_rng_state(), *torch.cuda.get_rng_state_all()
    first_use(make, FIRST_SHOWN, there)
    after = torch.get_rng_state(), *torch.cuda.get_rng_state_all()
    assert all(map(torch.equal, before, after)) and seen == [(12, 14)]


def test_on_a_cpu_there_is_nothing_to_get_ready() -> None:
    def make() -> nn.Module:
        raise AssertionError("nobody asks")

    with used_meanwhile(make, FIRST_SHOWN, torch.device("cpu")):
        pass


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_gpu_that_is_got_ready_works() -> None:
    begun: list[str] = []

    def make() -> nn.Module:
        begun.append(current_thread().name)
        return NETWORKS["small"](14)

    with used_meanwhile(make, FIRST_SHOWN, torch.device("cuda"), torch.bfloat16):
        loaded = torch.arange(5, device="cuda").sum()
    assert loaded == 10 and len(begun) == 1 and begun[0].startswith("meanwhile")


def test_both_go_on_at_once() -> None:
    from_body, from_work = Event(), Event()

    def work() -> None:
        from_work.set()
        assert from_body.wait(60)

    with meanwhile(work):
        assert from_work.wait(60)
        from_body.set()


def test_where_the_work_makes_tensors_is_its_own_business() -> None:
    """Weights without values are made on `meta`, and data that are loaded meanwhile are not."""
    made, loaded = Event(), Event()
    devices: list[str] = []

    def work() -> None:
        with torch.device("meta"):
            made.set()
            assert loaded.wait(60)
            devices.append(torch.zeros(1).device.type)

    with meanwhile(work):
        assert made.wait(60)
        devices.append(torch.zeros(1).device.type)
        loaded.set()
    assert devices == ["cpu", "meta"]


def test_it_ends_with_both() -> None:
    ended: list[str] = []
    go_on = Event()

    def work() -> None:
        assert go_on.wait(60)
        ended.append("work")

    with meanwhile(work):
        ended.append("body")
        go_on.set()
    assert ended == ["body", "work"]


def test_errors_of_the_work_are_raised() -> None:
    def work() -> None:
        raise ValueError("no room on the GPU")

    with pytest.raises(ValueError, match="no room on the GPU"), meanwhile(work):
        pass


def test_errors_of_the_body_come_first() -> None:
    """They are what a person asked about; the work ends all the same."""
    ended: list[bool] = []

    def work() -> None:
        ended.append(True)
        raise ValueError("no room on the GPU")

    with pytest.raises(OSError, match="no such file"), meanwhile(work):
        raise OSError("no such file")
    assert ended == [True]
