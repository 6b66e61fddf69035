"""Questions about scenes, with their programs and answers: nine kinds, in which nothing is said in vain.

Rules that every question keeps:

- `the X` is exactly one object.
- Dropping any filter would add objects to the set that its noun phrase denotes there; so a set that is
  empty is a near miss, and a thing that is sought is sought by what sets it apart.
- Dropping a relation would too: the description alone admits an object, besides the landmarks themselves,
  that does not stand in the relation (but, of two relations that both hold, in the other).
- An attribute that is asked for, compared, or shared is not named in the phrases it is asked of.
- The objects of a chain of relations differ, and so do the two that are compared.
- Neither side of `or` contains the other, and both together are not all that could be meant; what is
  filtered afterwards loses an object by it.
- Neither of two numbers compared is that of a part of the other by the words alone, they are numbers of
  different sets, and they differ by at most NEAR.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

import numpy as np

from ngs.errors import NGSError
from ngs.tasks.clevr.dataset import QuestionRecord
from ngs.tasks.clevr.program import Kind, Program
from ngs.tasks.clevr.question_phrases import IMPLIED, LENGTH, NAMING, NOTHING, NounPhrase, Question
from ngs.tasks.clevr.question_places import SIZE, Balance, DeadEnd, Draft, Form, Masks, Place, SceneMasks
from ngs.tasks.clevr.question_wording import sentence
from ngs.tasks.clevr.scenes import ANSWERS, ATTRIBUTES, Scene
from ngs.tasks.clevr.semantics import COMPARISONS

NEAR = 2  # how far apart two numbers may be that are compared

YES, NO = ANSWERS.index("yes"), ANSWERS.index("no")

# Questions about one noun phrase


def count(draft: Draft, find: Callable[[Draft], Place], shared: Iterable[str] = ()) -> Question:
    place = find(draft)
    fitting = place.fitting(draft.masks, shared)
    return _asked(draft, place, fitting, SIZE[draft.masks.described[fitting] & place.within])


def exist(draft: Draft, find: Callable[[Draft], Place], shared: Iterable[str] = ()) -> Question:
    place = find(draft)
    fitting = place.fitting(draft.masks, shared)
    if not place.links:
        fitting = fitting[fitting != NOTHING]  # there is always a thing
    found = draft.masks.described[fitting] & place.within
    return _asked(draft, place, fitting, np.where(found != 0, YES, NO))


def query(
    draft: Draft, find: Callable[[Draft], Place], attribute: str, shared: Iterable[str] = ()
) -> Question:
    place = find(draft)
    fitting, objects = place.singling_out(draft.masks, (attribute, *shared))
    return _asked(draft, place, fitting, draft.masks.values[attribute][objects])


def _asked(draft: Draft, place: Place, fitting: Masks, answers: Masks) -> Question:
    description, answer = draft.answered(fitting, answers)
    return Question(draft.form.root, (NounPhrase(description, place.links),), answer)


# Questions about two


def compare_values(draft: Draft, attribute: str) -> Question:
    """Whether two objects, each found by at most one relation, have an attribute in common."""
    masks, (first, second) = draft.masks, draft.two_places()
    fitting, objects = first.singling_out(masks, (attribute,))
    description = draft.description(fitting)
    compared = int(objects[fitting == description][0])
    others, objects = second._replace(taken=second.taken | 1 << compared).singling_out(masks, (attribute,))
    values = masks.values[attribute]
    other, answer = draft.answered(others, np.where(values[objects] == values[compared], YES, NO))
    return Question(draft.form.root, first.phrases(description, second, other), answer)


def compare_numbers(draft: Draft, operation: Callable[[Any, Any], Any]) -> Question:
    """How two numbers compare, each of objects in at most one relation."""
    masks, (first, second) = draft.masks, draft.two_places()
    description = draft.description(first.fitting(masks))
    compared = int(masks.described[description]) & first.within
    others = second.fitting(masks)
    found = masks.described[others] & second.within
    less = SIZE[found] - SIZE[compared]
    fair = (np.abs(less) <= NEAR) & (found != compared)
    if not first.links:
        fair &= ~IMPLIED[others, description]
    if not second.links:
        fair &= ~IMPLIED[description, others]
    other, answer = draft.answered(others[fair], np.where(operation(0, less[fair]), YES, NO))
    return Question(draft.form.root, first.phrases(description, second, other), answer)


def either(draft: Draft) -> Question:
    """How many answer to one of two phrases, each with at most one relation."""
    masks, (first, second) = draft.masks, draft.two_places()
    description = draft.description(first.fitting(masks))
    found = int(masks.described[description]) & first.within
    others, with_others = _beside(masks, found, second)
    some = with_others != masks.all
    other, answer = draft.answered(others[some], SIZE[with_others[some]])
    phrase = NounPhrase(NOTHING, either=first.phrases(description, second, other))
    return Question(draft.form.root, (phrase,), answer)


def either_of_some(draft: Draft, attribute: str) -> Question:
    """How many of the objects with some value of an attribute answer to one of two descriptions."""
    masks, place = draft.masks, draft.anywhere
    description = draft.description(place.fitting(masks, (attribute,)))
    others, with_others = _beside(masks, int(masks.described[description]), place, (attribute,))
    other = draft.description(others)
    joined = int(with_others[others == other][0])
    fitting = _OF_ATTRIBUTE[attribute]
    some = masks.described[fitting]
    fitting = fitting[((joined & ~some) != 0) & ((some & ~joined) != 0)]
    chosen, answer = draft.answered(fitting, SIZE[masks.described[fitting] & joined])
    phrase = NounPhrase(chosen, either=place.phrases(description, place, other))
    return Question(draft.form.root, (phrase,), answer)


_OF_ATTRIBUTE = {name: np.flatnonzero((LENGTH == 1) & names) for name, names in NAMING.items()}
"""attribute -> the descriptions that name it alone"""


def _beside(masks: SceneMasks, found: int, place: Place, without: Iterable[str] = ()) -> tuple[Masks, Masks]:
    """Descriptions at a place of sets that neither contain what was found nor lie in it; and both joined."""
    others = place.fitting(masks, without)
    sets = masks.described[others] & place.within
    neither = ((sets & ~found) != 0) & ((found & ~sets) != 0)
    return others[neither], sets[neither] | found


# All forms, each as often as among the ninety question families of CLEVR, and `and` also with exist


def _single(kind: Kind, find: Callable[[Draft], Place]) -> Iterator[Form]:
    yield Form(kind, "count", partial(count, find=find), 1)
    yield Form(kind, "exist", partial(exist, find=find), 1)
    for attribute in ATTRIBUTES:
        yield Form(kind, f"query_{attribute}", partial(query, find=find, attribute=attribute), 1)


def _same(shared: str) -> Iterator[Form]:
    find = partial(Draft.alike, attribute=shared)
    yield Form(Kind.SAME_RELATE, "count", partial(count, find=find, shared=(shared,)), 2)
    yield Form(Kind.SAME_RELATE, "exist", partial(exist, find=find, shared=(shared,)), 2)
    for asked in ATTRIBUTES:
        if asked != shared:
            compose = partial(query, find=find, attribute=asked, shared=(shared,))
            yield Form(Kind.SAME_RELATE, f"query_{asked}", compose, 1)


def _forms() -> Iterator[Form]:
    for number, kind in enumerate((Kind.ZERO_HOP, Kind.ONE_HOP, Kind.TWO_HOP, Kind.THREE_HOP)):
        yield from _single(kind, partial(Draft.hops, number=number))
    yield from _single(Kind.AND, Draft.both)
    for attribute in ATTRIBUTES:
        yield from _same(attribute)
        yield Form(Kind.COMPARISON, f"equal_{attribute}", partial(compare_values, attribute=attribute), 4)
        yield Form(Kind.OR, "count", partial(either_of_some, attribute=attribute), 1)
    for root, operation in COMPARISONS.items():
        yield Form(Kind.INTEGER_COMPARISON, root, partial(compare_numbers, operation=operation), 3)
    yield Form(Kind.OR, "count", either, 4)


FORMS = tuple(_forms())


ATTEMPTS = 6  # how often a form of question is tried in a scene before it is given up there


def questions(
    scenes: Sequence[Scene], per_scene: int, random: np.random.Generator, *, first: int = 0
) -> Iterator[QuestionRecord]:
    """`per_scene` questions about each scene, no two of them with one program.

    A `Balance` over all scenes chooses forms and answers. A scene with little to ask about has fewer
    questions. Scenes are numbered from `first` on.
    """
    if per_scene < 0:
        raise NGSError(f"{per_scene} questions a scene were asked for; ask for none or more")
    balance = Balance(Random(int(random.integers(2**63))))
    number = 0
    for place, scene in enumerate(scenes, first):
        for question in _about(scene, per_scene, balance):
            text, answer = sentence(question, balance.random), ANSWERS[question.answer]
            yield QuestionRecord(text, place, answer, question.program, number)
            number += 1


def _about(scene: Scene, number: int, balance: Balance) -> Iterator[Question]:
    masks, forms, asked = SceneMasks(scene), list(FORMS), set[Program]()
    while len(asked) < number and (form := balance.form(forms)) is not None:
        question = _composed(Draft(form, masks, balance), asked)
        if question is None:
            forms.remove(form)
            continue
        asked.add(question.program)
        balance.count(form, question.answer)
        yield question


def _composed(draft: Draft, asked: Collection[Program]) -> Question | None:
    for _ in range(ATTEMPTS):
        with suppress(DeadEnd):
            question = draft.form.compose(draft)
            if question.program not in asked:
                return question
    return None
