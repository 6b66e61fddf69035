"""Judging by tables against parsing and executing one sentence at a time."""

from itertools import product
from random import Random

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pad_sequence

from ngs import PAD, UNDEFINED, Arithmetic, Grammar
from ngs.grammar.normal_form import normal_form
from ngs.reasoning.semantics import Meaning
from ngs.search.compiled import BUDGET, table_values
from ngs.search.judges import ReferenceJudge, TableJudge
from tests.search.semantics import NAMED_MEANINGS, SMALL_ARITHMETIC, answers, meanings


def check_judges(grammar: Grammar, semantics: Meaning, longest: int, most: int, random: Random) -> None:
    """Strings of symbols, sentences or not, of all lengths in one batch; at most so many of each length."""
    lengths = normal_form(grammar).lengths(longest)
    known = {length: set(answers(grammar, semantics, length).values()) - {UNDEFINED} for length in lengths}
    examples = [(length, answer) for length in lengths for answer in [*sorted(known[length], key=str), -99]]
    asked = [answer for _, answer in examples]
    values = table_values(grammar, semantics, max(lengths), BUDGET, torch.device("cpu"))
    tables, slow = TableJudge(values, *zip(*examples, strict=True)), ReferenceJudge(grammar, semantics, asked)
    rows, strings = [], []
    for length in lengths:
        every = list(product(range(len(grammar.symbols)), repeat=length))
        for string in random.sample(every, min(most, len(every))):
            for row, (of_length, _) in enumerate(examples):
                if of_length == length:
                    rows.append(row)
                    strings.append(torch.tensor(string))
    z, numbers = pad_sequence([*strings, torch.tensor([PAD])], True, PAD), torch.tensor([*rows, 0])
    want = slow(numbers, z)
    assert torch.equal(tables(numbers, z), want) and not want[-1]
    assert torch.equal(tables(numbers, torch.nn.functional.pad(z, (0, 2), value=PAD)), want)


@given(meanings(), st.randoms(use_true_random=False))
def test_random_languages(meaning: tuple[Grammar, Meaning], random: Random) -> None:
    assume(normal_form(meaning[0]).lengths(4))
    check_judges(*meaning, longest=4, most=64, random=random)


NAMED = {**NAMED_MEANINGS, "small arithmetic": (SMALL_ARITHMETIC, Arithmetic)}


@pytest.mark.parametrize("name", NAMED)
def test_shared_grammars(name: str) -> None:
    check_judges(*NAMED[name], longest=5, most=250, random=Random(name))


def test_no_sentences_are_judged_as_some_are() -> None:
    tables = table_values(SMALL_ARITHMETIC, Arithmetic, 3, BUDGET, torch.device("cpu"))
    nothing = torch.empty(0, dtype=torch.long)
    for judge in (TableJudge(tables, [3], [2]), ReferenceJudge(SMALL_ARITHMETIC, Arithmetic, [2])):
        assert judge(nothing, torch.empty(0, 3, dtype=torch.long)).tolist() == []
