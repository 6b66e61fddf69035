"""The page needs nothing else, is the same every time, and shows what files say as text."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from ngs.errors import DataError
from ngs.experiments.record import read_rows
from ngs.experiments.report.curves import VARIABLES
from ngs.experiments.report.page import write_report
from ngs.tasks.hwf import packed
from ngs.tasks.hwf.dataset import HandwrittenFormulas
from ngs.tasks.run_folder import CONFIG, ENVIRONMENT, METRICS
from tests.experiments.report.documents import Document, facts, said

EVIL = "<script>alert('&')</script>"


def test_the_page_needs_nothing_else(text: str) -> None:
    document = Document(text)
    assert document.tags["script"] == document.tags["iframe"] == document.tags["object"] == 0
    links = [value for _, name, value in document.attributes if name in ("src", "href", "xlink:href")]
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    outside = {
        value for _, name, value in document.attributes if "//" in value and not value.startswith("data:")
    }
    assert outside == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert not re.search(r"url\((?!#)|@import", text)
    assert len(text.encode()) < 400_000


def test_every_reference_has_its_one_target(text: str) -> None:
    document = Document(text)
    names = Counter(value for _, name, value in document.attributes if name == "id")
    assert set(names.values()) == {1}
    links = {value[1:] for _, name, value in document.attributes if "href" in name and value[0] == "#"}
    clips = {value[5:-1] for _, name, value in document.attributes if name == "clip-path"}
    assert clips
    assert links | clips <= set(names)


def test_light_and_dark_share_the_drawings(text: str) -> None:
    assert "prefers-color-scheme: dark" in text
    assert "var(--series-1)" in text
    assert not [colour for colour in VARIABLES if colour in text]


def test_the_same_run_gives_the_same_bytes(run: Path, text: str, tmp_path: Path) -> None:
    path = write_report(run, out=tmp_path / "new" / "again.html")
    assert path == tmp_path / "new" / "again.html"
    assert path.read_text(encoding="utf-8") == text


def test_what_comes_from_files_is_escaped(copy: Path, data: HandwrittenFormulas, tmp_path: Path) -> None:
    test = replace(data.test, names=tuple(EVIL for _ in data.test.names))
    packed.write(tmp_path / "evil.ngs", replace(data, name=EVIL, test=test))
    config = facts(copy / CONFIG) | {"data": str(tmp_path / "evil.ngs")}
    (copy / CONFIG).write_text(json.dumps(config))
    (copy / ENVIRONMENT).write_text(json.dumps({"device": EVIL, EVIL: [EVIL], "packages": {EVIL: EVIL}}))
    rows = [row | {"lesson": f"{EVIL} ${k}", EVIL: 0.5} for k, row in enumerate(read_rows(copy / METRICS))]
    (copy / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = write_report(copy).read_text(encoding="utf-8")
    assert Document(text).tags["script"] == 0
    words = said(text)
    assert f"posterior on {EVIL}" in words
    assert words.count(EVIL) > 30


def test_a_page_that_cannot_be_written_is_named(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("hello")
    with pytest.raises(DataError, match="cannot be written"):
        write_report(run, out=tmp_path / "file" / "report.html")
