"""Tables: what stands in a place, what beside it, and what others published."""

import tomllib
from dataclasses import replace
from functools import partial
from importlib.resources import files

import pytest

from ngs.tasks.hwf.paper.settings import ROWS
from ngs.tasks.hwf.paper.tables import released_curves
from ngs.tasks.results.outcome import Outcome, Place, Spread
from ngs.tasks.results.tables import Published, in_percent, plain, provenance, published, table
from tests.tasks.results.made import outcome, place

CALCULATION = "calculation"
KNOWN = Published("tab", "Some table", {"a": {"x": 50.0, "y": 60.0}, "other": {"x": 1.25}, "last": {}})


def cell(there: Place, known: Published | None = None) -> str:
    """What a table of one place has in it."""
    line = table(outcome(there), CALCULATION, known).splitlines()[2]
    row, _, text = line.strip("| ").partition(" | ")
    assert row == there.row
    return text


def test_mean_and_spread_of_the_seeds() -> None:
    assert cell(place("a", "x", 0.5, 0.6)) == "55.00 ± 7.07"
    assert cell(place("a", "x", 0.98765)) == "98.77"
    assert in_percent(Spread.of([0.5, 0.6])) == "55.00 ± 7.07" and in_percent(Spread.of([1])) == "100.00"
    assert plain(Spread.of([4.0, 4.4]), 1) == "4.2 ± 0.3" and plain(Spread.of([4.0]), 3) == "4.000"


def test_what_is_missing_is_said() -> None:
    assert cell(place("a", "x", wanted=3)) == "not run yet"
    assert cell(place("a", "x", None)) == "not run yet"
    assert cell(place("a", "x", wanted=3), KNOWN) == "not run yet; paper 50.0"
    assert cell(place("a", "x", 0.5, 0.6, wanted=3)) == "55.00 ± 7.07 (2 of 3 seeds)"


def test_a_published_value_and_the_difference_stand_beside_ours() -> None:
    assert cell(place("a", "x", 0.512), KNOWN) == "51.20; paper 50.0 (+1.2)"
    assert cell(place("a", "z", 0.512), KNOWN) == "51.20"
    assert cell(place("b", "x", 0.512), KNOWN) == "51.20"


@pytest.mark.parametrize("share, bold", [(0.48, True), (0.4899, True), (0.4901, False), (0.6, False)])
def test_what_is_more_than_a_point_behind_is_bold(share: float, bold: bool) -> None:
    text = cell(place("a", "x", share), KNOWN)
    assert (text.startswith("**") and text.endswith("**")) is bold
    assert f"{100 * share:.2f}; paper 50.0" in text


def test_what_stands_instead_is_marked_and_never_bold() -> None:
    assert cell(place("a", "x", 0.1, instead=True, wanted=1)) == "10.00†"
    assert cell(place("a", "x", 0.1, instead=True, wanted=1), KNOWN) == "10.00†; paper 50.0"
    assert cell(place("a", "x", 0.1, instead=True, wanted=2), KNOWN).startswith("10.00† (1 of 2 seeds)")


def test_rows_that_we_do_not_run_come_last() -> None:
    made = outcome(place("b", "x", 0.25), place("a", "y", 0.75), place("a", "x", 0.5))
    assert table(made, CALCULATION, KNOWN, "rows").splitlines() == [
        "| rows | x | y |",
        "| --- | --- | --- |",
        "| b | 25.00 |  |",
        "| a | 50.00; paper 50.0 (+0.0) | 75.00; paper 60.0 (+15.0) |",
        "| *other* | *1.2* |  |",
        "| *last* |  |  |",
    ]


def test_provenance_counts_what_was_asked_for() -> None:
    made = outcome(place("a", "x", 0.5, wanted=3), place("a", "y", 0.1, 0.2, wanted=3, instead=True))
    assert provenance(made) == (
        "`ngs reproduce some`: 1 of 6 runs done. 3 seeds of each setting. †: `ngs reproduce some --instead`. "
        "On cpu; commit 0123456."
    )
    assert provenance(outcome(place("a", "x", wanted=1), quick=True)) == (
        "`ngs reproduce some --quick`: 0 of 1 runs done."
    )


