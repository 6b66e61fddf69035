"""`ngs predict` and `ngs explain`, run as a user runs them."""

import json
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from PIL import Image

from ngs.errors import NGSError
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.operation import UNDEFINED
from ngs.reasoning.semantics import evaluate
from ngs.tasks.hwf import packed, reading_commands
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.formula_reading import as_answer, likeliest, shown_value
from ngs.tasks.hwf.segmentation import Grey
from ngs.tasks.hwf.settings import TrainHWF
from tests.apps.commands import done, misused, ngs, printed, refused
from tests.enumeration import sentences
from tests.experiments.training import as_facts, finished
from tests.tasks.hwf.written_lines import KnownHand, written_line, written_symbols

FRACTIONS = ("7/3", "14/6", "2.3333333", " 7/3 ")
LONG = "6-2+1*4-3+9-8"


@pytest.fixture(scope="module")
def hand() -> KnownHand:
    return KnownHand()


@pytest.fixture
def known(hand, monkeypatch, tmp_path) -> Path:
    """A folder to work in; any run holds a network that knows the hand of `written_line`."""
    monkeypatch.setattr(reading_commands, "load_network", lambda folder: hand)
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    Path("run", "config.json").write_text(json.dumps(as_facts(TrainHWF())))
    return tmp_path


def saved(name: str, grey: Grey) -> str:
    Image.fromarray(grey).save(name)
    return name


def strip(sentence: str, seed: int = 0) -> Grey:
    return np.concatenate(list(written_symbols(sentence, seed).numpy()), axis=1)


# A trained network


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """Some seconds of training, with labels."""
    folder = tmp_path_factory.mktemp("reading")
    packed.write(folder / "small.ngs", embedded(train=300, test=20, lengths={1: 0.2, 3: 0.8}))
    config = TrainHWF(
        data=str(folder / "small.ngs"),
        method="supervised",
        steps=80,
        batch_size=24,
        validate_every=80,
        augment=False,
    )
    finished(config, folder / "run")
    return folder / "run"


def test_a_trained_network_reads_strips_folders_and_lines(run, tmp_path) -> None:
    Image.fromarray(strip("6-2")).save(tmp_path / "strip.png")
    Image.fromarray(written_line("6-2")).save(tmp_path / "line.png")
    (tmp_path / "folder").mkdir()
    for k, image in enumerate(written_symbols("6-2").numpy()):
        Image.fromarray(image).save(tmp_path / "folder" / f"{k}.png")
    paths = [tmp_path / name for name in ("strip.png", "line.png", "folder")]
    result = done("predict", run, *paths)
    for path in paths:
        assert f"{path}: 6 - 2 = 4  (" in result.output


def test_what_holds_no_run_is_refused(tmp_path) -> None:
    Image.fromarray(strip("6-2")).save(tmp_path / "strip.png")
    for folder in ("none", "strip.png", "."):
        assert str(tmp_path / folder) in refused("predict", tmp_path / folder, tmp_path / "strip.png")


# predict


def test_a_formula_is_read_with_its_value(known) -> None:
    result = done("predict", "run", saved("x.png", strip("7/3")))
    assert result.output.startswith("x.png: 7 / 3 = 7/3 (2.33333)  (")


def test_division_by_zero_is_undefined(known) -> None:
    assert "8 / 0 = undefined" in ngs("predict", "run", saved("x.png", strip("8/0"))).output
    (found,) = json.loads(ngs("predict", "run", "x.png", "--json").stdout)
    first = found["formulas"][0]
    assert (first["formula"], first["value"], first["decimal"]) == ("8/0", None, None)


def test_several_pictures_and_several_formulas_for_each(known) -> None:
    paths = [saved("a[red].png", strip("6-2")), saved("b.png", strip("9*4+1"))]
    result = done("predict", "run", *paths, "--top", "4")
    lines = result.output.splitlines()
    assert lines[0] == "a[red].png:" and lines[5] == "b.png:" and len(lines) == 10
    shares = [float(line.split("%")[0]) for line in lines[1:5]]
    assert shares == sorted(shares, reverse=True) and lines[1].endswith("6 - 2 = 4")


