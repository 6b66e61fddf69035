"""`ngs tour`, run as a user runs it."""

from pathlib import Path

from tests.apps.commands import done, ngs

SHOWN = Path(__file__).parents[2] / "docs" / "images" / "correction.svg"


def test_the_tour_corrects_the_misread_formula() -> None:
    """The picture in the docs is drawn by it."""
    output = done("tour", "--svg", "correction.svg").output
    assert "in the grammar     2 * 4 + 3 = 11" in output
    assert "2 * 4 + 3 = 11  ->  2 * 9 + 3 = 21" in output
    assert "The correction is what was written." in output
    assert Path("correction.svg").read_text() == SHOWN.read_text(), f"run `ngs tour --svg {SHOWN}`"


def test_the_tour_with_other_noise() -> None:
    """Seed 27 is read right; in seed 52 two symbols are wrong, too many for one step."""
    assert "2 * 9 + 3 = 21, right as it stands" in done("tour", "--seed", "27").output
    output = done("tour", "--seed", "52").output
    assert "nothing one step away gives 21" in output
    assert "2 * 9 + 3" in output.split("formulas that give 21")[1], output
    assert "The correction" not in output


def test_a_drawing_of_the_tour_that_cannot_be_written_is_named() -> None:
    result = ngs("tour", "--svg", "none/x.svg")
    assert result.exit_code == 1
    assert "x.svg cannot be written: No such file or directory" in result.stderr
