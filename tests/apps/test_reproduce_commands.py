"""`ngs reproduce` and `ngs results`, run as a user runs them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from ngs.apps import reproduce_commands
from ngs.errors import NGSError
from ngs.experiments.catalogue import page
from ngs.experiments.catalogue.page import EXPERIMENTS
from ngs.experiments.sweep.driver import Event
from ngs.experiments.sweep.store import Store, addressed
from ngs.tasks.hwf.trainable import FORMULAS
from ngs.tasks.results.experiment import Cell, Experiment, Means
from ngs.tasks.results.job import Job, Measurement, Measuring, Progress, address
from ngs.tasks.results.outcome import Outcome, read_outcome
from ngs.tasks.results.tables import Section, table
from ngs.tasks.run_folder import RESULT
from tests.apps.commands import done, ngs, refused


@dataclass(frozen=True)
class Known(Measurement):
    """A job whose result is known; where there is a file that forbids it, it fails."""

    share: float
    seed: int
    forbidden: str
    needs: tuple[Job, ...] = ()
    alone: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        return {"job": "known", "share": self.share, "seed": self.seed}

    def measure(self, folder: Path, needed: Sequence[Path]) -> Measuring:
        if Path(self.forbidden).exists():
            raise NGSError("the ink is dry; buy some")
        yield Progress(0, 1, {})
        return {"test": {"calculation": self.share}}


def tiny(folder: Path, name: str = "tiny") -> Experiment:
    """Two rows; the second needs what nobody else does."""

    def job(share: float, seed: int, *needs: Job) -> Known:
        return Known(share, seed, str(folder / "dry"), needs)

    def cells(means: Means) -> list[Cell]:
        seeds = range(means.seeds)
        return [
            Cell("first", "all", tuple(job(0.25, seed) for seed in seeds)),
            Cell("second", "all", tuple(job(0.5, seed, job(0.1, seed)) for seed in seeds)),
        ]

    def show(outcome: Outcome) -> Section:
        text = f"{table(outcome, 'calculation')}\n\n![A figure]({{tiny-figure}})"
        return Section(text, {"tiny-figure": Figure()})

    return Experiment(name, "A tiny one", (FORMULAS,), cells, cells, show)


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, where the tiny experiment is in the catalogue."""
    known = {"tiny": tiny(tmp_path), "cost": EXPERIMENTS["cost"]}
    for module in (page, reproduce_commands):
        monkeypatch.setattr(module, "EXPERIMENTS", known)
    return tmp_path


TINY = ("reproduce", "tiny", "--quick", "--workers", "1")
RECORDED = (*TINY, "--record", "docs")


def jobs(there: Path, seeds: int = 1) -> list[Job]:
    cells = tiny(there).quick(Means(seeds=seeds))
    return [job for cell in cells for job in (*cell.jobs, *(need for one in cell.jobs for need in one.needs))]


# Asking


@pytest.mark.parametrize("arguments", [["--list"], []])
def test_the_experiments_are_listed(arguments: list[str]) -> None:
    result = done("reproduce", *arguments)
    lines = result.output.splitlines()
    assert [line.split()[0] for line in lines] == list(EXPERIMENTS)
    assert lines[0] == "hwf-table       Handwritten formulas: methods and data (96 runs on HWF)"
    by_name = {line.split()[0]: line for line in lines}
    assert by_name["hwf-leak"].endswith("(48 runs on HWF and HWF-clean)")
    assert by_name["clevr-examples"].endswith("(1 run on embedded data)")


def test_only_the_rows_asked_for_are_run_and_the_others_are_shown_as_missing(there: Path) -> None:
    result = done(*TINY, "--row", "first", "--results", there / "runs")
    first, *others = jobs(there)
    store = Store(there / "runs")
    assert store.has(address(first))
    assert not any(store.has(address(job)) for job in others)
    assert "1 of 2 runs done" in result.output


@pytest.mark.parametrize(
    "arguments, told",
    [
        (("tinny",), "there is no experiment 'tinny'; choose from tiny, cost"),
        (("--row", "third"), "no row is named third; choose from first, second"),
        (("--row", "third", "--only-gather", "--extend"), "no row is named third"),
        (("--on", "mars"), "--on is 'mars'; choose from here, ray"),
        (("--extend",), "runs/reproduce/tiny-quick.json: there is no such record to extend"),
    ],
)
def test_what_cannot_be_done_is_refused_first(there: Path, arguments: tuple[str, ...], told: str) -> None:
    assert told in refused(*TINY, *arguments)
    assert list(there.iterdir()) == []


