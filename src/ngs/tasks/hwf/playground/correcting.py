"""A wrong reading corrected: the steps of back-search in words, and the formulas that do give the answer."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import exp
from typing import Literal

from ngs.errors import NGSError
from ngs.explanations.text import shown_expected, shown_ratio
from ngs.grammar.tree import Sentence, Tree, sentence_of
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.correction import Action, Correction, Edit, Event, Path
from ngs.search.one_step import one_step
from ngs.search.support import posterior
from ngs.tasks.hwf.dataset import GRAMMAR, value_of
from ngs.tasks.hwf.formula_reading import Seen, likeliest, ranked
from ngs.tasks.hwf.playground.reading import (
    SHOWN,
    Alternative,
    Node,
    Reading,
    node_of,
    plain_value,
    reading_of,
    symbol_of,
)
from ngs.tasks.hwf.preparation import LONGEST_TABLED
from ngs.tasks.playground.messages import Message, part

WAITING_SHOWN = 12  # entries of the queue that are listed after a step: a long formula has a hundred
LARGEST = 690.0  # the logarithm of what is still a floating-point number

Kind = Literal["push", "pop", "try", "discard", "accept", "reject"]
KINDS: Mapping[Action, Kind] = {
    **{Action.PUSH: "push", Action.POP: "pop", Action.DISCARD: "discard"},
    **{Action.ACCEPT: "accept", Action.REFUSE: "reject"},
}


class Waiting(Message):
    """An entry of the queue."""

    path: list[int] = part("The node of the tree.", [0, 2])
    position: int = part("Of its symbol in the formula, from 0.", 2)
    expected: str | None = part("What makes the answer right: `-2 or 2`, `any`; null of an operator.", "12")
    priority: float = part("(1 - p) / p of a part of the formula, p(new) / p(old) of a change.", 0.3)
    symbol: str | None = part("The symbol to put there; null of a part that is yet to be looked into.", "9")


class Step(Waiting):
    """Something that happened to the queue of back-search (Li et al. 2020, Algorithm 1)."""

    kind: Kind = part(
        "`push`: a part of the formula, or a change of one symbol, enters the queue. `pop`, `try`: the best "
        "entry, a part or a change, is looked into or tried. `discard`: no symbol has the value that is "
        "expected. `accept`, `reject`: whether the changed formula gives the answer."
    )
    text: str = part("What happened, in a sentence.", "Try 9 in place of 4: 3×9 instead of 3×4.")
    queue: list[Waiting] = part(f"After the step, the best {WAITING_SHOWN}, best first.")
    waiting: int = part("Entries in the queue after the step.", 3)


class RightFormula(Alternative):
    """A formula that gives the answer."""

    probability: float = part("p(z | x, y), among all that give the answer.", 0.9)
    corrected: bool = part("Whether back-search ended in it.")


class RightFormulas(Message):
    """The formulas that give an answer."""

    posterior: list[RightFormula] = part("The likeliest ones, best first; the corrected one among them.")
    evidence: float | None = part("p(y | x), summed over all formulas; null where that was not done.", 0.4)
    exact: bool = part("Whether the sum was made, which is exact.")
    message: str | None = part("Why there is no posterior.")


class Corrected(RightFormulas):
    """What was read, and what it should have been."""

    reading: Reading = part("What the network reads.")
    target: str = part("The true answer.", "12")
    right: bool = part("Whether the reading gives it already.")
    steps: list[Step] = part("Of one-step back-search; none where the reading is right.")
    corrected: str | None = part(
        "The formula, with at most one symbol changed; null where none helps.", "3*4"
    )
    position: int | None = part("Of the changed symbol, from 0.", 1)
    corrected_tree: Node | None = part("Of the corrected formula.")


def correct(seen: Seen, target: Fraction) -> Corrected:
    if seen.no_formula:
        raise NGSError(f"there is no formula to correct: {seen.no_formula}")
    first = likeliest(seen.log_probs, 1)[0]
    correction = one_step(GRAMMAR, Arithmetic, seen.log_probs, target, first.sentence)
    found = correction.sentence
    return Corrected(
        **dict(right_formulas(seen, target, found)),
        reading=reading_of(seen),
        target=plain_value(target),
        right=first.value == target,
        steps=list(steps_of(correction)),
        corrected="".join(found) if found else None,
        position=correction.position,
        corrected_tree=node_of(parse(GRAMMAR, found)) if found else None,
    )


def right_formulas(seen: Seen, target: Fraction, corrected: Sentence | None) -> RightFormulas:
    """The likeliest formulas by p(z | x, y), and the corrected one where it is not among them."""
    count, value = len(seen.log_probs), plain_value(target)
    if count > LONGEST_TABLED:
        message = f"{count} symbols are too many to sum over all formulas; {LONGEST_TABLED} are not"
        return RightFormulas(posterior=[], evidence=None, exact=False, message=message)
    found = posterior(GRAMMAR, Arithmetic, seen.log_probs[None], None, [target])
    log_z = found.log_z[0].item()
    if not bool(found.found[0]):
        message = f"no formula of {count} symbol{'s' if count > 1 else ''} gives {value}"
        return RightFormulas(posterior=[], evidence=0.0, exact=True, message=message)
    shares = {each.sentence: each.probability for each in ranked(found, SHOWN)}
    if corrected is not None and corrected not in shares:
        log_prob = seen.log_probs[range(count), GRAMMAR.encode(corrected)].sum()
        shares[corrected] = exp(log_prob.item() - log_z)
    formulas = [
        RightFormula(formula="".join(z), value=value, probability=min(1.0, p), corrected=z == corrected)
        for z, p in shares.items()
    ]
    return RightFormulas(posterior=formulas, evidence=exp(log_z), exact=True, message=None)


def steps_of(correction: Correction) -> Iterator[Step]:
    """The events of the queue in order, each with a sentence about it and the queue after it."""
    places = dict(_places(correction.tree))
    queue: dict[tuple[Path, Edit | None], Waiting] = {}
    for event in correction.trace:
        (tree, path, position), edit = places[event.path], event.edit
        entry = Waiting(
            path=list(path),
            position=position,
            expected=shown_expected(event.expected) if event.path in correction.values else None,
            priority=exp(min(event.log_priority, LARGEST)),
            symbol=None if edit is None else edit.text,
        )
        if event.action is Action.PUSH:
            queue[event.path, edit] = entry
        elif event.action is Action.POP:
            del queue[event.path, edit]
        yield Step(
            **dict(entry),
            kind="try" if event.action is Action.POP and edit else KINDS[event.action],
            text=_about(event, tree, correction),
            queue=sorted(queue.values(), key=_order)[:WAITING_SHOWN],
            waiting=len(queue),
        )


def _places(tree: Tree, path: Path = ()) -> Iterator[tuple[Path, tuple[Tree, Path, int]]]:
    """Each path with its node, the path of the step that shows it, and the position of its symbol."""
    symbol, below, arguments = symbol_of(tree, path)
    yield path, (tree, path, symbol.position)
    yield below, (symbol, path, symbol.position)
    for each in arguments:
        yield from _places(each.tree, each.path)


def _order(entry: Waiting) -> tuple[float, bool, int, int]:
    """As the queue has it: ties go to parts before changes, then to the leftmost change."""
    column = -1 if entry.symbol is None else GRAMMAR.symbol_id(entry.symbol)
    return -entry.priority, entry.symbol is not None, entry.position, column


def _about(event: Event, tree: Tree, correction: Correction) -> str:
    if event.edit is not None:
        return _about_change(event, tree, event.edit, correction)
    part, wanted = written(sentence_of(tree)), shown_expected(event.expected)
    if event.action is Action.DISCARD:
        return f"{part} would have to be {wanted}, and no symbol that fits there is."
    if event.action is Action.POP:
        return f"Look into {part}, the best of the queue: what would its parts have to be?"
    value, priority = plain_value(correction.values[event.path]), shown_ratio(event.log_priority)
    if not event.path:
        return f"{part} is {value}, but should be {wanted}. The search begins here."
    if wanted == "none":
        return f"{part} = {value}; no value of it helps, only another operator. Its priority is {priority}."
    return f"{part} = {value} would have to be {wanted}. It waits with priority {priority}."


def _about_change(event: Event, tree: Tree, edit: Edit, correction: Correction) -> str:
    old, new, said = written(sentence_of(tree)), written(edit.changed), written(edit.sentence)
    if event.action is Action.PUSH:
        ratio = shown_ratio(event.log_priority)
        return f"{new} in place of {old} may help. It waits with priority p({new}) / p({old}) = {ratio}."
    if event.action is Action.POP:
        return f"Try {new} in place of {old}, the best of the queue: {said}."
    value = plain_value(value_of(edit.sentence))
    if event.action is Action.ACCEPT:
        return f"{said} = {value}, which is right: {new} is the correction of {old}."
    return f"{said} = {value}, which is not {plain_value(correction.target)}. The search goes on."


def written(symbols: Sequence[str]) -> str:
    """As a person writes it.

    >>> written(("3", "*", "4", "-", "1"))
    '3×4−1'
    """
    return "".join(symbols).translate(str.maketrans("*/-", "×÷−"))
