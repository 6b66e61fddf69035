"""New formulas, of any length, written with the images of a data set."""

from collections.abc import Mapping, Set
from dataclasses import replace
from random import Random

from ngs.errors import DataError
from ngs.grammar.grammar import Grammar
from ngs.grammar.rules import Terminal
from ngs.tasks.hwf.dataset import GRAMMAR, Formulas, HandwrittenFormulas
from ngs.tasks.hwf.formulas import sample_formulas


def composed(
    data: HandwrittenFormulas, lengths: Mapping[int, float], train: int, test: int, seed: int = 0
) -> HandwrittenFormulas:
    """New formulas, `train` and `test` of them; `lengths` gives the share of each length.

    Each part is written with the images that the formulas of the same part of `data` show, so what `data`
    keep apart stays apart, and images that are in both parts of `data` (HWF's leak) are in both here. The
    same seed gives the same formulas; asking for more leaves the first ones as they are.

    >>> from ngs.tasks.hwf.embedded import embedded
    >>> longer = composed(embedded(train=90, test=90), {9: 0.5, 11: 0.5}, train=4, test=2)
    >>> [longer.sentence(longer.test, k) for k in range(2)]
    ['3-9+6/7+9', '8/9/3+8+0/2']
    """
    return replace(
        data,
        name=f"{data.name}, new formulas",
        train=written(data, data.train, lengths, train, f"train {seed}"),
        test=written(data, data.test, lengths, test, f"test {seed}"),
    )


def written(
    data: HandwrittenFormulas, part: Formulas, lengths: Mapping[int, float], number: int, seed: str
) -> Formulas:
    """New formulas, each symbol shown by a random image of it among those that `part` of `data` shows.

    Uniform among the formulas of each length that have a value and whose symbols have images: HWF as
    published has no 0.
    """
    shown = part.images.numpy()
    columns = data.columns.numpy()[shown]
    images = {symbol: shown[columns == GRAMMAR.symbol_id(symbol)].tolist() for symbol in GRAMMAR.symbols}
    language = _language_of({symbol for symbol, rows in images.items() if rows}, data.name)
    choice = Random(f"images {seed}").choice
    drawn = sample_formulas(number, lengths, Random(f"formulas {seed}"), language)
    rows = [[choice(images[symbol]) for symbol in sentence] for sentence, _ in drawn]
    return Formulas.of(rows, (value for _, value in drawn), (f"new {k}" for k in range(number)))


def _language_of(symbols: Set[str], name: str) -> Grammar:
    if {symbol.isdigit() for symbol in symbols} != {True, False}:
        raise DataError(
            f"a part of {name} shows no digit or no operator, so no new formulas can be written with its "
            f"images; use more of the data, or other"
        )
    rules = [
        rule
        for rule in GRAMMAR.rules
        if {part.name for part in rule.body if isinstance(part, Terminal)} <= symbols
    ]
    return Grammar(tuple(rules))
