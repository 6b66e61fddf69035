"""What is recorded on a GPU: runs with all that is the default, clipping for one, and what is timed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from ngs.experiments.catalogue.experiment import Means
from ngs.experiments.catalogue.settings import paper_clevr
from ngs.experiments.clevr import CLEVRCourse
from ngs.experiments.config import TrainCLEVR, read_facts
from ngs.experiments.folder import ENVIRONMENT
from ngs.experiments.jobs.step_cost import StepCost
from ngs.experiments.jobs.workloads import WalkSteps
from ngs.gpu import HAS_TRITON
from ngs.learning.loop import Lesson, Trainer
from ngs.learning.recorded_step import PLAIN_STEPS

CPU = torch.device("cpu")
EMBEDDED = TrainCLEVR().data


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("averaging", [0.0, 0.9])
@pytest.mark.parametrize("processes", [1, 2])
def test_runs_are_recorded_on_one_gpu_in_float32_without_averages(
    precision: str, averaging: float, processes: int
) -> None:
    course = CLEVRCourse(TrainCLEVR(precision=precision, averaging=averaging, method="reinforce"), CPU)
    (lesson,) = course.lessons()
    recordable, other = (
        Lesson("reinforce", lesson.examples, lesson.objective, 1, recordable=lambda network, yes=yes: yes)
        for yes in (True, False)
    )
    trainer = Trainer(course.network(), [lesson], course.config.settings)
    trainer.accelerator = SimpleNamespace(  # type: ignore[assignment]
        device=torch.device("cuda"), num_processes=processes, unwrap_model=lambda network: network
    )
    expected = precision == "float32" and not averaging and processes == 1
    assert trainer._is_recordable(recordable) == expected
    assert not trainer._is_recordable(other)


@pytest.mark.parametrize("method", ["reinforce", "1-bs", "m-bs", "supervised"])
def test_the_paper_s_methods_wait_for_nothing(method: str) -> None:
    course = CLEVRCourse(paper_clevr(Means(clevr=EMBEDDED), method=method), CPU)
    (lesson,) = course.lessons()
    assert not lesson.objective.waits  # type: ignore[attr-defined]


@pytest.mark.parametrize("changes", [{"dropout": 0.5}, {"grammar": "tidy"}])
def test_what_kernels_do_not_walk_waits(changes: dict[str, object]) -> None:
    course = CLEVRCourse(paper_clevr(Means(clevr=EMBEDDED), method="m-bs", **changes), CPU)
    (lesson,) = course.lessons()
    assert lesson.objective.waits  # type: ignore[attr-defined]


@pytest.mark.skipif(not (torch.cuda.is_available() and HAS_TRITON), reason="needs a GPU and Triton")
def test_costs_are_those_of_recorded_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repeated, repeat = 0, torch.cuda.CUDAGraph.replay

    def counted(graph: torch.cuda.CUDAGraph) -> None:
        nonlocal repeated
        repeated += 1
        repeat(graph)

    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", counted)
    job = StepCost(WalkSteps(network="paper"), (1, 5), ("m-bs",), rounds=7, device="cuda")
    list(job.do(tmp_path, ()))
    assert job.warm_up >= PLAIN_STEPS
    assert repeated == len(job.values) * (1 + job.warm_up + job.rounds - PLAIN_STEPS)
    assert read_facts(tmp_path / ENVIRONMENT)["products"] == "tf32"
