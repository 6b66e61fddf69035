"""The table that puts a peer beside ours: what stands in it, and what it says."""

from __future__ import annotations

import importlib.util
import sys
from argparse import Namespace
from pathlib import Path
from types import ModuleType

import pytest

PATH = Path(__file__).parents[1] / "benchmarks" / "peers" / "run.py"


@pytest.fixture(scope="module")
def peers() -> ModuleType:
    spec = importlib.util.spec_from_file_location("peers_run", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for their annotations
    spec.loader.exec_module(module)
    return module


def run(*curve: tuple[float, float], answers: float, before: float = 0.0) -> dict[str, object]:
    points = [{"seconds": seconds, "answers": share, "symbols": 1.0} for seconds, share in curve]
    return {"curve": points, "answers": answers, "seconds_before_training": before}


def test_the_goal_is_reached_when_a_test_first_has_it(peers: ModuleType) -> None:
    there = run((1.0, 0.9), (2.0, 0.985), (3.0, 0.97), answers=0.99, before=4.5)
    assert (peers.seconds_to_goal(there), peers.seconds_from_start_to_goal(there)) == (2.0, 6.5)
    never = run((1.0, 0.98), answers=0.98)
    assert peers.seconds_to_goal(never) is None and peers.seconds_from_start_to_goal(never) is None
    assert peers.best_on_test(there) == 0.985


def test_the_verdict_counts_seeds_that_reach_the_goal(peers: ModuleType) -> None:
    ours = [run((2.0, 0.99), answers=0.99, before=8.0)]
    peer = [run((10.0, 0.99), answers=0.98), run((9.0, 0.9), answers=0.96)]
    accuracy, speed, from_start = peers.verdict({"ours": ours, "peer": peer})
    assert accuracy == "Test accuracy, ours minus the peer's: +2.00 points."
    assert speed == "Ours reaches 98.5% 5.0 times as fast, of the seeds that reach it."
    assert from_start == "Ours reaches 98.5% 1.0 times as fast from its start, of the seeds that reach it."
    assert peers.verdict({"ours": ours, "peer": []}) == []
    assert len(peers.verdict({"ours": ours, "peer": peer[1:]})) == 1


@pytest.mark.parametrize("cold", [False, True])
def test_both_clocks_are_cold_or_none(peers: ModuleType, cold: bool, tmp_path: Path) -> None:
    options = Namespace(threads=1, site=tmp_path, lengths=[], data="embedded", steps=5, cold=cold)
    assert [("--cold" in each.options) for each in peers.contestants(options, tmp_path)] == [cold, cold]
