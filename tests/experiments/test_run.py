"""Runs: what is in their folder, that killing one costs nothing, and that nothing damaged is gone on with."""

from __future__ import annotations

import gc
import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from ngs.errors import DataError, NGSError
from ngs.experiments import record
from ngs.experiments.environment import commit, environment
from ngs.experiments.record import Record, read_rows
from ngs.experiments.run import evaluate_run
from ngs.learning import tensor_file
from ngs.learning.loop import Trainer
from ngs.learning.methods import METHODS
from ngs.learning.metrics import Score, Scores, measure
from ngs.search.judges import TableJudge
from ngs.search.reasoner import Reasoner
from ngs.tasks.hwf import packed
from ngs.tasks.hwf import preparation as hwf
from ngs.tasks.hwf.dataset import GRAMMAR, SIDE, Formulas
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.modular_arithmetic import ModularJudge
from ngs.tasks.hwf.preparation import load_network, parts_of
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.run_folder import (
    A_NETWORK,
    BEST,
    CHECKPOINT,
    CONFIG,
    EARLY,
    ENVIRONMENT,
    METRICS,
    RESULT,
    load_config,
    remove,
)
from tests.experiments.finished_runs import facts_of, finished
from tests.experiments.training import as_facts, train

ROOT = Path(__file__).parents[2]
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A packed file of few and short formulas."""
    path = tmp_path_factory.mktemp("data") / "tiny.ngs"
    packed.write(path, embedded(train=80, test=20, lengths={1: 0.5, 3: 0.5}))
    return str(path)


@pytest.fixture
def config(data: str) -> TrainHWF:
    """With everything that a checkpoint has to keep; checkpoints do not fall on lines of the record."""
    return TrainHWF(
        data=data,
        method="m-bs",
        steps=12,
        validate_every=5,
        batch_size=8,
        learning_rate=1e-2,
        averaging=0.5,
        augment=True,
        validation=0.2,
        seed=1,
    )


@pytest.fixture(scope="module")
def done(data: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run that may be looked at; whoever changes something copies it."""
    folder = tmp_path_factory.mktemp("runs") / "done"
    finished(TrainHWF(data=data, steps=20, validate_every=10, batch_size=16, validation=0.2), folder)
    return folder


# What a run leaves.


@pytest.mark.parametrize("share, told", [(0.05, True), (0.2, True), (0.25, False)])
def test_a_choice_by_few_examples_is_told_before_the_first_step_and_recorded(
    config: TrainHWF, tmp_path: Path, share: float, told: bool
) -> None:
    """Of 80 formulas, 20 are enough."""
    remarks: list[str] = []
    config = replace(config, validation=share, steps=1)
    number = len(parts_of(config, CPU).validation.examples)
    events = train(config, tmp_path / "run", remark=remarks.append)
    next(events)
    assert remarks == told * [
        f"the validation part has fewer than 20 examples ({number}), so which network is chosen is left to "
        f"chance; raise --validation, or use more data"
    ]
    *_, last = events
    assert last.row["chosen_by"] == number


@pytest.mark.parametrize("batch_size, epochs", [(16, 0.75), (64, 3.0), (1000, 3.0)])
def test_epochs_count_the_examples_that_were_seen(
    config: TrainHWF, tmp_path: Path, batch_size: int, epochs: float
) -> None:
    """A batch has no more than all 64 of them."""
    result = finished(replace(config, steps=3, batch_size=batch_size), tmp_path / "run")
    assert result["epochs"] == epochs


def test_the_folder_says_what_ran_and_what_came_of_it(done: Path, data: str) -> None:
    assert {path.name for path in done.iterdir()} == {
        *(CONFIG, ENVIRONMENT, METRICS, CHECKPOINT, EARLY, BEST, RESULT),
        record.TENSORBOARD,
    }
    assert load_config(done).settings == TrainHWF(
        data=data, steps=20, validate_every=10, batch_size=16, validation=0.2
    )
    result = json.loads((done / RESULT).read_text())
    assert result["data"] == "embedded" and result["method"] == "posterior"
    assert result["test"]["examples"] == 20
    assert result["training_seconds"] > 0
    assert set(result["test"]["by_length"]) == {"1", "3"}
    rows = read_rows(done / METRICS)
    training = [row for row in rows if "loss" in row]
    validating = [row for row in rows if "validation" in row]
    assert [row["step"] for row in training] == [row["step"] for row in validating] == [10, 20]
    assert set(training[0]) == {"step", "lesson", "learning_rate", "loss", "found", "seconds"}
    assert set(validating[0]) == {"step", "seconds", "validation"}
    assert set(validating[0]["validation"]) == {"examples", "calculation", "formula", "symbol", "by_length"}
    seconds = [row["seconds"] for row in rows]
    assert seconds == sorted(seconds)


