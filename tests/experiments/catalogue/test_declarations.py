"""What the experiments declare: distinct places and runs, the paper's settings, and what it published."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ngs.errors import DataError, NGSError
from ngs.experiments.catalogue.page import EXPERIMENTS, SOURCES, experiment
from ngs.tasks.clevr.paper import tables as clevr_tables
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.clevr.trainable import QUESTIONS, ReadingQuestions
from ngs.tasks.costs.step_cost import StepCost
from ngs.tasks.hwf.paper import tables as hwf_tables
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.hwf.trainable import CLEAN_FORMULAS, FORMULAS, ReadingFormulas
from ngs.tasks.results.experiment import Cell, Experiment, Means, addresses_of, jobs_of
from ngs.tasks.results.job import Job, Trained, address
from ngs.tasks.results.outcome import read_outcome
from ngs.tasks.results.tables import Published, published
from ngs.tasks.settings import RunSettings
from tests.experiments.catalogue.small import Data
from tests.experiments.training import trained

PAPER = ("hwf-table", "hwf-curves", "hwf-steps", "hwf-examples", "clevr-table", "clevr-curves")
OURS = ("clevr-rates", "clevr-examples", "hwf-lengths", "hwf-leak", "hwf-long", "cost")


def configs(cells: Sequence[Cell], *, instead: bool = False) -> list[RunSettings]:
    """Of the training runs among the jobs, and of those that other jobs need."""
    jobs = list(jobs_of(cells, instead=instead))
    runs = [job for each in jobs for job in (each, *each.needs) if isinstance(job, Trained)]
    return [run.settings for run in runs]


def places(cells: Sequence[Cell]) -> list[tuple[str, str]]:
    return [(cell.row, cell.column) for cell in cells]


def addresses(jobs: Sequence[Job]) -> list[str]:
    return [address(job) for job in jobs]


def test_all_experiments_are_there() -> None:
    assert set(EXPERIMENTS) == {*PAPER, *OURS}
    for name, each in EXPERIMENTS.items():
        assert each.name == name and experiment(name) is each
        assert set(each.needs) <= set(SOURCES)
    with pytest.raises(NGSError, match="there is no experiment 'hwf-tabel'; choose from hwf-table, hwf-cu"):
        experiment("hwf-tabel")


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_places_and_runs_are_distinct(name: str, quick: bool, data: Data) -> None:
    cells = EXPERIMENTS[name].cells(data.means(3), quick=quick)
    assert cells and max(Counter(places(cells)).values()) == 1
    found = addresses([*jobs_of(cells), *jobs_of(cells, instead=True)])
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_place_has_as_many_runs_as_seeds(name: str, quick: bool, seeds: int, data: Data) -> None:
    for cell in EXPERIMENTS[name].cells(data.means(seeds), quick=quick):
        assert len(cell.instead) in (0, len(cell.jobs))
        for jobs in (cell.jobs, cell.instead):
            runs = [job.settings for job in jobs if isinstance(job, Trained)]
            assert [run.seed for run in runs] == list(range(seeds))[: len(runs)]
            assert len({replace(run, seed=0) for run in runs}) <= 1
        if any(isinstance(job, Trained) for job in cell.jobs):
            assert len(cell.jobs) == seeds


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_is_needed_is_what_is_read(name: str, data: Data) -> None:
    """Quickly, nothing but what is embedded."""
    means = data.means()
    cells = EXPERIMENTS[name].cells(means, quick=False)
    read = {config.data for config in (*configs(cells), *configs(cells, instead=True))}
    assert read - {"embedded"} == set(map(means.path, EXPERIMENTS[name].needs))
    quick = EXPERIMENTS[name].cells(Means(), quick=True)
    assert {config.data for config in configs(quick)} <= {"embedded"}


@pytest.mark.parametrize("name", [name for name, each in EXPERIMENTS.items() if each.needs])
def test_missing_data_are_named_before_anything_is_run(name: str, tmp_path: Path) -> None:
    means = Means({source: str(tmp_path / f"{source.option}.ngs") for source in SOURCES})
    missing = ", ".join(map(means.path, EXPERIMENTS[name].needs))
    with pytest.raises(DataError) as error:
        EXPERIMENTS[name].cells(means, quick=False)
    assert str(error.value).startswith(f"{missing}: there is no such file; make it with `ngs data import`")
    options = [f"--{source.option}" for source in EXPERIMENTS[name].needs]
    assert all(option in str(error.value) for option in (*options, "--quick"))


def test_only_what_is_missing_is_named(data: Data) -> None:
    means = Means({**data.means().data, CLEAN_FORMULAS: "nowhere.ngs"})
    with pytest.raises(DataError, match=r"^nowhere\.ngs: there is no such file"):
        means.check([FORMULAS, CLEAN_FORMULAS])
    means.check([FORMULAS, QUESTIONS])


# The paper's settings


def test_the_table_of_formulas_has_the_papers_settings(data: Data) -> None:
    cells = [cell for cell in hwf_tables.TABLE.full(data.means(3)) if cell.row not in hwf_tables.OURS]
    assert len(cells) == 7 * 4
    for config in configs(cells):
        assert isinstance(config, TrainHWF)
        assert (config.steps, config.batch_size, config.learning_rate) == (15_000, 64, 5e-4)
        assert (config.schedule, config.network, config.augment) == ("constant", "paper", False)
        assert config.test_curve and config.data == data.formulas
    for cell in cells:
        (config, *_) = configs([cell])
        assert cell.column == f"{config.fraction:.0%}"
    methods = {cell.row: configs([cell])[0].method for cell in cells}
    assert methods["NGS-RL-Pretrain"] == methods["NGS-RL"] == "reinforce"
    assert methods["NGS-MAPO-Pretrain"] == methods["NGS-MAPO"] == "mapo"
    assert methods["NGS-m-BS"] == "m-bs"
    pretrained = {cell.row for cell in cells for run in configs([cell]) if run.pretrain}  # type: ignore[union-attr]
    assert pretrained == {"NGS-RL-Pretrain", "NGS-MAPO-Pretrain"}


def test_the_table_of_questions_has_the_papers_settings(data: Data) -> None:
    cells = [cell for cell in clevr_tables.full(data.means(3)) if cell.row in clevr_tables.PAPER_ROWS]
    assert len(cells) == 3 * 4
    for config in configs(cells):
        assert isinstance(config, TrainCLEVR)
        assert (config.steps, config.batch_size, config.learning_rate) == (30_000, 64, 1e-5)
        assert (config.schedule, config.network) == ("constant", "paper")
        assert not config.copies and not config.moves and config.samples == 1
        assert config.walk_steps == (10 if config.method == "m-bs" else TrainCLEVR.walk_steps)
    grammars = {cell.row: configs([cell])[0].grammar for cell in cells}  # type: ignore[union-attr]
    assert grammars == {"NS-RL": "none", "NGS-RL": "free", "NGS-m-BS": "free"}
    for cell in cells:
        for config in configs([cell]):
            assert cell.column == f"{config.fraction:.0%}"


# What experiments share is run once


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hwf-curves", "hwf-table"),
        ("hwf-steps", "hwf-curves"),
        ("hwf-leak", "hwf-table"),
        ("clevr-curves", "clevr-table"),
        ("clevr-rates", "clevr-table"),
    ],
)
def test_what_experiments_share_is_run_once(one: str, other: str, quick: bool, data: Data) -> None:
    first, second = (
        addresses_of(EXPERIMENTS[name].cells(data.means(3), quick=quick)) for name in (one, other)
    )
    assert first & second


# Records

RECORDS = Path(__file__).parents[3] / "docs" / "results"
DIGESTS = {
    FORMULAS: "33ad933d9d150c521b8414d6b2aae16fa85a9f939b43525a86b9eef02d872dd5",
    CLEAN_FORMULAS: "9b754ef336d67c58cf34487155a3bc50b9636f161b2d3ff74016d43b0330bf2f",
    QUESTIONS: "50bfc3bb058965bc1011de66577c97fda6f858398103d113de01784e121b0869",
}
"""Of the data that the records are about."""


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_run_on_record_is_one_that_is_asked_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a setting, its default or a declaration has changed, and the runs would be done again."""
    for task in (ReadingFormulas, ReadingQuestions):
        monkeypatch.setattr(task, "digest", lambda self, source: Path(source).name)
    device = "cuda" if "cuda" in (RECORDS / f"{name}.json").read_text(encoding="utf-8") else "cpu"
    asked = {
        (cell.row, cell.column, address(job))
        for cell in EXPERIMENTS[name].full(Means(DIGESTS, seeds=3, device=device))
        for job in cell.jobs
    }
    places = read_outcome(RECORDS / f"{name}.json").places
    assert {(place.row, place.column, run.address) for place in places for run in place.runs} <= asked
    assert sum(len(place.runs) for place in places) == len(asked)


