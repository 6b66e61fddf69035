"""A task of one's own: `ngs.train`, its file when a run is resumed, and a task that a package adds."""

import json
import shutil
import sys
from itertools import islice
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ngs
from ngs.apps.cli import app
from ngs.errors import NGSError
from ngs.experiments.run import training
from ngs.experiments.sweep.local import run_here
from ngs.experiments.sweep.store import Store
from ngs.tasks import finding
from ngs.tasks.finding import find, installed, names
from ngs.tasks.results.job import Trained, address

TASK = '''"""Two of four letters, and which of them comes first."""

from dataclasses import dataclass

import torch

import ngs

GRAMMAR = ngs.Grammar.parse('word: letter letter -> first\\nletter: "a" | "b" | "c" | "d"')


class First(ngs.Semantics):
    first = min


def words(number, seed):
    chance = torch.Generator().manual_seed(seed)
    labels = torch.randint(4, (number, 2), generator=chance).tolist()
    seen = [torch.eye(4)[each] + 0.1 * torch.randn(2, 4, generator=chance) for each in labels]
    answers = [min(GRAMMAR.decode(each)) for each in labels]
    return ngs.Examples.of(seen, answers, labels)


@dataclass(frozen=True)
class Own(ngs.TaskSettings):
    width: int = ngs.setting(2, "Of nothing.")


task = ngs.Task(
    name="first-letter",
    grammar=GRAMMAR,
    semantics=First,
    data=lambda settings: ngs.Splits(words(500, seed=0), words(40, seed=1)),
    network=lambda settings: torch.nn.Linear(4, 4),
    settings=Own,
)
'''
FEW = {"steps": 6, "validate_every": 2, "batch_size": 8}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "letters.py").write_text(TASK)
    return tmp_path / "letters.py"


