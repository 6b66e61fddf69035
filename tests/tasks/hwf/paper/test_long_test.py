"""Reading formulas longer than those trained on: what is counted, and that it is a job like others."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ngs.experiments.sweep.driver import do
from ngs.tasks.hwf import packed
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.paper.long import LongTest
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.results.job import address
from ngs.tasks.run_folder import ENVIRONMENT, RESULT
from tests.experiments.training import finished, trained

LENGTHS = (1, 7, 15)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> LongTest:
    path = tmp_path_factory.mktemp("data") / "small.ngs"
    packed.write(path, embedded(train=120, test=60, lengths={1: 0.5, 3: 0.5}))
    config = TrainHWF(data=str(path), method="supervised", steps=30, validate_every=15, batch_size=16)
    return LongTest(trained(config), LENGTHS, 20)


@pytest.fixture(scope="module")
def done(job: LongTest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[dict[str, Any]]]:
    """The folders of the run and of the job, and what the job told as it went."""
    run, folder = (tmp_path_factory.mktemp(name) for name in ("run", "job"))
    finished(job.run.settings, run)
    return run, folder, [dict(progress.row) for progress in do(job, folder, [run])]


def test_every_length_is_read(job: LongTest, done: tuple[Path, Path, list[dict[str, Any]]]) -> None:
    _, folder, rows = done
    result = json.loads((folder / RESULT).read_text())
    assert len(rows) == len(LENGTHS) + 1 and rows[-1] == result
    assert list(result["by_length"]) == ["1", "7", "15"]
    for length, row in zip(LENGTHS, result["by_length"].values(), strict=True):
        assert row["examples"] == 20
        assert row["calculation"] >= row["formula"]  # what is read without a mistake gives its answer
        assert row["predicted"] == pytest.approx(row["symbol"] ** length)
    short, _, long = (result["by_length"][str(length)] for length in LENGTHS)
    assert short["symbol"] > 0.3 and abs(short["symbol"] - long["symbol"]) < 0.3  # each is read by itself
    assert json.loads((folder / ENVIRONMENT).read_text())["device"]


def test_the_same_again_but_for_the_clock(
    job: LongTest, done: tuple[Path, Path, list[dict[str, Any]]], tmp_path: Path
) -> None:
    def shares(folder: Path) -> list[tuple[float, ...]]:
        rows = json.loads((folder / RESULT).read_text())["by_length"].values()
        return [(row["calculation"], row["formula"], row["symbol"]) for row in rows]

    run, folder, _ = done
    list(do(job, tmp_path, [run]))
    assert shares(tmp_path) == shares(folder)


def test_its_address_tells_what_it_depends_on(job: LongTest) -> None:
    assert job.needs == (trained(job.run.settings),)
    others = [
        replace(job, lengths=(1, 7)),
        replace(job, formulas=21),
        replace(job, run=trained(replace(job.run.settings, seed=1))),
    ]
    assert len({address(other) for other in (job, *others)}) == 4
    json.dumps(job.facts)
    assert job.run.settings.data not in json.dumps(job.facts)
