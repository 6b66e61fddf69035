"""Corrections are sorted into the paper's kinds, and the examples are what the references say."""

import pickle
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ngs.errors import NGSError
from ngs.experiments.sweep.driver import do
from ngs.grammar.padding import PAD
from ngs.parsing.sentence import parse, recognises
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.semantics import evaluate
from ngs.search.back_search import ChainSettings
from ngs.tasks.clevr import packed as packed_questions
from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.clevr.noun_phrases import equivalent
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf import packed
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.report.report import FormulaSearches
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.results.corrections import Corrections, counted, examples_of, kinds_of
from ngs.tasks.results.job import address
from ngs.tasks.run_folder import ENVIRONMENT, RESULT, read_facts
from tests.experiments.report.wrong_answers import FINE, HOPELESS, LUCKY, SPURIOUS, TRUE, readings_of
from tests.experiments.training import train, trained

OPERATOR = ("2+3", [{"2": 0.9}, {"-": 0.6, "+": 0.3}, {"3": 0.9}])
FAR = ("2*3", [{"1": 0.6, "2": 0.39}, {"/": 0.6, "*": 0.39}, {"4": 0.6, "3": 0.39}])
"""read as 1/4; nothing one change away gives 6"""


def sorted_out(
    *formulas: tuple[str, list[dict[str, float]]], steps: int = 5, seed: int = 0
) -> FormulaSearches:
    return FormulaSearches.of(readings_of(*formulas), ChainSettings(steps=steps), seed)


def value_of(formula: str) -> Fraction:
    value = evaluate(parse(GRAMMAR, tuple(formula)), Arithmetic)
    assert isinstance(value, Fraction)
    return value


# Kinds


def test_kinds_are_told_apart() -> None:
    found = sorted_out(TRUE, FINE, OPERATOR, SPURIOUS, HOPELESS, LUCKY, steps=0)
    assert kinds_of(found) == ["digit", "operator", "spurious", "none"]
    assert found.readings.lucky == [5]


@pytest.mark.parametrize("seed", range(2))
def test_more_steps_find_what_one_does_not(seed: int, tmp_path: Path) -> None:
    found = sorted_out(*[FAR] * 8, steps=60, seed=seed)
    assert set(kinds_of(found)) <= {"more steps", "none"}
    assert "more steps" in kinds_of(found)
    for example in examples_of(found, 8, tmp_path):
        assert example["one_step"] is None
        walked = example["kind"] == "more steps"
        assert (example["multi_step"] is not None) == walked == (example["worth"]["m-BS"] != "none")
        assert example["walk"][0] == "1/4"
        if walked:
            assert example["walk"][-1] == example["multi_step"]
            assert value_of(example["multi_step"]) == 6


def test_where_nothing_is_wrong_nothing_is_shown(tmp_path: Path) -> None:
    found = sorted_out(FINE, LUCKY)
    assert kinds_of(found) == list(examples_of(found, 3, tmp_path)) == []
    assert counted(found.kinds, [])["digit"] == {"count": 0, "share": None}


def test_no_more_are_kept_than_asked_for(tmp_path: Path) -> None:
    found = sorted_out(*[TRUE] * 4, *[OPERATOR] * 3, *[SPURIOUS] * 2, steps=0)
    kinds = Counter(example["kind"] for example in examples_of(found, 2, tmp_path))
    assert kinds == {"digit": 2, "operator": 2, "spurious": 2}
    assert len(list(tmp_path.iterdir())) == 6


# Jobs


@pytest.fixture(scope="module")
def formula_job(tmp_path_factory: pytest.TempPathFactory) -> Corrections:
    path = tmp_path_factory.mktemp("formulas") / "small.ngs"
    lengths = {1: 0.2, 3: 0.4, 5: 0.4}
    packed.write(path, embedded(train=80, test=4, lengths=lengths, train_writers=6, test_writers=1))
    config = TrainHWF(data=str(path), steps=12, batch_size=16, validation=0.1, validate_every=8)
    return Corrections(trained(config), number=60, examples=2)


@pytest.fixture(scope="module")
def question_job(tmp_path_factory: pytest.TempPathFactory) -> Corrections:
    path = tmp_path_factory.mktemp("questions") / "small.ngs"
    packed_questions.write(
        path, synthetic(scenes=30, per_scene=6, validation_scenes=2, validation_per_scene=2)
    )
    config = TrainCLEVR(data=str(path), steps=4, batch_size=16, validation=0.1, validate_every=3)
    return Corrections(trained(config), number=100, examples=2)


def run_of(job: Corrections, folder: Path) -> Path:
    for _ in train(job.run.settings, folder):
        pass
    return folder