def test_the_environment_is_written_down(done: Path) -> None:
    facts = json.loads((done / ENVIRONMENT).read_text())
    assert facts.keys() == environment(CPU).keys()
    assert facts["device"] == "cpu" and facts["command"] is None  # nobody typed one
    assert facts["packages"]["torch"] == torch.__version__
    assert facts["threads"] == torch.get_num_threads()
    here = commit()
    assert here is None or len(here.removesuffix("+")) == 40


def test_progress_is_told_as_it_is_recorded(config: TrainHWF, tmp_path: Path) -> None:
    events = list(train(config, tmp_path / "run"))
    assert [event.row for event in events[:-1]] == read_rows(tmp_path / "run" / METRICS)
    assert [event.step for event in events] == [5, 5, 10, 10, 12, 12, 12]
    assert {event.steps for event in events} == {12}
    assert events[-1].row == json.loads((tmp_path / "run" / RESULT).read_text())


def test_what_a_run_is_made_of_is_not_searched_for_garbage(config: TrainHWF, tmp_path: Path) -> None:
    events = train(config, tmp_path / "run")
    assert gc.get_freeze_count() == 0
    next(events)
    assert not any(isinstance(each, Trainer) for each in gc.get_objects())  # which lists what is searched
    events.close()  # type: ignore[attr-defined]
    assert gc.get_freeze_count() == 0


def test_the_network_of_a_run_can_be_used_again(done: Path) -> None:
    network = load_network(done)
    assert not network.training
    assert network(torch.rand(2, 1, SIDE, SIDE)).shape == (2, len(GRAMMAR.symbols))
    result = json.loads((done / RESULT).read_text())
    name, scores = evaluate_run(done)
    assert name == "embedded" and scores.as_facts() == result["test"]
    validation = parts_of(load_config(done).settings, CPU).validation
    assert measure(network, validation).as_facts() == result["validation"]
    _, facts = tensor_file.load(done / BEST, A_NETWORK, "")
    assert facts["step"] == result["chosen_step"]
    _, early = tensor_file.load(done / EARLY, A_NETWORK, "")
    assert early["step"] == 10
    load_network(done, EARLY)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_run(method: str, config: TrainHWF, tmp_path: Path) -> None:
    result = finished(replace(config, method=method, steps=3), tmp_path / "run")
    assert result["method"] == method
    rows = read_rows(tmp_path / "run" / METRICS)
    assert rows[0]["lesson"] == method and rows[0]["step"] == 3


def test_pretraining_comes_first_and_ends_when_it_is_enough(config: TrainHWF, tmp_path: Path) -> None:
    config = replace(config, pretrain=0.3, pretrain_formulas=20, augment=False, averaging=0.0)
    events = list(train(config, tmp_path / "run"))
    assert events[0].steps == 12 + hwf.PRETRAIN_STEPS
    lessons = [event.row["lesson"] for event in events if "lesson" in event.row]
    assert set(lessons) == {"pretrain", "m-bs"} and lessons == sorted(lessons, reverse=True)
    assert 12 < events[-1].step < 300
    assert events[-1].step - 12 > 0 and (events[-1].step - 12) % 5 == 0


def test_no_steps_leave_the_network_as_it_began(config: TrainHWF, tmp_path: Path) -> None:
    result = finished(replace(config, steps=0), tmp_path / "run")
    assert result["chosen_step"] == 0 and result["test"]["examples"] == 20
    torch.manual_seed(config.seed)
    begun = hwf.NETWORKS[config.network](len(GRAMMAR.symbols)).state_dict()
    for name, tensor in load_network(tmp_path / "run").state_dict().items():
        assert torch.equal(tensor, begun[name])