def test_provenance_tells_rows_apart_that_other_code_made() -> None:
    def made_by(commit: str, made: Place) -> Place:
        runs = tuple(
            replace(run, environment={**run.environment, "commit": commit * 20}) for run in made.runs
        )
        return replace(made, runs=runs)

    first, second, third = place("a", "x", 0.5), place("a, too", "x", 0.5), place("b", "x", 0.5)
    rows = [
        made_by("1", first),
        made_by("1", second),
        made_by("2", third),
        made_by("1", place("b", "y", 0.5)),
    ]
    assert provenance(outcome(*rows)).endswith("commit 1111111 (*a*, *a, too*); 1111111, 2222222 (*b*).")
    assert provenance(outcome(*rows[:2], place("empty", "x"))).endswith("commit 1111111.")


def test_beside_quick_runs_stands_nothing_published() -> None:
    known = Published("x", "caption", {"a": {"b": 50.0}, "another": {"b": 60.0}})
    places = (place("a", "b", 0.5),)
    assert "paper 50.0" in table(Outcome("e", False, places), CALCULATION, known)
    quick = table(Outcome("e", True, places), CALCULATION, known)
    assert "paper" not in quick and "another" not in quick


# What others published


TABLES = {
    (package, label): facts
    for package in ("ngs.tasks.hwf.paper", "ngs.tasks.clevr.paper")
    for label, facts in tomllib.loads((files(package) / "published.toml").read_text("utf-8")).items()
}


@pytest.mark.parametrize(("package", "label"), TABLES)
def test_a_table_is_in_percent(package: str, label: str) -> None:
    known = published(package, label)
    assert known.label == label and known.caption
    for row, values in known.values.items():
        assert (
            len(TABLES[package, label]["rows"][row]) == len(values) <= len(TABLES[package, label]["columns"])
        )
        assert all(1 < value <= 100 for value in values.values())
    assert max(value for values in known.values.values() for value in values.values()) > 90


@pytest.mark.parametrize(("package", "label"), [key for key in TABLES if key[1].startswith("tab_")])
def test_more_data_never_make_back_search_worse(package: str, label: str) -> None:
    """And it is the best row of each of the paper's tables."""
    values = published(package, label).values
    assert list(values)[-1] == "NGS-m-BS"
    best = list(values["NGS-m-BS"].values())
    assert best == sorted(best) and len(best) == 4
    for row in values.values():
        assert all(other <= most for other, most in zip(row.values(), best, strict=True))


def test_some_values_by_hand() -> None:
    formulas = partial(published, "ngs.tasks.hwf.paper")
    assert formulas("tab_HME_reult_acc_data_percentage").at("NGS-m-BS", "25%") == 93.3
    assert formulas("tab_HME_symbol_acc_data_percentage").at("NGS-MAPO", "75%") == 78.5
    assert published("ngs.tasks.clevr.paper", "tab_CLEVR_acc_data_percentage").at("NS-RL", "100%") == 12.5
    assert formulas("one_length_only").at("ABLkit", "7") == 97.2
    assert formulas("one_length_only").at("DeepStochLog", "7") is None
    assert formulas("one_length_only").at("nobody", "7") is None


def test_released_curves() -> None:
    curves = released_curves()
    assert set(curves) == set(ROWS) - {"posterior", "supervised"}
    for name, points in curves.items():
        steps = [point[0] for point in points]
        assert steps == sorted(set(steps)) and steps[0] == 157 and steps[-1] > 70_000, name
        for _, calculation, symbol in points:
            assert 0 <= calculation <= symbol <= 1, name
    begins = [curves[name][0][2] for name in curves if name.endswith("Pretrain")]
    assert all(0.58 <= share <= 0.63 for share in begins)
    assert curves["NGS-m-BS"][-1] == (72_220, 0.9795, 0.9963)
    assert curves["NGS-MAPO-Pretrain"][-1] == (127_955, 0.872, 0.9751)
