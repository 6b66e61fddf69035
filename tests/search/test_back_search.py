"""Back-search for a batch: 1-BS against the queue of Algorithm 1, and what m-BS does with any batch."""

from collections.abc import Sequence
from math import inf, nan
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st

from ngs import (
    PAD,
    Action,
    ChainSettings,
    Corrections,
    Grammar,
    Semantics,
    Switch,
    back_search,
    independent,
    one_step,
    one_step_among,
    sample_corrections,
)
from ngs.grammar.multisets import symbol_classes
from ngs.grammar.tree import Sentence
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.correction import switches
from tests.search.semantics import SMALL_ARITHMETIC, Problem, any_batches, batches, padded, reasoner_of

seeds = st.integers(0, 2**32 - 1)


def solve(problems: Sequence[Problem], after: float = 0.0, **settings: Any) -> Corrections:
    scores, z = padded(problems, after)
    r = reasoner_of(problems, **settings)
    p = independent(problems[0].grammar, scores, r.examples.lengths)
    return back_search(z, p.score, r.edits, r.judge)


def check_batch(problems: Sequence[Problem]) -> None:
    """Only the queue corrects to a sentence of probability zero: it looks at the change alone."""
    have = solve(problems)
    for z, found, problem in zip(have.z.tolist(), have.found.tolist(), problems, strict=True):
        p = problem
        want = one_step(p.grammar, p.semantics, p.log_probs, p.target, p.sentence).sentence
        if want != problem.sentence and problem.log_prob(problem.sentence) == -inf:
            fixed = problem.grammar.decode(symbol for symbol in z if symbol != PAD)
            assert not found or (problem.log_prob(fixed) > -inf and problem.answer(fixed) == problem.target)
            continue
        assert found == (want is not None)
        encoded = problem.grammar.encode(problem.sentence if want is None else want)
        assert z == encoded + [PAD] * (len(z) - len(encoded))


@given(any_batches, st.sampled_from([nan, inf, 3.0]))
def test_one_step_is_that_of_the_queue(problems: list[Problem], after: float) -> None:
    check_batch(problems)
    want = solve(problems)
    for have in (solve(problems, after), solve(problems, budget=1)):  # budget 1: judged one by one
        assert torch.equal(have.z, want.z) and torch.equal(have.found, want.found)


@given(any_batches)
def test_switches_are_those_of_the_reference(problems: list[Problem]) -> None:
    grammar, semantics = problems[0].grammar, problems[0].semantics
    scores, z = padded(problems, 0.0)
    p = independent(grammar, scores, reasoner_of(problems).examples.lengths)
    numbers = symbol_classes(grammar)
    have = back_search(z, p.score, Switch(torch.tensor(numbers)), reasoner_of(problems).judge)
    for k, problem in enumerate(problems):
        edits = switches(problem.sentence, dict(zip(grammar.symbols, numbers, strict=True)))

        def log_p(sentences: Sequence[Sentence], k: int = k) -> list[float]:
            made = torch.tensor(
                [[*grammar.encode(each)] + [PAD] * (z.shape[1] - len(each)) for each in sentences]
            )
            return p.score(torch.full((len(made),), k), made).tolist()

        found = one_step_among(grammar, semantics, log_p, problem.target, problem.sentence, edits)
        want = problem.sentence if found.sentence is None else found.sentence
        assert grammar.decode(symbol for symbol in have.z[k].tolist() if symbol != PAD) == want
        assert bool(have.found[k]) == (found.sentence is not None)
        tried = [event.log_priority for event in found.trace if event.action is Action.POP]
        assert tried == sorted(tried, reverse=True)
        for event in found.trace:
            assert event.edit is not None
            if event.action in (Action.ACCEPT, Action.REFUSE):
                right = problem.answer(event.edit.sentence) == problem.target
                assert right == (event.action is Action.ACCEPT)


@given(batches(SMALL_ARITHMETIC, Arithmetic, 5), seeds)
def test_confident_float32_networks(problems: list[Problem], seed: int) -> None:
    """Where 1 - p(A) of every node rounds to 0, the two engines must still rank the leaves alike."""
    generator = torch.Generator().manual_seed(seed)
    confident = []
    for problem in problems:
        logits = 3 * torch.randn(problem.log_probs.shape, generator=generator)
        logits[torch.arange(len(logits)), problem.symbols] += 25
        scores = logits.log_softmax(-1)
        confident.append(Problem(SMALL_ARITHMETIC, Arithmetic, scores, problem.sentence, problem.target))
    check_batch(confident)


@given(any_batches, seeds)
def test_chains_stay_in_the_language_and_say_what_they_found(problems: list[Problem], seed: int) -> None:
    scores, z = padded(problems)
    r = reasoner_of(problems)
    p = independent(problems[0].grammar, scores, r.examples.lengths)

    def run(steps: int) -> Corrections:
        chain = ChainSettings(steps, back_search=0.5, epsilon=0.1)
        generator = torch.Generator().manual_seed(seed)
        return sample_corrections(z, p.score, r.edits, r.judge, chain, generator)

    assert torch.equal(run(0).z, z)
    have, again = run(4), run(4)
    assert torch.equal(have.z, again.z)  # the generator decides everything
    for row, problem in enumerate(problems):
        sentence = problem.grammar.decode(symbol for symbol in have.z[row].tolist() if symbol != PAD)
        assert len(sentence) == len(problem.sentence)
        assert problem.answer(sentence) is not None  # a sentence of the language
        assert have.found[row] == (problem.answer(sentence) == problem.target)


def test_where_no_sentence_is_possible_nothing_is_found() -> None:
    """Such an example is PAD throughout, which must not be read as the first symbol."""

    class Letters(Semantics):
        def two() -> str:
            return "bb"

    grammar = Grammar.parse('s: "a" | "b" "b" -> two')
    p = independent(grammar, torch.tensor([[[0.0, 1.0]], [[0.5, 0.5]]]).log())
    r = reasoner_of([Problem(grammar, Letters, row, ("a",), "a") for row in p.log_probs])
    z = p.best().symbols
    generator = torch.Generator().manual_seed(0)
    for have in (
        back_search(z, p.score, r.edits, r.judge),
        sample_corrections(z, p.score, r.edits, r.judge, ChainSettings(), generator),
    ):
        assert have.found.tolist() == [False, True] and have.z.tolist() == [[PAD], [0]]
