"""Results over HTTP: which there are, and their pages."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from ngs.apps.serve.results_api import as_html
from ngs.experiments.catalogue.page import EXPERIMENTS
from tests.apps.serve.made_runs import client_of


def test_results_are_those_with_a_record(tmp_path) -> None:
    recorded = Path(__file__).parents[3] / "docs" / "results"
    client = client_of(tmp_path, results=recorded)
    found = {each["name"]: each for each in client.get("/api/results").json()}
    assert found.keys() == {name for name in EXPERIMENTS if (recorded / f"{name}.json").exists()}
    assert 0 < found["clevr-table"]["done"] <= found["clevr-table"]["wanted"]
    pages = {name: client.get(f"/api/results/{name}") for name in found}
    assert '<table class="numbers">' in pages["clevr-table"].text
    for page in pages.values():
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert "sandbox" in page.headers["content-security-policy"]
        assert not re.search(r"<img|<script|href=|!\[|\{hwf|\]\(", page.text)


def test_what_is_no_result_is_not_there(tmp_path) -> None:
    answer = client_of(tmp_path, results=tmp_path).get("/api/results/cost")
    assert answer.status_code == 404 and "/api/results lists" in answer.json()["error"]


EVIL = [
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<javascript:alert(1)>"),
    *("[a](javascript:alert(1))", "![a](javascript:alert(1))"),
    *("| a |\n|---|\n| <b onclick=alert(1)> |", "```<script>\n<script>\n```"),
]


@pytest.mark.parametrize("evil", EVIL)
def test_a_text_never_becomes_markup_of_its_own(evil) -> None:
    tags = {tag.removeprefix("/") for tag in re.findall(r"<([^>]*)>", as_html(evil))}
    tables = {"table", "thead", "tbody", "tr", "th", "td", 'table class="numbers"', 'div class="wide"', "div"}
    code = {"pre", "code", 'code class="language-&lt;script&gt;"'}
    assert tags <= {"p", *tables, *code}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"experiment": "cost", "quick": false, "places": [{}]}',
        '{"experiment": "cost", "quick": false, "places": [{"row": 1, "column": 2, "wanted": "x"}]}',
    ],
)
def test_a_damaged_record_does_not_hide_the_others(text, tmp_path) -> None:
    recorded = Path(__file__).parents[3] / "docs" / "results" / "clevr-table.json"
    shutil.copy(recorded, tmp_path / "clevr-table.json")
    (tmp_path / "cost.json").write_text(text)
    (tmp_path / "hwf-table.json").mkdir()
    found = {each["name"]: each for each in client_of(tmp_path, results=tmp_path).get("/api/results").json()}
    assert found["clevr-table"]["done"] > 0
    for name in ("cost", "hwf-table"):
        page = client_of(tmp_path, results=tmp_path).get(f"/api/results/{name}")
        assert "cannot be shown" in page.text


def test_a_record_with_more_in_it_is_shown_anew(tmp_path) -> None:
    recorded = Path(__file__).parents[3] / "docs" / "results" / "clevr-table.json"
    facts = json.loads(recorded.read_text())
    client = client_of(tmp_path, results=tmp_path)
    for places in ([], facts["places"]):
        (tmp_path / "clevr-table.json").write_text(json.dumps({**facts, "places": places}))
        os.utime(tmp_path / "clevr-table.json", ns=(len(places), len(places)))
        (found,) = client.get("/api/results").json()
        assert found["wanted"] == sum(place["wanted"] for place in places)
