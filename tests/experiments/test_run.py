"""Runs of any task: what is in their folder, what they learn from, and what they choose their network by."""

import gc
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import ref

import pytest
import torch

from ngs.errors import DataError, NGSError
from ngs.experiments import record
from ngs.experiments.environment import commit, environment
from ngs.experiments.record import read_rows
from ngs.experiments.run import LOG_EVERY, evaluate_run, spared
from ngs.learning import tensor_file
from ngs.learning.loop import Trainer
from ngs.tasks.run_folder import (
    A_NETWORK,
    BEST,
    CHECKPOINT,
    CONFIG,
    EARLY,
    ENVIRONMENT,
    METRICS,
    RESULT,
    Configured,
    load_config,
    remove,
)
from tests.experiments.short_runs import CPU, TESTED, Short, Straight, same_tensors, weights, write_sums
from tests.experiments.training import facts_of


def result_of(folder: Path) -> Any:
    return json.loads((folder / RESULT).read_text())


# What a run leaves


@pytest.mark.parametrize("share, told", [(0.05, True), (0.2, True), (0.25, False)])
def test_a_choice_by_few_examples_is_told_before_the_first_step_and_recorded(
    share: float, told: bool, sums: Short, tmp_path: Path
) -> None:
    """Of 80 examples, 20 are enough."""
    remarks: list[str] = []
    events = sums.but(validation=share, steps=1).train(tmp_path / "run", remark=remarks.append)
    next(events)
    number = round(80 * share)
    assert remarks == told * [
        f"the validation part has fewer than 20 examples ({number}), so which network is chosen is left to "
        f"chance; raise --validation, or use more data"
    ]
    *_, last = events
    assert last.row["chosen_by"] == number


@pytest.mark.parametrize("batch_size, epochs", [(16, 0.75), (64, 3.0), (1000, 3.0)])
def test_epochs_count_the_examples_that_were_seen(
    batch_size: int, epochs: float, sums: Short, tmp_path: Path
) -> None:
    """A batch has no more than all 64 of them."""
    assert sums.but(steps=3, batch_size=batch_size).finished(tmp_path / "run")["epochs"] == epochs


def test_the_folder_says_what_ran_and_what_came_of_it(short: Short, done: Path) -> None:
    assert {path.name for path in done.iterdir()} == {
        *(CONFIG, ENVIRONMENT, METRICS, CHECKPOINT, EARLY, BEST, RESULT),
        record.TENSORBOARD,
    }
    settings, parts, result = short.settings, short.prepared().parts, result_of(done)
    assert load_config(done, short.task) == Configured(short.task, settings)
    assert (result["data"], result["digest"]) == (parts.data.name, parts.data.digest)
    assert result["method"] == settings.method and result["training_seconds"] > 0
    assert (result["test"]["examples"], result["chosen_by"]) == (TESTED, len(parts.validation.examples))
    view = short.task.metrics
    measured = {"examples", *view.shares, *view.groups}
    assert result["test"].keys() == result["validation"].keys() == measured
    rows = read_rows(done / METRICS)
    training = [row for row in rows if "loss" in row]
    validating = [row for row in rows if "validation" in row]
    every, steps = settings.validate_every, settings.steps
    validated = [*range(every, steps, every), steps]
    assert [row["step"] for row in validating] == validated
    assert [row["step"] for row in training] == sorted({*validated, *range(LOG_EVERY, steps, LOG_EVERY)})
    assert {"step", "lesson", "learning_rate", "loss", "seconds"} < training[0].keys()
    tested = {"test"} if settings.test_curve else set()
    assert validating[0].keys() == {"step", "seconds", "validation", *tested}
    assert all(row[name].keys() == measured for row in validating for name in {"validation", *tested})
    seconds = [row["seconds"] for row in rows]
    assert seconds == sorted(seconds)


def test_the_environment_is_written_down(sums: Short, straight: Straight) -> None:
    facts = json.loads((straight(sums) / ENVIRONMENT).read_text())
    assert facts.keys() == environment(CPU).keys()
    assert facts["device"] == "cpu" and facts["command"] is None  # nobody typed one
    assert facts["packages"]["torch"] == torch.__version__
    assert facts["threads"] == torch.get_num_threads()
    here = commit()
    assert here is None or len(here.removesuffix("+")) == 40


def test_progress_is_told_as_it_is_recorded(sums: Short, tmp_path: Path) -> None:
    events = list(sums.train(tmp_path / "run"))
    assert [event.row for event in events[:-1]] == read_rows(tmp_path / "run" / METRICS)
    assert [event.step for event in events] == [6, 6, 10, 12, 12, 12]
    assert {event.steps for event in events} == {12}
    assert events[-1].row == result_of(tmp_path / "run")


