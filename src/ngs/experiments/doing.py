"""How a job is done: what it leaves in its folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from ngs.experiments.environment import environment
from ngs.experiments.record import Record
from ngs.experiments.run import train
from ngs.tasks.finding import find
from ngs.tasks.results.job import Job, Measurement, Progress, Trained
from ngs.tasks.run_folder import CONFIG, ENVIRONMENT, RESULT


def do(job: Job, folder: Path, needed: Sequence[Path]) -> Iterator[Progress]:
    """Do it, or go on with what an earlier attempt left in `folder`, as it is iterated.

    `needed` are the folders of what it needs. Last of all result.json is written, whole or not at all, and
    before that environment.json.
    """
    if isinstance(job, Trained):
        return train(find(job.task), job.settings, folder, resume=(folder / CONFIG).exists())
    return _measured(job, folder, needed)


def _measured(job: Measurement, folder: Path, needed: Sequence[Path]) -> Iterator[Progress]:
    result = yield from job.measure(folder, needed)
    record = Record(folder, writes=True)
    record.write(ENVIRONMENT, environment(torch.device(job.runs_on)))
    record.write(RESULT, result)
    yield Progress(1, 1, result)
