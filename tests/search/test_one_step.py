"""The queue of one-step back-search against trying every change of one symbol."""

import operator
from collections.abc import Iterator
from fractions import Fraction
from heapq import heapify, heappop, heappush
from itertools import count, pairwise, zip_longest
from math import exp, expm1, inf, log

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from ngs import UNDEFINED, Grammar, Semantics, evaluate, independent, one_step, parse, recognises
from ngs.grammar.grammar import arithmetic
from ngs.grammar.tree import Leaf, Node, Sentence, Tree, leaves
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import ANY, inverses
from ngs.search.correction import Action, Correction
from tests.search.semantics import (
    SMALL_ARITHMETIC,
    PlainArithmetic,
    Problem,
    arithmetic_problems,
    random_problems,
)

Ratio = Fraction | float
"""An exact ratio of probabilities; +inf where something impossible is to be changed."""

any_problem = st.one_of(random_problems(), arithmetic_problems())


def solve(problem: Problem) -> Correction:
    return one_step(problem.grammar, problem.semantics, problem.log_probs, problem.target, problem.sentence)


def inlined(node: Node) -> bool:
    return node.rule.head.inlined and node.rule.alias is None


class Exhaustive:
    """Every change of one symbol that is possible and right, in fractions."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        weights = [[Fraction(exp(score)) for score in row] for row in problem.log_probs.tolist()]
        self.probs = [[weight / sum(row) for weight in row] for row in weights]

    def changes(self) -> Iterator[tuple[int, int]]:
        problem = self.problem
        for position, row in enumerate(self.probs):
            for symbol_id, p in enumerate(row):
                changed = problem.replaced(position, symbol_id)
                if p and changed != problem.sentence and problem.answer(changed) == problem.target:
                    yield position, symbol_id

    def ratio(self, position: int, symbol_id: int) -> Ratio:
        """p(alpha) / p(A) of a leaf. Its priority decides: no node above it has a lower one."""
        current = self.probs[position][self.problem.symbols[position]]
        return self.probs[position][symbol_id] / current if current else inf

    def best(self) -> Sentence | None:
        """The likeliest; ties go to the left."""
        problem = self.problem
        if problem.answer(problem.sentence) == problem.target:
            return problem.sentence
        chosen = max(self.changes(), key=lambda each: (self.ratio(*each), -each[0], -each[1]), default=None)
        return None if chosen is None else problem.replaced(*chosen)


def check_against_all_changes(problem: Problem) -> None:
    correction = solve(problem)
    assert correction.sentence == Exhaustive(problem).best()
    if correction.sentence is None:
        return
    assert problem.answer(correction.sentence) == problem.target
    differing = [
        t for t, (a, b) in enumerate(zip(problem.sentence, correction.sentence, strict=True)) if a != b
    ]
    assert differing == ([] if correction.position is None else [correction.position])


@settings(max_examples=400)
@given(st.one_of(any_problem, arithmetic_problems(PlainArithmetic)))
def test_a_correction_is_the_best_of_all_changes(problem: Problem) -> None:
    """With inverses that are given, and without."""
    check_against_all_changes(problem)


@given(arithmetic_problems(), st.integers(0, 2**32 - 1))
def test_confident_networks_lose_no_digits(problem: Problem, seed: int) -> None:
    """In float32 the probability of a whole subtree rounds to 1, and 1 - p(A) to 0, long before the
    ratios of its leaves do: corrections below the root must not fall behind because of that."""
    logits = 3 * torch.randn(problem.log_probs.shape, generator=torch.Generator().manual_seed(seed))
    logits[torch.arange(len(logits)), problem.symbols] += 25
    confident = logits.log_softmax(-1)
    problem = Problem(SMALL_ARITHMETIC, Arithmetic, confident, problem.sentence, problem.target)
    changes = list(Exhaustive(problem).changes())
    assume(changes and problem.answer(problem.sentence) != problem.target)
    ratios = {change: float(confident[change]) for change in changes}  # the symbols themselves have log p ~ 0
    position, symbol_id = max(changes, key=ratios.__getitem__)
    assume(sum(ratio > ratios[position, symbol_id] - 1e-4 for ratio in ratios.values()) == 1)
    assert solve(problem).sentence == problem.replaced(position, symbol_id)


def literal_algorithm_1(problem: Problem) -> tuple[Sentence | None, list[float]]:
    """The pseudocode as it stands: pop by own priority. Also all priorities that were pushed."""
    order = count()
    log_probs: list[list[float]] = problem.log_probs.tolist()
    tree = parse(problem.grammar, problem.sentence)
    queue: list[tuple[float, int, Tree, int | None]] = [(-inf, next(order), tree, None)]
    pushed = []

    def push(part: Tree) -> None:
        if isinstance(part, Leaf):
            row, current = log_probs[part.position], problem.symbols[part.position]
            for symbol_id, score in enumerate(row):
                if symbol_id != current and score > -inf:
                    pushed.append(score - row[current])
                    heappush(queue, (-pushed[-1], next(order), part, symbol_id))
        elif inlined(part):
            for child in part.children:
                push(child)
        elif next(leaves(part), None):
            log_p = sum(log_probs[leaf.position][problem.symbols[leaf.position]] for leaf in leaves(part))
            pushed.append(log(-expm1(log_p)) - log_p if log_p < 0 else -inf)
            heappush(queue, (-pushed[-1], next(order), part, None))

    if isinstance(tree, Leaf):
        queue.clear()
        push(tree)
    heapify(queue)
    while queue:
        _, _, part, symbol_id = heappop(queue)
        if isinstance(part, Leaf):
            assert symbol_id is not None
            changed = problem.replaced(part.position, symbol_id)
            if problem.answer(changed) == problem.target:
                return changed, pushed
        else:
            for child in part.children:
                push(child)
    return None, pushed


@given(any_problem)
def test_literal_queue_finds_the_same(problem: Problem) -> None:
    assume(problem.answer(problem.sentence) != problem.target)
    found, pushed = literal_algorithm_1(problem)
    ranked = sorted(pushed)
    tied = any(b - a < 1e-9 or not b < inf for a, b in pairwise(ranked))
    assume(not tied)
    assert solve(problem).sentence == found


@given(any_problem)
def test_trace_is_what_happened(problem: Problem) -> None:
    correction = solve(problem)
    answer = problem.answer(problem.sentence)
    assert correction.values[()] == answer
    if answer == problem.target:
        assert correction.trace == () and correction.sentence == problem.sentence
        return
    queue = []
    for event, after in zip_longest(correction.trace, correction.trace[1:]):
        entry = event.path, event.edit
        if event.action is Action.PUSH:
            assert entry not in queue, "pushed twice"
            queue.append(entry)
        elif event.action is Action.POP:
            queue.remove(entry)  # a ValueError where it was never pushed
            judged = after is not None and after.action in (Action.ACCEPT, Action.REFUSE)
            assert judged == (event.edit is not None)
        elif event.action is Action.DISCARD:
            position = position_of(correction.tree, event.path)
            assert event.edit is None
            assert not any(at == position for at, _ in Exhaustive(problem).changes())
        else:
            assert event.edit is not None
            symbol_id = problem.grammar.symbol_id(event.edit.text)
            changed = problem.replaced(position_of(correction.tree, event.path), symbol_id)
            assert event.edit.sentence == changed and event.edit.old == event.edit.new
            right = problem.answer(changed) == problem.target
            assert right == (event.action is Action.ACCEPT)
            assert recognises(problem.grammar, changed)
    accepted = [event.action is Action.ACCEPT for event in correction.trace]
    assert accepted == [False] * (len(accepted) - 1) + [correction.sentence is not None] * bool(accepted)
    assert correction.sentence is not None or not queue, "gave up with something left to try"


def position_of(tree: Tree, path: tuple[int, ...]) -> int:
    for k in path:
        assert isinstance(tree, Node)
        tree = tree.children[k]
    assert isinstance(tree, Leaf)
    return tree.position


@given(arithmetic_problems())
def test_expected_values_are_right_where_the_tree_stays(problem: Problem) -> None:
    """Putting an expected value in a node's place gives the target: alpha_A of Algorithm 1."""
    for event in solve(problem).trace:
        if event.expected is ANY:
            continue
        for value in event.expected if event.action is Action.PUSH else ():
            tree = parse(SMALL_ARITHMETIC, problem.sentence)
            assert substituted(tree, event.path, value) == problem.target