def test_what_a_run_is_made_of_is_not_searched_for_garbage(sums: Short, tmp_path: Path) -> None:
    events = sums.train(tmp_path / "run")
    assert gc.get_freeze_count() == 0
    next(events)
    assert not any(isinstance(each, Trainer) for each in gc.get_objects())  # which lists what is searched
    events.close()  # type: ignore[attr-defined]
    assert gc.get_freeze_count() == 0


def test_the_network_of_a_run_can_be_used_again(short: Short, done: Path) -> None:
    result = result_of(done)
    name, scores = evaluate_run(done, task=short.task)
    assert name == result["data"] and scores.as_facts() == result["test"]
    prepared = short.prepared()
    network = prepared.network()
    network.load_state_dict(weights(done))
    assert prepared.validate(network).as_facts() == result["validation"]
    for kept, step in ((BEST, result["chosen_step"]), (EARLY, short.settings.validate_every)):
        assert tensor_file.load(done / kept, A_NETWORK, "")[1]["step"] == step


def test_no_steps_leave_the_network_as_it_began(short: Short, tmp_path: Path) -> None:
    begun = short.but(steps=0)
    result = begun.finished(tmp_path / "run")
    assert result["chosen_step"] == 0 and result["test"]["examples"] == TESTED
    torch.manual_seed(short.settings.seed)
    assert same_tensors(begun.prepared().network().state_dict(), weights(tmp_path / "run"))


def test_the_same_seed_gives_the_same_run_and_another_seed_another(
    short: Short, done: Path, tmp_path: Path
) -> None:
    for name, seed in (("again", 1), ("other", 2)):
        torch.manual_seed(len(name) + seed)  # whatever happened before
        short.but(seed=seed).finished(tmp_path / name)
    assert facts_of(done) == facts_of(tmp_path / "again")
    ones, others = weights(done, CHECKPOINT), weights(tmp_path / "other", CHECKPOINT)
    learned = [name for name in ones if name.endswith("weight") and not name.startswith("best.")]
    assert learned and not any(torch.equal(ones[name], others[name]) for name in learned)


# What it learns from, chooses by and is tested on


def test_the_parts_share_nothing_and_depend_on_the_data_alone(short: Short) -> None:
    parts, others = short.prepared().parts, short.but(seed=7, method="1-bs").prepared().parts
    names = ("train", "validation", "test")
    learned, chosen_by, tested = seen = [short.shown(getattr(parts, name)) for name in names]
    assert seen == [short.shown(getattr(others, name)) for name in names]
    assert not set(learned) & set(chosen_by)
    if short.what != "questions":  # which are numbered anew in the test part
        assert not set(learned + chosen_by) & set(tested)
    sizes = [len(each.examples) for each in (parts.train, parts.validation, parts.test)]
    assert sum(sizes[:2]) == (48 if short.what == "questions" else 80) and sizes[2] == TESTED
    assert sizes[1] == pytest.approx(0.2 * sum(sizes[:2]), abs=5)


def test_a_fraction_is_a_part_of_the_whole(short: Short) -> None:
    whole, half = short.prepared().parts, short.but(fraction=0.5).prepared().parts
    everything, less = (
        [*short.shown(parts.train), *short.shown(parts.validation)] for parts in (whole, half)
    )
    assert set(less) <= set(everything) and len(less) == pytest.approx(len(everything) / 2, rel=0.25)
    assert short.shown(half.test) == short.shown(whole.test)


def test_without_validation_there_is_nothing_to_choose_by(short: Short) -> None:
    with pytest.raises(NGSError, match=r"validation is 0\.0; it must be above 0"):
        short.but(validation=0.0)
    with pytest.raises(NGSError, match=f"no {short.what} are left to train on; use more of the data"):
        short.but(validation=1.0).prepared()


@pytest.mark.parametrize("name", ["formulas", "questions"])
def test_a_share_that_is_too_small_leaves_nothing(name: str, request: pytest.FixtureRequest) -> None:
    few = request.getfixturevalue(name).but(validation=0.001)
    with pytest.raises(NGSError, match=f"no {name} are left to validate on; use more of the data"):
        few.prepared()


def test_the_checkpoint_is_chosen_on_validation_and_never_on_the_test(sums: Short, tmp_path: Path) -> None:
    """The same run with a test part whose answers are all wrong picks the same network."""
    write_sums(tmp_path / "wrong.json", mistaken=20)
    long = sums.but(steps=40, validate_every=5, learning_rate=3e-2)
    honest = long.finished(tmp_path / "honest")
    misled = long.but(data=str(tmp_path / "wrong.json")).finished(tmp_path / "misled")
    assert honest["test"]["answers"] > 0 == misled["test"]["answers"]
    assert honest["chosen_step"] == misled["chosen_step"]
    assert same_tensors(weights(tmp_path / "honest"), weights(tmp_path / "misled"))

    rows = [row for row in read_rows(tmp_path / "honest" / METRICS) if "validation" in row]
    curve = [(row["validation"]["answers"], row["step"]) for row in rows]
    assert max(curve)[1] == honest["chosen_step"]  # of equals the later
    assert len({answers for answers, _ in curve}) > 1
    assert honest["validation"]["answers"] == max(curve)[0]


