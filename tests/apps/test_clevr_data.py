"""`ngs data` with questions about scenes, run as a user runs it."""

import json
import os
from pathlib import Path
from zipfile import ZipFile

from ngs.tasks.clevr import packed
from tests.apps.commands import done, misused, ngs, refused
from tests.tasks.clevr.official_files import sound_files, sound_question, sound_scene, written


def test_a_folder_is_packed() -> None:
    written(Path("CLEVR_v1.0"), sound_files(), ".json.gz")
    result = done("data", "import", "CLEVR_v1.0")
    assert (
        "data/CLEVR_v1.0.ngs: 3 questions to learn from, 1 to be tested on, 2 scenes, 0 MB" in result.stdout
    )
    assert "train: the dictionary understands 3 of 3 questions" in result.stdout
    assert "train: 3 of 3 programs are made of the dictionary's modules" in result.stdout
    assert "validation: 1 of 1 programs give the recorded answer" in result.stdout
    assert "no validation question is asked in training" in result.stdout
    assert result.stdout.endswith("train with it: ngs train clevr --data data/CLEVR_v1.0.ngs\n")
    assert result.stderr == ""
    assert packed.read(Path("data/CLEVR_v1.0.ngs")).name == "CLEVR_v1.0"


def test_name_and_path_can_be_given_and_a_packed_file_be_renamed() -> None:
    written(Path("x"), sound_files())
    done("data", "import", "x", "--name", "my [red] data", "--out", "with space.ngs")
    assert packed.read(Path("with space.ngs")).name == "my [red] data"
    result = ngs("data", "import", "with space.ngs", "--name", "other")
    assert "data/other.ngs: 3 questions" in result.stdout
    assert packed.read(Path("data/other.ngs")).digest == packed.read(Path("with space.ngs")).digest


def test_leaks_of_images_are_no_matter_of_questions() -> None:
    written(Path("x"), sound_files())
    assert "No such option: --leak-free" in misused("data", "import", "x", "--leak-free")


def test_faulty_questions_are_refused_or_left_out() -> None:
    files = sound_files()
    files["questions_train"]["questions"][1]["program"][2]["inputs"] = [9]
    written(Path("x"), files)
    message = (
        "  questions_train.json: question 1: program[2].inputs is [9]; only the steps before, 0 to 1, can"
    )
    assert message in refused("data", "import", "x", lines=2)
    assert os.listdir() == ["x"]  # no file, not even a folder for it
    Path("x.ngs").write_text("precious")
    refused("data", "import", "x", "--out", "x.ngs", "--overwrite", lines=2)
    assert Path("x.ngs").read_text() == "precious" and sorted(os.listdir()) == ["x", "x.ngs"]
    result = done("data", "import", "x", "--skip-faulty")
    assert f"left out as faulty: 1\n{message}" in result.stdout
    assert len(packed.read(Path("data/x.ngs")).train) == 2


def test_files_that_are_missing_or_damaged_are_named_in_one_line() -> None:
    files = sound_files()
    written(Path("x"), {name: files[name] for name in files if name != "scenes_val"})
    assert "ngs: x holds no scenes called val; " in refused("data", "import", "x")
    for name in files:
        path = written(Path("cut"), files) / f"{name}.json"
        path.write_text(path.read_text()[:-30])
        told = refused("data", "import", "cut", "--skip-faulty")
        assert f"ngs: cut/{name}.json: " in told and "the file is cut short here" in told
        assert not Path("data").exists()
    written(Path("x"), files)
    Path("x/scenes_val.json").write_text('{"scenes": [')
    for command in ("import", "inspect"):
        told = refused("data", command, "x")
        assert told == "ngs: x/scenes_val.json: scene 0: the file is cut short here; fetch it again\n"


def test_an_archive_is_to_be_unpacked() -> None:
    with ZipFile("CLEVR.zip", "w") as archive:
        archive.writestr("CLEVR_v1.0/scenes/CLEVR_val_scenes.json", "{}")
    for command in ("import", "inspect"):
        message = "ngs: CLEVR.zip is an archive of questions about scenes; unpack it and give the folder\n"
        assert refused("data", command, "CLEVR.zip") == message


def test_inspect_counts_the_same_in_a_folder_and_a_packed_file() -> None:
    written(Path("x"), sound_files())
    ngs("data", "import", "x")
    of_folder, of_packed = done("data", "inspect", "x"), done("data", "inspect", "data/x.ngs")
    assert of_folder.output == of_packed.output
    assert "x: 3 questions to learn from, 1 to be tested on, 2 scenes, 17 words" in of_packed.output
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in of_packed.output.splitlines()]
    for row in (["zero hops", "2", "1"], ["8", "1", "0"], ["sphere", "1", "0"], ["all", "3", "1"]):
        assert row in rows


def test_inspect_finds_what_is_wrong() -> None:
    files = sound_files()
    files["questions_train"]["questions"][0]["answer"] = "2"
    files["questions_train"]["questions"][1]["question"] = "What shape is the pink thing?"
    files["questions_train"]["questions"].append({"question": 5, "image_index": 0})
    files["scenes_val"]["scenes"].append(sound_scene())
    files["questions_val"]["questions"].append({**sound_question(), "question_index": 5})
    files["questions_val"]["questions"].append({"question": "How many balls are there?", "image_index": 0})
    written(Path("x"), files)
    text = ngs("data", "inspect", "x").stdout
    assert "train: 2 of 3 programs give the recorded answer; not those of questions 0" in text
    assert (
        "train: the dictionary understands 2 of 3 questions\n  question 1 ('what shape is the pink th" in text
    )
    assert "left out as faulty: 1\n  questions_train.json: question 3: question is 5; a text" in text
    assert "LEAK: 1 of 3 validation questions are asked in training about an equal scene: 5" in text
    assert "words of validation questions that training lacks: balls" in text
    assert "validation: 1 questions have no answer: nothing can be learned from them" in text
    found = json.loads(ngs("data", "inspect", "x", "--json").stdout)
    assert found["train"]["wrong_answers"] == [0] and found["repeated"] == [5]
    assert found["train"]["not_understood"][0]["number"] == 1 and len(found["faulty"]) == 1
    assert found["kinds"][0] == {"of": "zero hops", "train": 2, "validation": 2}


def test_what_is_not_there_is_told_of_both_formats(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name, told in (("nowhere", "there is no such file or folder"), ("empty", "holds no data")):
        said = refused("data", "import", tmp_path / name)
        assert told in said and "CLEVR v1.0" in said
