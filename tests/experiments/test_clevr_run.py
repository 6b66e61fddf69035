"""Runs on questions about scenes: every language, honest, and tested on questions from elsewhere."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from ngs.errors import DataError, NGSError
from ngs.experiments.record import read_rows
from ngs.experiments.run import evaluate_run
from ngs.grammar.padding import PAD
from ngs.learning.methods import METHODS
from ngs.learning.packed_file import Ragged
from ngs.tasks.clevr import packed
from ngs.tasks.clevr.dataset import NO_ANSWER, UNKNOWN, QuestionRecord, Questions, VisualQuestions
from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.clevr.examples import Part
from ngs.tasks.clevr.execution import execute, spoken
from ngs.tasks.clevr.language import LANGUAGES
from ngs.tasks.clevr.preparation import PreparedQuestions, load_reader, parts_of
from ngs.tasks.clevr.program import Kind
from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.clevr.scores import ProgramScores, measure
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf import preparation as hwf
from ngs.tasks.run_folder import BEST, CHECKPOINT, EARLY, METRICS, RESULT, load_config
from tests.experiments.short_runs import CPU, Short, Straight, asked, few_questions, same_tensors, weights
from tests.experiments.training import finished
from tests.tasks.clevr.programs import encoded
from tests.tasks.clevr.readers import row

FROM_ANSWERS = [method for method in METHODS if method != "supervised"]


@pytest.fixture(scope="module")
def few() -> VisualQuestions:
    return few_questions()


@pytest.fixture
def config(questions: Short) -> TrainCLEVR:
    found: TrainCLEVR = questions.settings
    return found


@pytest.fixture(scope="module")
def done(questions: Short, straight: Straight) -> Path:
    """A run that enumerates some questions and searches for others; whoever changes something copies it."""
    return straight(questions.but(averaging=0.0, dropout=0.0, enumerated=512, steps=12, validate_every=6))


def saved(data: VisualQuestions, path: Path) -> str:
    packed.write(path, data)
    return str(path)


# What a run leaves


def test_a_result_says_what_was_understood_and_of_which_kind(done: Path) -> None:
    result = json.loads((done / RESULT).read_text())
    assert result["not_understood"] == 0 and set(result["test"]["by_kind"]) <= set(map(str, Kind))
    config = load_config(done).settings
    plan = parts_of(config, CPU).train.reasoner(config.edits, config.effort).plan
    assert 0 < plan.exact.float().mean() < 1


def test_the_network_of_a_run_reads_questions(done: Path, few: VisualQuestions) -> None:
    result = json.loads((done / RESULT).read_text())
    network, early = load_reader(done).network, load_reader(done, EARLY)
    assert early.vocabulary == few.vocabulary
    assert not torch.equal(early.network.key.weight, network.key.weight) or result["chosen_step"] == 6


def test_what_was_found_is_in_the_checkpoint(questions: Short, straight: Straight) -> None:
    checkpoint = weights(straight(questions), CHECKPOINT)
    (remembered,) = [tensor for name, tensor in checkpoint.items() if name.endswith("memory.stored")]
    assert (remembered != PAD).any()


def test_all_questions_are_learned_from_or_chosen_by(config: TrainCLEVR, few: VisualQuestions) -> None:
    """The same ones in every language."""
    divided = [parts_of(replace(config, grammar=name), CPU) for name in LANGUAGES]
    first, *others = [[asked(parts.train), asked(parts.validation)] for parts in divided]
    assert all(other == first for other in others)
    whole = zip(few.train.numbers.tolist(), few.train.scenes.tolist(), strict=True)
    assert sorted(first[0] + first[1]) == sorted(whole)


@pytest.mark.parametrize("grammar", LANGUAGES)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_run_in_every_language(
    method: str, grammar: str, config: TrainCLEVR, tmp_path: Path
) -> None:
    begun = PreparedQuestions(config, CPU)
    torch.manual_seed(config.seed)
    first = begun.network().state_dict()
    config = replace(config, method=method, grammar=grammar, steps=2, averaging=0.0)
    result = finished(config, tmp_path / "run")
    assert result["method"] == method and result["test"]["examples"] == 20
    rows = read_rows(tmp_path / "run" / METRICS)
    assert (rows[0]["lesson"], rows[0]["step"]) == (method, 2)
    # Without a grammar next to no arrangement is right, so that answers alone may teach nothing.
    if grammar != "none" or method == "supervised":
        assert not same_tensors(first, weights(tmp_path / "run", EARLY))


def test_every_setting_makes_another_run(config: TrainCLEVR, tmp_path: Path) -> None:
    """Each of them changes what is learned in three steps."""
    changes: dict[str, dict[str, Any]] = {
        "none": {},
        "copies": {"copies": False},
        "dropout": {"dropout": 0.5},
        "moves": {"moves": False},
        "enumerated": {"enumerated": 64},
        "samples": {"samples": 2},
        "grammar": {"grammar": "free"},
        "1-bs": {"method": "1-bs"},
        "start": {"method": "1-bs", "start": "likeliest"},
        "m-bs": {"method": "m-bs"},
        "back-search": {"method": "m-bs", "back_search": 0.9},
    }
    losses = {}
    for name, change in changes.items():
        finished(replace(config, steps=3, **change), tmp_path / name)
        losses[name] = read_rows(tmp_path / name / METRICS)[0]["loss"]
        assert ("copy_gain" in weights(tmp_path / name)) == (name != "copies")
    assert len(set(losses.values())) == len(changes), losses


def test_lenient_runs_judge_leniently(config: TrainCLEVR, few: VisualQuestions) -> None:
    """`unique` of all things in the scene is undefined, or the first of them."""
    parts = [parts_of(replace(config, unique=name), CPU).train for name in ("strict", "lenient")]
    attributes = {value: name for name, values in ATTRIBUTES.items() for value in values}
    asked = parts[0].questions
    rows = [k for k in range(len(asked)) if asked.answer(k) in attributes]
    programs = encoded([(f"query_{attributes[asked.answer(k) or '']}", "unique", "scene") for k in rows])
    first = [few.scenes[int(asked.scenes[k])].things[0] for k in rows]
    want = [asked.answer(k) in vars(thing).values() for k, thing in zip(rows, first, strict=True)]
    by_strict, by_lenient = (part.judge(torch.tensor(rows), programs) for part in parts)
    assert not by_strict.any() and by_lenient.tolist() == want and any(want) and not all(want)


# What it learns from, chooses by and is tested on


def test_where_nothing_is_left_it_is_said_what_was_lost(
    config: TrainCLEVR, few: VisualQuestions, tmp_path: Path
) -> None:
    unanswered = torch.full_like(few.validation.answers, NO_ANSWER)
    silent = replace(few, validation=replace(few.validation, answers=unanswered))
    path = saved(silent, tmp_path / "x.ngs")
    with pytest.raises(NGSError, match="left to test on: of 20, 20 have no answer and 0 are not understood"):
        finished(replace(config, data=path), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def not_understood(questions: Questions, lost: set[int]) -> Questions:
    """The questions as if the dictionary knew nothing of some."""
    kept = torch.tensor([k not in lost for k in range(len(questions))])

    def emptied(rows: Ragged) -> Ragged:
        entries = kept.repeat_interleave(rows.lengths)
        lengths = rows.lengths * kept
        return Ragged(rows.flat[entries], torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]))

    return replace(questions, modules=emptied(questions.modules), keywords=emptied(questions.keywords))


def test_questions_that_nobody_understands_count_as_wrong(
    done: Path, few: VisualQuestions, config: TrainCLEVR, tmp_path: Path
) -> None:
    half = set(range(0, 20, 2))
    mixed = replace(
        few, train=not_understood(few.train, {1, 2, 3}), validation=not_understood(few.validation, half)
    )
    path = saved(mixed, tmp_path / "mixed.ngs")
    result = finished(replace(config, data=path), tmp_path / "run")
    assert result["test"]["examples"] == 20 and result["not_understood"] in range(1, 4)

    understood = replace(few, validation=few.validation.select(sorted(set(range(20)) - half)))
    _, some = evaluate_run(done, saved(understood, tmp_path / "understood.ngs"))
    _, all_ = evaluate_run(done, path)
    assert isinstance(some, ProgramScores) and isinstance(all_, ProgramScores)
    assert (some.total.examples, all_.total.examples) == (10, 20)
    assert some.total.answers_right == all_.total.answers_right > 0
    assert some.total.sentences_right == all_.total.sentences_right


# Honest


def without_programs(questions: Questions) -> Questions:
    nothing = Ragged(torch.zeros(0, dtype=torch.int8), torch.zeros(len(questions) + 1, dtype=torch.long))
    return replace(questions, programs=nothing)


def with_others_programs(questions: Questions) -> Questions:
    """Each question with the program of the next."""
    order = torch.arange(1, len(questions) + 1) % len(questions)
    return replace(questions, programs=questions.programs.select(order))


def changed(data: VisualQuestions, change: Any) -> VisualQuestions:
    return replace(data, train=change(data.train), validation=change(data.validation))


@pytest.mark.parametrize("method", FROM_ANSWERS)
def test_learning_from_answers_never_sees_a_program(
    method: str, few: VisualQuestions, config: TrainCLEVR, tmp_path: Path
) -> None:
    """Without programs, and with wrong ones, everything that was learned is the same, to the last bit."""
    config = replace(config, method=method, steps=4, validate_every=2)
    true = finished(config, tmp_path / "true")
    for name, change in (("none", without_programs), ("wrong", with_others_programs)):
        path = saved(changed(few, change), tmp_path / f"{name}.ngs")
        other = finished(replace(config, data=path), tmp_path / name)
        assert same_tensors(weights(tmp_path / name, CHECKPOINT), weights(tmp_path / "true", CHECKPOINT))
        assert same_tensors(weights(tmp_path / name), weights(tmp_path / "true"))
        rows, others = (read_rows(tmp_path / folder / METRICS) for folder in ("true", name))
        assert [row.get("loss") for row in rows] == [row.get("loss") for row in others]
        assert other["chosen_step"] == true["chosen_step"]
        for part in ("validation", "test"):
            assert other[part]["answers"] == true[part]["answers"]
            assert other[part]["programs"] == (None if name == "none" else 0.0)
    assert true["test"]["programs"] > 0  # which only the true programs can tell


# What is refused


def test_the_files_of_the_other_task_are_refused(
    done: Path, formulas: Short, straight: Straight, config: TrainCLEVR, tmp_path: Path
) -> None:
    run, data = straight(formulas), formulas.settings.data
    message = r"formulas\.ngs is a packed data set of handwritten formulas, not a packed"
    shutil.copytree(done, tmp_path / "copy")
    shutil.copy(run / CHECKPOINT, tmp_path / "copy" / CHECKPOINT)
    with pytest.raises(DataError, match=r"is of another configuration \(task, .*differ\)"):
        finished(load_config(tmp_path / "copy").settings, tmp_path / "copy", resume=True)
    shutil.copy(run / BEST, tmp_path / "copy" / BEST)
    with pytest.raises(DataError, match=r"best\.safetensors is no network of `ngs train clevr`: it has"):
        evaluate_run(tmp_path / "copy")
    shutil.copytree(run, tmp_path / "formulas")
    shutil.copy(done / BEST, tmp_path / "formulas" / BEST)
    with pytest.raises(
        DataError, match=r"best\.safetensors is no network of `ngs train hwf`: it has no symbols"
    ):
        hwf.load_network(tmp_path / "formulas")
    with pytest.raises(DataError, match="straight was trained on hwf; give a run of `ngs train clevr`"):
        load_reader(run)
    with pytest.raises(DataError, match=message):
        finished(replace(config, data=data), tmp_path / "run")
    with pytest.raises(DataError, match=message):
        evaluate_run(done, data)
    assert not (tmp_path / "run").exists()


# Elsewhere


SCENE = row(
    "small red rubber cube",
    "small gray metal sphere",
    "large gray metal sphere",
    "large blue metal cylinder",
    "small gray rubber sphere",
)
OWN_WORDS = {
    "What colour is the cylinder?": "query_color unique filter_shape[cylinder] scene",
    "How many balls are behind the cube which is left of the cylinder?": "count filter_shape[sphere] "
    "relate[behind] unique filter_shape[cube] relate[left] unique filter_shape[cylinder] scene",
    "How many matt boxes are lying left of the shiny cylinder?": "count filter_shape[cube] "
    "filter_material[rubber] relate[left] unique filter_shape[cylinder] filter_material[metal] scene",
}


def in_own_words() -> VisualQuestions:
    """Questions with words of the dictionary that no made-up question uses."""
    programs = [tuple(program.split()) for program in OWN_WORDS.values()]
    answers = [str(spoken(execute(program, SCENE))) for program in programs]
    records = [
        QuestionRecord(text, 0, answer, program, k)
        for k, (text, answer, program) in enumerate(zip(OWN_WORDS, answers, programs, strict=True))
    ]
    data = VisualQuestions.of("other", [SCENE], records, records)
    assert data.train.understood.all()
    return data


OTHERS = [
    lambda: synthetic(5, scenes=2, per_scene=8, validation_scenes=5, validation_per_scene=8, name="other"),
    in_own_words,
]


@pytest.mark.parametrize("other", OTHERS, ids=["made up", "in own words"])
def test_a_network_is_tested_on_other_data(
    other: Callable[[], VisualQuestions], done: Path, tmp_path: Path
) -> None:
    """As the reader of `ngs ask` reads one question after another."""
    data, reader = other(), load_reader(done)
    asked = data.validation
    right = same = 0
    for k in range(len(asked)):
        program = reader.read(" ".join(asked.text_words(k))).programs[0].program
        right += spoken(execute(program, data.scenes[int(asked.scenes[k])])) == asked.answer(k)
        same += program == asked.program(k)
    name, scores = evaluate_run(done, saved(data, tmp_path / "other.ngs"))
    assert isinstance(scores, ProgramScores) and name == "other" and scores.total.examples == len(asked)
    assert (scores.total.answers_right, scores.total.sentences_right) == (right, same) and right > 0


def test_words_are_numbered_as_in_training(
    done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that it never saw are one word to the network."""
    data, vocabulary = in_own_words(), load_reader(done).vocabulary
    measured: list[Part] = []

    def noted(network: nn.Module, part: Part) -> ProgramScores:
        measured.append(part)
        return measure(network, part)

    monkeypatch.setattr("ngs.tasks.clevr.preparation.measure", noted)
    evaluate_run(done, saved(data, tmp_path / "other.ngs"))
    numbers = measured[0].examples.inputs.words
    place = {word: number for number, word in enumerate(vocabulary)}
    for k in range(len(data.validation)):
        want = [place.get(word, UNKNOWN) for word in data.validation.text_words(k)]
        assert [number for number in numbers[k].tolist() if number != PAD] == want
    assert data.vocabulary != vocabulary and (numbers == UNKNOWN).any()