def test_fewer_formulas_than_asked_for_are_all_there_are(known) -> None:
    (found,) = json.loads(ngs("predict", "run", saved("x.png", strip("7")), "--top", "50", "--json").stdout)
    assert sorted(each["formula"] for each in found["formulas"]) == list("0123456789")
    assert sum(each["probability"] for each in found["formulas"]) == pytest.approx(1)


def test_json_has_everything(known) -> None:
    (found,) = json.loads(ngs("predict", "run", saved("x.png", written_line("3/8")), "--json").stdout)
    assert found["image"] == "x.png" and len(found["boxes"]) == 3
    first = found["formulas"][0]
    assert (first["formula"], first["value"], first["decimal"]) == ("3/8", "3/8", 0.375)
    assert 0 < first["probability"] <= 1


def test_a_picture_can_be_called_a_line_or_a_strip(known) -> None:
    large = Image.fromarray(strip("9*4")).resize((270, 90))
    large.save("x.png")
    assert "9 * 4 = 36" in ngs("predict", "run", "x.png", "--strip").output
    assert "9 * 4 = 36" in ngs("predict", "run", "x.png", "--line").output
    assert "y.png: it is 191x75 pixels, and a strip is a row" in refused(
        "predict", "run", saved("y.png", written_line("6-2")), "--strip"
    )


@pytest.mark.parametrize("image", [strip, written_line], ids=["strip", "line"])
def test_an_even_number_of_symbols_is_no_formula(image, known) -> None:
    result = refused("predict", "run", saved("x.png", image("6-")))
    assert result == (
        "ngs: x.png: 2 symbols are in it (6 -), and a formula has an odd number: "
        "digits with an operator between each two\n"
    )


def test_a_bad_picture_does_not_keep_the_others_from_being_read(known) -> None:
    good = saved("good.png", strip("6-2"))
    blank = saved("blank.png", np.full((60, 90), 255, dtype=np.uint8))
    result = ngs("predict", "run", "none.png", good, blank)
    assert result.exit_code == 1
    assert result.stdout.startswith("good.png: 6 - 2 = 4") and result.stdout.count("\n") == 1
    none, no_ink = result.stderr.splitlines()
    assert none == "ngs: none.png: there is no such file"
    assert no_ink.startswith("ngs: blank.png: there is no ink in it")
    found = json.loads(ngs("predict", "run", "none.png", good, "--json").stdout)
    assert [sorted(each) for each in found] == [["error", "image"], ["boxes", "formulas", "image"]]


def test_bad_usage_is_told_apart(known) -> None:
    path = saved("x.png", strip("7"))
    for odd in (("predict",), ("predict", path, "--top", "0"), ("explain", path)):
        misused(odd[0], "run", *odd[1:])
    misused("explain", "run", path, path, "--answer", "3")


def test_help_says_what_can_be_given(known) -> None:
    text = printed("predict", "run", "--help")
    for word in ("strip", "folder", "45 x 45", "handwritten line", "--top", "--json", "--line"):
        assert word in text
    assert "7/3" in ngs("explain", "run", "--help").output


# explain


@pytest.mark.parametrize(
    "written, answer, told",
    [
        (
            "6-2",
            "4",
            ("likeliest symbols  6 - 2", "subtract\n  6\n  -\n  2\n", "6 - 2 = 4, right as it stands\n"),
        ),
        *(("7/3", answer, ("7 / 3 = 7/3, right as it stands",)) for answer in FRACTIONS),
        ("6-2", "-9", ("nothing one step away gives -9", "of them, 0 - 9, changes 2 symbols.")),
        ("8/0", "2", ("8 / 0 = undefined  ->  8 / 4 = 2",)),
        ("6-2", "1000", ("\nno formula of 3 symbols gives 1000\n",)),
        ("6-2", "2.33", ("no formula of 3 symbols gives 233/100 (2.33); is the answer exact?",)),
        ("7", "10", ("no formula of 1 symbol gives 10",)),
        (LONG, "9", ("at least: the formula is too long to sum over all",)),
        (LONG, "123456789", ("no formula of 13 symbols was found that gives 123456789",)),
    ],
)
def test_what_was_read_is_explained(written: str, answer: str, told: tuple[str, ...], known) -> None:
    output = done("explain", "run", saved("x.png", strip(written)), f"--answer={answer}").output
    assert all(each in output for each in told), output


