"""The page of results in the documentation is what its records make."""

from __future__ import annotations

import shutil
from pathlib import Path

from ngs.experiments.catalogue.page import EXPERIMENTS, PAGE, RECORDS, findings, records, write_page

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
