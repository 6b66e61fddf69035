"""Text in Lark's notation -> rules.

Lark reads the text, with the grammar of its own notation that it comes with. We give it a meaning: a symbol
is one whole string (there is no lexer), and `? * + ~ ( ) [ ]` become plain alternatives, the longest first,
so that symbols appear in the order they were written.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, reduce
from itertools import accumulate, chain, count, islice, repeat
from typing import NoReturn

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from ngs.errors import GrammarError
from ngs.grammar.rules import Nonterminal, Rule, Symbol, Terminal

Body = tuple[Symbol, ...]
Node = Tree[Token]

LARGEST = 10_000  # symbols that one alternative may expand into: `a? b? ...` doubles with each `?`


def read_rules(text: str) -> list[Rule]:
    """The rules that `text` writes down, in its order; repetitions add rules right after their user.

    >>> for rule in read_rules('list: "x" ("," "x")*'):
    ...     print(f"{rule.head}: {rule}")
    list: "x" _list_1
    list: "x"
    _list_1: "," "x"
    _list_1: _list_1 "," "x"
    """
    _refuse_directives(text)
    try:
        expander = _Expander(names=set(re.findall(r"\w+", text)))
        definitions = [*_definitions(text)]
        return [rule for definition in definitions for rule in expander.rules(definition)]
    except RecursionError:
        raise GrammarError("groups are nested too deeply; name the inner ones as rules") from None


# Reading: text -> the syntax tree of the notation


@cache
def _lark() -> Lark:
    """Lark's own grammar of grammars."""
    return Lark.open_from_package(
        "lark", "lark.lark", ("grammars",), parser="lalr", maybe_placeholders=False, propagate_positions=True
    )


def _parse(text: str) -> Node:
    try:
        return _lark().parse(text + "\n")
    except UnexpectedInput as error:
        raise GrammarError(_syntax_message(text, error)) from None


_DIRECTIVES = {
    "ignore": "a sentence is its symbols and nothing else, so there is nothing to skip; delete this line",
    "import": "write out the rule or symbol that you need",
    "declare": 'define the symbol: `NAME: "..."`',
    "override": "change the rule itself",
    "extend": "add the alternatives to the rule itself",
}


def _refuse_directives(text: str) -> None:
    found = re.search(r"^\s*%(\w*)", text, re.MULTILINE)
    if found:
        line = text.count("\n", 0, found.start(1)) + 1
        remedy = _DIRECTIVES.get(found[1], "delete this line")
        raise GrammarError(f"line {line}: directives such as `%{found[1]}` are not supported; {remedy}")


@dataclass(frozen=True)
class _Definition:
    """`head: right`, as written."""

    head: Nonterminal
    keeps_terminals: bool
    line: int
    right: Node

    def line_of(self, node: Node) -> int:
        """The line of a part; an empty alternative has none, so it borrows that of its rule."""
        return self.line if node.meta.empty else node.meta.line


def _definitions(text: str) -> Iterator[_Definition]:
    lines: dict[str, int] = {}
    for item in _subtrees(_parse(text)):
        token, parameters, *priority, right = item.children
        assert isinstance(token, Token) and isinstance(parameters, Tree) and isinstance(right, Tree)
        name, line = str(token.lstrip("!?")), token.line or 0
        with _at(line):
            if parameters.children:
                _refuse(f"rule `{name}` is a template", "write one plain rule for each use of it")
            if priority:
                remedy = "delete it: the symbols' scores decide between parses"
                _refuse(f"rule `{name}` has a priority", remedy)
            if name in lines:
                given = f"rule `{name}` is defined a second time (first on line {lines[name]})"
                _refuse(given, "join the two with `|`")
        lines[name] = line
        yield _Definition(Nonterminal(name), token.startswith("!"), line, right)


# Meaning: the syntax tree of a right-hand side -> plain bodies


