"""Formulas modulo primes, against parsing and executing them with fractions."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from random import Random

import pytest
import torch
from torch import Tensor

from ngs.errors import NGSError, ShapeError
from ngs.grammar.grammar import Grammar
from ngs.grammar.library import arithmetic
from ngs.learning.examples import padded
from ngs.grammar.padding import PAD
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import UNDEFINED, Value
from ngs.reasoning.semantics import evaluate
from ngs.tasks.hwf.modular_arithmetic import DIGITS, OPERATORS, Residues, residues
from tests.search.slow_values import SlowValues

GRAMMAR = arithmetic()
CPU = torch.device("cpu")


def value_of(formula: str) -> Value:
    return evaluate(parse(GRAMMAR, formula), Arithmetic)


def written(length: int, random: Random, digits: str = DIGITS) -> str:
    return "".join(random.choice(digits if t % 2 == 0 else OPERATORS) for t in range(length))


def columns_of(formulas: list[str]) -> tuple[Tensor, Tensor]:
    flat = torch.tensor([column for formula in formulas for column in GRAMMAR.encode(formula)])
    lengths = [len(formula) for formula in formulas]
    return padded(flat.numpy(), lengths), torch.tensor(lengths)


def gives(engine: Residues, formula: str, answer: Value) -> bool:
    columns, lengths = columns_of([formula])
    changed = engine.changes(columns, lengths, engine.targets([answer]))
    itself = changed[0].gather(1, columns[0, :, None])[:, 0]
    assert itself.all() or not itself.any()  # whichever symbol is replaced by itself
    return bool(itself.all())


@pytest.mark.parametrize("time", [5, 12, 21])
@pytest.mark.parametrize("seed", range(2))
def test_all_changes_are_those_of_parsing_and_executing(seed: int, time: int) -> None:
    """Formulas with many zeros, of all lengths in one batch; answers that one change gives, or none."""
    random = Random(f"{seed} {time}")
    lengths = [length for length in range(1, time + 1, 2) for _ in range(2)]
    formulas = [written(length, random, "0012359") for length in lengths]
    answers = []
    for formula in formulas:
        t = random.randrange(len(formula))
        changed = formula[:t] + random.choice(DIGITS if t % 2 == 0 else OPERATORS) + formula[t + 1 :]
        value = value_of(changed)
        answers.append(Fraction(1, 3) if value is UNDEFINED else value)
    columns, ends = columns_of(formulas)
    columns = torch.nn.functional.pad(columns, (0, time - columns.shape[1]), value=PAD)
    engine, slow = residues(GRAMMAR, time, CPU), SlowValues(GRAMMAR, Arithmetic, [])
    have = engine.changes(columns, ends, engine.targets(answers))
    assert torch.equal(have, slow.changes(columns, ends, slow.targets(answers)))
    assert have.any() and engine.in_language(columns, ends).all()


@pytest.mark.parametrize(("longest", "count"), [(1, 1), (9, 1), (11, 2), (19, 2), (21, 3), (31, 4), (39, 5)])
def test_there_are_as_many_primes_as_a_length_needs(longest: int, count: int) -> None:
    primes = residues(GRAMMAR, longest, CPU).primes.tolist()
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


def test_answers_with_equal_residues_are_told_apart() -> None:
    """Modulo all primes but one they are the same number."""
    for longest in (11, 19, 29, 31):
        engine = residues(GRAMMAR, longest, CPU)
        formula = "*".join("9" * ((longest + 1) // 2))
        for left_out in range(len(engine.primes)):
            step = prod(p for k, p in enumerate(engine.primes.tolist()) if k != left_out)
            assert gives(engine, formula, value_of(formula))
            assert not gives(engine, formula, value_of(formula) - step)


def test_an_answer_beyond_the_bounds_is_out_of_reach_though_all_residues_are_those_of_the_value() -> None:
    engine = residues(GRAMMAR, 5, CPU)
    assert gives(engine, "1+2+3", 6)
    assert not gives(engine, "1+2+3", 6 + prod(engine.primes.tolist()))
    assert not gives(engine, "1+2+3", Fraction(6, 1 + prod(engine.primes.tolist())))


@pytest.mark.parametrize("answer", [Fraction(1, 2), 0.5, torch.tensor(0.5).numpy()[()]])
def test_answers_of_other_types_are_equal_where_python_says_so(answer: Value) -> None:
    assert gives(residues(GRAMMAR, 3, CPU), "1/2", answer)
    assert not gives(residues(GRAMMAR, 3, CPU), "1/3", answer)


@pytest.mark.parametrize("answer", ["1", None, (1,)])
def test_what_is_no_number_is_no_value(answer: Value) -> None:
    assert not gives(residues(GRAMMAR, 3, CPU), "1", answer)


@pytest.mark.parametrize(
    ("columns", "length", "fits"),
    [
        ("1", 1, True),
        ("1+2", 3, True),
        ("1+2", 1, True),
        ("1+2", 2, False),
        ("+", 1, False),
        ("112", 3, False),
        ("1+-", 3, False),
    ],
)
def test_digits_and_operators_take_turns(columns: str, length: int, fits: bool) -> None:
    engine = residues(GRAMMAR, 3, CPU)
    encoded = torch.tensor([GRAMMAR.encode(columns)])
    assert engine.in_language(encoded, torch.tensor([length])).tolist() == [fits]


@pytest.mark.parametrize(
    ("written", "target", "repaired"),
    [("+", 1, {"1"}), ("142", 6, set()), ("1++", 4, {"1+3"}), ("152", 2, {"1*2"}), ("+++", 4, set())],
)
def test_a_change_may_repair_what_is_no_formula(written: str, target: int, repaired: set[str]) -> None:
    engine = residues(GRAMMAR, 3, CPU)
    encoded, length = torch.tensor([GRAMMAR.encode(written)]), torch.tensor([len(written)])
    _, places, symbols = engine.changes(encoded, length, engine.targets([target])).nonzero(as_tuple=True)
    found = {
        written[:place] + GRAMMAR.symbols[symbol] + written[place + 1 :]
        for place, symbol in zip(places.tolist(), symbols.tolist(), strict=True)
    }
    assert found == repaired


def test_no_sentence_is_right_where_there_is_none() -> None:
    engine = residues(GRAMMAR, 3, CPU)
    nothing = torch.full((1, 3), PAD)
    assert not engine.in_language(nothing, torch.tensor([3])).any()
    assert not engine.changes(nothing, torch.tensor([3]), engine.targets([0])).any()


def test_other_grammars_are_refused() -> None:
    with pytest.raises(NGSError, match="over the symbols 1 2, is another; give that one, or batched values"):
        residues(Grammar.parse('s: "1" | "2"'), 3, CPU)


def test_formulas_longer_than_asked_for_are_refused() -> None:
    """There might be too few primes."""
    engine = residues(GRAMMAR, 3, CPU)
    columns, lengths = columns_of(["1+1+1"])
    with pytest.raises(ShapeError, match="room for 5 symbols, and these residues are exact for up to 3"):
        engine.changes(columns, lengths, engine.targets([3]))