@dataclass(frozen=True)
class MadeUp:
    accuracy: float

    def as_facts(self) -> dict[str, Any]:
        return {"accuracy": self.accuracy}


def test_of_equally_good_networks_the_later_is_kept(
    short: Short, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With scores made up: the third validation is the last of the best, though the test says otherwise."""
    on_validation, on_test = iter([0.03, 0.09, 0.09, 0.04]), iter([0.01, 0.02, 0.03, 0.4])

    def made_up(network: object, part: Any) -> MadeUp:
        return MadeUp(next(on_test if len(part.examples) == TESTED else on_validation, 0.0))

    monkeypatch.setattr(type(short.prepared()), "measure", staticmethod(made_up))
    asked = short.but(steps=8, validate_every=2, test_curve=True)
    assert asked.finished(tmp_path / "run")["chosen_step"] == 6
    rows = [row for row in read_rows(tmp_path / "run" / METRICS) if "validation" in row]
    assert [row["validation"]["accuracy"] for row in rows] == [0.03, 0.09, 0.09, 0.04]
    assert [row["test"]["accuracy"] for row in rows] == [0.01, 0.02, 0.03, 0.4]


def test_more_tests_at_the_beginning_change_nothing_else(short: Short, tmp_path: Path) -> None:
    plain = short.but(steps=20, validate_every=5, test_curve=True)
    grown = plain.but(test_growth=1.5)
    plain.finished(tmp_path / "plain")
    grown.finished(tmp_path / "grown")

    def tested(name: str) -> dict[int, Any]:
        return {row["step"]: row["test"] for row in read_rows(tmp_path / name / METRICS) if "test" in row}

    assert list(tested("plain")) == [5, 10, 15, 20]
    assert list(tested("grown")) == [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 20]
    assert tested("plain").items() <= tested("grown").items()
    same = ("best", "early", "result", "choice", "checkpoint")
    plain_facts, grown_facts = facts_of(tmp_path / "plain"), facts_of(tmp_path / "grown")
    assert [plain_facts[name] for name in same] == [grown_facts[name] for name in same]
    (tmp_path / "plain" / RESULT).unlink()
    grown.finished(tmp_path / "plain", resume=True)
    assert facts_of(tmp_path / "plain")["result"] == grown_facts["result"]


# What is refused


def test_a_folder_that_holds_a_run_is_not_written_over(short: Short, done: Path) -> None:
    before = facts_of(done)
    with pytest.raises(NGSError, match="already holds a run; --resume it, --overwrite it, or choose another"):
        short.finished(done)
    assert facts_of(done) == before


@pytest.mark.parametrize("method", ["posterior", "1-bs", "supervised"])
@pytest.mark.parametrize("name, rate", [("formulas", 1e30), ("questions", 3e37)])
def test_a_loss_that_is_no_number_ends_the_run(
    method: str, name: str, rate: float, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The network that draws its own programs too: nothing can be drawn from what is no number."""
    short = request.getfixturevalue(name)
    asked = short.but(method=method, learning_rate=rate, schedule="constant", averaging=0.0, steps=7)
    with pytest.raises(NGSError, match="the loss is nan at step 7; lower the learning rate"):
        asked.but(validate_every=7).finished(tmp_path / "run")
    assert not (tmp_path / "run" / CHECKPOINT).exists()
    assert not (tmp_path / "run" / RESULT).exists()


def test_a_missing_data_set_is_named(formulas: Short, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.ngs: there is no such file"):
        formulas.but(data="nothing.ngs").finished(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_removing_a_run_leaves_what_else_is_there(sums: Short, straight: Straight, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(straight(sums), folder)
    (folder / "notes.txt").write_text("mine")
    remove(folder)
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["notes.txt"]
    sums.finished(folder)  # there is room for another


# What is searched for garbage


class Loop:
    """Garbage that only a search finds."""

    def __init__(self) -> None:
        self.itself = self


def test_what_exists_is_spared_until_the_end() -> None:
    before = gc.get_freeze_count()
    with spared() as spare:
        first = gc.get_freeze_count()
        assert first > before
        later = [Loop()]
        assert gc.get_freeze_count() == first and any(each is later for each in gc.get_objects())
        spare()
        assert gc.get_freeze_count() > first and not any(each is later for each in gc.get_objects())
    assert gc.get_freeze_count() == 0


def test_an_error_ends_it_too() -> None:
    with pytest.raises(ValueError, match="stop"), spared():
        raise ValueError("stop")
    assert gc.get_freeze_count() == 0


def test_only_what_existed_waits_for_the_end() -> None:
    existed = Loop()
    old = ref(existed)
    with spared():
        made = Loop()
        new = ref(made)
        del existed, made
        gc.collect()
        assert old() is not None and new() is None
    gc.collect()
    assert old() is None
