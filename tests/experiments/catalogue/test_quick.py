"""Every experiment from its declaration to the page, in a size that a test can run."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ngs.experiments.catalogue.gathering import gathered
from ngs.experiments.catalogue.page import EXPERIMENTS, IMAGES, PAGE, RECORDS, findings, records, write_page
from ngs.experiments.sweep.local import run_here
from ngs.experiments.sweep.store import Store, addressed
from ngs.networks.pointer import SIZES
from ngs.tasks.clevr.report.report import QuestionSearches
from ngs.tasks.hwf.report.report import FormulaSearches
from ngs.tasks.results.corrections import PLACE
from ngs.tasks.results.experiment import Experiment, jobs_of
from ngs.tasks.results.job import address
from ngs.tasks.results.outcome import Outcome, read_outcome, write_outcome
from ngs.tasks.results.tables import Section
from tests.experiments.catalogue.small import NETWORK, SIZE, Data, smaller

NOT_RUN = "Not run yet: `ngs reproduce"
SEEDS = {"hwf-steps": 2, "hwf-long": 2, "clevr-curves": 2}
"""More than one where that is cheap."""
WITHOUT_SEEDS = ("hwf-examples", "clevr-examples", "cost")


@pytest.fixture(scope="module", autouse=True)
def sizes() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SIZES, NETWORK, SIZE)  # type: ignore[arg-type]
        yield


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Of all experiments: some share runs."""
    return Store(tmp_path_factory.mktemp("store"))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_runs_and_is_shown(name: str, data: Data, store: Store, tmp_path: Path) -> None:
    experiment = smaller(EXPERIMENTS[name], data)
    seeds = SEEDS.get(name, 1)
    cells = experiment.cells(data.means(seeds), quick=True)
    jobs = list(jobs_of(cells))
    ends = [event for event in run_here(jobs, store, workers=1) if event.state in ("done", "found")]
    assert {event.entry.address for event in ends} == {entry.address for entry in addressed(jobs)}

    again = list(run_here(jobs, store, workers=1))
    assert {event.state for event in again} == {"found"} and len(again) == len(set(map(address, jobs)))

    outcome = gathered(experiment, cells, store, quick=True)
    for place, cell in zip(outcome.places, cells, strict=True):
        assert len(place.runs) == place.wanted == len(cell.jobs) and not place.instead, place
    assert_every_row_is_named(outcome, experiment.show(outcome))
    if name not in WITHOUT_SEEDS:
        assert_seeds_that_are_missing_are_told(experiment, outcome, seeds)

    write_outcome(outcome, tmp_path / "results" / f"{name}.json")
    assert read_outcome(tmp_path / "results" / f"{name}.json") == outcome
    assert_the_page_is_whole(name, outcome, tmp_path)


def assert_every_row_is_named(outcome: Outcome, section: Section) -> None:
    """In the text, or in the legend of a figure."""
    named = said(section)
    searches = FormulaSearches if outcome.experiment == "hwf-examples" else QuestionSearches
    rows = list(searches.kinds) if outcome.rows == [PLACE[0]] else outcome.rows
    assert [row for row in rows if row not in named] == []


def assert_seeds_that_are_missing_are_told(experiment: Experiment, outcome: Outcome, seeds: int) -> None:
    """In every row that has some for each seed, if as many again were wanted."""
    fewer = replace(
        outcome, places=tuple(replace(place, wanted=2 * place.wanted) for place in outcome.places)
    )
    rows = {place.row for place in outcome.places if place.wanted == seeds}
    assert said(experiment.show(fewer)).count(f"({seeds} of {2 * seeds} seeds)") >= len(rows) > 0


def said(section: Section) -> str:
    """Its text, and the legends of its figures."""
    legends = [
        label
        for figure in section.figures.values()
        for axes in figure.axes
        for label in axes.get_legend_handles_labels()[1]
    ]
    return " ".join([section.text, *legends])


def assert_the_page_is_whole(name: str, outcome: Outcome, docs: Path) -> None:
    page = write_page(records(docs / "results"), docs).read_text(encoding="utf-8")
    others = [other for other in EXPERIMENTS if f"{NOT_RUN} {other}`" in page]
    assert others == [other for other in EXPERIMENTS if other != name]
    number = sum(place.wanted for place in outcome.places)
    assert f"`ngs reproduce {name} --quick`: {number} of {number} runs done." in page
    assert "{" not in page and "not run yet" not in page
    shown = {docs / path for path in re.findall(r"!\[[^]]+\]\((.*?)\)", page)}
    section = EXPERIMENTS[name].show(outcome)
    assert shown == {docs / IMAGES / f"{each}.svg" for each in (*section.figures, *section.drawings)}
    for path in shown:
        assert path.read_text(encoding="utf-8").rstrip().endswith("</svg>")
    for each in section.figures:
        assert (docs / IMAGES / f"{each}.png").read_bytes().startswith(b"\x89PNG")

    files = {path: path.read_bytes() for path in docs.rglob("*") if path.is_file()}
    write_page({name: outcome}, docs)
    assert {path: path.read_bytes() for path in docs.rglob("*") if path.is_file()} == files


def test_without_records_nothing_has_been_run(tmp_path: Path) -> None:
    assert records(tmp_path) == {}
    page = write_page({}, tmp_path).read_text(encoding="utf-8")
    assert page.count(NOT_RUN) == len(EXPERIMENTS)
    for experiment in EXPERIMENTS.values():
        assert f"## {experiment.title}\n\nNot run yet" in page
    assert [path.name for path in tmp_path.iterdir()] == ["results.md"]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_is_not_run_yet_can_be_shown(name: str, data: Data, tmp_path: Path) -> None:
    experiment = EXPERIMENTS[name]
    outcome = gathered(experiment, experiment.cells(data.means(3), quick=False), Store(tmp_path), quick=False)
    assert all(place.runs == () and place.wanted for place in outcome.places)
    page = write_page({name: outcome}, tmp_path).read_text(encoding="utf-8")
    number = sum(place.wanted for place in outcome.places)
    assert f"`ngs reproduce {name}`: 0 of {number} runs done." in page


# The page in the documentation


DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_is_made_from_its_records(tmp_path: Path) -> None:
    """Otherwise make it again: ngs results docs"""
    outcomes = records(DOCS / RECORDS)
    assert outcomes
    shutil.copytree(DOCS / RECORDS, tmp_path / RECORDS)
    made = write_page(outcomes, tmp_path).read_text(encoding="utf-8")
    assert made == (DOCS / PAGE).read_text(encoding="utf-8")
    for image in (tmp_path / "images").rglob("*.*"):
        assert (DOCS / image.relative_to(tmp_path)).exists(), f"{image.name} is not committed"


def test_what_was_found_is_told_of_every_experiment() -> None:
    for name in EXPERIMENTS:
        assert findings(DOCS / RECORDS / f"{name}.md"), f"docs/{RECORDS}/{name}.md is missing"


def test_links_of_findings_lead_somewhere_from_the_page_too(tmp_path: Path) -> None:
    path = tmp_path / "some.md"
    path.write_text("[one](../clevr.md#data), [here](../results.md#a-table) and [there](https://x.org)")
    assert findings(path) == "[one](clevr.md#data), [here](#a-table) and [there](https://x.org)"
    assert findings(tmp_path / "other.md") == ""