@pytest.mark.parametrize("arguments", [[], ["--only-gather"]])
def test_missing_data_are_named(there: Path, arguments: list[str]) -> None:
    result = refused("reproduce", "tiny", "--hwf", "far/HWF.ngs", *arguments)
    assert result.startswith("ngs: far/HWF.ngs: there is no such file; make it with `ngs data import`")
    assert "--hwf" in result and "--quick" in result
    assert list(there.iterdir()) == []


def test_a_real_experiment_names_its_data() -> None:
    told = refused("reproduce", "hwf-leak")
    assert told.startswith("ngs: data/HWF.ngs, data/HWF-clean.ngs: there is no such file")


def test_whoever_interrupts_it_is_told_that_it_goes_on(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(jobs: Sequence[Job], store: Store, workers: int | None) -> Iterator[Event]:
        yield Event(addressed(jobs)[0], "running", "step 1 of 2")
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduce_commands, "WHERE", {"here": interrupted})
    result = ngs("reproduce", "tiny", "--quick", "--results", "mine")
    assert result.exit_code == 130
    assert "interrupted; what is done is in mine, and the same command goes on" in result.output


def test_an_error_while_telling_stops_the_runs_at_once(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[bool] = []

    def sweep(jobs: Sequence[Job], store: Store, workers: int | None) -> Iterator[Event]:
        try:
            yield Event(addressed(jobs)[0], "done")
        finally:
            stopped.append(True)

    def broken(events: Iterator[Event], *_: object) -> int:
        raise RuntimeError(next(events).state)

    monkeypatch.setattr(reproduce_commands, "WHERE", {"here": sweep})
    monkeypatch.setattr(reproduce_commands, "_tell", broken)
    result = ngs("reproduce", "tiny", "--quick", "--results", "mine")
    assert isinstance(result.exception, RuntimeError)  # and its traceback holds the events
    assert stopped == [True]


# Running


def test_an_experiment_is_run_shown_and_recorded(there: Path) -> None:
    result = done(*TINY)
    lines = result.output.splitlines()
    assert lines[:4] == [
        "3 runs; interrupt them at any time, and the same command goes on",
        "[1/3] done: tiny: first all",
        "[2/3] done: a run that others need",
        "[3/3] done: tiny: second all",
    ]
    assert "A tiny one (quick: embedded data and few steps)" in lines
    assert "| first | 25.00 |" in lines and "| second | 50.00 |" in lines
    assert "![A figure](runs/reproduce/figures-quick/tiny-figure.svg)" in lines
    assert (there / "runs/reproduce/figures-quick/tiny-figure.png").exists()
    assert any(line.startswith("`ngs reproduce tiny --quick`: 2 of 2 runs done. On cpu") for line in lines)
    assert lines[-1] == "written to runs/reproduce/tiny-quick.json"
    outcome = read_outcome(there / "runs/reproduce/tiny-quick.json")
    assert outcome.quick and [run.address for run in outcome.runs] == [
        address(job) for job in jobs(there) if job in [cell.jobs[0] for cell in tiny(there).quick(Means())]
    ]


def test_only_what_is_missing_is_done(there: Path) -> None:
    ngs(*TINY)
    again = done(*TINY)
    assert "done:" not in again.output and again.output.count("found:") == 2
    more = done("reproduce", "tiny", "tiny", "--quick", "--seeds", "2", "--workers", "1")
    assert more.output.count("] done:") == 3 and more.output.count("] found:") == 2
    assert "[5/5]" in more.output and "done: tiny: second all, seed 1" in more.output
    assert "| first | 25.00 ± 0.00 |" in more.output


def test_a_record_can_be_extended_where_its_runs_are_not(there: Path) -> None:
    ngs(*RECORDED)
    before = read_outcome(there / "docs/tiny-quick.json")
    more = done(*RECORDED, "--extend", "--seeds", "2", "--results", "elsewhere")
    assert more.output.startswith("on record, and not done again: 2 of 4 runs\n3 runs; interrupt")
    assert more.output.count("] done:") == 3 and "found:" not in more.output
    assert "`ngs reproduce tiny --quick`: 4 of 4 runs done." in more.output
    after = read_outcome(there / "docs/tiny-quick.json")
    assert [place.runs[0] for place in after.places] == [place.runs[0] for place in before.places]
    assert [len(place.runs) for place in after.places] == [2, 2]


def test_what_the_record_of_another_experiment_holds_is_not_done_again(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(reproduce_commands.EXPERIMENTS, "twin", tiny(there, "twin"))  # type: ignore[misc]
    ngs(*RECORDED, "--row", "first")
    twin = done("reproduce", "twin", *RECORDED[2:], "--extend", "--results", "elsewhere")
    assert "on record, and not done again: 1 of 2 runs" in twin.output
    assert "`ngs reproduce twin --quick`: 2 of 2 runs done." in twin.output
    assert [len(place.runs) for place in read_outcome(there / "docs/tiny-quick.json").places] == [1, 0]


def test_a_record_loses_nothing_by_being_extended(there: Path) -> None:
    ngs(*RECORDED, "--seeds", "2")
    before = (there / "docs/tiny-quick.json").read_text()
    fewer = refused(*RECORDED, "--seeds", "1", "--extend")
    assert "docs/tiny-quick.json holds 2 of 4 runs that are none of this experiment's" in fewer
    assert "--seeds" in fewer and (there / "docs/tiny-quick.json").read_text() == before


def test_a_record_is_not_emptied_from_elsewhere(there: Path) -> None:
    """What it holds is in another folder of results, or nowhere."""
    ngs(*RECORDED)
    before = (there / "docs/tiny-quick.json").read_text()
    for arguments in (["--only-gather"], ["--row", "first"]):
        result = refused(*RECORDED, *arguments, "--results", "elsewhere")
        assert "docs/tiny-quick.json holds" in result and "add --extend to keep them" in result
        assert (there / "docs/tiny-quick.json").read_text() == before
    done(*RECORDED, "--results", "elsewhere")  # all of it is done anew


def test_what_was_done_elsewhere_is_done_again_for_those_who_read_from_it(there: Path) -> None:
    """The second row reads from a job of its own: on record or not, its network is elsewhere."""
    ngs(*RECORDED, "--row", "first")
    more = done(*RECORDED, "--extend", "--results", "elsewhere")
    assert "on record, and not done again: 1 of 2 runs" in more.output and more.output.count("] done:") == 2
    assert "2 of 2 runs done." in more.output


def test_the_full_experiment_goes_where_it_is_told(there: Path) -> None:
    (there / "hwf.ngs").write_text("as good as any")
    options = ["--hwf", "hwf.ngs", "--results", "runs", "--record", "docs/results", "--workers", "1"]
    result = done("reproduce", "tiny", *options)
    assert "`ngs reproduce tiny`: 6 of 6 runs done." in result.output
    assert result.output.endswith("written to docs/results/tiny.json\n")
    assert [path.name for path in (there / "docs/results").iterdir()] == ["tiny.json"]
    assert (there / "runs/figures/tiny-figure.svg").exists()

    (there / "docs/results/tiny.md").write_text("It asks little.\n")
    assert done("results", "docs").output == "written to docs/results.md\n"
    text = (there / "docs/results.md").read_text(encoding="utf-8")
    assert "## A tiny one\n\nIt asks little.\n\n|  | all |" in text
    assert "](images/results/tiny-figure.svg)" in text and "Not run yet: `ngs reproduce cost`." in text
    assert (there / "docs/images/results/tiny-figure.png").exists()


def test_what_is_there_can_be_shown_without_running_anything(there: Path) -> None:
    empty = done(*TINY, "--only-gather")
    assert "| first | not run yet |" in empty.output and "0 of 2 runs done." in empty.output
    assert not any(Store(there / "runs/reproduce").has(address(job)) for job in jobs(there))
    ngs(*TINY)
    gathered = done(*TINY, "--only-gather", "--seeds", "2")
    assert "| first | 25.00 (1 of 2 seeds) |" in gathered.output
    assert "[" not in gathered.output.split("A t")[0]


def test_what_fails_is_told_and_tried_again(there: Path) -> None:
    (there / "dry").touch()
    failed = ngs(*TINY)
    assert failed.exit_code == 1
    assert "failed: tiny: first all\nNGSError: the ink is dry; buy some" in failed.stderr
    assert "failed: tiny: second all\nwhat it needs has failed" in failed.stderr
    assert "| first | not run yet |" in failed.stdout  # what there is, is shown all the same
    end = "ngs: failed, see above: 3 of the runs; the same command tries them again\n"
    assert failed.stderr.endswith(end)
    (there / "dry").unlink()
    again = done(*TINY)
    assert again.output.count("done:") == 3


def test_a_damaged_run_is_named(there: Path) -> None:
    ngs(*TINY)
    (first, *_) = jobs(there)
    (Store(there / "runs/reproduce").folder(first) / RESULT).write_text("{")
    assert f"ngs: runs/reproduce/{address(first)}/result.json is damaged" in refused(*TINY)


# The page


def test_without_records_there_is_no_page(there: Path) -> None:
    result = refused("results", "docs")
    assert result == "ngs: docs/results holds no records; make some: ngs reproduce NAME --record DIR\n"
    assert list(there.iterdir()) == []


def test_a_damaged_record_is_named(there: Path) -> None:
    (there / "docs/results").mkdir(parents=True)
    (there / "docs/results/tiny.json").write_text(json.dumps({"experiment": "tiny"}))
    result = refused("results", "docs")
    assert "ngs: docs/results/tiny.json is no record of an experiment (it lacks 'quick')" in result