def substituted(tree: Tree, path: tuple[int, ...], value: Fraction) -> Fraction:
    """The value of `tree` once the node at `path` has `value`."""
    if not path:
        return value
    assert isinstance(tree, Node)
    functions = {"add": Fraction.__add__, "subtract": Fraction.__sub__}
    functions |= {"multiply": Fraction.__mul__, "divide": Fraction.__truediv__}
    arguments = [
        substituted(tree.children[k], path[1:], value)
        if k == path[0]
        else evaluate(tree.children[k], Arithmetic)
        for k in (0, 2)
    ]
    return functions[tree.rule.name](*arguments)


@given(any_problem)
def test_right_sentences_come_back_unchanged(problem: Problem) -> None:
    answer = problem.answer(problem.sentence)
    assume(answer is not UNDEFINED)
    right = one_step(problem.grammar, problem.semantics, problem.log_probs, answer, problem.sentence)
    assert (right.sentence, right.position, right.trace) == (problem.sentence, None, ())


@given(any_problem)
def test_by_default_the_likeliest_sentence_is_corrected(problem: Problem) -> None:
    likeliest = independent(problem.grammar, problem.log_probs[None]).best()[0]
    assume(likeliest)
    default = one_step(problem.grammar, problem.semantics, problem.log_probs, problem.target)
    explicit = one_step(problem.grammar, problem.semantics, problem.log_probs, problem.target, likeliest)
    assert default == explicit


