"""There is one engine: both tasks train by the same functions, and the core knows neither of them."""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
import torch

import ngs
from ngs.learning.loop import Trainer
from ngs.learning.methods import METHODS
from ngs.tasks.clevr.preparation import PreparedQuestions
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf.preparation import PreparedFormulas
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.task import PreparedAnswers

SOURCE = Path(ngs.__file__).parent
TESTS = Path(__file__).parent
CORE = ("grammar", "parsing", "reasoning", "search", "learning")

OF_ONE_TASK = {
    # distributions
    "_independent": "independent scores for each position",
    "Batch.log_probs": "the same",
    "Batch.lengths": "the same",
    "Batch.__len__": "the same",
    "Independent": "the same",
    "Autoregressive": "a decoder and a constraint",
    "_autoregressive": "the same",
    "Listed": "a distribution within a list of sentences",
    # edits and judges
    "Substitute": "edits of formulas",
    "Edits": "edits given as a list of results, as those of programs",
    "_count_by_row": "part of the same",
    "Switch": "edits of programs",
    "Rearrange": "the same",
    "Phrases": "the same",
    "lengths_of": "used by substitutions and by tables",
    "TableJudge": "judges formulas",
    "TableValues": "the same",
    # the reasoner's plan
    "TablePlan": "formulas: a chart of values",
    "ListPlan": "programs: a list of sentences",
    "exact_length": "part of the plan for formulas",
    "value_circuit": "the same",
    "Memory": "part of the plan for programs; formulas have one only under MAPO",
    # what the network is shown
    "Pool": "one image for each symbol",
}
"""What the training step of one task may use alone: its distribution, its edits, its judge and its plan."""


ALIKE: dict[str, Any] = {"batch_size": 16, "schedule": "one-cycle"}
"""Settings whose defaults differ: other functions would be called for a setting's sake."""


@cache
def course(task: str) -> PreparedAnswers:
    if task == "hwf":
        return PreparedFormulas(TrainHWF(fraction=0.1, **ALIKE), torch.device("cpu"))
    return PreparedQuestions(TrainCLEVR(fraction=0.05, start="likeliest", **ALIKE), torch.device("cpu"))


@cache
def functions_of_a_step(task: str, method: str, layers: tuple[str, ...]) -> set[str]:
    """The functions of some layers that one training step executes, by qualified name."""
    learner: Any = course(task)
    learner.settings = replace(learner.settings, method=method)
    torch.manual_seed(0)
    trainer = iter(Trainer(learner.network(), learner.lessons(), learner.settings.settings))
    for _ in range(2):
        next(trainer)  # what is made once, by the first step, is not part of a step
    seen: set[CodeType] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        next(trainer)
    finally:
        sys.setprofile(before)
    roots = tuple(str(SOURCE / layer) for layer in layers)
    names = (
        code.co_qualname.partition(".<locals>")[0] for code in seen if code.co_filename.startswith(roots)
    )
    return {name for name in names if not name.startswith("<")}


def is_of_one_task(name: str) -> bool:
    return name in OF_ONE_TASK or name.partition(".")[0] in OF_ONE_TASK


@pytest.mark.parametrize("method", METHODS)
def test_both_tasks_train_by_the_same_functions(method: str) -> None:
    of_hwf, of_clevr = (
        functions_of_a_step(task, method, ("learning", "search")) for task in ("hwf", "clevr")
    )
    differing = {name for name in of_hwf ^ of_clevr if not is_of_one_task(name)}
    shared = of_hwf & of_clevr
    print(f"{method}: {len(shared)} functions shared, {sorted(of_hwf ^ of_clevr)} of one task")
    assert not differing
    if method == "m-bs":
        assert {"sample_corrections", "log_ratio", "log_target", "State.of", "best_right"} <= shared
    assert "Objective.forward" in shared and any(
        name.endswith(".forward") for name in shared - {"Objective.forward"}
    )


def test_exceptions_exist() -> None:
    """An exception that names nothing any more must go."""
    defined = {
        node.name
        for layer in CORE
        for path in (SOURCE / layer).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    assert {name.rpartition(".")[2] for name in OF_ONE_TASK} <= defined


def test_training_on_programs_uses_the_grammar() -> None:
    used = functions_of_a_step("clevr", "reinforce", ("grammar",))
    assert {"Counting.start", "Counting.mask", "Counting.advance", "Counting.masks"} <= used


def core_files() -> Iterator[Path]:
    for layer in CORE:
        yield from sorted((SOURCE / layer).rglob("*.py"))
        yield from sorted((TESTS / layer).rglob("*.py"))


@pytest.mark.parametrize("path", list(core_files()), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_core_knows_no_task(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    froms = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imports = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert not [name for name in froms + imports if name.startswith(("ngs.tasks", "tests.tasks"))]
    assert not [name for name in identifiers(tree) if TASK_WORD.search(name)]


TASK_WORD = re.compile(r"formula|question|scene|program(?!m)", re.IGNORECASE)


def identifiers(tree: ast.AST) -> Iterator[str]:
    """Every name that the code gives or uses."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                yield name
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield name
                yield other or ""
            case ast.keyword(arg=str(name)):
                yield name
