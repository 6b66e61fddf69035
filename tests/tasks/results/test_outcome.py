"""Outcomes on record: written and read, a line for each run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ngs.errors import DataError
from ngs.tasks.results.outcome import Outcome, commits, devices, read_outcome, write_outcome
from tests.tasks.results.made import COMMIT, outcome, place, run

CURVE = ({"step": 5, "seconds": 0.1, "calculation": 0.25}, {"step": 10, "seconds": 0.2, "calculation": 0.5})
SOME = outcome(
    place("m-BS †", "25%", 0.5, 0.75, wanted=3),
    place("m-BS †", "100%", wanted=3),
    replace(
        place("posterior", "25%", instead=True),
        runs=(replace(run(0.9), curve=CURVE, drawings={"digit-1": '<svg viewBox="0">\n×</svg>\n'}),),
    ),
)


@pytest.mark.parametrize("made", [SOME, outcome(), outcome(place("a", ""), quick=True)])
def test_what_is_written_is_read(made: Outcome, tmp_path: Path) -> None:
    write_outcome(made, tmp_path / "new" / "some.json")
    assert read_outcome(tmp_path / "new" / "some.json") == made
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["some.json"]


def test_one_more_run_is_one_more_line(tmp_path: Path) -> None:
    def lines(made: Outcome) -> list[str]:
        write_outcome(made, tmp_path / "some.json")
        return (tmp_path / "some.json").read_text(encoding="utf-8").splitlines()

    before = lines(SOME)
    first, *rest = SOME.places
    after = lines(outcome(replace(first, runs=(*first.runs, run(1.0))), *rest))
    assert len(after) == len(before) + 1
    new = [line for line in after if "address-1.0" in line]
    assert len(new) == 1 and json.loads(new[0].rstrip(","))["result"]["test"] == {"calculation": 1.0}
    changed = {line.rstrip(",") for line in after} - {line.rstrip(",") for line in before}
    assert changed == {new[0].rstrip(",")}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "3",
        '{"experiment": "some", "quick": false}',
        '{"experiment": "some", "quick": false, "places": [{"row": "a"}]}',
        '{"experiment": "some", "quick": false, "places": [[1]]}',
        '{"experiment": "some", "quick": false, "places": null}',
        '{"experiment": "some", "quick": false, "places": [{"row": "a", "column": "b", "wanted": 1, '
        '"instead": false, "runs": [{"address": "x"}]}]}',
        '{"experiment": "some", "quick": false, "places": [{"row": "a", "column": "b", "wanted": 1, '
        '"instead": false, "colour": "red", "runs": []}]}',
    ],
)
def test_a_damaged_record_is_refused_by_name(text: str, tmp_path: Path) -> None:
    (tmp_path / "some.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"some\.json is no record of an experiment .*`ngs reproduce`"):
        read_outcome(tmp_path / "some.json")


def test_a_record_that_is_cut_short_or_missing_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    with pytest.raises(DataError, match=r"some\.json is no record"):
        read_outcome(path)
    write_outcome(SOME, path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(DataError, match=r"some\.json is no record"):
        read_outcome(path)


def test_places_are_found_by_row_and_column() -> None:
    assert SOME.rows == ["m-BS †", "posterior"] and SOME.columns == ["25%", "100%"]
    found = SOME.at("m-BS †", "100%")
    assert found is SOME.places[1]
    assert SOME.at("posterior", "100%") is None
    assert SOME.rows_of("25%") == [SOME.places[0], SOME.places[2]]
    assert [each.address for each in SOME.runs] == ["address-0.5", "address-0.75", "address-0.9"]


def test_a_place_has_a_spread_of_the_runs_that_know() -> None:
    spread = place("a", "b", 0.5, None, 0.7).tested("calculation")
    assert spread is not None and spread.values == (0.5, 0.7) and spread.mean == pytest.approx(0.6)
    assert place("a", "b", None).tested("calculation") is None
    assert place("a", "b", 0.5).tested("symbol") is None


def test_what_is_told_of_runs() -> None:
    runs = [run(0.1), run(0.2, device="NVIDIA H200"), run(0.3, commit=COMMIT + "+"), run(0.4, commit=None)]
    assert commits(runs) == ["0123456", "0123456+", "unknown"]
    assert devices(runs) == ["NVIDIA H200", "cpu"]
