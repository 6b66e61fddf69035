"""What the tests read pages and files with."""

import json
import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

VOID = {"meta", "link", "img", "br", "hr", "input"}
"""HTML elements without an end."""


def facts(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


class Document(HTMLParser):
    """Checks that tags are closed in order; collects attributes and the text of table cells."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.said: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or self.open.pop() == tag, self.getpos()

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.said.append(data)


def said(text: str) -> str:
    """What a reader sees, on one line."""
    return " ".join(" ".join(Document(text).said).split())


def rows_of(text: str, class_: str) -> list[list[str]]:
    """The cells of the first table of this class, row by row."""
    match = re.search(rf'<table class="{class_}">(.*?)</table>', text, re.DOTALL)
    assert match is not None
    rows = re.findall(r"<tr.*?</tr>", match[1], re.DOTALL)
    return [
        [unescape(re.sub("<.*?>", "", c)) for c in re.findall(r"<t[hd].*?</t[hd]>", r, re.DOTALL)]
        for r in rows
    ]
