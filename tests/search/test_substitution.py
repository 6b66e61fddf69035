"""Back-search by batched values, against the queue, the walk and the tables."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
import torch
from torch import Tensor

from ngs.grammar.grammar import Grammar
from ngs.grammar.library import arithmetic
from ngs.parsing.decode import PAD, best, score_of
from ngs.parsing.sentence import find_tree
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import UNDEFINED, Value
from ngs.reasoning.semantics import Meaning, evaluate
from ngs.search.batched import Batch, correct
from ngs.search.batched_walk import walk_batch
from ngs.search.multi_step import Draws, Walk, walk_along
from ngs.search.one_step import one_step
from ngs.search.substitution import Compile, Substitutions
from ngs.tasks.hwf.modular_arithmetic import residues
from tests.search.semantics import FORMULAS
from tests.search.slow_values import slow

CPU = torch.device("cpu")
SIGNED = Grammar.parse("""
    sum: sum "+" signed -> add | signed
    signed: "-" digit -> negate | digit
    digit: "1" | "2"
""")
"""A random walk can leave this language."""


class Signed(Arithmetic):
    @staticmethod
    def negate(a: Fraction) -> Fraction:
        return -a


Case = tuple[Tensor, Tensor, Tensor, list[Value]]


def problems(grammar: Grammar, semantics: Meaning, lengths: list[int], seed: int) -> Case:
    """Scores, lengths, readings, and answers that are often a change or two away."""
    generator, random = torch.Generator().manual_seed(seed), Random(seed)
    shape = len(lengths), max(lengths), len(grammar.symbols)
    log_probs = (2 * torch.randn(shape, generator=generator, dtype=torch.float64)).log_softmax(-1)
    behind = torch.arange(shape[1]) >= torch.tensor(lengths)[:, None]
    log_probs = log_probs.masked_fill(behind[..., None], 0.0)
    readings = best(grammar, log_probs, lengths)
    answers = []
    for b, length in enumerate(lengths):
        changed = list(readings[b])
        for t in random.choices(range(length), k=random.choice([0, 1, 1, 2])):
            kind = [symbol for symbol in grammar.symbols if symbol.isdigit() == changed[t].isdigit()]
            changed[t] = random.choice(kind)
        tree = find_tree(grammar, changed)
        value = UNDEFINED if tree is None else evaluate(tree, semantics)
        answers.append(Fraction(7, 11) if value is UNDEFINED else value)
    return log_probs, torch.tensor(lengths), readings.columns, answers


CASES = [
    pytest.param(arithmetic(), Arithmetic, residues, [1, 3, 9, 11, 15, 15], id="residues"),
    pytest.param(FORMULAS, Arithmetic, slow(Arithmetic), [1, 3, 5, 5], id="slow values"),
    pytest.param(SIGNED, Signed, slow(Signed), [1, 2, 4, 5, 6, 6], id="signed"),
]


def search_of(grammar: Grammar, compiled: Compile, case: Case) -> Batch:
    log_probs, lengths, _, answers = case
    engine = Substitutions.of(grammar, log_probs.shape[1], CPU, compiled)
    return Batch(engine, log_probs, lengths, engine.values.targets(answers))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("grammar", "semantics", "compiled", "lengths"), CASES)
def test_one_step_is_that_of_the_queue(
    grammar: Grammar, semantics: Meaning, compiled: Compile, lengths: list[int], seed: int
) -> None:
    case = problems(grammar, semantics, lengths, seed)
    log_probs, _, columns, answers = case
    fixes = correct(search_of(grammar, compiled, case), columns)
    for b, length in enumerate(lengths):
        scores, sentence = log_probs[b, :length], grammar.decode(columns[b, :length].tolist())
        want = one_step(grammar, semantics, scores, answers[b], sentence).sentence
        assert fixes.found[b] == (want is not None)
        have = grammar.decode(fixes.columns[b, :length].tolist())
        assert have == (sentence if want is None else want)
        assert fixes.right[b] == (want == sentence) and fixes.in_language[b]
        assert (fixes.columns[b, length:] == PAD).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("grammar", "semantics", "compiled", "lengths"), CASES)
def test_many_steps_are_those_of_the_walk(
    grammar: Grammar, semantics: Meaning, compiled: Compile, lengths: list[int], seed: int
) -> None:
    case = problems(grammar, semantics, lengths, seed)
    log_probs, _, columns, answers = case
    walk = Walk(steps=4, back_search=0.5, distance=1.5, epsilon=0.1)
    draws = Draws.of(walk, len(lengths), log_probs.shape[1], torch.Generator().manual_seed(seed))
    last, right = walk_batch(search_of(grammar, compiled, case), columns, walk, draws)
    for b, length in enumerate(lengths):
        scores, sentence = log_probs[b, :length], grammar.decode(columns[b, :length].tolist())
        chain = walk_along(grammar, semantics, scores, answers[b], sentence, walk, draws, b)
        assert grammar.decode(last[b, :length].tolist()) == chain.sentence
        assert right[b] == chain.right


@pytest.mark.parametrize("seed", range(3))
def test_tables_and_residues_find_the_same(seed: int) -> None:
    grammar, lengths = arithmetic(), [1, 3, 5, 7] * 16
    case = problems(grammar, Arithmetic, lengths, seed)
    log_probs, ends, columns, answers = case
    tables = Batch.of(grammar, Arithmetic, log_probs, ends, answers)
    by_tables, by_residues = (
        correct(batch, columns) for batch in (tables, search_of(grammar, residues, case))
    )
    assert torch.equal(by_tables.columns, by_residues.columns)
    assert torch.equal(by_tables.found, by_residues.found) and 0 < by_tables.found.sum() < len(lengths)
    assert torch.equal(score_of(log_probs, by_tables.columns), score_of(log_probs, by_residues.columns))


def test_the_example_of_a_changed_tree() -> None:
    """1-2*3 becomes 1-2+3 = 2: a new operator can change what belongs together."""
    grammar = arithmetic()
    log_probs = torch.full((1, 5, 14), -20.0, dtype=torch.float64)
    for t, symbol in enumerate("1-2*3"):
        log_probs[0, t, grammar.column(symbol)] = 0.0
    log_probs[0, 3, grammar.column("+")] = -1.0
    log_probs = log_probs.log_softmax(-1)
    case = log_probs, torch.tensor([5]), torch.tensor([grammar.encode("1-2*3")]), [Fraction(2)]
    fixes = correct(search_of(grammar, residues, case), case[2])
    assert "".join(grammar.decode(fixes.columns[0].tolist())) == "1-2+3"


def test_where_no_sentence_is_possible_nothing_is_found() -> None:
    grammar = arithmetic()
    log_probs = torch.zeros(2, 3, 14, dtype=torch.float64).log_softmax(-1)
    columns = torch.tensor([[PAD] * 3, grammar.encode("1+1")])
    case = log_probs, torch.tensor([3, 3]), columns, [Fraction(2), Fraction(2)]
    search = search_of(grammar, residues, case)
    fixes = correct(search, columns)
    assert fixes.found.tolist() == [False, True] and torch.equal(fixes.columns, columns)
    walk = Walk(steps=3)
    draws = Draws.of(walk, 2, 3, torch.Generator().manual_seed(0))
    assert walk_batch(search, columns, walk, draws)[1].tolist() == [False, True]


def test_memory_grows_as_the_length_and_the_primes() -> None:
    """The largest tensor of a search, in numbers for each symbol and prime."""
    sizes = {}
    for length in (9, 19, 37):
        engine = residues(arithmetic(), length, CPU)
        columns = torch.tensor([arithmetic().encode("1+" * (length // 2) + "1")])
        peak = 0

        class Largest(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
                nonlocal peak
                result = function(*args, **(kwargs or {}))
                peak = max(peak, result.numel() if isinstance(result, Tensor) else 0)
                return result

        with Largest():
            engine.changes(columns, torch.tensor([length]), engine.targets([1]))
        sizes[length] = peak / (length * len(engine.primes))
    assert max(sizes.values()) < 1.2 * min(sizes.values()), sizes
