"""What every part of a page is made of: elements, tables, and numbers as text."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from fractions import Fraction
from html import escape
from io import BytesIO
from typing import Any

from PIL import Image
from torch import Tensor

from ngs.reasoning.operation import UNDEFINED, Value

SIGNS = {"*": "×", "/": "÷", "-": "−"}
"""How symbols are printed that are not themselves."""


class Html(str):
    """Markup. Any other text is escaped when it is put into an element."""


def element(tag: str, *content: str, **attributes: object) -> Html:
    """An HTML element; `class_` stands for `class`, and an attribute of None is left out.

    >>> element("p", "1 < 2 ", element("b", "so"), class_="note")
    '<p class="note">1 &lt; 2 <b>so</b></p>'
    """
    given = {name.rstrip("_"): value for name, value in attributes.items() if value is not None}
    names = "".join(f' {name}="{escape(str(value))}"' for name, value in given.items())
    return Html(f"<{tag}{names}>{joined(*content)}</{tag}>")


def joined(*content: str) -> Html:
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in content))


def table_head(*names: str) -> Html:
    return element("thead", element("tr", *(element("th", name, scope="col") for name in names)))


def table_line(name: str, cells: Iterable[str], class_: str | None = None) -> Html:
    return element(
        "tr", element("th", name, scope="row"), *(element("td", cell) for cell in cells), class_=class_
    )


def note(text: str) -> Html:
    return element("p", text, class_="note")


def badge(kind: str, text: str) -> Html:
    """A word in a small frame; its kind (good, warn, bad) is its colour."""
    return element("span", text, class_=f"badge {kind}")


def card(badges: Iterable[Html], name: str, *content: Html) -> Html:
    top = element("header", element("span", *badges), element("small", name))
    return element("article", top, *content, class_="card")


def sign(symbol: str) -> str:
    return SIGNS.get(symbol, symbol)


def chance(p: float, digits: int = 2) -> str:
    """A probability in few digits; 0 and 1 only where it is exactly that.

    >>> chance(0.25), chance(0.001), chance(0.001, digits=3), chance(1.0)
    ('.25', '<.01', '.001', '1')
    """
    if p in (0, 1):
        return f"{p:.0f}"
    smallest = 10**-digits
    if round(p, digits) == 0:
        return f"<{smallest:.{digits}f}".replace("0.", ".")
    if round(p, digits) == 1:
        return f">{1 - smallest:.{digits}f}".replace("0.", ".")
    return f"{p:.{digits}f}".removeprefix("0")


def percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.2%}"


def number(value: Value) -> str:
    """An answer: as a decimal where it is one of few digits, else as a fraction.

    >>> number(Fraction(21, 2)), number(Fraction(-1, 3)), number(UNDEFINED)
    ('10.5', '−1/3', 'undefined')
    """
    if not isinstance(value, Fraction):
        return "undefined" if value is UNDEFINED else str(value)
    short = f"{float(value):.6g}"
    return (short if Fraction(short) == value else str(value)).replace("-", "−")


def equals(value: Value) -> str:
    return f"= {number(value)}"


def address_of(image: Image.Image, kind: str, **options: Any) -> str:
    """The address of a picture that is its own content."""
    file = BytesIO()
    image.save(file, kind, **options)
    return f"data:image/{kind};base64,{b64encode(file.getvalue()).decode()}"


def confusion_table(counts: Tensor, symbols: Sequence[str]) -> Html:
    """How often each symbol (row) was read as which (column): mistakes are shaded, what is right is muted."""
    signs = [sign(symbol) for symbol in symbols]
    most = max(int((counts - counts.diag().diag()).max()), 1)

    def cell(true: str, read: str, n: int) -> Html:
        if true == read:
            return element("td", f"{n:,}", class_="same")
        if not n:
            return element("td")
        title = f"{true} read as {read}: {n:,}"
        return element("td", f"{n:,}", class_="other", style=f"--share:{n / most:.3f}", title=title)

    def line(k: int, row: Sequence[int]) -> Html:
        cells = [cell(signs[k], read, n) for read, n in zip(signs, row, strict=True)]
        total = sum(row)
        sums = [f"{total:,}", percent(row[k] / total) if total else "–"]
        return element(
            "tr",
            element("th", signs[k], scope="row"),
            *cells,
            *(element("td", n, class_="side") for n in sums),
        )

    heads = [element("th", name, scope="col") for name in signs]
    sides = [element("th", name, class_="side", scope="col") for name in ("of", "right")]
    head = element("tr", element("td", class_="side"), *heads, *sides)
    body = [line(k, row) for k, row in enumerate(counts.tolist())]
    return element("table", element("thead", head), element("tbody", *body), class_="confusion")
