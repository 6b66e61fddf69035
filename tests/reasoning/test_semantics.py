"""Meanings found by name: arguments, inlining, kept terminals, and what is said about missing ones."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ngs import UNDEFINED, Grammar, Leaf, Node, Semantics, SemanticsError, Tree, evaluate, parse, posterior
from ngs.reasoning.operation import Value
from ngs.reasoning.semantics import Meaning, interpret
from tests.enumeration import derivations
from tests.grammars import grammars
from tests.search.semantics import lengths_of, random_semantics


class Notes(Semantics):
    """Says what was called: every function is there, and returns its name with its arguments."""

    def __getattr__(self, name: str) -> Callable[..., Value]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments: (name, *arguments)


def said(text: str, sentence: str) -> Value:
    return evaluate(parse(Grammar.parse(text), tuple(sentence)), Notes())


EMPTY = 's: "a" rest "."\nrest: | "b" rest -> more'


@pytest.mark.parametrize(
    "text, sentence, value",
    [
        ('s: "a" | "b"', "a", "a"),  # a symbol stands for itself
        ('s: x "+" x\nx: "1" | "2"', "1+2", ("s", "1", "2")),  # the rule's name; punctuation is left out
        ('s: x "+" x -> add\nx: "1" | "2"', "1+2", ("add", "1", "2")),  # an alias
        ('s: "(" x ")"\nx: "1" | "2"', "(2)", "2"),  # one argument passes through
        ('s: "(" x ")" -> group\nx: "1"', "(1)", ("group", "1")),  # unless it has a name
        ('s: "a" -> letter', "a", ("letter",)),
        ('!s: "a" x | x\nx: "1"', "a1", ("s", "a", "1")),  # kept terminals are arguments
        ('s: OP x x\nOP: "+" | "-"\nx: "1"', "-11", ("s", "-", "1", "1")),  # named terminals too
        ('s: x _tail\n_tail: "," x x\nx: "1" | "2"', "1,22", ("s", "1", "2", "2")),  # inlined
        ('s: "(" _tail ")"\n_tail: x\nx: "1"', "(1)", ("s", "1")),  # inlined arguments do not pass through
        ('s: _pair -> f\n_pair: x x -> g | "b"\nx: "1"', "11", ("f", ("g", "1", "1"))),  # an alias undoes it
        (EMPTY, "a.", ("rest",)),  # an empty rule is a function of nothing
        (EMPTY, "abb.", ("more", ("more", ("rest",)))),
    ],
)
def test_what_a_function_receives(text: str, sentence: str, value: Value) -> None:
    assert said(text, sentence) == value


def by_hand(tree: Tree, name: Callable[[Node], str]) -> Value:
    """`Notes` straight from the tree: arguments are the children that are no punctuation."""
    if isinstance(tree, Leaf):
        return tree.symbol
    arguments = []
    for k, child in enumerate(tree.children):
        if k in tree.rule.arguments or tree.rule.keeps_terminals:
            value = by_hand(child, name)
            inlined = isinstance(child, Node) and child.rule.head.inlined and child.rule.alias is None
            arguments += value[1:] if inlined else [value]
    group = tree.rule.alias is None and len(arguments) == 1 and not tree.rule.head.inlined
    if group and not any(getattr(tree.rule.body[k], "inlined", False) for k in tree.rule.arguments):
        return arguments[0]
    return (name(tree), *arguments)


@given(st.data())
def test_trees_of_random_grammars(data: st.DataObject) -> None:
    """With one symbol undefined, exactly the trees that pass its value on are undefined."""
    grammar = data.draw(grammars())
    length = data.draw(st.sampled_from(lengths_of(grammar, 4)))
    culprit = data.draw(st.sampled_from(grammar.symbols))

    class Partial(Notes):
        @staticmethod
        def symbol(name: str) -> Value:
            return UNDEFINED if name == culprit else name

    def uses(value: Value) -> bool:
        return value == culprit or (isinstance(value, tuple) and any(map(uses, value[1:])))

    for tree in derivations(grammar, length)[:20]:
        value = evaluate(tree, Notes())
        assert value == by_hand(tree, lambda node: node.rule.alias or node.rule.head.name)
        assert (evaluate(tree, Partial()) is UNDEFINED) == uses(value)


@given(grammars(), st.integers(0, 2**16))
def test_complete_meanings_are_accepted(grammar: Grammar, seed: int) -> None:
    semantics = random_semantics(grammar, seed)
    interpret(grammar, semantics)
    interpret(grammar, semantics())
    for rule in grammar.rules:
        if rule.function is not None:
            without = type("Without", (semantics,), {rule.function: None})
            with pytest.raises(
                SemanticsError, match=f"the grammar names `{rule.function}`, but Without has no"
            ):
                interpret(grammar, without)


SUMS = Grammar.parse("""
    sum: sum "+" digit -> add
        | digit
    digit: "0" | "1"
