"""Formulas modulo primes, against parsing and executing them with fractions."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ngs import PAD, Grammar, NGSError, ShapeError
from ngs.grammar.library import arithmetic
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import UNDEFINED, Value
from ngs.reasoning.semantics import evaluate
from ngs.search.edits import Substitute
from ngs.search.judges import ReferenceJudge
from ngs.tasks.hwf.modular_arithmetic import DIGITS, OPERATORS, ModularJudge, modular_judge
from tests.search.semantics import Examples

GRAMMAR = arithmetic()


def value_of(formula: str) -> Value:
    return evaluate(parse(GRAMMAR, formula), Arithmetic)


def written(length: int, random: Random, digits: str = DIGITS) -> str:
    return "".join(random.choice(digits if t % 2 == 0 else OPERATORS) for t in range(length))


def encoded(strings: list[str]) -> Tensor:
    return pad_sequence([torch.tensor(GRAMMAR.encode(string)) for string in strings], True, PAD)


def gives(longest: int, formula: str, answer: Value) -> bool:
    return bool(ModularJudge(longest, [answer])(torch.tensor([0]), encoded([formula])))


def primes_of(longest: int) -> list[int]:
    primes: list[int] = ModularJudge(longest, []).primes.tolist()
    return primes


@given(st.sampled_from([1, 4, 7, 31]), st.randoms(use_true_random=False))
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
    judge = modular_judge(GRAMMAR, Examples([longest] * 3, answers))
    assert torch.equal(judge(rows, z), ReferenceJudge(GRAMMAR, Arithmetic, answers)(rows, z))


@pytest.mark.parametrize(("longest", "count"), [(1, 1), (9, 1), (11, 2), (19, 2), (21, 3), (31, 4), (39, 5)])
def test_there_are_as_many_primes_as_a_length_needs(longest: int, count: int) -> None:
    primes = primes_of(longest)
    bound = 2 * 9 ** (longest)
    assert len(primes) == count and prod(primes) > bound >= prod(primes[1:])
    assert all(p < 2**31 and all(p % d for d in (2, 3, 5, 7, 11, 13)) for p in primes)


def test_values_of_formulas_are_as_small_as_the_proof_says() -> None:
    random = Random(0)
    for length in (1, 3, 7, 11):
        k = (length + 1) // 2
        formulas = [written(length, random, "789") for _ in range(300)]
        formulas += [written(length, random, "9").replace(OPERATORS[a], "*") for a in range(4)]
        for value in filter(lambda value: value is not UNDEFINED, map(value_of, formulas)):
            assert abs(value.numerator) <= 9**k and value.denominator <= 9 ** (k - 1)


@pytest.mark.parametrize("longest", [11, 19, 29, 31])
def test_answers_with_equal_residues_are_told_apart(longest: int) -> None:
    """Modulo all primes but one they are the same number."""
    formula, primes = "*".join("9" * ((longest + 1) // 2)), primes_of(longest)
    assert gives(longest, formula, value_of(formula))
    for left_out in primes:
        assert not gives(longest, formula, value_of(formula) - prod(primes) // left_out)


def test_an_answer_beyond_the_bounds_is_out_of_reach_though_all_residues_are_those_of_the_value() -> None:
    product = prod(primes_of(5))
    assert gives(5, "1+2+3", 6)
    assert not gives(5, "1+2+3", 6 + product) and not gives(5, "1+2+3", Fraction(6, 1 + product))


@pytest.mark.parametrize("answer", [Fraction(1, 2), 0.5, torch.tensor(0.5).numpy()[()]])
def test_answers_of_other_types_are_equal_where_python_says_so(answer: Value) -> None:
    assert gives(3, "1/2", answer) and not gives(3, "1/3", answer)


@pytest.mark.parametrize("answer", ["1", None, (1,)])
def test_what_is_no_number_is_no_value(answer: Value) -> None:
    assert not gives(3, "1", answer)


def test_formulas_longer_than_the_primes_are_for_are_refused() -> None:
    with pytest.raises(ShapeError, match="up to 7 symbols, and this judge is exact for up to 5"):
        ModularJudge(5, [4])(torch.tensor([0]), encoded(["1+1+1+1"]))


def test_other_grammars_are_refused() -> None:
    with pytest.raises(
        NGSError, match="over the symbols 1 2, is another; give that one, or a judge of your own"
    ):
        modular_judge(Grammar.parse('s: "1" | "2"'), Examples([1], [1]))


def test_memory_grows_as_the_length_and_the_primes() -> None:
    """The largest tensor of a judgement, in numbers for each symbol and prime."""
    sizes = {}
    for length in (9, 19, 37):
        judge, z = ModularJudge(length, [1]), encoded(["1+" * (length // 2) + "1"] * 100)
        peak = 0

        class Largest(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
                nonlocal peak
                result = function(*args, **(kwargs or {}))
                peak = max(peak, result.numel() if isinstance(result, Tensor) else 0)
                return result

        with Largest():
            judge(torch.zeros(100, dtype=torch.long), z)
        sizes[length] = peak / (length * len(judge.primes))
    assert max(sizes.values()) <= sizes[9], sizes
