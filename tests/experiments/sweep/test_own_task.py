"""Runs of a task from a file in a sweep: known by what is in the file, wherever it lies."""

from __future__ import annotations

from pathlib import Path

from ngs.experiments.sweep.local import run_here
from ngs.experiments.sweep.store import Store
from ngs.tasks.finding import find
from ngs.tasks.results.job import Trained, address

TASK = """
from dataclasses import dataclass
import torch, ngs
@dataclass(frozen=True)
class Own(ngs.TaskSettings):
    width: int = ngs.setting(2, "Of nothing.")
grammar = ngs.Grammar.parse('start: "0" | "1"')
class Itself(ngs.Semantics):
    symbol = int
inputs = [torch.eye(2)[[k % 2]] for k in range(40)]
examples = ngs.Examples.of(inputs, [k % 2 for k in range(40)])
task = ngs.Task(
    name="itself",
    grammar=grammar,
    semantics=Itself,
    data=lambda settings: ngs.Splits(examples, examples),
    network=lambda settings: torch.nn.Linear(2, 2),
    settings=Own,
)
"""


def written(folder: Path, text: str = TASK) -> str:
    folder.mkdir()
    (folder / "itself.py").write_text(text)
    return str(folder / "itself.py")


def test_seeds_of_a_task_in_a_file_are_trained_side_by_side(tmp_path: Path) -> None:
    file, store = written(tmp_path / "here"), Store(tmp_path / "runs")
    own = find(file).settings
    jobs = [Trained(file, own(steps=4, validate_every=2, seed=seed)) for seed in range(2)]
    states = [event.state for event in run_here(jobs, store, workers=2)]
    assert states.count("done") == 2 and all(store.has(address(job)) for job in jobs)


def test_an_address_depends_on_what_is_in_the_file(tmp_path: Path) -> None:
    def known(file: str) -> str:
        return address(Trained(file, find(file).settings(steps=4)))

    here, copy = (known(written(tmp_path / name)) for name in ("here", "copy"))
    changed = known(written(tmp_path / "changed", TASK + "\n# other\n"))
    assert here == copy != changed
