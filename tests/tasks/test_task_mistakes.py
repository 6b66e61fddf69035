"""What a newcomer gets wrong about a task: told before anything is trained, with what to do."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

import ngs
from ngs.errors import NGSError
from ngs.tasks.report.report import AnswersReport
from ngs.tasks.trainable import Trainable

GRAMMAR = ngs.Grammar.parse('start: light light -> both\nlight: "red" | "green" | "amber"')


class Traffic(ngs.Semantics):
    symbol = {"red": 0, "green": 1, "amber": 2}.get

    def both(a, b):
        return a + b


class WithSelf(Traffic):
    def both(self, a, b):
        return a + b


class SymbolWithSelf(Traffic):
    def symbol(self, name):
        return name


def one_by_one(answers: int = 0, labels: int = 0, labelled: bool = True) -> ngs.Splits:
    chosen = torch.randint(3, (500, 2), generator=torch.Generator().manual_seed(0))
    seen = list(torch.nn.functional.one_hot(chosen, 3).float())
    paid = (chosen.sum(1) + answers).tolist()
    examples = ngs.Examples.of(seen, paid, (chosen + labels).tolist() if labelled else None)
    return ngs.Splits(examples, examples)


def whole(length: int = 2) -> ngs.Splits:
    examples = ngs.Examples.whole(
        [torch.tensor([k % 3]) for k in range(500)], [k % 3 for k in range(500)], [length] * 500
    )
    return ngs.Splits(examples, examples)


TASK = ngs.Task(
    name="traffic",
    grammar=GRAMMAR,
    semantics=Traffic,
    data=lambda settings: one_by_one(),
    network=lambda settings: torch.nn.Linear(3, 3),
)


@pytest.mark.parametrize(
    "changes, message",
    [
        (
            {"name": "traffic lights"},
            "the task's name is 'traffic lights'; runs are named after it: use letters",
        ),
        (
            {"network": torch.nn.Linear(3, 3)},
            "network is a Linear; give a function of the settings that makes it",
        ),
        ({"data": one_by_one()}, "data is a Splits; give a function of the settings that makes it"),
        ({"semantics": lambda settings: Traffic}, "semantics is a function; give the class or an instance"),
        ({"settings": ngs.TaskSettings()}, "give ngs.TaskSettings or a subclass, not an instance"),
    ],
)
def test_what_is_no_task_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(NGSError, match=message):
        replace(TASK, **changes)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"data": lambda s: 3}, r"the task's data are a int; return ngs.Splits\(train=..., test=...\)"),
        ({"network": lambda s: 3}, "the task's network is a int; return a torch.nn.Module"),
        (
            {"network": lambda s: torch.nn.Linear(3, 4)},
            r"makes \[2, 4\] of 2 inputs; .* it must make \[2, 3\]",
        ),
        (
            {"network": lambda s: torch.nn.Linear(4, 3)},
            r"cannot take its inputs of shape \[2, 3\]: .* change its",
        ),
        (
            {"network": lambda s: torch.nn.LSTM(3, 3)},
            r"makes a tuple of inputs that are seen one by one; .*whole",
        ),
        ({"semantics": WithSelf}, "is a method, but the class was given; pass an instance"),
        ({"semantics": SymbolWithSelf}, "take no `self`; leave it out, or pass an instance of the class"),
        (
            {"data": lambda s: one_by_one(labels=1)},
            "the labels are 1 to 3; the grammar's 3 symbols are 0 to 2",
        ),
        (
            {"data": lambda s: one_by_one(answers=100)},
            r"is labelled \w+ \w+, which is \d by your functions, and its answer is 10\d; so it is with",
        ),
        (
            {"data": lambda s: whole(), "network": lambda s: torch.nn.Embedding(3, 3)},
            "makes a Tensor of inputs that are seen as a whole; it must return an ngs.Dec",
        ),
        (
            {"data": lambda s: whole(), "network": lambda s: ngs.SequenceNetwork(3, 5)},
            r"makes \[2, 1, 5\] of 2 inputs; .* so it must make \[2, 1, 3\]",
        ),
        (
            {"data": lambda s: whole(3), "network": lambda s: ngs.SequenceNetwork(3, 3)},
            "no sentence fits what is known of example 0, which is to have 3 symbols; change the lengths",
        ),
    ],
)
def test_mistakes_are_told_before_anything_is_written(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(NGSError, match=message):
        ngs.train(replace(TASK, **changes), tmp_path / "run", steps=2)
    assert not (tmp_path / "run" / "config.json").exists()


def test_a_run_that_fails_at_its_first_step_is_not_in_the_way_of_the_next(tmp_path: Path) -> None:
    unlabelled = replace(TASK, data=lambda settings: one_by_one(labelled=False))
    with pytest.raises(
        NGSError, match="these examples have no labels; give data with labels, or another method"
    ):
        ngs.train(unlabelled, tmp_path / "run", steps=2, method="supervised")
    assert ngs.train(unlabelled, tmp_path / "run", steps=2)["steps"] == 2


@pytest.mark.parametrize("semantics", [WithSelf, SymbolWithSelf])
def test_a_method_in_place_of_a_function_is_told_wherever_it_is_called(
    semantics: type[ngs.Semantics],
) -> None:
    with pytest.raises(
        NGSError, match="functions of a semantics take no `self`; leave it out, or pass an inst"
    ):
        ngs.evaluate(ngs.parse(GRAMMAR, ["red", "green"]), semantics)


def test_what_a_trainable_does_not_say_is_told() -> None:
    class Half(Trainable):
        name = "half"
        imports: ClassVar = {"report": "ngs.tasks.report.report:AnswersReport"}

    half = Half()
    assert half.report() is AnswersReport and half.experiments() == () and half.costs(quick=True) == {}
    with pytest.raises(NGSError, match="the task half has no data; name it in `imports`, or write the met"):
        half.digest("somewhere")


# What tells data apart


def digest_of(answer: object) -> str:
    examples = ngs.Examples.of([torch.zeros(1, 2)], [answer])
    return ngs.Splits(examples, examples).digest


def test_the_digest_of_data_is_that_of_their_content() -> None:
    words = ["a", "b", "c", "d"]
    code = "from tests.tasks.test_task_mistakes import digest_of; print(digest_of(frozenset('abcd')))"
    seeds = [os.environ | {"PYTHONHASHSEED": seed} for seed in ("1", "2")]
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, env=env, capture_output=True, text=True) for env in seeds]
    assert {run.stdout.strip() for run in runs} == {digest_of(frozenset(words))}, runs[0].stderr
    assert digest_of(frozenset(words[:3])) != digest_of(frozenset(words)) != digest_of(tuple(words))


def test_what_nothing_tells_apart_has_no_digest() -> None:
    class Anything:
        pass

    with pytest.raises(ngs.NGSError, match="Anything, which nothing tells apart; make it a dataclass"):
        digest_of(Anything())


def test_other_shares_than_those_that_are_counted_are_refused() -> None:
    view = ngs.MetricsView(shares={"right": "right"})
    with pytest.raises(NGSError, match="have the shares right; a task has answers, sentences, symbols"):
        replace(TASK, metrics=view)
    with pytest.raises(NGSError, match="no shares or no groups"):
        ngs.MetricsView(groups={})
