"""The dictionary: from the words of a question to the multiset of modules that its program is made of.

Attribute and relation words name their modules; the question word gives the root of the program. What the
words leave unsaid, the grammar settles: every `unique` is the argument of a relation (`relate[...]`,
`same_...`) or of a query, and every module with two arguments adds a branch that ends in a `scene`, so

    unique = relations + queries        scene = 1 + modules with two arguments

and the modules found always make at least one program. Which noun phrase each relation and query is about is
still looked for: it tells which word speaks of which `unique`, and a phrase left over or missing shows that
the question was not understood.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from ngs.errors import ParseError
from ngs.tasks.clevr.cues import NOUNS, CuedQuestion, NounPhrase, cues_of
from ngs.tasks.clevr.program import COLUMN, MODULES

Said = tuple[int, str]  # the position of a word, and a module it speaks of

_FILTERS = frozenset(module for module in MODULES if module.startswith("filter_"))
_EQUAL = frozenset(module for module in MODULES if module.startswith("equal_"))
_BINARY = _EQUAL | {"greater_than", "less_than", "intersect", "union"}
_RELATIONS = ("relation", "side")
_UNSPOKEN = ("filler", "that", "which", "both", "other")


@dataclass(frozen=True)
class Understood:
    """What a question says: the modules of its program, in no order, and the words that speak of them."""

    words: tuple[str, ...]
    modules: tuple[str, ...]  # the multiset, sorted by column in MODULES
    keywords: tuple[Said, ...]
    """sorted by position; every module has at least one word, a word may speak of several modules"""
    phrases: tuple[tuple[int, int], ...]
    """the first word of each phrase, and the word behind it; in order, without gaps"""

    @property
    def reading(self) -> tuple[tuple[str, str], ...]:
        """(module, the phrase that says it), in the order of the question."""
        spans = {k: (start, stop) for start, stop in self.phrases for k in range(start, stop)}
        return tuple((module, " ".join(self.words[slice(*spans[at])])) for at, module in self.keywords)

    @property
    def ignored(self) -> tuple[str, ...]:
        """The phrases that speak of no module."""
        speaking = {position for position, _ in self.keywords}
        silent = (span for span in self.phrases if speaking.isdisjoint(range(*span)))
        return tuple(" ".join(self.words[slice(*span)]) for span in silent)


def modules_of(words: Sequence[str]) -> Understood:
    """The modules of the program that answers a question, from its words (see `words_of`).

    A ParseError where words are unknown, a phrase is ambiguous, or nothing says what is asked.
    """
    question = CuedQuestion(tuple(words), cues_of(words))
    _check(question)
    root = _root(question)
    relations = _relations(question, root)
    landmarks = [phrase for _, phrase in relations]
    said = [
        *root.said,
        *((cue.tells[-1], cue.value) for cue in question.cues if cue.value in _FILTERS),
        *(pair for pair, _ in relations),
        *((phrase.word, "unique") for phrase in (*landmarks, *_subjects(question, root, landmarks))),
        *_set_operations(question, root),
    ]
    branches = 1 + sum(module in _BINARY for _, module in said)
    said += ((position, "scene") for position in _ends(question, root, branches))
    return Understood(
        question.words,
        tuple(sorted((module for _, module in said), key=COLUMN.__getitem__)),
        tuple(sorted(set(said))),
        tuple((cue.start, cue.stop) for cue in question.cues),
    )


def _check(question: CuedQuestion) -> None:
    if not question.words:
        raise ParseError("the question is empty; ask something, such as 'how many red cubes are there'")
    for k in question.all("refused"):
        question.refuse(f"{question.text(k)!r}: {question.cues[k].value}")
    for k in question.all("that"):
        if question.kind(k + 1) in ("adjective", "noun", "nouns"):
            shown = question.text(k, k + 1)
            question.refuse(f"{shown!r} could mean the thing spoken of or a new one; say 'it' or 'the'")
    _check_ones(question)
    _check_pronouns(question)


def _check_ones(question: CuedQuestion) -> None:
    """ "One" is any thing, unless a shape before it makes it ambiguous: "more red cubes than blue ones"."""
    shape = None
    for k in sorted(question.all("noun", "nouns")):
        if question.cues[k].value in _FILTERS:
            shape = question.text(k)
        elif question.cues[k].value == "one" and shape:
            question.refuse(
                f"{question.text(k)!r} (word {question.word(k) + 1}) could mean any thing or "
                f"what {shape!r} means; say which"
            )


def _check_pronouns(question: CuedQuestion) -> None:
    """A program has the thing that "there is" once, so it can be spoken of once."""
    pronouns = question.all("it", "its")
    if pronouns and not question.introduced:
        shown = question.text(pronouns[0])
        question.refuse(f"{shown!r} stands for nothing; begin with 'there is a ...;'")
    if question.introduced and len(pronouns) != 1:
        question.refuse(
            f"the thing that 'there is' has to be spoken of as it or its once, not {len(pronouns)} times"
        )


class _Root(NamedTuple):
    said: tuple[Said, ...]
    sames: tuple[int, ...] = ()
    """the cues of attributes in which things are to be the same as a landmark"""
    subjects: int = 0  # how many single things it is about, landmarks apart
    counts: int = 0  # how many numbers it compares

    @property
    def separates(self) -> bool:
        """Whether "and" may stand between its two sides."""
        return self.subjects == 2 or self.counts == 2


def _root(question: CuedQuestion) -> _Root:
    for read in _ROOTS:
        root = read(question)
        if root is not None:
            return root
    question.refuse(
        "no word says what is asked (how many, is there, what color, how big, made of what, "
        "the same size as, more than)"
    )


def _numbers(question: CuedQuestion) -> _Root | None:
    """Two counts compared: "more X than Y", "the number of X is the same as the number of Y"."""
    numbers, found = question.all("number"), question.all("compared", "exceeds")
    equal = [k for k in question.all("same") if question.past(k + 1, ("the", "a")) not in question.likened]
    if question.all("exceeds") and not numbers:
        question.refuse("only numbers can be greater or smaller; say 'the number of ...'")
    if not found and not (numbers and equal and not question.all("what", "which")):
        return None
    if len(found) > 1 or question.all("how many") or question.asked:
        _refuse_two(question)
    cue = question.cues[found[0] if found else equal[0]]
    sides = [question.word(k) for k in (*numbers, *question.all("versus", "and"))]
    first, second, *_ = [*([] if len(numbers) > 1 else [cue.tells[-1]]), *sides, cue.tells[-1]]
    said = ((cue.tells[0], cue.value or "equal_integer"), (first, "count"), (second, "count"))
    return _Root(said, question.sames(), counts=2)


def _count(question: CuedQuestion) -> _Root | None:
    found = question.all("how many", "number")
    if not found:
        return None
    if len(found) > 1 or question.asked:
        _refuse_two(question)
    return _Root(((question.word(found[0]), "count"),), question.sames())


def _query(question: CuedQuestion) -> _Root | None:
    asked = question.asked
    if not asked and question.all("what") and question.mentioned:
        what = question.all("what")[0]
        asked = [next((k for k in question.mentioned if k > what), question.mentioned[-1])]
    if not asked:
        return None
    attributes = question.attributes(asked)
    if len(attributes) > 1:
        question.refuse(f"two attributes are asked for ({', '.join(sorted(attributes))}); ask for one")
    said = ((question.word(asked[0]), f"query_{attributes.pop()}"),)
    return _Root(said, question.sames(asked=asked), subjects=1)


def _existence(question: CuedQuestion) -> _Root | None:
    found = question.all("exists", "any", "pronoun")
    return _Root(((question.word(found[0]), "exist"),), question.sames()) if found else None


def _equality(question: CuedQuestion) -> _Root | None:
    """Two things with the same color, size, material or shape, and no other question word."""
    found = sorted(question.likened + question.mentioned)
    if not found:
        return None
    attributes = question.attributes(found)
    if len(attributes) > 1:
        question.refuse(f"two attributes are compared ({', '.join(sorted(attributes))}); compare one")
    attribute = attributes.pop()
    same = (*question.all("same"), found[0])[0]
    sides = [*found, *question.all("versus", "and"), same][:2]
    queries = [(question.word(k), f"query_{attribute}") for k in sides]
    return _Root(((question.word(same), f"equal_{attribute}"), *queries), subjects=2)


def _refuse_two(question: CuedQuestion) -> NoReturn:
    question.refuse("two questions in one; ask for one number, one attribute or one comparison")


_ROOTS: tuple[Callable[[CuedQuestion], _Root | None], ...] = (
    *(_numbers, _count, _query, _existence),
    _equality,  # last: "same" and an attribute say more than `equal_` where something else is asked
)


def _relations(question: CuedQuestion, root: _Root) -> list[tuple[Said, NounPhrase]]:
    found = [((question.word(k), question.cues[k].value), k) for k in question.all(*_RELATIONS)]
    found += [((question.word(k), f"same_{question.cues[k].value}"), k) for k in root.sames]
    pairs = [(said, _landmark(question, k)) for said, k in found]
    if len({phrase for _, phrase in pairs}) < len(pairs):
        question.refuse("two relations to one thing; name the thing again for each of them")
    return pairs


def _landmark(question: CuedQuestion, k: int) -> NounPhrase:
    """What a relation or a shared attribute leads to: "left of the X", "to its left", "the X's color"."""
    if question.kind(k - 1) == "its":
        return question.introduced[0]
    before = [phrase for phrase in question.phrases.values() if phrase.behind <= k and phrase.named]
    if before and before[-1].behind == k and question.words[question.cues[k].start - 1].endswith(("'s", "'")):
        return before[-1]
    behind = None if question.kind(k) == "side" else _first_named(question, k + 1)
    if behind is None and before and before[-1].definite and question.kind(k) not in _RELATIONS:
        return before[-1]  # "matches the X in color"
    if behind is None:
        question.refuse(f"no thing follows {question.text(k)!r}; name it, such as 'the red cube' or 'it'")
    return behind


def _first_named(question: CuedQuestion, k: int) -> NounPhrase | None:
    """The first noun phrase or pronoun from cue k on, in the same part of the sentence."""
    while question.kind(k) not in (*_RELATIONS, "stop", "and", "or", "end"):
        if k in question.phrases and question.phrases[k].named:
            return question.phrases[k]
        if question.kind(k) == "it":
            return question.introduced[0]
        k += 1
    return None


def _subjects(question: CuedQuestion, root: _Root, landmarks: Sequence[NounPhrase]) -> list[NounPhrase]:
    """The single things that a query or a comparison is about."""
    rest = [phrase for phrase in question.phrases.values() if phrase.named and phrase not in landmarks]
    single = [phrase for phrase in rest if phrase.definite or phrase in question.introduced]
    single += [phrase for phrase in rest if phrase not in single][: max(0, root.subjects - len(single))]
    if len(single) > root.subjects:
        extra = single[root.subjects]
        shown = question.text(extra.first, extra.behind - 1)
        question.refuse(
            f"{shown!r} is one thing too many: nothing is asked of it and "
            f"no relation leads to it; repeat the relation before it, or use a plural"
        )
    if root.counts > sum(phrase not in landmarks for phrase in question.phrases.values()):
        question.refuse("one side of the comparison does not say what is counted; name it, such as 'things'")
    if len(single) < root.subjects:
        question.refuse("it is not said which thing is meant; name it, such as 'the red cube'")
    return single


def _set_operations(question: CuedQuestion, root: _Root) -> list[Said]:
    """Union for every "or", and intersect for an "and" between things that hold at once."""
    said = [(question.word(k), "union") for k in (*question.all("or"), *_listed(question))]
    said += [(question.word(k), "intersect") for k in question.all("and") if _intersects(question, root, k)]
    return said


def _listed(question: CuedQuestion) -> list[int]:
    """The commas that stand for an "or": "cubes, balls or cylinders", "red, green or blue"."""
    last = max(question.all("or"), default=0)
    return [k for k in question.all("stop") if k < last and _alternatives(question, k - 1, k + 1)]


def _alternatives(question: CuedQuestion, left: int, right: int) -> bool:
    """Whether two cues are nouns, or values of one attribute."""
    if question.kind(left) == question.kind(right) == "adjective":
        families = {question.cues[k].value.partition("[")[0] for k in (left, right)}
        return len(families) == 1
    return question.kind(left) in NOUNS and right in question.phrases and not question.introduced


def _intersects(question: CuedQuestion, root: _Root, k: int) -> bool:
    """Whether an "and" stands between two relations, or between two nouns behind "both".

    Between adjectives it adds nothing, and in a comparison it may separate the sides.
    """
    following = question.past(k + 1, _UNSPOKEN)
    relations = {*question.all(*_RELATIONS), *root.sames}
    if following in relations or (question.kind(following) == "same" and root.sames):
        start = max((j for j in question.all("stop") if j < k), default=-1)
        return any(start < j < k for j in relations)
    phrase = question.phrases.get(following)
    adjective = question.kind(k - 1) == "adjective"
    if phrase and not phrase.definite and (adjective or not phrase.named):
        if adjective and _alternatives(question, k - 1, following):
            _refuse_and(question, k)
        return False
    if not root.separates and not question.all("both"):
        _refuse_and(question, k)
    return not root.separates


def _refuse_and(question: CuedQuestion, k: int) -> NoReturn:
    question.refuse(
        f"'and' (word {question.word(k) + 1}) could mean union (either), intersect (both at once) or another "
        f"question; say 'or', or 'both ... and', or repeat the relation behind 'and'"
    )


def _ends(question: CuedQuestion, root: _Root, branches: int) -> list[int]:
    """Where branches end in a scene: at the last words of noun phrases that nothing behind them narrows."""
    phrases = list(question.phrases.values())
    ends = [phrase.end for phrase in phrases if not _narrowed(question, root, phrase)]
    ends = [*(phrase.end for phrase in phrases), *ends][-branches:] or [0]
    return [*ends, *[ends[-1]] * (branches - len(ends))]


def _narrowed(question: CuedQuestion, root: _Root, phrase: NounPhrase) -> bool:
    following = question.past(phrase.behind, _UNSPOKEN)
    same = bool(root.sames) and question.kind(following) in ("same", "alike")
    return same or question.kind(following) in _RELATIONS or following in question.phrases
