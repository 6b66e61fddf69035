"""What others published: whole tables, in percent, and curves that rise in steps."""

from __future__ import annotations

import tomllib
from functools import partial
from importlib.resources import files

import pytest

from ngs.tasks.hwf.paper.settings import ROWS
from ngs.tasks.hwf.paper.tables import released_curves
from ngs.tasks.results.tables import published

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
