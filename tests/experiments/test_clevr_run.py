"""Runs on questions about scenes: every method, honest, repeatable, and resumed as if never interrupted."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ngs.errors import DataError, NGSError
from ngs.experiments.record import read_rows
from ngs.experiments.run import evaluate_run
from ngs.grammar.padding import PAD
from ngs.learning import tensor_file
from ngs.learning.methods import METHODS
from ngs.learning.packed_file import Ragged
from ngs.networks.pointer import SIZES, Size
from ngs.tasks.clevr import packed
from ngs.tasks.clevr.dataset import NO_ANSWER, UNKNOWN, QuestionRecord, Questions, VisualQuestions
from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.clevr.examples import Part
from ngs.tasks.clevr.execution import execute, spoken
from ngs.tasks.clevr.language import LANGUAGES
from ngs.tasks.clevr.preparation import PreparedQuestions, load_reader, parts_of
from ngs.tasks.clevr.program import Kind
from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.clevr.scores import ProgramScore, ProgramScores, measure
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.hwf import packed as packed_formulas
from ngs.tasks.hwf import preparation as hwf
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.run_folder import (
    A_CHECKPOINT,
    A_NETWORK,
    BEST,
    CHECKPOINT,
    CONFIG,
    EARLY,
    ENVIRONMENT,
    METRICS,
    RESULT,
    TENSORBOARD,
    load_config,
)
from tests.experiments.finished_runs import facts_of, finished
from tests.experiments.training import train
from tests.tasks.clevr.programs import encoded
from tests.tasks.clevr.readers import row

CPU = torch.device("cpu")
FROM_ANSWERS = [method for method in METHODS if method != "supervised"]


@pytest.fixture(scope="module", autouse=True)
def sizes() -> Iterator[None]:
    """Networks that a test can train."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SIZES, "small", Size(16, 8))  # type: ignore[arg-type]
        patch.setitem(SIZES, "paper", Size(64, 32))  # type: ignore[arg-type]
        yield


@pytest.fixture(scope="module")
def questions() -> VisualQuestions:
    """Few and short: 48 to learn from, and 20 to be tested on."""

    def short(questions: Questions, number: int) -> Questions:
        return questions.select((questions.modules.lengths <= 12).nonzero().flatten()[:number])

    made = synthetic(scenes=10, per_scene=8, validation_scenes=5, validation_per_scene=8)
    return replace(made, train=short(made.train, 48), validation=short(made.validation, 20))


def saved(data: VisualQuestions, path: Path) -> str:
    packed.write(path, data)
    return str(path)


