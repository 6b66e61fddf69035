"""The command line, run as a user runs it."""

from pathlib import Path

from typer.testing import CliRunner

from ngs.apps.cli import app

RUNNER = CliRunner()


def test_the_tour_corrects_the_misread_formula() -> None:
    result = RUNNER.invoke(app, ["tour"])
    assert result.exit_code == 0, result.output
    assert "in the grammar     2 * 4 + 3 = 11" in result.output
    assert "2 * 4 + 3 = 11  ->  2 * 9 + 3 = 21" in result.output
    assert "The correction is what was written." in result.output


def test_the_tour_with_other_noise() -> None:
    """Seed 27 is read right; in seed 52 two symbols are wrong, too many for one step."""
    assert "2 * 9 + 3 = 21, right as it stands" in RUNNER.invoke(app, ["tour", "--seed", "27"]).output
    output = RUNNER.invoke(app, ["tour", "--seed", "52"]).output
    assert "nothing one step away gives 21" in output
    assert "2 * 9 + 3" in output.split("formulas that give 21")[1], output
    assert "The correction" not in output


def test_the_picture_in_the_docs_is_the_tours(tmp_path) -> None:
    result = RUNNER.invoke(app, ["tour", "--svg", str(tmp_path / "correction.svg")])
    assert result.exit_code == 0, result.output
    shown = Path(__file__).parents[2] / "docs" / "images" / "correction.svg"
    assert (tmp_path / "correction.svg").read_text() == shown.read_text(), (
        "run `ngs tour --svg docs/images/correction.svg`"
    )


def test_a_drawing_of_the_tour_that_cannot_be_written_is_named(tmp_path) -> None:
    result = RUNNER.invoke(app, ["tour", "--svg", str(tmp_path / "none" / "x.svg")])
    assert result.exit_code == 1 and "x.svg cannot be written: No such file or directory" in result.stderr