""")


class Modular(Semantics):
    """An instance knows more than its arguments."""

    def __init__(self, modulus: int) -> None:
        self.modulus = modulus

    def symbol(self, name: str) -> int:
        return int(name)

    def add(self, a: int, b: int) -> int:
        return (a + b) % self.modulus


class Plain(Semantics):
    symbol = int

    def add(a: int, b: int) -> int:
        return a + b


@given(st.lists(st.sampled_from("01"), min_size=1, max_size=6), st.integers(2, 4))
def test_an_instance_knows_more_than_its_class(digits: list[str], modulus: int) -> None:
    tree = parse(SUMS, "+".join(digits))
    total = digits.count("1")
    assert evaluate(tree, Plain) == total
    assert evaluate(tree, Modular(modulus)) == (total if len(digits) == 1 else total % modulus)


def test_instances_are_not_mixed_up() -> None:
    """The tables of two instances of one class are two things."""
    scores = torch.zeros(1, 3, 3, dtype=torch.float64).log_softmax(-1)
    found = {m: posterior(SUMS, Modular(m), scores, None, [0]).log_z.exp() * 27 for m in (2, 3)}
    assert {m: round(float(count)) for m, count in found.items()} == {2: 2, 3: 1}  # 0+0 and, modulo 2, 1+1


def with_functions(**functions: object) -> Meaning:
    return type("Sums", (Semantics,), {"symbol": int, **functions})


@pytest.mark.parametrize(
    "semantics, message",
    [
        (
            with_functions(),
            r"line 2: the grammar names `add`, but Sums has no such function; write `def add\(...\)` in it",
        ),
        (with_functions(add=3), "line 2: the grammar names `add`, but Sums has no such function"),
        (
            with_functions(add=lambda a: a),
            r'line 2: rule `sum: sum "\+" digit -> add` calls Sums.add with 2 arguments \(sum, digit\), '
            r"but it is add\(a\); change one of the two",
        ),
        (with_functions(add=lambda: 0), r"but it is add\(\)"),
        (with_functions(add=lambda a, b, c: 0), r"with 2 arguments \(sum, digit\), but it is add\(a, b, c\)"),
        (Plain(), r"with 2 arguments \(sum, digit\), but it is add\(b: int\)"),  # forgot `self`
        (
            Modular,
            r"Modular.add\(self, .* is a method, but the class was given; pass an instance",
        ),  # forgot to make an instance
        (
            type("Sums", (Plain,), {"symbol": lambda name: {"0": 0}[name]}),
            r"Sums.symbol\('1'\) raised KeyError: '1'; give Sums a function `symbol\(name\)` that returns "
            r"a hashable value for '1'",
        ),
        (
            type("Sums", (Plain,), {"symbol": lambda name: [name]}),
            r"Sums.symbol\('0'\) .*hashable value for '0'",
        ),
        (type("Sums", (Plain,), {"symbol": 3}), r"Sums.symbol\('0'\) raised TypeError"),
    ],
)
def test_incomplete_meanings_are_refused(semantics: Meaning, message: str) -> None:
    with pytest.raises(SemanticsError, match=message):
        interpret(SUMS, semantics)


@pytest.mark.parametrize(
    "add",
    [lambda *args: 0, lambda a, b=1: 0, lambda a, b, c=2: 0, lambda a, *rest: 0, max],
    ids=["any number", "default", "another default", "rest", "a built-in without a signature"],
)
def test_functions_that_can_take_two_are_accepted(add: Callable[..., int]) -> None:
    interpret(SUMS, with_functions(add=staticmethod(add)))


def test_the_number_of_inlined_arguments_is_known_at_the_call() -> None:
    grammar = Grammar.parse('s: x _more\n_more: | "," x _more\nx: "1"')

    class Two(Semantics):
        def s(a: str, b: str) -> str:
            return a + b

    interpret(grammar, Two)
    assert evaluate(parse(grammar, "1,1"), Two) == "11"
    with pytest.raises(SemanticsError, match=r"s\('1', '1', '1'\) raised TypeError: .*3 were given"):
        evaluate(parse(grammar, "1,1,1"), Two)


def test_failing_functions_show_their_call() -> None:
    """Wherever they are called; what else can fail is in tests/reasoning/test_operation.py."""
    semantics = with_functions(add=lambda a, b: [a, b])
    message = r"add\(0, 0\) is \[0, 0\], which cannot be looked up; return a number"
    with pytest.raises(SemanticsError, match=message):
        evaluate(parse(SUMS, "0+0"), semantics)
    scores = torch.zeros(1, 3, 3).log_softmax(-1)
    with pytest.raises(SemanticsError, match=message):
        posterior(SUMS, semantics, scores, None, [0])


def test_keywords_need_another_name() -> None:
    keyword = Grammar.parse('sum: sum "+" digit -> and\n  | digit\ndigit: "1" | "2"')
    with pytest.raises(SemanticsError, match="`and`, which means something else in Python"):
        interpret(keyword, Plain)
