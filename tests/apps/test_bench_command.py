"""`ngs bench` times what it says; how fast is not tested."""

import json
from collections.abc import Mapping

import pytest
from torch.utils.benchmark import Measurement, TaskSpec

from ngs.apps import bench_command
from ngs.grammar.grammar import arithmetic
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.support import posterior
from ngs.tasks.costs.workloads import Actions
from tests.apps.commands import done, refused

MS = {"fast": [8.0, 8.0, 8.0, 8.0], "slow": [1.0, 2.0, 6.0, 9.0]}


def test_the_answers_are_reachable() -> None:
    scores, answers = bench_command.unsure(7)
    assert posterior(arithmetic(), Arithmetic, scores, None, answers).found.all()


def done_once(actions: Actions, rounds: int, warm_up: int) -> Mapping[str, Measurement]:
    for action in actions.values():
        action()
    seconds = {name: [ms / 1000 for ms in MS[name]] for name in actions}
    return {name: Measurement(1, seconds[name], TaskSpec(name, "")) for name in actions}


def test_every_reference_is_scaled_to_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_command, "timed", done_once)
    found = json.loads(done("bench", "--rounds", "3", "--threads", "1", "--json").stdout)
    assert found["environment"]["command"][0] == "ngs" and found["environment"]["threads"] == 1
    times = {speed["name"]: speed["times_as_fast"] for speed in found["speeds"]}
    searches = {name: 4.0 for name in ("1-BS", "m-BS(5)", "posterior")}  # 64 in 8 ms, 8 in 4 ms
    parses = {f"best parse, length {length}": 4.0 for length in (7, 19)}
    assert times == pytest.approx({**parses, **searches, "training": 0.5})
    assert all(speed["per_second"] == pytest.approx(8000) for speed in found["speeds"])


def test_what_was_unsteady_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_command, "timed", done_once)
    output = done("bench", "--rounds", "3").output
    assert "Algorithm 1" in output and output.count("4.0 ?") == 5 and output.count("0.5 ?") == 1


def test_a_device_that_is_not_there_is_refused() -> None:
    assert "give cpu or cuda" in refused("bench", "--device", "tpu")