# What it learns from, chooses by and is tested on.


def test_the_parts_share_nothing_and_depend_on_the_data_alone(config: TrainHWF) -> None:
    parts, other = parts_of(config, CPU), parts_of(replace(config, seed=7, method="1-bs"), CPU)
    rows = []
    for part, same in zip(
        (parts.train, parts.validation, parts.test), (other.train, other.validation, other.test), strict=True
    ):
        assert torch.equal(part.examples.inputs.where, same.examples.inputs.where)
        rows.append(set(part.examples.inputs.where.flatten().tolist()) - {-1})
    assert not rows[0] & rows[1] and not rows[0] & rows[2] and not rows[1] & rows[2]
    assert len(parts.train.examples) == 64 and len(parts.validation.examples) == 16


def test_a_fraction_is_a_part_of_the_whole(config: TrainHWF) -> None:
    whole, half = parts_of(config, CPU), parts_of(replace(config, fraction=0.5), CPU)
    assert len(half.train.examples) + len(half.validation.examples) == 40
    assert len(half.test.examples) == len(whole.test.examples)


def test_lengths_restrict_all_parts(config: TrainHWF) -> None:
    parts = parts_of(replace(config, lengths=(3,)), CPU)
    for part in (parts.train, parts.validation, parts.test):
        assert set(part.examples.lengths.tolist()) == {3}
    assert set(parts_of(replace(config, lengths=(1, 2, 9)), CPU).train.examples.lengths) == {1}
    with pytest.raises(NGSError, match="no formulas are left to train on"):
        parts_of(replace(config, lengths=(2,)), CPU)


