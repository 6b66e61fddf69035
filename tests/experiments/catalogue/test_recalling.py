"""Runs that are known from records: they stay what they were, and none is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from ngs.errors import NGSError
from ngs.experiments.catalogue.gathering import gathered, recalled
from ngs.experiments.sweep.store import Store
from ngs.tasks.results.experiment import Cell, Means
from ngs.tasks.results.job import address
from ngs.tasks.results.outcome import Outcome, read_outcome, write_outcome
from tests.experiments.catalogue.test_gathering import CELLS, EXPERIMENT, Known, outcome_of, run, shares


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Of one run that was wanted, and one that stands instead of another."""
    path = tmp_path / "record.json"
    write_outcome(outcome_of(run([Known(0.1), Known(0.5)], tmp_path / "there")), path)
    return path


def outcome_with(record: Path, store: Store) -> Outcome:
    cells = EXPERIMENT.cells(Means(), quick=True)
    return gathered(EXPERIMENT, cells, store, quick=True, known=recalled(record, EXPERIMENT.name, cells))


def test_what_is_known_goes_on_record_as_it_was(record: Path, tmp_path: Path) -> None:
    assert outcome_with(record, Store(tmp_path / "here")) == read_outcome(record)


def test_what_is_done_here_is_added_in_its_place(record: Path, tmp_path: Path) -> None:
    here = run([Known(0.2), Known(0.3)], tmp_path / "here")
    one, two = outcome_with(record, here).places
    assert shares(one) == [0.1, 0.2]
    assert shares(two) == [0.3] and not two.instead  # what stood instead has had its time


def test_what_is_done_here_counts_for_more_than_a_record(record: Path, tmp_path: Path) -> None:
    here = run([Known(0.1)], tmp_path / "here")
    record.write_text(record.read_text().replace('"calculation": 0.1}', '"calculation": 0.9}'))
    assert shares(outcome_with(record, Store(tmp_path / "nowhere")).places[0]) == [0.9]
    assert shares(outcome_with(record, here).places[0]) == [0.1]


def test_a_run_that_belongs_nowhere_is_not_given_up_silently(record: Path) -> None:
    without = (Cell("one", "all", (Known(0.2),)), CELLS[1])
    with pytest.raises(NGSError, match=r"record.json holds 1 of 2 runs that are none of this experiment's"):
        recalled(record, EXPERIMENT.name, without)


def test_a_record_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NGSError, match=r"nowhere.json: there is no such record to extend"):
        recalled(tmp_path / "nowhere.json", EXPERIMENT.name, CELLS)


def test_a_record_of_another_experiment_is_refused(record: Path) -> None:
    with pytest.raises(
        NGSError, match=r"record.json is the record of known; give a folder with one of other"
    ):
        recalled(record, "other", CELLS)


def test_what_experiments_share_may_be_on_the_record_of_another(record: Path, tmp_path: Path) -> None:
    cells = (Cell("also one", "all", (Known(0.1), Known(0.7))),)
    shared = recalled(tmp_path / "new.json", "new", cells, [record, tmp_path / "nowhere.json"])
    assert list(shared) == [address(Known(0.1))]
    assert shared.items() <= recalled(record, EXPERIMENT.name, CELLS).items()


def test_a_record_of_its_own_counts_for_more_than_that_of_another(record: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(record.read_text().replace('"calculation": 0.1}', '"calculation": 0.9}'))
    assert other.read_text() != record.read_text()
    both = recalled(record, EXPERIMENT.name, CELLS, [other])
    assert both == recalled(record, EXPERIMENT.name, CELLS)


def test_a_record_beside_that_shares_nothing_extends_nothing(record: Path, tmp_path: Path) -> None:
    with pytest.raises(NGSError, match=r"new.json: there is no such record to extend"):
        recalled(tmp_path / "new.json", "new", (Cell("one", "all", (Known(0.7),)),), [record])