def refused(*arguments: str | Path) -> str:
    """What a command that is to fail says, in one line of its own."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("ngs: ") and result.stderr.count("\n") == 1
    return result.stderr


def done(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def begun(file: Path, run: Path) -> Path:
    """A run that was interrupted after its first validation."""
    task = find(str(file))
    for _ in islice(training(task, task.settings(**FEW), run), 3):
        pass
    assert not (run / "result.json").exists()
    return run


def test_train_returns_what_the_folder_holds(file: Path, tmp_path: Path, capsys) -> None:
    result = ngs.train(str(file), tmp_path / "run", **FEW, seed=3)
    assert result == json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["steps"] == 6 and 0 <= result["test"]["answers"] <= 1
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["task"] == "first-letter" and config["seed"] == 3 and config["steps"] == 6
    assert capsys.readouterr().out == ""


def test_train_takes_a_task_and_does_as_the_command_does(file: Path, tmp_path: Path) -> None:
    by_name = ngs.train(find(str(file)), str(tmp_path / "run"), **FEW)
    options = ["--steps", "6", "--validate-every", "2", "--batch-size", "8"]
    done("train", file, *options, "--out", tmp_path / "other")
    for name in ("best.safetensors", "config.json"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    assert by_name["test"] == json.loads((tmp_path / "other" / "result.json").read_text())["test"]


def test_train_resumes_to_the_same_network(file: Path, tmp_path: Path) -> None:
    run = begun(file, tmp_path / "run")
    resumed, whole = ngs.train(str(file), run, resume=True), ngs.train(str(file), tmp_path / "whole", **FEW)
    assert resumed["test"] == whole["test"]
    assert (run / "best.safetensors").read_bytes() == (tmp_path / "whole" / "best.safetensors").read_bytes()


def test_train_says_what_is_wrong(file: Path, tmp_path: Path) -> None:
    with pytest.raises(NGSError, match=r"first-letter has no settings colour, step; there are .* steps"):
        ngs.train(str(file), tmp_path / "run", step=3, colour="red")
    with pytest.raises(NGSError, match="resumed with its own settings; leave steps out"):
        ngs.train(str(file), tmp_path / "run", resume=True, steps=3)
    with pytest.raises(NGSError, match="there is no task 'chess'; choose from hwf"):
        ngs.train("chess", tmp_path / "run")
    with pytest.warns(UserWarning, match="fewer than 20 examples"):
        ngs.train(str(file), tmp_path / "run", **FEW, fraction=0.1)
    with pytest.raises(NGSError, match="already holds a run"):
        ngs.train(str(file), tmp_path / "run", **FEW)


def test_a_changed_file_is_resumed_only_if_that_is_meant(file: Path, tmp_path: Path) -> None:
    run = begun(file, tmp_path / "run")
    changed = tmp_path / "changed.py"  # a module is read once: a file of another name is another process
    changed.write_text(TASK + "# another line\n")
    assert "the file of the task was changed since" in (told := refused("train", changed, "--resume", run))
    assert "put it back, or say with --changed-task" in told
    with pytest.raises(NGSError, match="the file of the task was changed since"):
        ngs.train(str(changed), run, resume=True)
    assert not (run / "result.json").exists()
    assert "--changed-task is for --resume" in refused("train", changed, "--changed-task")
    done("train", changed, "--resume", run, "--changed-task")
    assert (run / "result.json").exists()
    assert json.loads((run / "config.json").read_text())["task_file"]["name"] == "changed.py"


def test_data_that_a_changed_file_makes_otherwise_are_told_from_those_of_the_run(
    file: Path, tmp_path: Path
) -> None:
    run, other = begun(file, tmp_path / "run"), tmp_path / "other.py"
    other.write_text(TASK.replace("words(40, seed=1)", "words(40, seed=2)"))
    for command in (("train", other, "--changed-task", "--resume", run), ("evaluate", run, "--task", other)):
        told = refused(*command)
        assert "the task's function `data` now makes other examples than" in told
        assert told.endswith("was trained on; undo that change, or train anew\n")


def test_a_report_says_which_symbols_are_confused(file: Path, tmp_path: Path) -> None:
    ngs.train(str(file), tmp_path / "run", **FEW)
    done("report", tmp_path / "run", "--task", file)
    text = (tmp_path / "run" / "report.html").read_text()
    assert "Which symbols are confused" in text and "Most often: " in text


def test_an_option_that_train_has_itself_is_no_field(tmp_path: Path) -> None:
    text = TASK.replace('width: int = ngs.setting(2, "Of nothing.")', 'out: str = ngs.setting("", "Where.")')
    (tmp_path / "taken.py").write_text(text)
    assert "have a field `out`" in refused("train", tmp_path / "taken.py", "--help")


def test_the_same_file_elsewhere_is_the_same_task(file: Path, tmp_path: Path) -> None:
    run = begun(file, tmp_path / "run")
    (tmp_path / "elsewhere").mkdir()
    moved = Path(shutil.move(file, tmp_path / "elsewhere" / "renamed.py"))
    done("train", moved, "--resume", run)
    assert (run / "result.json").exists()
    assert "first-letter', which is not installed" in refused("evaluate", run)
    assert "examples, test part" in done("evaluate", run, "--task", moved)


def test_a_package_adds_a_task_by_an_entry_point(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    shutil.copy(file, site / "package_of_letters.py")
    facts = site / "letters-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: letters\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(
        "[ngs.tasks]\nfirst-letter = package_of_letters:task\nsecond-letter = package_of_letters:task\n"
        "lost = package_of_letters:lost\ngone = nowhere:task\n"
        "hwf = package_of_letters:task\n"
    )
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(finding, "_references", finding._references.__wrapped__)
    shown = done("train", "--help")
    assert "first-letter" in shown and "hwf" in shown
    assert "--walk-steps" in done("train", "first-letter", "--help")
    found = installed("first-letter")
    assert found is not None and found.name == "first-letter"
    assert names()[:3] == ("hwf", "clevr", "scenes") and find("hwf").name == "hwf"  # none is replaced
    with pytest.raises(NGSError, match="'second-letter' is the task 'first-letter'; give both the same name"):
        installed("second-letter")
    for name in ("lost", "gone"):
        assert f"the task '{name}' is installed as" in refused("train", name)
    monkeypatch.delitem(sys.modules, "package_of_letters")


# In a sweep


def test_seeds_of_a_task_in_a_file_are_trained_side_by_side(file: Path, tmp_path: Path) -> None:
    store, own = Store(tmp_path / "runs"), find(str(file)).settings
    jobs = [Trained(str(file), own(**FEW, seed=seed)) for seed in range(2)]
    states = [event.state for event in run_here(jobs, store, workers=2)]
    assert states.count("done") == 2 and all(store.has(address(job)) for job in jobs)


def test_an_address_depends_on_what_is_in_the_file(file: Path, tmp_path: Path) -> None:
    def known(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return address(Trained(str(tmp_path / name), find(str(tmp_path / name)).settings(**FEW)))

    assert known(file.name, TASK) == known("same.py", TASK) != known("changed_letters.py", f"{TASK}# other\n")
