"""Small data sets, made without files."""

from collections.abc import Sequence
from fractions import Fraction

import torch
from hypothesis import strategies as st

from ngs.reasoning.operation import UNDEFINED
from ngs.tasks.hwf.dataset import GRAMMAR, SIDE, Formulas, HandwrittenFormulas, value_of

Written = Sequence[tuple[str, Sequence[int]]]
"""Formulas: the sentence, and the row of the image of each symbol."""


def dataset(shown: Sequence[tuple[str, int]], train: Written, test: Written) -> HandwrittenFormulas:
    """A data set whose image number k is `shown[k]`: a symbol, and the grey level of all its pixels."""
    greys = torch.tensor([grey for _, grey in shown], dtype=torch.uint8)
    return HandwrittenFormulas(
        "small",
        greys[:, None, None].expand(-1, SIDE, SIDE).contiguous(),
        torch.tensor(GRAMMAR.encode(symbol for symbol, _ in shown), dtype=torch.uint8),
        tuple(f"{symbol}/{row}.jpg" for row, (symbol, _) in enumerate(shown)),
        formulas("train", train),
        formulas("test", test),
    )


def formulas(part: str, written: Written) -> Formulas:
    answers, names = (
        (value_of(sentence) for sentence, _ in written),
        (f"{part}_{k}" for k in range(len(written))),
    )
    return Formulas.of([rows for _, rows in written], answers, names)


@st.composite
def datasets(draw: st.DrawFn) -> HandwrittenFormulas:
    """Any data set of a few formulas, some of whose images agree, with the same label or with another."""
    symbols, each = "+-/123", 4
    agreeing = st.dictionaries(st.integers(0, len(symbols) * each - 1), st.integers(0, 5), max_size=8)
    greys = dict(enumerate(range(10, 10 + len(symbols) * each))) | draw(agreeing)
    shown = [(symbols[row // each], grey) for row, grey in greys.items()]

    def written(sentence: str) -> tuple[str, list[int]]:
        rows = [each * symbols.index(symbol) + draw(st.integers(0, each - 1)) for symbol in sentence]
        return sentence, rows

    digit, sign = st.sampled_from("123"), st.sampled_from("+-/")
    three = st.tuples(digit, sign, digit).map("".join)
    lists = st.lists(
        (digit | three).filter(lambda text: value_of(text) is not UNDEFINED), min_size=1, max_size=4
    )
    train, test = ([written(sentence) for sentence in draw(lists)] for _ in range(2))
    return dataset(shown, train, test)


def parts_of(data: HandwrittenFormulas) -> list[tuple[list[str], tuple[Fraction, ...], tuple[str, ...]]]:
    """Sentences, answers and names for training and for testing."""
    return [
        ([data.sentence(part, k) for k in range(len(part))], part.answers, part.names)
        for part in (data.train, data.test)
    ]


def same(one: HandwrittenFormulas, other: HandwrittenFormulas) -> bool:
    """Whether two data sets agree in everything."""
    return (
        (one.name, one.sources, parts_of(one)) == (other.name, other.sources, parts_of(other))
        and torch.equal(one.images, other.images)
        and torch.equal(one.columns, other.columns)
        and torch.equal(one.train.where, other.train.where)
        and torch.equal(one.test.where, other.test.where)
    )
