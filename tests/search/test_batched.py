"""One-step back-search on tensors against the queue; the table evaluator against parsing and executing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ngs import PAD, UNDEFINED, Corrections, Grammar, Semantics, best, evaluate, one_step, one_step_batch
from ngs.grammar.tree import Sentence
from ngs.parsing.sentence import find_tree
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.semantics import Meaning
from ngs.search.compiled import BUDGET
from ngs.search.evaluator import ABSENT, evaluator
from tests.grammars import NAMED
from tests.search.semantics import (
    FORMULAS,
    PlainArithmetic,
    Problem,
    lengths_of,
    meanings,
    problems_in,
    random_semantics,
)

NAMED_MEANINGS = {name: (grammar, random_semantics(grammar, seed=7)) for name, grammar in NAMED.items()}


@st.composite
def batches(draw: st.DrawFn, grammar: Grammar, semantics: Meaning, longest: int) -> list[Problem]:
    """Some problems of different lengths in one language."""
    problem = problems_in(grammar, semantics, lengths_of(grammar, longest))
    return draw(st.lists(problem, min_size=1, max_size=4))


@st.composite
def random_batches(draw: st.DrawFn, longest: int = 5) -> list[Problem]:
    """Some problems in a random language."""
    return draw(batches(*draw(meanings()), longest))


@st.composite
def named_batches(draw: st.DrawFn, longest: int = 6) -> list[Problem]:
    """Some problems in one of the shared grammars: ambiguous, nullable, right-recursive ones."""
    return draw(batches(*draw(st.sampled_from(list(NAMED_MEANINGS.values()))), longest))


def padded(problems: Sequence[Problem], behind: float = 0.0) -> tuple[Tensor, list[int], Tensor]:
    """Scores [batch, time, symbol], lengths, and the sentences as columns [batch, time]."""
    lengths = [len(problem.sentence) for problem in problems]
    time = max(lengths)
    width = len(problems[0].grammar.symbols)
    scores = torch.full((len(problems), time, width), behind, dtype=problems[0].log_probs.dtype)
    columns = torch.full((len(problems), time), PAD)
    for b, (problem, length) in enumerate(zip(problems, lengths, strict=True)):
        scores[b, :length] = problem.log_probs
        columns[b, :length] = torch.tensor(problem.columns)
    return scores, lengths, columns


def solve(problems: Sequence[Problem], behind: float = 0.0) -> Corrections:
    scores, lengths, columns = padded(problems, behind)
    targets = [problem.target for problem in problems]
    first = problems[0]
    return one_step_batch(first.grammar, first.semantics, scores, lengths, targets, columns)


def by_queue(problem: Problem) -> Sentence | None:
    return one_step(
        problem.grammar, problem.semantics, problem.log_probs, problem.target, problem.sentence
    ).sentence


def check_batch(problems: Sequence[Problem]) -> None:
    have = solve(problems)
    for b, problem in enumerate(problems):
        want = by_queue(problem)
        assert have.found[b] == (want is not None), b
        assert have.sentences[b] == (problem.sentence if want is None else want), b
        assert (have.sentences.columns[b, len(problem.sentence) :] == PAD).all()
        encoded = problem.grammar.encode(have.sentences[b])
        log_p = problem.log_probs[torch.arange(len(encoded)), encoded].sum()
        torch.testing.assert_close(have.sentences.log_probs[b], log_p)


def check_default(problems: Sequence[Problem]) -> None:
    """By default the likeliest sentences are corrected; where none is possible, nothing is found."""
    scores, lengths, _ = padded(problems)
    first = problems[0]
    targets = [problem.target for problem in problems]
    have = one_step_batch(first.grammar, first.semantics, scores, lengths, targets)
    likeliest = best(first.grammar, scores, lengths)
    for b, problem in enumerate(problems):
        if not likeliest[b]:
            assert not have.found[b] and have.sentences[b] == ()
            continue
        want = one_step(first.grammar, first.semantics, problem.log_probs, problem.target).sentence
        assert have.found[b] == (want is not None)
        assert have.sentences[b] == (likeliest[b] if want is None else want)


def check_padding(problems: Sequence[Problem], behind: float) -> None:
    """Nothing behind the end of a sentence is read."""
    have, want = solve(problems, behind), solve(problems)
    assert torch.equal(have.sentences.columns, want.sentences.columns)
    assert torch.equal(have.sentences.log_probs, want.sentences.log_probs)
    assert torch.equal(have.found, want.found)


paddings = st.sampled_from([float("nan"), float("inf"), 3.0, -3.0])


@given(random_batches(), paddings)
def test_random_languages(problems: list[Problem], behind: float) -> None:
    check_batch(problems)
    check_default(problems)
    check_padding(problems, behind)


@given(named_batches(), paddings)
def test_shared_grammars(problems: list[Problem], behind: float) -> None:
    check_batch(problems)
    check_default(problems)
    check_padding(problems, behind)


@given(batches(FORMULAS, Arithmetic, 5), paddings)
def test_arithmetic(problems: list[Problem], behind: float) -> None:
    check_batch(problems)
    check_default(problems)
    check_padding(problems, behind)


@given(batches(FORMULAS, Arithmetic, 5), st.integers(0, 2**32 - 1))
def test_confident_float32_networks(problems: list[Problem], seed: int) -> None:
    """Where 1 - p(A) of every node rounds to 0, the two engines must still rank the leaves alike."""
    generator = torch.Generator().manual_seed(seed)
    confident = []
    for problem in problems:
        logits = 3 * torch.randn(problem.log_probs.shape, generator=generator)
        logits[torch.arange(len(logits)), problem.columns] += 25
        scores = logits.log_softmax(-1)
        confident.append(Problem(FORMULAS, Arithmetic, scores, problem.sentence, problem.target))
    check_batch(confident)


def test_no_sentence_of_positive_probability_is_not_taken_for_one() -> None:
    """The columns of an impossible example are PAD, which must not be read as the first symbol."""
    grammar = Grammar.parse('s: "a" | "b" "b" -> two')

    class Letters(Semantics):
        def two() -> str:
            return "bb"

    only_b = torch.tensor([[[0.0, 1.0]]]).log()
    have = one_step_batch(grammar, Letters, only_b, None, ["a"])
    assert have.found.tolist() == [False]
    assert have.sentences.columns.tolist() == [[PAD]]


def test_an_impossible_symbol_does_not_hide_the_others() -> None:
    """The first symbol has probability zero; the right correction is elsewhere, below another node."""
    seen = torch.full((5, len(FORMULAS.symbols)), -5.0, dtype=torch.float64)
    for t, symbol in enumerate("1-2*2"):
        seen[t, FORMULAS.column(symbol)] = 0.0
    seen[0, FORMULAS.column("1")] = -torch.inf
    problem = Problem(FORMULAS, Arithmetic, seen.log_softmax(-1), tuple("1-2*2"), -1)
    assert by_queue(problem) == tuple("1-1*2")
    check_batch([problem])


@pytest.mark.parametrize("semantics", [Arithmetic, PlainArithmetic])
def test_a_changed_operator_changes_the_tree(semantics: Meaning) -> None:
    scores = torch.full((1, 5, len(FORMULAS.symbols)), -9.0, dtype=torch.float64)
    for t, symbol in enumerate("1-2*2"):
        scores[0, t, FORMULAS.column(symbol)] = 0.0
    scores[0, 3, FORMULAS.column("+")] = -1.0
    have = one_step_batch(FORMULAS, semantics, scores.log_softmax(-1), None, [1])
    assert have.sentences[0] == tuple("1-2+2")
    assert have.found.all()


def check_evaluator(grammar: Grammar, semantics: Meaning, longest: int, most: int = 4096) -> None:
    """Every string of symbols, whether a sentence or not."""
    engine = evaluator(grammar, semantics, longest, BUDGET)
    by_number = {
        length: {number: value for value, number in numbers.items()}
        for length, numbers in engine.answers.items()
    }
    for length in engine.answers:
        strings = list(product(grammar.symbols, repeat=length))
        step = -(-len(strings) // most)
        strings = strings[::step]
        columns = torch.full((longest, len(strings)), PAD)
        columns[:length] = torch.tensor([grammar.encode(string) for string in strings]).T
        numbers = engine.answer_numbers(engine.values(columns), torch.full((len(strings),), length))
        for string, number in zip(strings, numbers.tolist(), strict=True):
            tree = find_tree(grammar, string)
            if tree is None:
                assert number == ABSENT, string
            else:
                have, want = by_number[length][number], evaluate(tree, semantics)
                assert have == want and type(have) is type(want), string


@given(meanings())
def test_evaluator_on_all_strings(meaning: tuple[Grammar, Meaning]) -> None:
    grammar, semantics = meaning
    check_evaluator(grammar, semantics, max(lengths_of(grammar, 4)), most=64)


@pytest.mark.parametrize("name", NAMED)
def test_evaluator_on_shared_grammars(name: str) -> None:
    check_evaluator(*NAMED_MEANINGS[name], longest=5, most=512)


def test_evaluator_on_arithmetic() -> None:
    check_evaluator(FORMULAS, Arithmetic, longest=5, most=1024)
    assert UNDEFINED in evaluator(FORMULAS, Arithmetic, 5, BUDGET).answers[3]
