"""`ngs train clevr` and what comes after it, run as a user runs it; and what a user may get wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from ngs.apps.cli import app
from ngs.learning.methods import METHODS
from ngs.tasks.clevr import packed
from ngs.tasks.clevr.dataset import VisualQuestions
from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.clevr.program import Kind
from ngs.tasks.hwf import packed as packed_formulas
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.run_folder import BEST
from tests.experiments.training import train as train_run
from tests.tasks.clevr.official_files import sound_files, written
from tests.tasks.clevr.test_official import spoiled

SHORT = ("--steps", "4", "--validate-every", "2", "--batch-size", "8", "--validation", "0.2")


HALF = (*SHORT[:-1], "0.5")


def ngs(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def done(*arguments: str | Path) -> Result:
    """A command that is to work."""
    result = ngs(*arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments: str | Path) -> str:
    """What a command that is to fail says, in one line of its own."""
    result = ngs(*arguments)
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.stderr.startswith("ngs: ") and result.stderr.count("\n") == 1
    return result.stderr


def facts(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def questions() -> VisualQuestions:
    return synthetic(scenes=6, per_scene=8, validation_scenes=3, validation_per_scene=8)


@pytest.fixture(scope="module")
def folder(questions: VisualQuestions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data and runs: two that differ in their seed, and one of the other task."""
    folder = tmp_path_factory.mktemp("clevr")
    packed.write(folder / "few.ngs", questions)
    packed_formulas.write(folder / "formulas.ngs", embedded(train=40, test=10, lengths={1: 1.0}))
    for seed in ("0", "1"):
        done(*train(folder), "--out", folder / f"run-{seed}", "--seed", seed, "--test-curve")
    config = TrainHWF(data=str(folder / "formulas.ngs"), steps=1, validate_every=1, validation=0.2)
    for _ in train_run(config, folder / "formulas"):
        pass
    return folder


def train(folder: Path) -> tuple[str | Path, ...]:
    return ("train", "clevr", "--data", folder / "few.ngs", *SHORT, "--threads", "1")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def table(text: str) -> dict[str, list[str]]:
    """The rows of a table in boxes, by their first cells; a cell may be broken into several lines."""
    rows: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("│"):
            cells = [cell.strip() for cell in line.strip("│").split("│")]
            if cells[1]:
                rows.append(cells)
            else:
                rows[-1][0] += f" {cells[0]}"
    return {first: rest for first, *rest in rows}


# Training and what comes after it


def test_a_run_says_where_it_is_and_how_good_by_kind(folder: Path, questions: VisualQuestions) -> None:
    result = done(*train(folder), "--out", "spoken", "--method", "m-bs")
    text = result.output
    for number in ("2", "4"):
        assert f"m-bs, step {number:>5}" in text
    flat = " ".join(text.split())
    assert "m-bs on" in flat and "into spoken" in flat and "% of answers," in flat
    assert "see the whole story: ngs report spoken" in flat and f"is in spoken/{BEST}" in flat
    rows = table(text)
    kinds = [questions.validation.kind(k) for k in range(24)]
    assert {name: row[0] for name, row in rows.items()} == {
        **{str(kind): str(kinds.count(kind)) for kind in Kind if kind in kinds},
        "all": "24",
    }
    test = facts(Path("spoken/result.json"))["test"]
    assert rows["all"] == [
        "24",
        *(f"{test[name]:.2%}" for name in ("answers", "programs", "equivalent")),
    ]


def test_the_default_folder_is_named_after_task_method_and_seed(folder: Path) -> None:
    done(*train(folder), "--method", "1-bs", "--seed", "7")
    assert facts(Path("runs/clevr-1-bs-7/config.json"))["seed"] == 7


