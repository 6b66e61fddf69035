"""From records back to the folder of results: what is done stays done, and stays what it was."""

from __future__ import annotations

from pathlib import Path

from ngs.experiments.catalogue.experiment import jobs_of
from ngs.experiments.catalogue.recalling import recall
from ngs.experiments.folder import RESULT
from ngs.experiments.results.outcome import read_outcome, write_outcome
from ngs.experiments.sweep.local import run_here
from ngs.experiments.sweep.store import Store
from tests.experiments.catalogue.test_gathering import CELLS, Known, outcome_of, run


def test_what_is_recalled_goes_on_record_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    write_outcome(outcome_of(run([Known(0.1), Known(0.5)], tmp_path / "there")), path)
    on_record, here = read_outcome(path), Store(tmp_path / "here")
    jobs = [*jobs_of(CELLS), *jobs_of(CELLS, instead=True)]
    assert recall(on_record, jobs, here) == 2
    assert outcome_of(here) == on_record
    assert recall(on_record, jobs, here) == 0
    assert not here.done(Known(0.2))


def test_what_nobody_asks_about_is_not_recalled(tmp_path: Path) -> None:
    on_record, here = outcome_of(run([Known(0.1), Known(0.2)], tmp_path / "there")), Store(tmp_path / "here")
    assert recall(on_record, [Known(0.2)], here) == 1
    assert here.done(Known(0.2)) and not here.done(Known(0.1))


def test_a_run_that_goes_on_here_is_left_alone(tmp_path: Path) -> None:
    on_record, here = outcome_of(run([Known(0.1)], tmp_path / "there")), Store(tmp_path / "here")
    here.folder(Known(0.1)).mkdir(parents=True)
    assert recall(on_record, [Known(0.1)], here) == 0
    assert not (here.folder(Known(0.1)) / RESULT).exists()


def test_what_is_still_to_be_read_from_is_done_again(tmp_path: Path) -> None:
    on_record = outcome_of(run([Known(0.1)], tmp_path / "there"))
    network = Known(0.1)
    reading = Known(0.9, needs=(network,))
    here = Store(tmp_path / "here")
    assert recall(on_record, [reading, network], here) == 0
    assert next(iter(run_here([reading], here, workers=1))).job == network


def test_what_was_read_from_need_not_be_there_again(tmp_path: Path) -> None:
    reading = Known(0.1, needs=(Known(0.7),))
    on_record = outcome_of(run([reading], tmp_path / "there"))
    here = Store(tmp_path / "here")
    assert recall(on_record, [reading], here) == 1
    assert [event.job for event in run_here([reading], here, workers=1)] == [reading]
    assert outcome_of(here) == on_record