def test_a_wrong_symbol_is_found_and_drawn(known) -> None:
    result = done("explain", "run", saved("x.png", strip("9*4-1")), "--answer", "26", "--svg", "why.svg")
    assert "in the grammar     9 * 4 - 1 = 35  (" in result.output
    assert "one-step back-search towards 26" in result.output
    assert "priority  edit" in result.output and "accept" in result.output
    assert "9 * 4 - 1 = 35  ->  9 * 3 - 1 = 26" in result.output
    listed = result.output.split("formulas that give 26, by p(z | x, y)\n")[1].split("p(y | x)")[0]
    assert listed.splitlines()[0].endswith("%  9 * 3 - 1")
    for line in listed.strip().splitlines():
        formula = line.split("%")[1].split()
        assert evaluate(parse(GRAMMAR, formula), Arithmetic) == 26
    assert "summed exactly" in result.output and "drawn in why.svg" in result.output
    texts = " ".join(ElementTree.parse("why.svg").getroot().itertext())
    assert "9 * 3 - 1 = 26" in texts


def test_a_drawing_is_not_written_over_the_picture(known) -> None:
    path = saved("x.png", strip("9*4-1"))
    content = Path(path).read_bytes()
    assert "x.png would be written over x.png" in refused(
        "explain", "run", path, "--answer", "26", "--svg", "./x.png"
    )
    assert Path(path).read_bytes() == content


@pytest.mark.parametrize("answer", ["twelve", "", "1/0", "inf", "nan", "1e5", "1/2/3", "--3", "1" * 40])
def test_what_is_no_number_is_no_answer(answer, known) -> None:
    result = refused("explain", "run", saved("x.png", strip("7")), f"--answer={answer}")
    assert result == (
        f"ngs: the answer is {answer!r}; give a whole number, a decimal or a fraction: 12, -3, 0.75 or 7/3\n"
    )


def test_bad_pictures_are_refused(known) -> None:
    for name, image in (("blank.png", np.full((60, 90), 255, dtype=np.uint8)), ("even.png", strip("6-"))):
        assert f"ngs: {name}: " in refused("explain", "run", saved(name, image), "--answer", "3")


def test_a_picture_that_cannot_be_written_is_an_error(known) -> None:
    path = saved("x.png", strip("7"))
    for svg in (".", "no/such/folder.svg"):
        result = ngs("explain", "run", path, "--answer", "7", "--svg", svg)
        assert result.exit_code == 1 and result.stderr.startswith(f"ngs: {svg} cannot be written: ")


# Values


def test_probabilities_are_those_of_an_enumeration() -> None:
    log_probs = torch.randn(3, len(GRAMMAR.symbols), generator=torch.Generator().manual_seed(0)).double()
    log_probs = log_probs.log_softmax(-1)
    every = list(sentences(GRAMMAR, 3))
    scores = [sum(log_probs[t, k] for t, k in enumerate(GRAMMAR.encode(z))).exp().item() for z in every]
    shares = dict(zip(every, (score / sum(scores) for score in scores), strict=True))
    found = likeliest(log_probs, 20)
    assert [formula.sentence for formula in found] == sorted(shares, key=shares.__getitem__)[::-1][:20]
    for formula in found:
        assert formula.probability == pytest.approx(shares[formula.sentence])
        assert formula.value == evaluate(parse(GRAMMAR, formula.sentence), Arithmetic)


def test_answers_are_exact() -> None:
    assert (
        as_answer("0.1") == Fraction(1, 10)
        and as_answer("+12") == 12
        and as_answer("-0.666667") == Fraction(-2, 3)
    )
    with pytest.raises(NGSError, match="the answer is 'x'"):
        as_answer("x")


def test_values_are_shown_as_people_write_them() -> None:
    shown = {Fraction(-4): "-4", Fraction(-1, 3): "-1/3 (-0.333333)", UNDEFINED: "undefined"}
    assert {value: shown_value(value) for value in shown} == shown
