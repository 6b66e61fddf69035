"""From folders of results, and from records, to places: what is kept, what is damaged, and none is lost."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ngs.errors import DataError, NGSError
from ngs.experiments.catalogue.gathering import gathered, recalled
from ngs.experiments.sweep.local import run_here
from ngs.experiments.sweep.store import Store
from ngs.tasks.results.experiment import Cell, Experiment, Means, jobs_of
from ngs.tasks.results.job import Job, Measurement, Measuring, Progress, address
from ngs.tasks.results.outcome import Outcome, Place, read_outcome, write_outcome
from ngs.tasks.results.tables import Section
from ngs.tasks.run_folder import ENVIRONMENT, METRICS, RESULT


@dataclass(frozen=True)
class Known(Measurement):
    """A job whose result is known."""

    share: float
    needs: tuple[Job, ...] = ()
    alone: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        return {"job": "known", "share": self.share}

    def measure(self, folder: Path, needed: Sequence[Path]) -> Measuring:
        tested = {"examples": 3, "calculation": self.share / 3, "symbol": None, "by_length": {"1": {}}}
        rows = [
            {"step": 1, "seconds": 0.5, "validation": {"calculation": 1.0}, "test": tested},
            {"step": 2, "seconds": 0.7, "lesson": "a", "loss": 3.0},
        ]
        (folder / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "a-1.svg").write_text("<svg></svg>")
        yield Progress(0, 1, {})
        return {"test": {"calculation": self.share}, "validation": {"calculation": 1.0}}


CELLS = (
    Cell("one", "all", (Known(0.1), Known(0.2))),
    Cell("two", "all", (Known(0.3),), instead=(Known(0.4), Known(0.5))),
)
EXPERIMENT = Experiment("known", "Known", (), lambda _: CELLS, lambda _: CELLS, lambda _: Section(""))


def run(jobs: Sequence[Job], folder: Path) -> Store:
    store = Store(folder)
    for _ in run_here(jobs, store, workers=1):
        pass
    return store


def shares(place: Place) -> list[float]:
    return [run.result["test"]["calculation"] for run in place.runs]


def outcome_of(store: Store) -> Outcome:
    return gathered(EXPERIMENT, EXPERIMENT.cells(Means(), quick=True), store, quick=True)


def test_a_run_goes_on_record_without_what_is_of_this_machine_only(tmp_path: Path) -> None:
    outcome = outcome_of(run([Known(0.1)], tmp_path))
    assert (outcome.experiment, outcome.quick) == ("known", True)
    (found,) = outcome.runs
    assert found.address == address(Known(0.1)) and found.facts == Known(0.1).facts
    assert found.result == {"test": {"calculation": 0.1}}
    assert found.environment.keys() == {"device", "products", "threads", "python", "packages", "commit"}
    assert found.curve == ({"step": 1, "seconds": 0.5, "calculation": 0.03333},)
    assert found.drawings == {"a-1": "<svg></svg>"}


def test_places_have_what_is_done_of_them(tmp_path: Path) -> None:
    one, two = outcome_of(run([Known(0.2)], tmp_path)).places
    assert (one.row, one.wanted, shares(one), one.instead) == ("one", 2, [0.2], False)
    assert (two.row, two.wanted, shares(two), two.instead) == ("two", 1, [], False)


def test_something_else_is_shown_until_there_is_what_was_asked_for(tmp_path: Path) -> None:
    store = run([Known(0.5)], tmp_path)
    _, two = outcome_of(store).places
    assert (two.wanted, shares(two), two.instead) == (1, [0.5], True)
    run(list(jobs_of(CELLS)), tmp_path)
    one, two = outcome_of(store).places
    assert (shares(one), one.instead) == ([0.1, 0.2], False)
    assert (shares(two), two.instead) == ([0.3], False)
    assert list(jobs_of(CELLS, instead=True)) == [Known(0.4), Known(0.5)]


def emptied(path: Path) -> None:
    path.write_text("")


def a_list(path: Path) -> None:
    path.write_text("[1, 2]")


def of_bytes(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00")


@pytest.mark.parametrize("spoil", [emptied, a_list, of_bytes])
@pytest.mark.parametrize("name", [RESULT, ENVIRONMENT])
def test_a_damaged_folder_is_named(spoil: Callable[[Path], None], name: str, tmp_path: Path) -> None:
    store = run([Known(0.1)], tmp_path)
    spoil(store.folder(Known(0.1)) / name)
    with pytest.raises(DataError, match=rf"{address(Known(0.1))}/{name}"):
        outcome_of(store)


def test_an_environment_that_says_too_little_is_named(tmp_path: Path) -> None:
    store = run([Known(0.1)], tmp_path)
    path = store.folder(Known(0.1)) / ENVIRONMENT
    path.unlink()
    with pytest.raises(DataError, match=rf"{address(Known(0.1))}/{ENVIRONMENT} cannot be read"):
        outcome_of(store)
    path.write_text('{"device": "cpu"}')
    with pytest.raises(DataError, match=rf"{address(Known(0.1))}/{ENVIRONMENT} is damaged"):
        outcome_of(store)


@pytest.mark.parametrize("line", ['{"test": {"calculation": 0.5}}', '{"step": 1, "test": 3}', "{"])
def test_a_damaged_curve_is_named(line: str, tmp_path: Path) -> None:
    store = run([Known(0.1)], tmp_path)
    path = store.folder(Known(0.1)) / METRICS
    path.write_text(line + "\n" + path.read_text())
    with pytest.raises(DataError, match=rf"{address(Known(0.1))}/{METRICS}"):
        outcome_of(store)


# Runs that are known from records


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
