"""Formulas as pictures: which symbols are confused, the handwriting, and what became of it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from io import BytesIO

import numpy as np
from PIL import Image
from torch import Tensor

from ngs.experiments.report.formula_readings import CorrectedFormula, Misreading
from ngs.experiments.report.markup import Html, chance, element, equals, joined, number, percent, sign
from ngs.grammar.tree import Sentence

GRAYS = 16
"""Shades of handwriting: half a byte each, and no eye sees the difference."""


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


def misread_formula(misreading: Misreading) -> Html:
    """The handwriting, what it says, what was read, and how sure the network was where it erred."""
    written, read = misreading.written, misreading.read

    def chances(name: str, of: Sequence[float]) -> Html:
        shown = (chance(p) if t in misreading.wrong else "" for t, p in enumerate(of))
        return _line(name, [element("td", text, class_="p") for text in shown])

    return _formula(
        misreading.images,
        _line("written", _signs(written), equals(misreading.answer)),
        _line("read", _signs(read, written), equals(misreading.value)),
        chances("p(read)", misreading.p_read),
        chances("p(written)", misreading.p_written),
    )


def corrected_formula(corrected: CorrectedFormula) -> Html:
    """The handwriting, what was read, how 1-BS and the posterior would have it, and what it says."""
    misreading, length = corrected.misreading, len(corrected.misreading.written)
    written, read, fix = misreading.written, misreading.read, corrected.correction
    if fix is None:
        text = f"no single change gives {number(misreading.answer)}"
        fixed = _line("1-BS", [element("td", text, class_="none", colspan=length + 1)])
    else:
        fixed = _line("1-BS", _signs(fix, written, read), equals(misreading.answer))
    alternatives = [
        _line("" if rank else "posterior", _signs(other, written), _share(p, right=other == written))
        for rank, (other, p) in enumerate(corrected.alternatives)
    ]
    return _formula(
        misreading.images,
        _line("read", _signs(read, written), equals(misreading.value)),
        fixed,
        *alternatives,
        _line("written", _signs(written), _share(corrected.p_written), class_="told"),
    )


def _formula(images: Tensor, *lines: Html) -> Html:
    picture = Html(f'<img class="handwriting" alt="" src="{handwriting(images)}">')
    top = element("tr", element("td"), element("td", picture, colspan=len(images)))
    return element("table", top, *lines, class_="formula")


def _line(name: str, cells: Sequence[Html], end: str = "", class_: str | None = None) -> Html:
    last = [element("td", end, class_="end")] if end else []
    return element("tr", element("th", name, scope="row"), *cells, *last, class_=class_)


def _signs(sentence: Sentence, written: Sentence | None = None, before: Sentence | None = None) -> list[Html]:
    """A cell for each symbol: marked where it is not what is written, and where it is not what was before."""

    def marks(t: int) -> Iterator[str]:
        yield "sign"
        wrong = written is not None and sentence[t] != written[t]
        if wrong:
            yield "wrong"
        if before is not None and sentence[t] != before[t]:
            yield "changed" if wrong else "right"

    return [element("td", sign(symbol), class_=" ".join(marks(t))) for t, symbol in enumerate(sentence)]


def _share(p: float, *, right: bool = False) -> Html:
    bar = element("span", element("i", style=f"--share:{100 * p:.1f}%"), class_="bar")
    return joined(
        bar, chance(p, digits=3), *([element("span", " ✓", class_="tick", title="what is written")] * right)
    )


def handwriting(images: Tensor) -> str:
    """The address of a picture that is its own content: images [symbol, height, width] side by side."""
    strip = Image.fromarray(np.hstack(list(images.numpy())))
    file = BytesIO()
    strip.quantize(GRAYS).save(file, "PNG", optimize=True, bits=4)
    return "data:image/png;base64," + b64encode(file.getvalue()).decode()