@pytest.fixture(scope="module")
def data(questions: VisualQuestions, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A packed file of few questions."""
    return saved(questions, tmp_path_factory.mktemp("data") / "few.ngs")


@pytest.fixture
def config(data: str) -> TrainCLEVR:
    """With all that a checkpoint has to keep; the posterior searches, and remembers what it finds."""
    return TrainCLEVR(
        data=data,
        network="small",
        steps=7,
        validate_every=3,
        batch_size=12,
        learning_rate=1e-2,
        averaging=0.5,
        dropout=0.1,
        validation=0.2,
        enumerated=1,
        samples=4,
        memory=3,
        walk_steps=2,
        seed=1,
    )


def weights(folder: Path, name: str = BEST) -> dict[str, Tensor]:
    return tensor_file.load(folder / name, A_CHECKPOINT if name == CHECKPOINT else A_NETWORK, "")[0]


def same_tensors(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture(scope="module")
def done(data: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run that may be looked at; whoever changes something copies it."""
    folder = tmp_path_factory.mktemp("runs") / "done"
    config = TrainCLEVR(
        data=data, network="small", steps=12, validate_every=6, batch_size=12, validation=0.2, test_curve=True
    )
    finished(config, folder)
    return folder


# What a run leaves


def test_the_folder_says_what_ran_and_what_came_of_it(done: Path, questions: VisualQuestions) -> None:
    assert {path.name for path in done.iterdir()} == {
        *(CONFIG, ENVIRONMENT, METRICS, CHECKPOINT, EARLY, BEST, RESULT, TENSORBOARD)
    }
    result = json.loads((done / RESULT).read_text())
    assert (result["data"], result["digest"]) == ("synthetic", questions.digest)
    assert (result["method"], result["not_understood"]) == ("posterior", 0)
    assert result["test"]["examples"] == 20
    assert result["test"].keys() == {
        *("examples", "answers", "programs", "equivalent", "by_kind", "by_length")
    }
    assert set(result["test"]["by_kind"]) <= set(map(str, Kind))
    rows = read_rows(done / METRICS)
    assert [row["step"] for row in rows] == [6, 6, 10, 12, 12]
    training = [row for row in rows if "loss" in row]
    assert set(training[0]) == {"step", "lesson", "learning_rate", "loss", "found", "seconds"}
    config = load_config(done).settings
    plan = parts_of(config, CPU).train.reasoner(config.edits, config.effort).plan
    assert 0 < plan.exact.float().mean() < 1  # some questions are enumerated, others searched
    validating = [row for row in rows if "validation" in row]
    assert all(row["test"].keys() == row["validation"].keys() == result["test"].keys() for row in validating)


def test_the_network_of_a_run_can_be_used_again(done: Path, questions: VisualQuestions) -> None:
    result = json.loads((done / RESULT).read_text())
    name, scores = evaluate_run(done)
    assert name == "synthetic" and scores.as_facts() == result["test"]
    network = load_reader(done).network
    assert (
        measure(network, parts_of(load_config(done).settings, CPU).validation).as_facts()
        == result["validation"]
    )
    assert tensor_file.load(done / BEST, A_NETWORK, "")[1]["step"] == result["chosen_step"]
    early = load_reader(done, EARLY)
    assert early.vocabulary == questions.vocabulary
    assert not torch.equal(early.network.key.weight, network.key.weight) or result["chosen_step"] == 6


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


def test_lenient_runs_judge_leniently(data: str, questions: VisualQuestions) -> None:
    """`unique` of all things in the scene is undefined, or the first of them."""
    parts = [
        parts_of(TrainCLEVR(data=data, validation=0.2, unique=name), CPU).train
        for name in ("strict", "lenient")
    ]
    attributes = {value: name for name, values in ATTRIBUTES.items() for value in values}
    asked = parts[0].questions
    rows = [k for k in range(len(asked)) if asked.answer(k) in attributes]
    programs = encoded([(f"query_{attributes[asked.answer(k) or '']}", "unique", "scene") for k in rows])
    first = [questions.scenes[int(asked.scenes[k])].things[0] for k in rows]
    want = [asked.answer(k) in vars(thing).values() for k, thing in zip(rows, first, strict=True)]
    by_strict, by_lenient = (part.judge(torch.tensor(rows), programs) for part in parts)
    assert not by_strict.any() and by_lenient.tolist() == want and any(want) and not all(want)


def test_no_steps_leave_the_network_as_it_began(config: TrainCLEVR, tmp_path: Path) -> None:
    result = finished(replace(config, steps=0), tmp_path / "run")
    assert result["chosen_step"] == 0 and result["test"]["examples"] == 20
    torch.manual_seed(config.seed)
    assert same_tensors(PreparedQuestions(config, CPU).network().state_dict(), weights(tmp_path / "run"))


# What it learns from, chooses by and is tested on


def asked(part: Part) -> list[tuple[int, int]]:
    """The number and the scene of each question."""
    return list(zip(part.questions.numbers.tolist(), part.questions.scenes.tolist(), strict=True))


def test_the_parts_share_nothing_and_depend_on_the_data_alone(
    config: TrainCLEVR, questions: VisualQuestions
) -> None:
    parts = parts_of(config, CPU)
    others = parts_of(replace(config, seed=7, method="1-bs", grammar="free", network="small"), CPU)
    for name in ("train", "validation", "test"):
        assert asked(getattr(parts, name)) == asked(getattr(others, name))
    assert not set(asked(parts.train)) & set(asked(parts.validation))
    together = sorted(asked(parts.train) + asked(parts.validation))
    whole = zip(questions.train.numbers.tolist(), questions.train.scenes.tolist(), strict=True)
    assert together == sorted(whole)
    assert 6 <= len(parts.validation) <= 14  # a fifth of 48
    assert len(parts.test) == len(questions.validation) == 20


def test_a_fraction_is_a_part_of_the_whole(config: TrainCLEVR) -> None:
    whole, half = parts_of(config, CPU), parts_of(replace(config, fraction=0.5), CPU)
    assert 18 <= len(half.train) + len(half.validation) <= 30
    assert set(asked(half.train)) <= set(asked(whole.train)) | set(asked(whole.validation))
    assert asked(half.test) == asked(whole.test)


def test_where_nothing_is_left_it_is_said_what_was_lost(
    config: TrainCLEVR, questions: VisualQuestions, tmp_path: Path
) -> None:
    with pytest.raises(NGSError, match="no questions are left to validate on; use more of the data"):
        parts_of(replace(config, validation=0.001), CPU)
    unanswered = torch.full_like(questions.validation.answers, NO_ANSWER)
    silent = replace(questions, validation=replace(questions.validation, answers=unanswered))
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
    done: Path, questions: VisualQuestions, config: TrainCLEVR, tmp_path: Path
) -> None:
    half = set(range(0, 20, 2))
    mixed = replace(
        questions,
        train=not_understood(questions.train, {1, 2, 3}),
        validation=not_understood(questions.validation, half),
    )
    path = saved(mixed, tmp_path / "mixed.ngs")
    result = finished(replace(config, data=path), tmp_path / "run")
    assert result["test"]["examples"] == 20 and result["not_understood"] in range(1, 4)

    understood = replace(questions, validation=questions.validation.select(sorted(set(range(20)) - half)))
    _, some = evaluate_run(done, saved(understood, tmp_path / "understood.ngs"))
    _, all_ = evaluate_run(done, path)
    assert isinstance(some, ProgramScores) and isinstance(all_, ProgramScores)
    assert (some.total.examples, all_.total.examples) == (10, 20)
    assert some.total.answers_right == all_.total.answers_right > 0
    assert some.total.programs_right == all_.total.programs_right