@pytest.fixture(scope="module")
def all_symbols(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A packed file with images of every symbol in both parts."""
    path = tmp_path_factory.mktemp("data") / "all.ngs"
    packed.write(path, embedded(train=80, test=60, lengths={3: 1.0}))
    return str(path)


def test_new_formulas_take_the_place_of_those_of_the_data(all_symbols: str, config: TrainHWF) -> None:
    """As many as before, in equal shares of all lengths, and the same whatever else is set."""
    asked = replace(config, data=all_symbols, longest=11)
    parts, other = parts_of(asked, CPU), parts_of(replace(asked, seed=7, method="1-bs"), CPU)
    assert isinstance(parts.train.judge, ModularJudge) and isinstance(parts.test.judge, ModularJudge)
    assert len(parts.train.examples) + len(parts.validation.examples) == 80
    counted = Counter(parts.test.examples.lengths.tolist())
    assert counted == {1: 10, 3: 10, 5: 10, 7: 10, 9: 10, 11: 10}
    assert parts.data.digest == other.data.digest != packed.read(Path(all_symbols)).digest
    assert parts.data.digest != parts_of(replace(asked, longest=3), CPU).data.digest
    assert isinstance(parts_of(replace(asked, longest=3), CPU).train.judge, TableJudge)


@pytest.mark.parametrize("method", ["m-bs", "1-bs"])
def test_formulas_too_long_for_tables_can_be_learned_from(
    method: str, all_symbols: str, config: TrainHWF, tmp_path: Path
) -> None:
    asked = replace(config, data=all_symbols, method=method, longest=15, steps=3)
    result = finished(asked, tmp_path / "run")
    assert result["digest"] == parts_of(asked, CPU).data.digest
    assert set(result["test"]["by_length"]) == {str(length) for length in range(1, 16, 2)}
    name, scores = evaluate_run(tmp_path / "run")
    assert name == "embedded, new formulas" and scores.as_facts() == result["test"]
    name, scores = evaluate_run(tmp_path / "run", all_symbols)  # other data are read as they are
    assert name == "embedded" and set(scores.by_length) == {3}


def test_without_validation_there_is_nothing_to_choose_by(config: TrainHWF) -> None:
    with pytest.raises(NGSError, match=r"validation is 0\.0; it must be above 0"):
        replace(config, validation=0.0)
    with pytest.raises(NGSError, match="no formulas are left to validate on"):
        parts_of(replace(config, validation=0.001), CPU)


def test_the_checkpoint_is_chosen_on_validation_and_never_on_the_test(
    data: str, config: TrainHWF, tmp_path: Path
) -> None:
    """The same run with a test part whose answers are all wrong picks the same network."""
    formulas = packed.read(Path(data))
    wrong = tuple(Fraction(k + 2, 97) for k in range(len(formulas.test)))
    mislabelled = replace(formulas, test=Formulas(formulas.test.where, wrong, formulas.test.names))
    packed.write(tmp_path / "wrong.ngs", mislabelled)
    config = replace(config, method="posterior", steps=40, validate_every=5, learning_rate=3e-2)
    honest = finished(config, tmp_path / "honest")
    misled = finished(replace(config, data=str(tmp_path / "wrong.ngs")), tmp_path / "misled")
    assert honest["test"]["calculation"] > 0 == misled["test"]["calculation"]
    assert honest["chosen_step"] == misled["chosen_step"]
    weights = [tensor_file.load(tmp_path / name / BEST, A_NETWORK, "")[0] for name in ("honest", "misled")]
    assert all(torch.equal(tensor, weights[1][name]) for name, tensor in weights[0].items())

    curve = [
        (row["validation"]["calculation"], row["step"])
        for row in read_rows(tmp_path / "honest" / METRICS)
        if "validation" in row
    ]
    assert max(curve)[1] == honest["chosen_step"]  # of equals the later
    assert len({calculation for calculation, _ in curve}) > 1
    assert honest["validation"]["calculation"] == max(curve)[0]


def test_of_equally_good_networks_the_later_is_kept(
    config: TrainHWF, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With scores made up: the third validation is the last of the best, though the test says otherwise."""
    on_validation, on_test = iter([3, 9, 9, 4]), iter([1, 2, 3, 40])

    def made_up(network: object, reasoner: Reasoner) -> Scores:
        right = next(on_validation if len(reasoner.examples) == 16 else on_test, 0)
        return Scores({1: Score(100, 100, right, None, None)})

    monkeypatch.setattr(hwf.PreparedFormulas, "measure", staticmethod(made_up))
    config = replace(config, steps=20, test_curve=True)
    assert finished(config, tmp_path / "run")["chosen_step"] == 15
    rows = [row for row in read_rows(tmp_path / "run" / METRICS) if "validation" in row]
    assert [row["validation"]["calculation"] for row in rows] == [0.03, 0.09, 0.09, 0.04]
    assert [row["test"]["calculation"] for row in rows] == [0.01, 0.02, 0.03, 0.4]


def test_more_tests_at_the_beginning_change_nothing_else(config: TrainHWF, tmp_path: Path) -> None:
    plain = replace(config, steps=20, test_curve=True)
    finished(plain, tmp_path / "plain")
    finished(replace(plain, test_growth=1.5), tmp_path / "grown")

    def tested(name: str) -> dict[int, Any]:
        return {row["step"]: row["test"] for row in read_rows(tmp_path / name / METRICS) if "test" in row}

    assert list(tested("plain")) == [5, 10, 15, 20]
    assert list(tested("grown")) == [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 20]
    assert tested("plain").items() <= tested("grown").items()
    same = ("best", "early", "result", "choice", "checkpoint")
    plain_facts, grown_facts = facts_of(tmp_path / "plain"), facts_of(tmp_path / "grown")
    assert [plain_facts[name] for name in same] == [grown_facts[name] for name in same]
    (tmp_path / "plain" / RESULT).unlink()
    finished(replace(plain, test_growth=1.5), tmp_path / "plain", resume=True)
    assert facts_of(tmp_path / "plain")["result"] == grown_facts["result"]


# A run that is interrupted.


def calls(monkeypatch: pytest.MonkeyPatch, before: Callable[[], None]) -> None:
    """Have `before` called whenever a run is about to write something."""

    def first(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            before()
            return function(*args, **kwargs)

        return call

    monkeypatch.setattr(tensor_file, "save", first(tensor_file.save))
    for name in ("add", "write", "open"):
        monkeypatch.setattr(Record, name, first(getattr(Record, name)))


class PowerCutError(Exception):
    pass


def test_a_crash_before_any_write_costs_nothing(config: TrainHWF, tmp_path: Path) -> None:
    """The run is stopped before its first, second, ... write, and resumed: always the same files."""
    config = replace(config, pretrain=1.0, steps=6, validate_every=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hwf, "PRETRAIN_STEPS", 3)
        counted = []
        with pytest.MonkeyPatch.context() as counting:
            calls(counting, lambda: counted.append(1))
            finished(config, tmp_path / "straight")
        expected = facts_of(tmp_path / "straight")
        assert len(counted) > 12
        for number in range(len(counted)):
            folder = tmp_path / str(number)
            left = iter(range(number))

            def cut(left: Iterator[int] = left) -> None:
                if next(left, None) is None:
                    raise PowerCutError

            with pytest.MonkeyPatch.context() as cutting, pytest.raises(PowerCutError):
                calls(cutting, cut)
                finished(config, folder)
            torch.manual_seed(1000 + number)  # whatever happened in between
            finished(config, folder, resume=(folder / CONFIG).exists())
            assert facts_of(folder) == expected, number


@pytest.mark.parametrize("method", ["posterior", "reinforce", "mapo"])
def test_a_run_that_is_left_goes_on_where_it_was(method: str, config: TrainHWF, tmp_path: Path) -> None:
    config = replace(config, method=method)
    finished(config, tmp_path / "straight")
    events = train(config, tmp_path / "left")
    for _ in range(3):
        next(events)
    events.close()  # type: ignore[attr-defined]
    finished(config, tmp_path / "left", resume=True)
    assert facts_of(tmp_path / "left") == facts_of(tmp_path / "straight")


def test_a_killed_run_goes_on_where_it_was(config: TrainHWF, tmp_path: Path) -> None:
    """kill -9 at a random moment of training, in a process of its own."""
    seed = time.time_ns() % 1000
    print(f"seed {seed}")
    config = replace(config, steps=40)
    folder = tmp_path / "killed"
    command = [sys.executable, "-m", "tests.experiments.one_run", json.dumps(as_facts(config)), str(folder)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    lines = Random(seed).randrange(0, 15)
    begin = time.monotonic()
    try:
        while time.monotonic() < begin + 60 and process.poll() is None:
            path = folder / METRICS
            if path.exists() and path.read_bytes().count(b"\n") >= lines:
                break
            time.sleep(0.002)
        time.sleep(Random(seed).random() * 0.03)
    finally:
        process.kill()
    errors = process.communicate()[1]
    assert process.returncode in (-9, 0), errors
    assert (folder / CONFIG).exists(), errors
    print(f"killed after {lines} lines, with result: {(folder / RESULT).exists()}")
    finished(config, folder, resume=True)
    finished(config, tmp_path / "straight")
    assert facts_of(folder) == facts_of(tmp_path / "straight")


def test_resuming_what_is_finished_changes_nothing(done: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(done, folder)
    finished(load_config(folder).settings, folder, resume=True)
    assert facts_of(folder) == facts_of(done)


def test_the_seconds_of_a_resumed_run_add_up(config: TrainHWF, tmp_path: Path) -> None:
    events = train(config, tmp_path)
    for _ in range(4):
        before = next(events)
    events.close()  # type: ignore[attr-defined]
    result = finished(config, tmp_path, resume=True)
    assert result["training_seconds"] > before.row["seconds"] > 0


# What is refused.


def test_a_folder_that_holds_a_run_is_not_written_over(done: Path) -> None:
    before = facts_of(done)
    with pytest.raises(NGSError, match="already holds a run; --resume it, --overwrite it, or choose another"):
        finished(load_config(done).settings, done)
    assert facts_of(done) == before


def test_a_run_is_resumed_with_its_own_configuration(done: Path) -> None:
    with pytest.raises(NGSError, match="was trained with other settings; resume it with its own"):
        finished(replace(load_config(done).settings, seed=99), done, resume=True)


def test_where_there_is_no_run_there_is_nothing_to_resume(config: TrainHWF, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"config\.json cannot be read: No such file .*; give the folder of a run"
    ):
        finished(config, tmp_path / "nowhere", resume=True)


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def a_text(path: Path) -> None:
    path.write_text("Dear diary, today I trained a network. " * 100)


@pytest.mark.parametrize("spoil", [flipped, cut_short, emptied, a_text])
@pytest.mark.parametrize("name", [CHECKPOINT, BEST])
def test_what_is_damaged_is_refused_by_name(
    spoil: Callable[[Path], None], name: str, done: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(done, folder)
    spoil(folder / name)
    with pytest.raises(DataError, match=name):
        if name == CHECKPOINT:
            finished(load_config(folder).settings, folder, resume=True)
        else:
            load_network(folder)


def test_other_files_are_refused_by_name(done: Path, data: str, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(done, folder)
    config = load_config(folder).settings
    shutil.copy(data, folder / CHECKPOINT)
    with pytest.raises(DataError, match=r"checkpoint\.safetensors is .*, not an NGS checkpoint"):
        finished(config, folder, resume=True)
    shutil.copy(done / BEST, folder / CHECKPOINT)
    with pytest.raises(DataError, match=r"checkpoint\.safetensors is a trained NGS network, not an NGS ch"):
        finished(config, folder, resume=True)
    shutil.copy(done / CHECKPOINT, folder / BEST)
    with pytest.raises(DataError, match=r"best\.safetensors is an NGS checkpoint, not a trained NGS network"):
        load_network(folder)


def test_the_checkpoint_of_another_configuration_is_refused_by_name(
    done: Path, config: TrainHWF, tmp_path: Path
) -> None:
    finished(config, tmp_path / "other")
    shutil.copy(tmp_path / "other" / CHECKPOINT, tmp_path / "kept")
    folder = tmp_path / "copy"
    shutil.copytree(done, folder)
    shutil.copy(tmp_path / "kept", folder / CHECKPOINT)
    with pytest.raises(DataError, match=r"checkpoint\.safetensors is of another configuration"):
        finished(load_config(folder).settings, folder, resume=True)


def test_a_network_for_other_symbols_is_refused(tmp_path: Path) -> None:
    tensor_file.save(tmp_path / BEST, A_NETWORK, {}, {"symbols": ["x", "y"], "network": "small", "step": 1})
    with pytest.raises(
        DataError, match=r"best\.safetensors is no network of `ngs train hwf`: it has other symbols"
    ):
        load_network(tmp_path)


@pytest.mark.parametrize("method", ["posterior", "1-bs", "supervised"])
def test_a_loss_that_is_no_number_ends_the_run(method: str, config: TrainHWF, tmp_path: Path) -> None:
    config = replace(config, method=method, learning_rate=1e30, schedule="constant", averaging=0.0)
    with pytest.raises(NGSError, match="the loss is nan at step 5; lower the learning rate"):
        finished(config, tmp_path / "run")
    assert not (tmp_path / "run" / CHECKPOINT).exists()
    assert not (tmp_path / "run" / RESULT).exists()


def test_a_missing_data_set_is_named(config: TrainHWF, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.ngs: there is no such file"):
        finished(replace(config, data="nothing.ngs"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_removing_a_run_leaves_what_else_is_there(done: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(done, folder)
    (folder / "notes.txt").write_text("mine")
    remove(folder)
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["notes.txt"]
    finished(load_config(done).settings, folder)  # there is room for another


def test_other_data_in_the_same_place_is_noticed(tmp_path) -> None:
    path = tmp_path / "x.ngs"
    packed.write(path, embedded(train=80, test=20))
    config = TrainHWF(data=str(path), steps=4, validate_every=2, batch_size=8)
    events = train(config, tmp_path / "run")
    while "validation" not in next(events).row:
        pass
    events.close()
    packed.write(path, embedded(seed=1, train=80, test=20))
    with pytest.raises(DataError, match=r"x\.ngs is not what .*run was trained on so far"):
        list(train(config, tmp_path / "run", resume=True))


def test_what_pretraining_made_is_not_chosen(tmp_path) -> None:
    path = tmp_path / "x.ngs"
    packed.write(path, embedded(train=80, test=20))
    config = TrainHWF(
        data=str(path),
        method="reinforce",
        steps=3,
        validate_every=1,
        batch_size=8,
        pretrain=0.6,
        pretrain_formulas=20,
    )
    rows = [event.row for event in train(config, tmp_path / "run")]
    pretrained = [row["step"] for row in rows if row.get("lesson") == "pretrain"]
    assert pretrained and rows[-1]["chosen_step"] > max(pretrained)