def test_every_option_reaches_the_configuration(folder: Path) -> None:
    given = {
        **{"grammar": "free", "network": "small", "unique": "lenient", "start": "likeliest"},
        **{"samples": 2, "enumerated": 5, "memory": 3, "walk_steps": 1, "back_search": 0.25},
        **{"method": "reinforce", "precision": "bfloat16", "clipping": 1.0, "fraction": 0.9},
    }
    options = [text for name, value in given.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    done(*train(folder), "--out", "run", *options, "--no-copies", "--no-moves")
    kept = facts(Path("run/config.json"))
    assert {name: kept[name] for name in given} == given
    assert (kept["task"], kept["copies"], kept["moves"], kept["steps"]) == ("clevr", False, False, 4)
    command = facts(Path("run/environment.json"))["command"]
    assert command[0] == "ngs"


def test_evaluate_repeats_the_result(folder: Path) -> None:
    test = facts(folder / "run-0" / "result.json")["test"]
    found = json.loads(done("evaluate", folder / "run-0", "--json").stdout)
    assert found == {"data": "synthetic", **test}
    rows = table(done("evaluate", folder / "run-0").output)
    assert rows.keys() == {*test["by_kind"], "all"}
    for name, score in test["by_kind"].items():
        shares = (f"{score[share]:.2%}" for share in ("answers", "programs", "equivalent"))
        assert rows[name] == [str(score["examples"]), *shares]


def test_evaluate_takes_official_questions_without_programs(folder: Path) -> None:
    """With words and kinds that training lacks; what nobody knows is a dash, and null in JSON."""
    files = sound_files()
    for question in files["questions_val"]["questions"]:
        del question["program"]
    done("data", "import", written(Path("official"), files), "--name", "other")
    found = json.loads(done("evaluate", folder / "run-0", "--data", "data/other.ngs", "--json").stdout)
    assert (found["data"], found["examples"], found["answers"]) == ("other", 1, 1.0)
    assert found["programs"] is None and found["by_kind"]["zero hops"]["equivalent"] is None
    shown = table(done("evaluate", folder / "run-0", "--data", "data/other.ngs").output)
    assert shown["all"] == ["1", "100.00%", "-", "-"]


def test_compare_makes_one_row_of_two_seeds(folder: Path) -> None:
    paths = [folder / "run-0", folder / "run-1"]
    (group,) = json.loads(done("compare", *paths, "--json", "--goal", "0").stdout)
    tests = [facts(path / "result.json")["test"] for path in paths]
    assert (group["task"], group["seeds"], group["settings"]) == ("clevr", [0, 1], {"method": "posterior"})
    for name in ("answers", "programs", "equivalent"):
        assert group["test"][name]["values"] == [test[name] for test in tests]
    assert group["seconds_to"]["mean"] > 0  # any accuracy reaches 0 at the first validation
    shown = done("compare", *paths).stdout
    mean = sum(test["answers"] for test in tests) / 2
    assert f"{100 * mean:.2f} ± " in shown and "synthetic" in shown


def test_compare_shows_each_task_in_a_table_of_its_own(folder: Path) -> None:
    shown = done("compare", folder / "run-0", folder / "formulas", folder / "run-1", "--goal", "0").stdout
    first, second = shown.split("test part; mean and standard deviation over the seeds")[1:]
    for heading in ("answers %", "programs %", "equivalent %", "training s", "to 0.0%"):
        assert heading in first
    assert "symbols %" in second and "equivalent %" not in second
    assert "synthetic" in first and "embedded" in second
    groups = json.loads(done("compare", folder / "run-0", folder / "formulas", "--json").stdout)
    assert [group["task"] for group in groups] == ["clevr", "hwf"]


def test_compare_loses_no_digit_where_it_is_narrow(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    seconds = [facts(folder / name / "result.json")["training_seconds"] for name in ("run-0", "run-1")]
    shown = done("compare", folder / "run-0", folder / "run-1", "--goal", "0").stdout
    assert f" {sum(seconds) / 2:.1f} " in shown and "training s" in shown


def test_a_report_is_written(folder: Path) -> None:
    assert "written to page.html" in done("report", folder / "run-0", "--out", "page.html").stdout
    page = Path("page.html").read_text()
    test = facts(folder / "run-0" / "result.json")["test"]
    assert page.lower().startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    assert all(kind in page for kind in test["by_kind"])


def test_policies_without_grammar_can_be_looked_at(folder: Path) -> None:
    """Their programs need not type-check; nothing that shows them may fail on that."""
    done(*train(folder), "--out", "none", "--grammar", "none", "--method", "reinforce")
    assert table(done("evaluate", "none").output)["all"][0] == "24"
    assert "written to" in done("report", "none").stdout
    question = "What color is the cube that is left of the big metal ball?"
    answer = done("ask", "none", question).stdout
    assert "answer: undefined: the program does not type-check: " in answer
    assert "the program does not type-check" in done("explain", "none", question, "--answer", "red").stdout


def test_help_names_every_choice() -> None:
    text = " ".join(done("train", "clevr", "--help").output.replace("│", " ").split())
    for word in ("--grammar", "tidy", "NS-RL", "--copies", "--no-copies", "--enumerated", "small, paper"):
        assert word in text
    assert ", ".join(METHODS) in text


# What goes wrong before training


@pytest.mark.parametrize(
    "options, message",
    [
        (("--method", "guess"), f"method is 'guess'; choose from {', '.join(METHODS)}"),
        (("--grammar", "strict"), "grammar is 'strict'; choose from tidy, free, none"),
        (("--network", "huge"), "network is 'huge'; choose from small, paper"),
        (("--unique", "maybe"), "unique is 'maybe'; choose from strict, lenient"),
        (("--start", "here"), "start is 'here'; choose from likeliest, sample"),
        (("--samples", "0"), "samples is 0; it must be at least 1"),
        (("--back-search", "1"), "back_search is 1.0; it must be in [0, 1)"),
        (("--fraction", "0"), "fraction is 0.0; it must be above 0 and at most 1"),
        (("--validation", "0.001"), "no questions are left to validate on"),
        (("--fraction", "0.001"), "no questions are left to train on"),
        (("--data", "nowhere.ngs"), "nowhere.ngs: there is no such file; give 'embedded' or what `ngs data"),
        (("--data", "."), ". is not packed yet; first `ngs data import .`"),
        (("--data", "FORMULAS"), "is a packed data set of handwritten formulas, not a packed data set of"),
        (("--data", "text.ngs"), "text.ngs is cut short, or not a packed data set of questions about scenes"),
        (("--data", "empty.ngs"), "empty.ngs is cut short, or not a packed data set of questions about"),
    ],
)
def test_bad_options_are_told_in_one_line(folder: Path, options: tuple[str, ...], message: str) -> None:
    Path("text.ngs").write_text("Dear diary, today I asked a question. " * 100)
    Path("empty.ngs").write_text("")
    given = [str(folder / "formulas.ngs") if option == "FORMULAS" else option for option in options]
    assert message in refused(*train(folder), *given, "--out", "out")
    assert not Path("out").exists()


@pytest.mark.parametrize("options", [("--steps", "many"), ("--colour", "red"), ("--lengths", "3")])
def test_bad_usage_is_told_apart(folder: Path, options: tuple[str, ...]) -> None:
    result = ngs(*train(folder), "--out", "out", *options)
    assert result.exit_code == 2 and options[0] in result.output and not Path("out").exists()


def test_runs_of_one_task_are_not_resumed_as_the_other(folder: Path) -> None:
    for task, other, run in (
        ("clevr", "hwf", folder / "formulas"),
        ("hwf", "clevr", folder / "run-0"),
    ):
        before = {path: path.read_bytes() for path in run.iterdir() if path.is_file()}
        told = refused("train", task, "--resume", run)
        assert f"{run} is a run of {other}; go on with: ngs train {other} --resume {run}" in told
        assert {path: path.read_bytes() for path in run.iterdir() if path.is_file()} == before


def test_what_cannot_be_resumed_is_told(folder: Path) -> None:
    assert "config.json cannot be read: No such file" in refused("train", "clevr", "--resume", "nowhere")
    told = refused("train", "clevr", "--resume", folder / "run-0", "--grammar", "free")
    assert "--resume goes on with the run's own settings; give it alone" in told
    assert "already holds a run" in refused(*train(folder), "--out", folder / "run-0")


def test_data_of_the_other_task_is_not_evaluated(folder: Path) -> None:
    told = refused("evaluate", folder / "run-0", "--data", folder / "formulas.ngs")
    assert "is a packed data set of handwritten formulas, not a packed data set of questions" in told
    told = refused("evaluate", folder / "formulas", "--data", folder / "few.ngs")
    assert "is a packed data set of questions about scenes, not a packed data set of handwritten" in told


def test_supervision_without_programs_is_refused_and_leaves_nothing() -> None:
    files = twice(sound_files())
    for question in files["questions_train"]["questions"]:
        del question["program"]
    written(Path("official"), files)
    done("data", "import", "official", "--out", "bare.ngs")
    options = ("train", "clevr", "--data", "bare.ngs", *HALF, "--out", "run")
    told = refused(*options, "--method", "supervised")
    assert "have no labels; give data with labels, or another method" in told
    assert not Path("run").exists()
    done(*options)


def twice(files: dict[str, Any]) -> dict[str, Any]:
    """Each question to learn from two times: one of them may choose the network."""
    asked = files["questions_train"]["questions"]
    asked += [{**question, "question_index": 10 + k} for k, question in enumerate(asked)]
    return files


def test_unknown_words_are_told_on_import_and_count_as_wrong(folder: Path) -> None:
    """From the file to the score: nothing is lost, and nobody is told that it was understood."""
    files = sound_files()
    files = spoiled(files, "questions_train.questions[1].question", "What shape is the frobbish thing?")
    asked = files["questions_val"]["questions"]
    asked.append({**asked[0], "question_index": 1, "question": "How many frobs are there?"})
    written(Path("x"), twice(files))
    told = " ".join(done("data", "import", "x").stdout.split())
    assert "train: the dictionary understands 4 of 6 questions" in told and "'frobbish'" in told
    assert "validation: the dictionary understands 1 of 2 questions" in told and "'frobs'" in told
    done("train", "clevr", "--data", "data/x.ngs", *HALF, "--out", "run")
    result = facts(Path("run/result.json"))
    assert result["test"]["examples"] == 2 and result["test"]["answers"] == 0.5
    assert result["validation"]["examples"] == 3 and result["not_understood"] == 1
    shown = table(done("evaluate", folder / "run-0", "--data", "data/x.ngs").output)
    assert shown["all"] == shown["zero hops"] == ["2", "50.00%", "50.00%", "50.00%"]
