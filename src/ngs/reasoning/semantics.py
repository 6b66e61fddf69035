"""What the symbols and rules of a language mean: ordinary Python functions, found by name."""

from collections.abc import Iterable
from functools import cache
from itertools import chain
from keyword import iskeyword

from ngs.errors import SemanticsError
from ngs.grammar.grammar import Grammar
from ngs.grammar.normal_form import fold
from ngs.grammar.rules import Nonterminal, Rule, Terminal
from ngs.grammar.tree import Leaf, Tree
from ngs.reasoning.operation import Operation, Value, failed, misfit


class Semantics:
    """What a grammar means: subclass it and write one function for each name in the grammar.

    Functions of a class are called as written; those of an instance are methods.

    >>> from ngs import Grammar, evaluate, parse
    >>> grammar = Grammar.parse('start: digit "+" digit -> add' + chr(10) + 'digit: "1" | "2"')
    >>> class Sums(Semantics):
    ...     symbol = int
    ...     def add(a, b):
    ...         return a + b
    >>> evaluate(parse(grammar, "1+2"), Sums)
    3
    """

    @staticmethod
    def symbol(name: str) -> Value:
        """The value of a symbol that stands for itself: by default its own name."""
        return name


Meaning = type[Semantics] | Semantics  # A subclass of Semantics, or an instance of one


class Inlined(tuple[Value, ...]):
    """Values under a rule whose name begins with an underscore, to be spliced into the parent's arguments."""


class Interpretation:
    """The algebra of a semantics: folding a tree with it executes the tree."""

    def __init__(self, semantics: Meaning) -> None:
        self.semantics = semantics
        self.operation = cache(self._operation)
        self.read = cache(self._read)

    def leaf(self, position: int, symbol: str) -> Leaf:
        """A symbol by itself; what it means is asked only where its value is an argument."""
        return Leaf(0, symbol)

    def node(self, rule: Rule, children: tuple[Value, ...]) -> Value:
        if rule.renames:
            return self.value(children[0])
        arguments = splice(self.value(children[k]) for k in rule.arguments)
        if rule.alias is None and rule.head.inlined:
            return Inlined(arguments)
        return arguments[0] if rule.function is None else self.operation(rule.function).apply(*arguments)

    def value(self, child: Value) -> Value:
        return self.read(child.symbol) if isinstance(child, Leaf) else child

    def _read(self, symbol: str) -> Value:
        try:
            value = self.semantics.symbol(symbol)
            hash(value)
        except Exception as error:  # once, at the edge: the user sees their own call
            call = f"{self.name}.symbol({symbol!r})"
            hint = f"give {self.name} a function `symbol(name)` that returns a hashable value for {symbol!r}"
            raise failed(call, error, self.semantics.symbol, [symbol], hint) from error
        return value

    def _operation(self, name: str) -> Operation:
        if iskeyword(name) or name in ("symbol", "mro"):
            raise SemanticsError(
                f"the grammar names a function `{name}`, which means something else in Python or Semantics; "
                f"give the rule another alias: `-> {name}_`"
            )
        function = getattr(self.semantics, name, None)
        if not callable(function):
            raise SemanticsError(
                f"the grammar names `{name}`, but {self.name} has no such function; "
                f"write `def {name}(...)` in it"
            )
        return Operation(name, function, getattr(function, "__inverses__", ()))

    @property
    def name(self) -> str:
        kind = self.semantics if isinstance(self.semantics, type) else type(self.semantics)
        return kind.__name__


def splice(values: Iterable[Value]) -> tuple[Value, ...]:
    """The values as one tuple, with inlined ones opened up."""
    return tuple(chain.from_iterable(v if isinstance(v, Inlined) else (v,) for v in values))


def evaluate(tree: Tree, semantics: Meaning) -> Value:
    """Return f(z): the value of the reasoning tree (Li et al. 2020, Eq. 5), UNDEFINED where it has none.

    A SemanticsError says which function is missing or failed.

    >>> from ngs import Arithmetic, arithmetic_grammar, parse
    >>> evaluate(parse(arithmetic_grammar(), "1+2*3"), Arithmetic)
    Fraction(7, 1)
    >>> evaluate(parse(arithmetic_grammar(), "1/0"), Arithmetic)
    UNDEFINED
    """
    algebra = Interpretation(semantics)
    return algebra.value(fold(tree, algebra))


def interpret(grammar: Grammar, semantics: Meaning) -> Interpretation:
    """The algebra of `semantics`, after checking that it says what each rule and symbol means."""
    algebra = Interpretation(semantics)
    for rule in grammar.rules:
        if rule.function is not None:
            _check_function(rule, algebra)
        if rule.renames and isinstance(rule.body[0], Terminal):
            algebra.read(rule.body[0].name)
    return algebra


def _check_function(rule: Rule, algebra: Interpretation) -> None:
    where = f"line {rule.line}: " if rule.line else ""
    try:
        operation = algebra.operation(rule.name)
    except SemanticsError as error:
        raise SemanticsError(f"{where}{error}") from None
    parts = [rule.body[k] for k in rule.arguments]
    if any(isinstance(part, Nonterminal) and part.inlined for part in parts):
        return  # the number of arguments depends on the sentence
    signature = misfit(operation.function, parts)
    if signature is None:
        return
    if "self" in signature.parameters and isinstance(algebra.semantics, type):
        raise SemanticsError(
            f"{where}{algebra.name}.{rule.name}{signature} is a method, but the class was given; "
            f"pass an instance, `{algebra.name}()`, or write the function without `self`"
        )
    given = ", ".join(map(str, parts)) or "nothing"
    raise SemanticsError(
        f"{where}rule `{rule.head}: {rule}` calls {algebra.name}.{rule.name} with {len(parts)} arguments "
        f"({given}), but it is {rule.name}{signature}; change one of the two"
    )
