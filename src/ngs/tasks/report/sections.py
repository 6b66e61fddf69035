"""Sections of a page, their templates, and numbers as text.

Templates are HTML files beside the code that fills them in, named relative to `ngs`. Text that is not markup
is escaped.
"""

from base64 import b64encode
from collections.abc import Sequence
from fractions import Fraction
from io import BytesIO
from typing import Any, NamedTuple

import torch
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image
from torch import Tensor

from ngs.explanations.text import shown
from ngs.reasoning.operation import Value

SIGNS = {"*": "×", "/": "÷", "-": "−"}  # how some symbols are printed


class Section(NamedTuple):
    """A part of a page."""

    name: str  # its anchor
    title: str
    body: str  # escaped unless it is `Markup`


def render(*templates: str, **values: object) -> Markup:
    """The first existing template of these names, filled in."""
    return Markup(TEMPLATES.select_template(templates).render(values))


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


def percent(share: float | None, digits: int = 2) -> str:
    return "–" if share is None else f"{share:.{digits}%}"


def number(value: Value) -> str:
    """An answer: as a decimal where it is one of few digits, else as a fraction.

    >>> number(Fraction(21, 2)), number(Fraction(-1, 3)), number("cube")
    ('10.5', '−1/3', 'cube')
    """
    if not isinstance(value, Fraction):
        return shown(value)
    short = f"{float(value):.6g}"
    return (short if Fraction(short) == value else str(value)).replace("-", "−")


def address_of(image: Image.Image, kind: str, **options: Any) -> str:
    """The picture as a data URL."""
    file = BytesIO()
    image.save(file, kind, **options)
    return f"data:image/{kind};base64,{b64encode(file.getvalue()).decode()}"


def as_picture(inputs: Any) -> str:
    """Images [image, 1, height, width] from 0 to 1 side by side, as markup; empty for other inputs."""
    if not isinstance(inputs, Tensor) or inputs.dim() != 4 or inputs.shape[1] != 1:
        return ""
    strip = torch.cat(list(inputs[:, 0].float()), 1)
    pixels = (255 * (1 - strip.clamp(0, 1))).round().to(torch.uint8).cpu().numpy()
    address = address_of(Image.fromarray(pixels).quantize(16), "png", optimize=True, bits=4)
    return Markup('<img class="handwriting" alt="" src="{}">').format(address)


def confusion_table(counts: Tensor, symbols: Sequence[str]) -> Markup:
    """Counts of symbols by true (row) and read (column); mistakes are shaded."""
    most = max(int((counts - counts.diag().diag()).max()), 1)
    names = list(map(sign, symbols))
    return render("tasks/report/confusion.html", names=names, counts=counts.tolist(), most=most)


TEMPLATES = Environment(
    loader=PackageLoader("ngs", "."),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters |= {
    **{filter_.__name__: filter_ for filter_ in (chance, percent, number, sign)},
    "commas": "{:,}".format,
}