def test_curves_of_the_paper_begin_with_the_first_steps(data: Data) -> None:
    """Which no address tells: nothing but the curve depends on it."""
    for each in (hwf_tables.CURVES.full(data.means()), clevr_tables.CURVES.full(data.means())):
        for config in configs(each):
            tested = [step for step in range(1, 1001) if config.tests_at(step)]
            assert config.test_curve and tested[:5] == [1, 2, 3, 4, 5] and 25 < len(tested) < 40
            assert address(trained(config)) == address(trained(replace(config, test_growth=0.0)))


# What was published


@pytest.mark.parametrize(
    "each, known",
    [
        (hwf_tables.TABLE, published("ngs.tasks.hwf.paper", "tab_HME_reult_acc_data_percentage")),
        (hwf_tables.TABLE, published("ngs.tasks.hwf.paper", "tab_HME_symbol_acc_data_percentage")),
        (clevr_tables.TABLE, published("ngs.tasks.clevr.paper", "tab_CLEVR_acc_data_percentage")),
    ],
    ids=["calculation", "symbol", "answers"],
)
def test_the_papers_tables_are_declared_whole(each: Experiment, known: Published, data: Data) -> None:
    cells = each.cells(data.means(), quick=False)
    theirs = [(row, column) for row, values in known.values.items() for column in values]
    assert len(theirs) == 4 * len(known.values)
    assert [place for place in places(cells) if place in theirs] == theirs


def test_others_tested_the_same_lengths(data: Data) -> None:
    cells = hwf_tables.ONE_LENGTH.full(data.means())
    known = published("ngs.tasks.hwf.paper", "one_length_only")
    assert {column for values in known.values.values() for column in values} == {c.column for c in cells}
    assert not set(known.values) & {cell.row for cell in cells}
    for cell in cells:
        assert {config.lengths for config in configs([cell])} == {(int(cell.column),)}  # type: ignore[union-attr]


def test_costs_are_measured_on_the_device_there_is(data: Data) -> None:
    for quick in (False, True):
        for cell in EXPERIMENTS["cost"].cells(replace(data.means(), device="cuda"), quick=quick):
            (job,) = cell.jobs
            assert isinstance(job, StepCost) and job.device == cell.column == "cuda"
