"""Every `>>>` in the documentation gives the output printed below it."""

import ast
import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if page.exists()]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_snippets_of_a_page_are_true(page: Path) -> None:
    """Those of one page follow each other, as a reader would type them."""
    text = re.sub("^```.*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)  # fences end nothing
    snippets = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    report: list[str] = []
    found = doctest.DocTestRunner(optionflags=OPTIONS).run(snippets, out=report.append)
    assert found.failed == 0, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target, _, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(#([^)]*))?\)", page.read_text("utf-8")):
        there = page.parent / target if target else page
        assert there.exists(), f"{page.name} links to {target}, which does not exist"
        assert not anchor or anchor in anchors(there), f"{page.name} links to {target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_are_named_exist(page: Path) -> None:
    for name in re.findall(r"`((?:examples|src|tests|docs)/[\w./]+)`", page.read_text(encoding="utf-8")):
        assert (ROOT / name).exists(), f"{page.name} names {name}"


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links."""
    headings = re.findall("^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


NAMED = re.findall(r"`([\w/]+\.py)(?:::([\w.]+))?`", (ROOT / "docs" / "architecture.md").read_text("utf-8"))


@pytest.mark.parametrize("file, name", NAMED, ids="::".join)
def test_what_the_architecture_names_exists(file: str, name: str) -> None:
    path = ROOT / file if (ROOT / file).exists() else ROOT / "src" / "ngs" / file
    scope: list[ast.stmt] = ast.parse(path.read_text("utf-8")).body
    for part in filter(None, name.split(".")):
        found = [node for node in scope if part in names_of(node)]
        assert found, f"{file} defines no {name}"
        scope = getattr(found[0], "body", [])


def names_of(node: ast.stmt) -> list[str]:
    """What a statement defines."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            return [name]
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return [name]
    return []