class _Expander:
    """Expands one definition after another; equal repetitions share one helper rule."""

    def __init__(self, names: set[str]) -> None:
        self._names = names  # that no helper may have
        self._helpers: dict[tuple[tuple[Body, ...], bool], Nonterminal] = {}
        self._new: list[Rule] = []  # the helper rules of the definition being expanded

    def rules(self, definition: _Definition) -> list[Rule]:
        """One rule for each body that an alternative stands for, then the helpers they need."""
        self._new = []
        found = []
        right = definition.right
        for node in _subtrees(right) if right.data == "expansions" else [right]:
            alias = None
            line = definition.line_of(node)
            if node.data == "alias":
                with _at(line):
                    alias = _plain_name(*_words(node))
                (node,) = _subtrees(node)
            for body in self._bodies(node, definition):
                found.append(Rule(definition.head, body, alias, definition.keeps_terminals, line))
        return found + self._new

    def _bodies(self, node: Node, user: _Definition) -> list[Body]:
        """The sequences of symbols that `node` stands for, without repetition."""
        parts = [self._bodies(part, user) for part in _subtrees(node)]
        words = _words(node)
        with _at(user.line_of(node)):
            match node.data:
                case "literal":
                    return [(_symbol(*words),)]
                case "literal_range":
                    return _range(*words)
                case "name":
                    return [(Nonterminal(_plain_name(*words)),)]
                case "expr":
                    return self._repetition(parts[0], words, user, user.line_of(node))
                case "expansion":
                    return reduce(_sequence, parts, [()])
                case "expansions":
                    return _unique(chain.from_iterable(parts))
                case "maybe":
                    return _unique([*parts[0], ()])
                case "alias":
                    _refuse(f"`-> {words[0]}` stands inside a group", "move it to the end of the alternative")
                case "template_usage":
                    _refuse("templates are not supported", "write one plain rule for each use")
        raise AssertionError(f"Lark's notation has grown a {node.data!r}")

    def _repetition(self, bodies: list[Body], words: list[str], user: _Definition, line: int) -> list[Body]:
        """`x?`, `x*`, `x+`, `x ~ n` or `x ~ n..m`."""
        if user.head.name.isupper():
            given = f"the named terminal `{user.head}` contains a repetition"
            _refuse(given, "write it as a rule (lower-case name)")
        match words:
            case ["?"]:
                return _unique([*bodies, ()])
            case ["+"]:
                return self._one_or_more(bodies, user, line)
            case ["*"]:
                return _unique([*self._one_or_more(bodies, user, line), ()])
            case numbers:
                return _repeated(bodies, *_bounds(numbers))

    def _one_or_more(self, bodies: list[Body], user: _Definition, line: int) -> list[Body]:
        """`helper`, where `helper: x | helper x`; if x can be empty, then so can x+, but not `helper`."""
        parts = tuple(body for body in bodies if body)
        if not parts:
            return bodies
        key = parts, user.keeps_terminals
        if key not in self._helpers:
            head = self._helpers[key] = self._fresh(user.head)
            for body in [*parts, *((head, *part) for part in parts)]:
                self._new.append(Rule(head, body, None, user.keeps_terminals, line))
        return [(self._helpers[key],), *(body for body in bodies if not body)]

    def _fresh(self, head: Nonterminal) -> Nonterminal:
        """A name no rule has; its underscore makes the values of the helper those of its user."""
        names = (f"_{head.name.lstrip('_')}_{number}" for number in count(1))
        name = next(name for name in names if name not in self._names)
        self._names.add(name)
        return Nonterminal(name)


def _unique(bodies: Iterable[Body]) -> list[Body]:
    """`bodies` without repetition: `x? x?` says `x` once."""
    found = list(dict.fromkeys(bodies))
    _bound(sum(len(body) + 1 for body in found))
    return found


def _sequence(left: Sequence[Body], right: Sequence[Body]) -> list[Body]:
    symbols = len(right) * sum(map(len, left)) + len(left) * sum(map(len, right))
    _bound(symbols + len(left) * len(right))
    return _unique(head + tail for head in left for tail in right)


def _repeated(bodies: list[Body], least: int, most: int) -> list[Body]:
    """From `most` down to `least` times one of `bodies`."""
    found: list[Body] = []
    once: list[Body] = [()]
    for power in islice(accumulate(repeat(bodies, most), _sequence, initial=once), least, None):
        found = _unique([*power, *found])
    return found


def _bound(size: int) -> None:
    if size > LARGEST:
        remedy = "name its optional or repeated parts as rules of their own"
        _refuse(f"this alternative expands into more than {LARGEST} symbols", remedy)


# Words: tokens -> names, symbols and numbers

# Python reads other escapes too, but warns that one day it will not.
_READABLE = r"""([^\\]|\\[\\'"abfnrtvxuUN])*"""


def _plain_name(word: str) -> str:
    if word[0] in "!?":
        given = f"`{word}` is used as a name, but `!` and `?` belong in front of a rule's definition"
        _refuse(given, f"write `{word[1:]}`, or `? {word[1:]}` if what stands before it is optional")
    return word