DIGITS = arithmetic()


def scores_for(seen: str, doubts: dict[int, str], grammar: Grammar = DIGITS) -> Tensor:
    """Scores of a network sure of what it has seen, but for second thoughts at some positions."""
    scores = torch.full((len(seen), len(grammar.symbols)), -9.0, dtype=torch.float64)
    for position, symbol in enumerate(seen):
        scores[position, grammar.symbol_id(symbol)] = 0.0
        if position in doubts:
            scores[position, grammar.symbol_id(doubts[position])] = -1.0
    return scores.log_softmax(-1)


def test_changes_of_probability_zero_are_not_made() -> None:
    scores = scores_for("1+1", {})
    scores[2, DIGITS.symbol_id("2")] = scores[0, DIGITS.symbol_id("2")] = -inf
    only = one_step(DIGITS, Arithmetic, scores.log_softmax(-1), 3)
    assert only.sentence is None
    assert only.trace  # it did look


@pytest.mark.parametrize("symbols", [3, 5])
def test_ties_go_to_the_left(symbols: int) -> None:
    letters = " | ".join(f'"{k}"' for k in range(symbols))
    grammar = Grammar.parse(f"sum: digit digit digit -> add\ndigit: {letters}")

    class Sums(Semantics):
        symbol = int

        def add(a: int, b: int, c: int) -> int:
            return a + b + c

    scores = torch.zeros(3, symbols, dtype=torch.float64).log_softmax(-1)
    assert one_step(grammar, Sums, scores, 2, "111").sentence == ("0", "1", "1")


def test_a_tie_below_a_node_goes_to_the_left_too() -> None:
    """Nodes of one leaf each: (1 - p) / p is the leaf's own ratio, but for rounding."""
    grammar = Grammar.parse('pair: bit bit -> add\nbit: "0" -> zero | "1" -> one')

    class Bits(Semantics):
        zero, one, add = staticmethod(lambda: 0), staticmethod(lambda: 1), staticmethod(operator.add)

    for p in (0.1, 0.3, 0.37, 0.5, 0.9):
        scores = torch.tensor([[p, 1 - p], [p, 1 - p]], dtype=torch.float64).log()
        assert one_step(grammar, Bits, scores, 1, "11").sentence == ("0", "1"), p


def test_a_wrong_inverse_is_no_danger() -> None:
    """What an inverse claims is run forwards again; what it forgets is not found."""

    class Careless(PlainArithmetic):
        @inverses(lambda target, b: target + 1000, lambda target, a: target - a)
        def add(a: Fraction, b: Fraction) -> Fraction:
            return a + b

    scores = scores_for("1+1", {0: "2"}, SMALL_ARITHMETIC)
    assert one_step(SMALL_ARITHMETIC, Arithmetic, scores, 3).sentence == ("2", "+", "1")
    assert one_step(SMALL_ARITHMETIC, Careless, scores, 3).sentence == ("1", "+", "2")


@settings(max_examples=50)
@given(arithmetic_problems())
def test_scores_are_only_read(problem: Problem) -> None:
    before = problem.log_probs.clone()
    problem.log_probs.requires_grad_()
    solve(problem)
    assert torch.equal(problem.log_probs.detach(), before)
