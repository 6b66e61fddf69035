"""The page of results in the documentation is what its records make."""

from __future__ import annotations

from pathlib import Path

from ngs.experiments.catalogue.page import PAGE, records, write_page

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_is_made_from_its_records(tmp_path: Path) -> None:
    """Otherwise make it again: ngs results docs"""
    outcomes = records(DOCS / "results")
    assert outcomes
    made = write_page(outcomes, tmp_path).read_text(encoding="utf-8")
    assert made == (DOCS / PAGE).read_text(encoding="utf-8")
    for image in (tmp_path / "images").rglob("*.*"):
        assert (DOCS / image.relative_to(tmp_path)).exists(), f"{image.name} is not committed"