def test_the_checkpoint_is_chosen_on_validation_and_never_on_the_test(
    config: TrainCLEVR, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With scores made up: the third validation is the last of the best, though the test says otherwise."""
    test = len(parts_of(config, CPU).test)
    on_validation, on_test = iter([3, 9, 9, 4]), iter([1, 2, 3, 40])

    def made_up(_: object, part: Part) -> ProgramScores:
        right = next(on_test if len(part) == test else on_validation, 0)
        return ProgramScores(ProgramScore(100, right, None, None), {}, {})

    monkeypatch.setattr(PreparedQuestions, "measure", staticmethod(made_up))
    config = replace(config, steps=8, validate_every=2, test_curve=True)
    assert finished(config, tmp_path / "run")["chosen_step"] == 6
    rows = [row for row in read_rows(tmp_path / "run" / METRICS) if "validation" in row]
    assert [row["validation"]["answers"] for row in rows] == [0.03, 0.09, 0.09, 0.04]
    assert [row["test"]["answers"] for row in rows] == [0.01, 0.02, 0.03, 0.4]


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
    method: str, questions: VisualQuestions, config: TrainCLEVR, tmp_path: Path
) -> None:
    """Without programs, and with wrong ones, everything that was learned is the same, to the last bit."""
    config = replace(config, method=method)
    true = finished(config, tmp_path / "true")
    for name, change in (("none", without_programs), ("wrong", with_others_programs)):
        path = saved(changed(questions, change), tmp_path / f"{name}.ngs")
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


def test_supervision_needs_programs(config: TrainCLEVR, questions: VisualQuestions, tmp_path: Path) -> None:
    path = saved(changed(questions, without_programs), tmp_path / "x.ngs")
    with pytest.raises(
        NGSError, match="these examples have no labels; give data with labels, or another method"
    ):
        finished(replace(config, data=path, method="supervised"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


# Repeatable


def test_the_same_seed_gives_the_same_run_and_another_seed_another(
    config: TrainCLEVR, tmp_path: Path
) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        torch.manual_seed(len(name) + seed)  # whatever happened before
        finished(replace(config, seed=seed), tmp_path / name)
    assert facts_of(tmp_path / "one") == facts_of(tmp_path / "again")
    ones, others = weights(tmp_path / "one", CHECKPOINT), weights(tmp_path / "other", CHECKPOINT)
    learned = [name for name in ones if "embedding" in name and not name.startswith("best.")]
    assert learned and not any(torch.equal(ones[name], others[name]) for name in learned)
    assert asked(parts_of(config, CPU).train) == asked(parts_of(replace(config, seed=2), CPU).train)


# Interrupted


@pytest.mark.parametrize("events", [1, 2, 3, 5])
def test_a_run_that_is_left_goes_on_where_it_was(events: int, config: TrainCLEVR, tmp_path: Path) -> None:
    """Left at any of its signs of life: before the first checkpoint too, and after the last."""
    left_and_resumed(config, events, tmp_path)
    memory = weights(tmp_path / "straight", CHECKPOINT)
    (remembered,) = [tensor for name, tensor in memory.items() if name.endswith("memory.stored")]
    assert (remembered != PAD).any()


@pytest.mark.parametrize("method", ["m-bs", "1-bs", "reinforce", "mapo", "supervised"])
def test_every_method_goes_on_where_it_was(method: str, config: TrainCLEVR, tmp_path: Path) -> None:
    left_and_resumed(replace(config, method=method), 3, tmp_path)


def left_and_resumed(config: TrainCLEVR, events: int, folder: Path) -> None:
    finished(config, folder / "straight")
    running = train(config, folder / "left")
    for _ in range(events):
        next(running)
    running.close()  # type: ignore[attr-defined]
    assert (folder / "left" / CHECKPOINT).exists() == (events >= 2)
    torch.manual_seed(1000)  # whatever happened in between
    finished(config, folder / "left", resume=True)
    assert facts_of(folder / "left") == facts_of(folder / "straight")


def test_resuming_what_is_finished_changes_nothing(done: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(done, folder)
    finished(load_config(folder).settings, folder, resume=True)
    assert facts_of(folder) == facts_of(done)


# What is refused


def test_the_checkpoint_of_another_configuration_is_refused(
    done: Path, config: TrainCLEVR, tmp_path: Path
) -> None:
    finished(replace(config, steps=1), tmp_path / "other")
    shutil.copytree(done, tmp_path / "copy")
    shutil.copy(tmp_path / "other" / CHECKPOINT, tmp_path / "copy" / CHECKPOINT)
    with pytest.raises(DataError, match=r"safetensors is of another configuration \(.*steps, .*differ\)"):
        finished(load_config(tmp_path / "copy").settings, tmp_path / "copy", resume=True)
    with pytest.raises(NGSError, match="copy was trained with other settings; resume it with its own"):
        finished(config, tmp_path / "copy", resume=True)


def test_other_data_in_the_same_place_is_noticed(
    config: TrainCLEVR, questions: VisualQuestions, tmp_path: Path
) -> None:
    """Even where it differs in a single answer."""
    config = replace(config, data=saved(questions, tmp_path / "x.ngs"))
    running = train(config, tmp_path / "run")
    while not (tmp_path / "run" / CHECKPOINT).exists():
        next(running)
    running.close()  # type: ignore[attr-defined]
    answers = questions.train.answers.clone()
    answers[5] = (answers[5] + 1) % 28
    saved(replace(questions, train=replace(questions.train, answers=answers)), tmp_path / "x.ngs")
    with pytest.raises(DataError, match=r"x\.ngs is not what .*run was trained on so far"):
        finished(config, tmp_path / "run", resume=True)


@pytest.fixture(scope="module")
def formulas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of the other task, and its data next to it."""
    folder = tmp_path_factory.mktemp("formulas")
    packed_formulas.write(folder / "x.ngs", embedded(train=40, test=10, lengths={1: 1.0}))
    config = TrainHWF(data=str(folder / "x.ngs"), steps=1, batch_size=8, validate_every=1, validation=0.2)
    finished(config, folder / "run")
    return folder / "run"


def test_the_files_of_the_other_task_are_refused(
    done: Path, formulas: Path, config: TrainCLEVR, tmp_path: Path
) -> None:
    shutil.copytree(done, tmp_path / "copy")
    shutil.copy(formulas / CHECKPOINT, tmp_path / "copy" / CHECKPOINT)
    with pytest.raises(DataError, match=r"is of another configuration \(task, .*differ\)"):
        finished(load_config(tmp_path / "copy").settings, tmp_path / "copy", resume=True)
    shutil.copy(formulas / BEST, tmp_path / "copy" / BEST)
    with pytest.raises(DataError, match=r"best\.safetensors is no network of `ngs train clevr`: it has"):
        evaluate_run(tmp_path / "copy")
    shutil.copytree(formulas, tmp_path / "formulas")
    shutil.copy(done / BEST, tmp_path / "formulas" / BEST)
    with pytest.raises(
        DataError, match=r"best\.safetensors is no network of `ngs train hwf`: it has no symbols"
    ):
        hwf.load_network(tmp_path / "formulas")
    with pytest.raises(DataError, match="run was trained on hwf; give a run of `ngs train clevr`"):
        load_reader(formulas)
    with pytest.raises(DataError, match=r"x\.ngs is a packed data set of handwritten formulas, not a packed"):
        finished(replace(config, data=str(formulas.parent / "x.ngs")), tmp_path / "run")
    with pytest.raises(DataError, match=r"x\.ngs is a packed data set of handwritten formulas, not a packed"):
        evaluate_run(done, str(formulas.parent / "x.ngs"))
    assert not (tmp_path / "run").exists()


def test_a_loss_that_is_no_number_ends_the_run(config: TrainCLEVR, tmp_path: Path) -> None:
    """The network that draws its own programs too: nothing can be drawn from what is no number."""
    config = replace(config, learning_rate=3e37, schedule="constant", averaging=0.0, validate_every=7)
    with pytest.raises(NGSError, match="the loss is nan at step 7; lower the learning rate"):
        finished(config, tmp_path / "run")
    assert not (tmp_path / "run" / CHECKPOINT).exists() and not (tmp_path / "run" / RESULT).exists()


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
    data, refused = VisualQuestions.of("other", [SCENE], records, records)
    assert not refused
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
    assert (scores.total.answers_right, scores.total.programs_right) == (right, same) and right > 0


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
