"""Formulas in whole numbers, against parsing and executing them with fractions."""

from fractions import Fraction
from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ngs import PAD, Grammar, NGSError, ShapeError
from ngs.grammar.grammar import arithmetic
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import UNDEFINED, Value
from ngs.search.edits import Substitute
from ngs.search.judges import ReferenceJudge
from ngs.tasks.hwf.dataset import value_of
from ngs.tasks.hwf.integer_judge import DIGITS, LONGEST, OPERATORS, IntegerJudge, integer_judge
from tests.search.semantics import Examples

GRAMMAR = arithmetic()


def written(length: int, random: Random, digits: str = DIGITS) -> str:
    return "".join(random.choice(digits if t % 2 == 0 else OPERATORS) for t in range(length))


def encoded(strings: list[str]) -> Tensor:
    return pad_sequence([torch.tensor(GRAMMAR.encode(string)) for string in strings], True, PAD)


def gives(formula: str, answer: Value) -> bool:
    return bool(IntegerJudge([answer])(torch.tensor([0]), encoded([formula])))


@given(st.sampled_from([1, 4, 7, 31, LONGEST]), st.randoms(use_true_random=False))
def test_formulas_and_their_neighbours_are_judged_as_by_parsing_and_executing(
    longest: int, random: Random
) -> None:
    """Formulas with many zeros, of all lengths in one batch, with answers of neighbours; and strings."""
    lengths = [random.randrange(1, longest + 1, 2) for _ in range(3)]
    formulas = [written(length, random, "0012359") for length in lengths]
    answers = []
    for formula in formulas:
        t = random.randrange(len(formula))
        value = value_of(formula[:t] + random.choice(DIGITS if t % 2 == 0 else OPERATORS) + formula[t + 1 :])
        answers.append(Fraction(1, 3) if value is UNDEFINED else value)
    near = Substitute(GRAMMAR, longest).neighbours(encoded(formulas))
    some = torch.tensor(sorted(random.sample(range(len(near)), min(len(near), 40))))
    strings = ["".join(random.choices(GRAMMAR.symbols, k=random.randint(1, longest))) for _ in range(3)]
    rows = torch.cat([near.rows[some], torch.arange(3), torch.arange(3), torch.arange(3)])
    parts = [*near.symbols[some], *encoded(formulas), *encoded(strings), *torch.full((3, 1), PAD)]
    z = pad_sequence(parts, True, PAD)
    judge = integer_judge(GRAMMAR, Examples([longest] * 3, answers))
    assert torch.equal(judge(rows, z), ReferenceJudge(GRAMMAR, Arithmetic, answers)(rows, z))


def test_values_of_formulas_are_as_small_as_the_proof_says() -> None:
    random = Random(0)
    for length in (1, 3, 7, 11, LONGEST):
        k = (length + 1) // 2
        formulas = [written(length, random, "789") for _ in range(300)]
        formulas += [written(length, random, "9").replace(OPERATORS[a], "*") for a in range(4)]
        for value in filter(lambda value: value is not UNDEFINED, map(value_of, formulas)):
            assert abs(value.numerator) <= 9**k < 2**61 and value.denominator <= 9 ** (k - 1)


@pytest.mark.parametrize("formula", ["*".join("9" * 19), "/".join("9" * 19), "-".join("9" * 19)])
def test_the_largest_numbers_are_exact(formula: str) -> None:
    value = value_of(formula)
    assert gives(formula, value)
    assert not gives(formula, value + 1) and not gives(formula, value - Fraction(1, 9**18))


def test_an_answer_is_not_taken_for_another_that_agrees_with_it_in_64_bits() -> None:
    formula = "2/" + "/".join("8" * 18)  # D = 2^54, N = 2
    assert not gives(formula, 2**10 + Fraction(1, 2**53)) and gives(formula, Fraction(1, 2**53))
    assert not gives("1/8/8/8/8/8/8/8-1/8/8/8/8/8/8/8", 2**43)  # D = 2^42, N = 0, and a D = 2^85
    assert not gives("1", 2**64 + 1) and not gives("1", Fraction(1, 2**64 + 1))


@pytest.mark.parametrize("answer", [Fraction(1, 2), 0.5, torch.tensor(0.5).numpy()[()]])
def test_answers_of_other_types_are_equal_where_python_says_so(answer: Value) -> None:
    assert gives("1/2", answer) and not gives("1/3", answer)


@pytest.mark.parametrize("answer", ["1", None, (1,)])
def test_what_is_no_number_is_no_value(answer: Value) -> None:
    assert not gives("1", answer)


def test_longer_formulas_are_refused_and_judged_by_the_reference() -> None:
    long = "1+" * 19 + "1"
    with pytest.raises(ShapeError, match="up to 39 symbols, and this judge is exact for up to 37"):
        IntegerJudge([20])(torch.tensor([0]), encoded([long]))
    assert integer_judge(GRAMMAR, Examples([39], [20]))(torch.tensor([0]), encoded([long])).item()


def test_other_grammars_are_refused() -> None:
    with pytest.raises(
        NGSError, match="over the symbols 1 2, is another; give that one, or a judge of your own"
    ):
        integer_judge(Grammar.parse('s: "1" | "2"'), Examples([1], [1]))
