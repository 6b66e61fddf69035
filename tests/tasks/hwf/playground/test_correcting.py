"""Corrections as they are shown: every step of the queue in words, and the exact posterior."""

from dataclasses import replace
from fractions import Fraction
from math import exp

import pytest

from ngs.errors import NGSError
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.semantics import evaluate
from ngs.search.correction import Action
from ngs.search.one_step import one_step
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.formula_reading import Seen
from ngs.tasks.hwf.playground.correcting import Corrected, correct, right_formulas, written
from tests.enumeration import sentences
from tests.tasks.hwf.playground.drawings import seen_as
from tests.tasks.hwf.playground.test_reading import nodes

KINDS = {
    Action.PUSH: ("push",),
    Action.POP: ("pop", "try"),
    Action.DISCARD: ("discard",),
    Action.ACCEPT: ("accept",),
    Action.REFUSE: ("reject",),
}


def misread(sentence: str, read_as: str, sure: float = 0.5) -> Seen:
    """What is drawn is the second choice where it is not read as itself."""
    seen = seen_as(read_as, sure)
    scores = seen.log_probs.clone()
    for k, (true, false) in enumerate(zip(sentence, read_as, strict=True)):
        if true != false:
            scores[k, GRAMMAR.symbol_id(true)] = scores[k, GRAMMAR.symbol_id(false)] - 0.5
    return replace(seen, log_probs=scores.log_softmax(-1))


@pytest.fixture(scope="module")
def example() -> Corrected:
    return correct(misread("8-6+2*3", "8-5+2*3"), Fraction(8))


def test_the_correction(example) -> None:
    assert (example.reading.formula, example.reading.value) == ("8-5+2*3", "9")
    assert (example.target, example.right, example.corrected, example.position) == ("8", False, "8-6+2*3", 2)
    assert example.corrected_tree.value == "8" and example.corrected_tree.text == "8-6+2*3"


def test_steps_are_the_events_of_back_search(example) -> None:
    seen = misread("8-6+2*3", "8-5+2*3")
    trace = one_step(GRAMMAR, Arithmetic, seen.log_probs, Fraction(8)).trace
    assert len(example.steps) == len(trace)
    for step, event in zip(example.steps, trace, strict=True):
        assert step.kind in KINDS[event.action]
        assert step.priority == pytest.approx(exp(event.log_priority))
        assert (step.kind in ("try", "accept", "reject")) <= (step.symbol is not None)
        assert step.symbol == (event.edit and event.edit.text)
    assert example.steps[0].path == [] and example.steps[0].expected == "8"
    assert example.steps[-1].kind == "accept" and example.steps[-1].symbol == "6"


def test_steps_name_nodes_of_the_tree(example) -> None:
    places = {tuple(node.path): node.position for node in nodes(example.reading.tree)}
    for step in example.steps:
        assert places[tuple(step.path)] == step.position
        is_operator = step.symbol is not None and step.symbol in "+-*/"
        assert (step.expected is None) == is_operator


def test_the_queue_is_replayed(example) -> None:
    """What leaves the queue was its first entry before."""
    queue = []
    for step in example.steps:
        entry = (step.path, step.symbol)
        if step.kind in ("pop", "try"):
            assert entry == queue[0]
        now = [(waiting.path, waiting.symbol) for waiting in step.queue]
        change = {"push": 1, "pop": -1, "try": -1}.get(step.kind, 0)
        assert step.waiting == len(now) == len(queue) + change
        priorities = [waiting.priority for waiting in step.queue]
        assert priorities == sorted(priorities, reverse=True)
        queue = now


def test_steps_are_told_in_words(example) -> None:
    told = [step.text for step in example.steps]
    assert told[0] == "8−5+2×3 is 9, but should be 8. The search begins here."
    assert told[-1] == "8−6+2×3 = 8, which is right: 6 is the correction of 5."
    assert any(text.startswith("8−5 = 3 would have to be 2.") for text in told)
    assert any("would have to be 5/2, and no symbol" in text for text in told)
    assert written("3*4-1/2") == "3×4−1÷2"


def test_a_long_queue_is_cut() -> None:
    corrected = correct(seen_as("1+2*3-4/5+6*7-8+9", sure=0.8), Fraction(1000))
    assert corrected.corrected is None and corrected.position is None
    longest = max(corrected.steps, key=lambda step: step.waiting)
    assert longest.waiting > len(longest.queue) == 12
    assert {step.kind for step in corrected.steps} >= {"push", "pop", "try", "reject"}


def test_what_is_right_stays() -> None:
    corrected = correct(seen_as("3*4"), Fraction(12))
    assert corrected.right and corrected.steps == [] and corrected.position is None
    assert corrected.corrected == "3*4" and corrected.posterior[0].corrected


@pytest.mark.parametrize("target", [Fraction(7), Fraction(1, 2), Fraction(0)])
def test_the_posterior_is_that_of_all_formulas(target) -> None:
    seen = misread("3+4", "3*4", sure=0.6)
    scored = {
        z: exp(sum(seen.log_probs[k, GRAMMAR.symbol_id(s)].item() for k, s in enumerate(z)))
        for z in sentences(GRAMMAR, 3)
        if evaluate(parse(GRAMMAR, z), Arithmetic) == target
    }
    ranked = right_formulas(seen, target, None)
    total = sum(scored.values())
    assert ranked.evidence == pytest.approx(total)
    wanted = sorted((p / total for p in scored.values()), reverse=True)[:5]
    assert [each.probability for each in ranked.posterior] == pytest.approx(wanted)
    for each in ranked.posterior:
        assert scored[tuple(each.formula)] / total == pytest.approx(each.probability)


def test_what_back_search_chose_is_among_them() -> None:
    seen = seen_as("9-8", sure=0.9)
    ranked = right_formulas(seen, Fraction(5), ("5", "+", "0"))
    assert len(ranked.posterior) == 6
    assert [each.formula for each in ranked.posterior if each.corrected] == ["5+0"]


@pytest.mark.parametrize(
    "drawn, target, evidence, why",
    [
        ("3*4", 1000, 0.0, "no formula of 3 symbols gives 1000"),
        ("1+1+1+1+1+1", 7, None, "11 symbols are too many to sum over all formulas; 9 are not"),
    ],
)
def test_why_there_is_no_posterior(drawn, target, evidence, why) -> None:
    corrected = correct(seen_as(drawn), Fraction(target))
    assert (corrected.posterior, corrected.evidence, corrected.message) == ([], evidence, why)
    assert corrected.exact == (evidence is not None) and (corrected.corrected is None) == (target == 1000)


def test_what_is_no_formula_cannot_be_corrected() -> None:
    with pytest.raises(NGSError, match="2 symbols are in it"):
        correct(seen_as("34"), Fraction(7))