# It learns

EASY = (Kind.ZERO_HOP, Kind.ONE_HOP, Kind.TWO_HOP, Kind.SAME_RELATE)


def easy(questions: Questions) -> Questions:
    return questions.select([k for k in range(len(questions)) if questions.kind(k) in EASY])


def test_the_default_method_learns_from_answers(tmp_path: Path) -> None:
    """From 30-45% at the start to about 85% of the answers, with the right programs behind them."""
    made = synthetic(scenes=100, per_scene=10, validation_scenes=40, validation_per_scene=10)
    data = saved(changed(changed(made, easy), without_programs), tmp_path / "bare.ngs")
    config = TrainCLEVR(
        data=data,
        network="paper",
        steps=60,
        batch_size=32,
        learning_rate=1e-2,
        validation=0.25,
        validate_every=20,
    )
    begun = finished(replace(config, steps=0), tmp_path / "begun")
    learned = finished(config, tmp_path / "learned")
    assert begun["test"]["answers"] < 0.5
    assert learned["test"]["answers"] > 0.7 and learned["validation"]["answers"] > 0.65
    _, judged = evaluate_run(tmp_path / "learned", saved(changed(made, easy), tmp_path / "true.ngs"))
    facts = judged.as_facts()
    assert facts["answers"] == learned["test"]["answers"]
    assert isinstance(facts["equivalent"], float) and facts["equivalent"] > 0.7
