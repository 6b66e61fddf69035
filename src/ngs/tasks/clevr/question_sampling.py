"""Questions about scenes, with their programs and answers, as many as wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from random import Random

import numpy as np

from ngs.errors import NGSError
from ngs.tasks.clevr.answer_balance import JITTER, Balance
from ngs.tasks.clevr.dataset import QuestionRecord
from ngs.tasks.clevr.program import Program
from ngs.tasks.clevr.question_kinds import FORMS
from ngs.tasks.clevr.question_phrases import Question
from ngs.tasks.clevr.question_places import DeadEnd, Draft, Form
from ngs.tasks.clevr.question_wording import sentence
from ngs.tasks.clevr.scene_masks import SceneMasks
from ngs.tasks.clevr.scenes import ANSWERS, Scene

ATTEMPTS = 6
"""How often a form of question is tried in a scene before it is given up there."""


def questions(
    scenes: Sequence[Scene], per_scene: int, random: np.random.Generator, *, first: int = 0
) -> Iterator[QuestionRecord]:
    """`per_scene` questions about each scene, no two of them with one program.

    Their rules are those of `question_kinds`; forms are asked by their weights, and the answers of each form
    kept even (`Balance`), over all scenes. A scene with little to ask about has fewer. Scenes are
    numbered from `first` on.
    """
    if per_scene < 0:
        raise NGSError(f"{per_scene} questions a scene were asked for; ask for none or more")
    asker = _Asker(Random(int(random.integers(2**63))))
    number = 0
    for place, scene in enumerate(scenes, first):
        for question, program in asker.about(scene, per_scene):
            text = sentence(question, asker.random)
            yield QuestionRecord(text, place, ANSWERS[question.answer], program, number)
            number += 1


class _Asker:
    """Someone who asks questions and remembers which have been asked."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.balance = Balance()
        self.used: Counter[Form] = Counter()

    def about(self, scene: Scene, number: int) -> Iterator[tuple[Question, Program]]:
        """So many questions about a scene, or as many as can be had."""
        masks = SceneMasks(scene)
        forms, asked, chance = list(FORMS), set[Program](), self.random.random
        while forms and len(asked) < number:
            # That which has been asked least often for its weight, nearly.
            form = min(forms, key=lambda each: (self.used[each] + JITTER * chance()) / each.weight)
            question = self._compose(Draft(form, masks, self.balance, self.random), asked)
            if question is None:
                forms.remove(form)
                continue
            asked.add(question.program)
            self.used[form] += 1
            self.balance.count(form, question.answer)
            yield question, question.program

    def _compose(self, draft: Draft, asked: set[Program]) -> Question | None:
        for _ in range(ATTEMPTS):
            with suppress(DeadEnd):
                question = draft.form.compose(draft)
                if question.program not in asked:
                    return question
        return None