@pytest.fixture(scope="module")
def formula_run(formula_job: Corrections, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_of(formula_job, tmp_path_factory.mktemp("formulas") / "run")


@pytest.fixture(scope="module")
def question_run(question_job: Corrections, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_of(question_job, tmp_path_factory.mktemp("questions") / "run")


def done(job: Corrections, folder: Path, run: Path) -> Any:
    """The result, after checks that hold for formulas and questions."""
    for _ in do(job, folder, [run]):
        pass
    result = read_facts(folder / RESULT)
    assert read_facts(folder / ENVIRONMENT)["device"] == "cpu"
    counts = {kind: each["count"] for kind, each in result["kinds"].items()}
    assert sum(counts.values()) == result["wrong"] > 0
    assert sum(each["share"] for each in result["kinds"].values()) == pytest.approx(1)
    for search in result["searches"].values():
        assert sum(each["count"] for each in search.values()) == result["wrong"]
    shown = Counter(example["kind"] for example in result["examples"])
    assert shown == Counter({kind: min(count, job.examples) for kind, count in counts.items()})
    for example in result["examples"]:
        assert ElementTree.parse(folder / example["drawing"]).getroot().tag.endswith("svg")
        assert example["value"] != example["answer"]
    drawings = [example["drawing"] for example in result["examples"]]
    assert sorted(path.name for path in folder.glob("*.svg")) == sorted(drawings)
    return result


def test_formulas_of_a_run_are_corrected(formula_job: Corrections, formula_run: Path, tmp_path: Path) -> None:
    result = done(formula_job, tmp_path, formula_run)
    assert (result["step"], result["formulas"]) == (8, 60)
    for example in result["examples"]:
        written, read, answer = example["written"], example["read"], Fraction(example["answer"])
        fixed, walked = example["one_step"], example["multi_step"]
        assert value_of(written) == answer
        if fixed is not None:
            (changed,) = (k for k, symbol in enumerate(read) if symbol != fixed[k])
            assert value_of(fixed) == answer
            kind = "digit" if read[changed].isdigit() else "operator"
            assert example["kind"] == (kind if fixed == written else "spurious")
        else:
            assert example["kind"] == ("none" if walked is None else "more steps")
        assert walked is None or value_of(walked) == answer


def test_chains_go_from_what_was_read_to_the_correction(
    formula_job: Corrections, formula_run: Path, tmp_path: Path
) -> None:
    """The states are sentences, each another than the one before; the last is what m-BS ended in."""
    found = formula_job.corrected(formula_run)
    assert isinstance(found, FormulaSearches)
    examples = list(examples_of(found, 1000, tmp_path))
    assert any(len(example["walk"]) > 2 for example in examples)
    for example in examples:
        states = example["walk"]
        assert states[0] == example["read"]
        assert all(recognises(GRAMMAR, state) for state in states)
        assert all(state != after for state, after in pairwise(states))
        k = [found.readings.chosen[n] for n in found.readings.wrong].index(example["formula"])
        ended = GRAMMAR.decode(symbol for symbol in found.several.z[k].tolist() if symbol != PAD)
        assert states[-1] == "".join(ended)
        assert (example["multi_step"] is not None) == bool(found.several.found[k])


def test_questions_of_a_run_are_corrected(
    question_job: Corrections, question_run: Path, tmp_path: Path
) -> None:
    result = done(question_job, tmp_path, question_run)
    assert (result["step"], result["questions"]) == (3, 100)
    assert result["kinds"]["unjudged"]["count"] == 0
    for example in result["examples"]:
        true, fixed = example["true"].split(), example["one_step"]
        assert (fixed is None) == (example["change"] is None)
        if fixed is None:
            assert example["kind"] == ("none" if example["multi_step"] is None else "more steps")
        else:
            assert sorted(fixed.split()) == sorted(example["read"].split())
            same = equivalent(tuple(fixed.split()), tuple(true))
            assert example["kind"] == ("true" if same else "spurious")


def test_jobs_need_their_run_and_know_their_settings(
    formula_job: Corrections, question_job: Corrections
) -> None:
    for job in (formula_job, question_job):
        assert job.needs == (trained(job.run.settings),)
        assert pickle.loads(pickle.dumps(job)) == job
        others = [replace(job, walk_steps=3), replace(job, examples=7)]
        others.append(replace(job, run=trained(replace(job.run.settings, seed=1))))
        assert len({address(each) for each in (job, *others)}) == 4
    with pytest.raises(NGSError, match="steps is -1"):
        _ = replace(question_job, walk_steps=-1).chain
