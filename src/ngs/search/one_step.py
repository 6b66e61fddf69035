"""The reference of 1-BS: the most probable edit of one sentence that gives the right answer, with every step.

`one_step` is Algorithm 1 of Li et al. (2020), for changes of one symbol. The target enters at the root;
`solve` tells each node the values it should have had; a priority queue decides what is visited next.
`one_step_among` tries edits of any kind, given as a list.

The queue finds the most likely correction: a node's priority (1 - p(A)) / p(A) is never below the priority
p(alpha) / p(leaf) of a change below it, because 1 - p(A) >= 1 - p(leaf) >= p(alpha) and p(A) <= p(leaf).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import expm1, inf, log

from torch import Tensor

from ngs.errors import ParseError, ShapeError
from ngs.grammar.ambiguity import unambiguous
from ngs.grammar.automaton import prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.rules import Nonterminal, Symbol, Terminal
from ngs.grammar.tree import Leaf, Node, Sentence, Tree, leaves
from ngs.parsing.independent import independent
from ngs.parsing.scores import check_normalised, check_scores
from ngs.parsing.sentence import parse
from ngs.reasoning.operation import ANY, Expected, Value, check_answer, is_expected
from ngs.reasoning.semantics import Inlined, Interpretation, Meaning, interpret, splice
from ngs.search.compiled import BUDGET, check_cacheable, exact_length, value_tables
from ngs.search.correction import (
    Action,
    Correction,
    Edit,
    Evaluated,
    Event,
    Part,
    Path,
    name_of,
    reasoning_parts,
)


def one_step(
    grammar: Grammar,
    semantics: Meaning,
    log_probs: Tensor,
    target: Value,
    sentence: Sequence[str] | None = None,
) -> Correction:
    """Return 1-BS(z, y): the correction of `sentence`, by default the most likely one, towards `target`.

    `log_probs` is [time, symbol], log-normalised. A sentence that gives the target already is unchanged.
    Changes of probability zero are not considered.

    >>> import torch
    >>> from ngs import Arithmetic, arithmetic_grammar
    >>> grammar = arithmetic_grammar()
    >>> log_probs = torch.full((3, 14), 0.01)
    >>> log_probs[[0, 1, 2], grammar.encode("1+2")] = 0.87
    >>> one_step(grammar, Arithmetic, log_probs.log(), target=-1).sentence
    ('1', '-', '2')
    """
    check_answer(target)
    start = first_sentence(grammar, log_probs, sentence)
    return Search(grammar, semantics, log_probs, target).run(start)


def one_step_among(
    grammar: Grammar,
    semantics: Meaning,
    log_p: Callable[[Sequence[Sentence]], Sequence[float]],
    target: Value,
    sentence: Sequence[str],
    edits: Iterable[Edit],
) -> Correction:
    """Return 1-BS(z, y) among `edits` of a sentence: the most likely that gives the target.

    `log_p` gives log p(z|x) of many sentences. The sentence and its edits may be outside the language. Edits
    of probability zero are not considered; of equals the first counts.

    >>> from ngs import Arithmetic, Edit, arithmetic_grammar
    >>> edits = [Edit(("3", "-", "1"), (0, 2), (2, 0), "1 and 3 change places")]
    >>> equally_likely = lambda sentences: [0.0] * len(sentences)
    >>> one_step_among(arithmetic_grammar(), Arithmetic, equally_likely, 2, "1-3", edits).sentence
    ('3', '-', '1')
    """
    check_answer(target)
    algebra = interpret(grammar, semantics)
    read = Evaluated.of(grammar, algebra, tuple(sentence))
    if read.value == target:
        return Correction(read, target, read)
    made: dict[Sentence, Edit] = {}
    for edit in edits:
        if edit.sentence != read.sentence:
            made.setdefault(edit.sentence, edit)
    near = list(made.values())
    here, *there = log_p([read.sentence, *(edit.sentence for edit in near)])
    root = "" if read.tree is None else name_of(read.tree)

    def event(action: Action, number: int) -> Event:
        return Event(action, (), root, frozenset([target]), there[number] - here, near[number])

    queue = [number for number, log_prob in enumerate(there) if log_prob > -inf]
    queue.sort(key=lambda number: -there[number])
    trace = [event(Action.PUSH, number) for number in queue]
    for number in queue:
        tried = Evaluated.of(grammar, algebra, near[number].sentence)
        right = tried.value == target
        trace += [event(Action.POP, number), event(Action.ACCEPT if right else Action.REFUSE, number)]
        if right:
            return Correction(read, target, tried, near[number], tuple(trace))
    return Correction(read, target, None, None, tuple(trace))


def first_sentence(grammar: Grammar, log_probs: Tensor, sentence: Sequence[str] | None) -> Sentence:
    """The sentence to search from, after checking the scores [time, symbol]: by default the most likely."""
    check_scores(grammar, log_probs)
    check_normalised(log_probs)
    if log_probs.ndim != 2:
        raise ShapeError(
            f"the scores have the shape {list(log_probs.shape)}, but one sentence needs [time, symbol]; "
            f"give one example, or call the batched search"
        )
    if sentence is None:
        sentence = independent(grammar, log_probs[None]).best()[0]
        if not sentence:
            raise ParseError(
                f"no sentence of {len(log_probs)} symbols has positive probability; "
                f"give the sentence to correct, or scores that allow one"
            )
    if len(sentence) != len(log_probs):
        raise ShapeError(
            f"the sentence has {len(sentence)} symbols, but there are scores for {len(log_probs)}; "
            f"give one row of scores for each symbol"
        )
    return tuple(sentence)


@dataclass(frozen=True)
class Visit:
    """A node of the tree on its way through the queue: (A, alpha_A, p) of Algorithm 1."""

    tree: Tree
    path: Path
    symbol: Symbol
    expected: Expected
    log_priority: float


@dataclass(order=True)
class Entry:
    """An element of the queue; ties go to nodes before leaves, then to the leftmost leaf."""

    key: tuple[float, bool, int, int]
    visit: Visit = field(compare=False)
    edit: Edit | None = field(default=None, compare=False)


class Search:
    """One run of Algorithm 1 over one sentence."""

    def __init__(self, grammar: Grammar, semantics: Meaning, log_probs: Tensor, target: Value) -> None:
        self.grammar = grammar
        self.semantics = semantics
        self.algebra: Interpretation = interpret(grammar, semantics)
        self.automaton = prefix_automaton(grammar)
        self.log_probs: list[list[float]] = log_probs.tolist()
        self.target = target
        self.trace: list[Event] = []

    def run(self, sentence: Sentence) -> Correction:
        read = Evaluated.of(self.grammar, self.algebra, sentence)
        tree = parse(self.grammar, sentence) if read.tree is None else read.tree  # says what is wrong with it
        if read.value == self.target:
            return Correction(read, self.target, read)
        self.trace = []
        queue: list[Entry] = []
        root = Visit(tree, (), self.grammar.start, frozenset([self.target]), 0.0)
        self._push(queue, root, sentence)
        while queue:
            entry = heappop(queue)
            visit, edit = entry.visit, entry.edit
            self._log(Action.POP, visit, edit)
            if edit is None:
                for child in self._children(visit, read.values):
                    self._push(queue, child, sentence)
            else:  # a new symbol can change the tree (1-2*3 -> 1-2+3): see what was really written
                made = Evaluated.of(self.grammar, self.algebra, edit.sentence)
                if made.value == self.target:
                    self._log(Action.ACCEPT, visit, edit)
                    return Correction(read, self.target, made, edit, tuple(self.trace))
                self._log(Action.REFUSE, visit, edit)
        return Correction(read, self.target, None, None, tuple(self.trace))

    def _push(self, queue: list[Entry], visit: Visit, sentence: Sentence) -> None:
        if isinstance(visit.tree, Node):
            self._log(Action.PUSH, visit)
            heappush(queue, Entry((-visit.log_priority, False, 0, 0), visit))
            return
        position, symbol = visit.tree.position, visit.tree.symbol
        scores = self.log_probs[position]
        replacements = tuple(self._replacements(visit, sentence))
        if visit.expected and not replacements:
            self._log(Action.DISCARD, replace(visit, log_priority=-inf))
        for symbol_id in replacements:
            new = self.grammar.symbols[symbol_id]
            changed = (*sentence[:position], new, *sentence[position + 1 :])
            edit = Edit(changed, (position,), (position,), new)
            # p(A -> alpha) = p(alpha) / p(A) for a terminal A
            ratio = scores[symbol_id] - scores[self.grammar.symbol_id(symbol)]
            leaf = replace(visit, log_priority=ratio)
            self._log(Action.PUSH, leaf, edit)
            heappush(queue, Entry((-ratio, True, position, symbol_id), leaf, edit))

    def _children(self, visit: Visit, values: Mapping[Path, Value]) -> Iterator[Visit]:
        """child(A) with alpha_B = solve(B, A, alpha_A) for each B among them."""
        assert isinstance(visit.tree, Node)
        parts = list(reasoning_parts(visit.tree, visit.path))
        arguments = splice(values[part.path] for part in parts if part.is_argument)
        hole = 0
        for part in parts:
            expected: Expected = frozenset()
            if part.is_argument:
                expected = self._solve(visit, part, hole, arguments)
                hole += 1
            if isinstance(part.tree, Leaf):
                yield Visit(part.tree, part.path, part.symbol, expected, 0.0)
            elif next(leaves(part.tree), None) is not None:
                yield Visit(part.tree, part.path, part.symbol, expected, self._node_priority(part.tree))

    def _solve(self, visit: Visit, part: Part, hole: int, arguments: Sequence[Value]) -> Expected:
        assert isinstance(visit.tree, Node)
        rule = visit.tree.rule
        if rule.function is None:
            return visit.expected
        operation = self.algebra.operation(rule.function)
        if operation.invertible(hole):
            return operation.solve(visit.expected, hole, arguments)
        domain = self._domain(part)
        return ANY if domain is None else operation.fitting(domain, visit.expected, hole, arguments)

    def _domain(self, part: Part) -> Sequence[Value] | None:
        """The values `part` could have at its length: the automatic inverse. None where unknown."""
        check_cacheable(self.semantics)
        longest = len(self.log_probs)
        if not isinstance(part.symbol, Nonterminal):
            return None
        if exact_length(self.grammar, self.semantics, longest, BUDGET) < longest:
            return None
        tables = value_tables(self.grammar, self.semantics, longest, BUDGET)
        values = tables.values.get((part.symbol, sum(1 for _ in leaves(part.tree))))
        return None if values is None else [value for value in values if not isinstance(value, Inlined)]

    def _replacements(self, visit: Visit, sentence: Sentence) -> Iterator[int]:
        """The symbol ids worth trying at a leaf; all leave a sentence of the language.

        A symbol that leaves the tree as it is must have an expected value; any other may do anything.
        """
        assert isinstance(visit.tree, Leaf)
        position, current = visit.tree.position, visit.tree.symbol
        readable = (
            readings(self.grammar, visit.symbol) if unambiguous(self.grammar, len(sentence)) else frozenset()
        )
        for symbol_id in self.automaton.substitutes(self.grammar.encode(sentence), position):
            symbol = self.grammar.symbols[symbol_id]
            if symbol == current or self.log_probs[position][symbol_id] == -inf:
                continue
            if symbol not in readable or is_expected(self.algebra.read(symbol), visit.expected):
                yield symbol_id

    def _node_priority(self, tree: Tree) -> float:
        """log of (1 - p(A)) / p(A), p(A) the product of the probabilities of the leaves of A.

        `max`: no change below A is stronger, even where a confident network's 1 - p(A) rounds to 0.
        """
        log_p, strongest = 0.0, -inf
        for leaf in leaves(tree):
            scores, current = self.log_probs[leaf.position], self.grammar.symbol_id(leaf.symbol)
            others = (score for other, score in enumerate(scores) if other != current and score > -inf)
            log_p += scores[current]
            strongest = max(strongest, max(others, default=-inf) - scores[current])
        return max(log_odds_against(log_p), strongest)

    def _log(self, action: Action, visit: Visit, edit: Edit | None = None) -> None:
        name = name_of(visit.tree)
        self.trace.append(Event(action, visit.path, name, visit.expected, visit.log_priority, edit))


def readings(grammar: Grammar, symbol: Symbol) -> frozenset[str]:
    """The terminals that can stand for `symbol` by renaming alone, so that the tree stays as it is."""
    if isinstance(symbol, Terminal):
        return frozenset()
    found: set[str] = set()
    for rule in grammar.by_head[symbol]:
        if rule.renames:
            part: Symbol = rule.body[0]
            found |= {part.name} if isinstance(part, Terminal) else readings(grammar, part)
    return frozenset(found)


def log_odds_against(log_p: float) -> float:
    """log of (1 - p) / p, from log p."""
    return inf if log_p == -inf else log(-expm1(log_p)) - log_p if log_p < 0 else -inf
