"""The page's files: nothing from elsewhere, nothing that a text could turn into markup or code."""

import re
from pathlib import Path

import pytest

import ngs.apps

STATIC = Path(ngs.apps.__file__).parent / "serve/static"
SCRIPTS = sorted(STATIC.glob("js/*.js"))
PAGE = (STATIC / "index.html").read_text(encoding="utf-8")


MARKUP = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_make_text_nodes_only_say_what_they_are_and_import_their_neighbours(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("// ") and not re.search(MARKUP, text)
    for name in re.findall(r'from "([^"]+)"', text):
        assert name.startswith("./") and (path.parent / name).is_file()
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


def test_the_page_has_no_script_or_style_of_its_own() -> None:
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", PAGE)
    assert re.findall(r"<script[^>]*>", PAGE) == ['<script type="module" src="/static/js/main.js">']


def test_the_page_loads_only_its_own_files() -> None:
    loaded = re.findall(r'<(?:link|script|img)[^>]*(?:href|src)="([^"]+)"', PAGE)
    assert loaded and all(name.startswith("/static/") for name in loaded)
    assert all((STATIC / name.removeprefix("/static/")).is_file() for name in loaded)
    assert "Closed Loop Neural-Symbolic Learning" in PAGE  # it names the paper
    assert "url(" not in (STATIC / "style.css").read_text(encoding="utf-8")


def test_scripts_find_what_they_look_for() -> None:
    ids = set(re.findall(r'\bid="([^"]+)"', PAGE))
    text = "".join(path.read_text(encoding="utf-8") for path in SCRIPTS)
    assert set(re.findall(r'\$\("([^"]+)"\)', text)) <= ids


def test_every_label_names_a_field() -> None:
    ids = re.findall(r'\bid="([^"]+)"', PAGE)
    assert len(ids) == len(set(ids))
    named = re.findall(r'\b(?:for|aria-labelledby|aria-controls)="([^"]+)"', PAGE)
    assert set(named) <= set(ids)
