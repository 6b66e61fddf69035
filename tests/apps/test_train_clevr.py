"""`ngs train clevr` and what comes after it, run as a user runs it; and what a user may get wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from ngs.learning.methods import METHODS
from ngs.tasks.clevr import packed
from ngs.tasks.clevr.dataset import VisualQuestions
from ngs.tasks.clevr.embedded import synthetic
from ngs.tasks.clevr.program import Kind
from tests.apps.commands import done, facts, printed, refused, table
from tests.tasks.clevr.official_files import sound_files, spoiled, written

SHORT = ("--steps", "4", "--validate-every", "2", "--batch-size", "8", "--validation", "0.2")
HALF = (*SHORT[:-1], "0.5")


@pytest.fixture(scope="module")
def questions() -> VisualQuestions:
    return synthetic(scenes=6, per_scene=8, validation_scenes=3, validation_per_scene=8)


@pytest.fixture(scope="module")
def folder(questions: VisualQuestions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, and a run."""
    folder = tmp_path_factory.mktemp("clevr")
    packed.write(folder / "few.ngs", questions)
    done(*train(folder), "--out", folder / "run-0", "--test-curve")
    return folder


def train(folder: Path) -> tuple[str | Path, ...]:
    return ("train", "clevr", "--data", folder / "few.ngs", *SHORT, "--threads", "1")


# Training and what comes after it


def test_a_run_says_how_good_it_is_by_kind(folder: Path, questions: VisualQuestions) -> None:
    rows = table(done("evaluate", folder / "run-0").output)
    kinds = [questions.validation.kind(k) for k in range(24)]
    assert {name: row[0] for name, row in rows.items()} == {
        **{str(kind): str(kinds.count(kind)) for kind in Kind if kind in kinds},
        "all": "24",
    }


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
    text = printed("train", "clevr", "--help")
    for word in ("--grammar", "tidy", "NS-RL", "--copies", "--no-copies", "--enumerated", "small, paper"):
        assert word in text
    assert ", ".join(METHODS) in text


# What goes wrong before training


def test_too_few_questions_are_told_in_one_line(folder: Path) -> None:
    for option, message in (("--validation", "to validate on"), ("--fraction", "to train on")):
        told = refused(*train(folder), option, "0.001", "--out", "out")
        assert f"no questions are left {message}" in told and not Path("out").exists()


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
