"""A short run on a small data set with its report."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ngs.experiments.report.outcome import read_run
from ngs.experiments.report.page import page
from ngs.learning import tensor_file
from ngs.tasks.report.report import Gallery
from ngs.tasks.run_folder import A_NETWORK, BEST, CONFIG, DATA
from tests.documents import facts
from tests.experiments.training import train


@dataclass(frozen=True)
class Reported:
    """A short run on a small data set that was packed, with its gallery and its page."""

    run: Path
    data: Any
    packed: Any
    """the module that writes its data"""
    shown: Gallery
    text: str

    @property
    def report(self) -> Any:
        """What its page was made from, without the scores."""
        run = read_run(self.run)
        return run.task.report()(run.task, run.config, self.shown, {})


def reported_on(config: Any, data: Any, packed: Any, folder: Path) -> Reported:
    packed.write(folder / "small.ngs", data)
    for _ in train(config(data=str(folder / "small.ngs")), folder / "run"):
        pass
    run = read_run(folder / "run")
    shown = run.task.report().read(run.task, folder / "run", run.config)
    return Reported(folder / "run", data, packed, shown, page(run, shown))


def copied(run: Path, folder: Path) -> Path:
    shutil.copytree(run, folder, ignore=shutil.ignore_patterns("tensorboard", "*.html"))
    return folder


def with_data(copy: Path, reported: Reported, data: Any, path: Path) -> None:
    """Leave a run as if it had learned from other data."""
    reported.packed.write(path, data)
    (copy / CONFIG).write_text(json.dumps(facts(copy / CONFIG) | {"data": str(path)}))
    tensors, kept = tensor_file.load(copy / BEST, A_NETWORK, "")
    clones = {name: tensor.clone() for name, tensor in tensors.items()}
    tensor_file.save(copy / BEST, A_NETWORK, clones, kept | {DATA: reported.packed.load(str(path)).digest})