def _symbol(text: str) -> Terminal:
    if text.startswith("/"):
        _refuse(f"{text} is a regular expression", 'list the symbols it stands for: "a" | "b"')
    if text.endswith("i"):
        _refuse(f"{text} ignores case", f"write {text[:-1]}, and its other spellings as alternatives")
    try:
        if not re.fullmatch(_READABLE, text):
            raise ValueError(text)
        return Terminal(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        given = f"{text} has an escape or a character that cannot be read"
        _refuse(given, r"write a backslash as `\\`, and a control character as `\x..`")


def _range(first: str, last: str) -> list[Body]:
    low, high = _symbol(first).name, _symbol(last).name
    if len(low) != 1 or len(high) != 1 or low > high:
        _refuse(f"`{first}..{last}` is no range", 'write two characters in order, as in "0".."9"')
    _bound(2 * (ord(high) - ord(low) + 1))
    return [(Terminal(chr(code)),) for code in range(ord(low), ord(high) + 1)]


def _bounds(texts: Sequence[str]) -> tuple[int, int]:
    """n and m of `~ n..m`; m is n where only n is given."""
    numbers = [int(text) for text in texts if re.fullmatch("[0-9]{1,4}", text)]
    if len(numbers) < len(texts) or numbers[0] > numbers[-1] or numbers[-1] == 0:
        remedy = "write `~ n` or `~ n..m` with n <= m and m from 1 to 9999"
        _refuse(f"`~ {'..'.join(texts)}` is no count", remedy)
    return numbers[0], numbers[-1]


# Syntax trees


def _subtrees(node: Node) -> list[Node]:
    return [child for child in node.children if isinstance(child, Tree)]


def _words(node: Node) -> list[str]:
    return [str(child) for child in node.children if isinstance(child, Token)]


# Refusals


def _refuse(given: str, remedy: str) -> NoReturn:
    raise _Refused(f"{given}; {remedy}")


class _Refused(Exception):
    """A part of the text that we do not read, and what to write instead."""


@contextmanager
def _at(line: int) -> Iterator[None]:
    try:
        yield
    except _Refused as refused:
        raise GrammarError(f"line {line}: {refused}") from None


_WORDS = {
    "RULE": "a lower-case name",
    "TOKEN": "an upper-case name",
    "STRING": "a symbol in quotes",
    "OP": "`?`, `*`, `+`",
    "NUMBER": "a number",
    "COLON": "`:`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "TILDE": "`~`",
    "_VBAR": "`|`",
    "_NL": "a new line",
}  # what we refuse anyway (regular expressions, templates, directives) is not worth expecting

_HINTS = (
    (r'"[^"]*$', "close the quotes on the same line"),
    (r'"|$', "a rule continues on the next line only with `|`"),
    (r"[)\]]", "no bracket of this kind is open"),
    (r"'", 'a symbol stands in double quotes: "x"'),
    (r"->|:?=", "a rule is written `name: body`, and `->` names the function at the end of an alternative"),
    (r"[^\w\s:|()\[\]?*+~/]", "put it in quotes if it is a symbol to be seen"),
)


def _syntax_message(text: str, error: UnexpectedInput) -> str:
    source = text.split("\n")[error.line - 1].rstrip("\r")
    before, rest = source[: error.column - 1], source[error.column - 1 :]
    word = re.match(r"\w+|\S+", rest)
    given = f"`{word[0]}`" if word else "the end of the line"
    caret = re.sub(r"\S", " ", before) + "^"  # keeps tabs
    where = f"line {error.line}, column {error.column}"
    return f"{where}: expected {_expected(error)}, got {given}; {_hint(before, rest)}\n  {source}\n  {caret}"


def _expected(error: UnexpectedInput) -> str:
    names: Iterable[str] = ()
    if isinstance(error, UnexpectedToken):
        names = error.accepts or error.expected
    elif isinstance(error, UnexpectedCharacters):
        names = error.allowed - {"RPAR", "RSQB"}  # the lexer does not know which brackets are open
    words = list(dict.fromkeys(word for name, word in _WORDS.items() if name in names))
    return " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _hint(before: str, rest: str) -> str:
    word = re.findall(r"\w*$", before)[0] + re.findall(r"^\w*", rest)[0]
    if word not in (word.lower(), word.upper()):
        return f"`{word}` mixes cases: name a rule all in lower case, a named terminal all in upper case"
    hints = (hint for pattern, hint in _HINTS if re.match(pattern, rest))
    return next(hints, "a rule is written `name: body | body`, one rule to a line, symbols in quotes")
