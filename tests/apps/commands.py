"""Commands as a user gives them, and what they print."""

import json
from pathlib import Path
from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from ngs.apps.cli import app


def ngs(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def done(*arguments: str | Path) -> Result:
    """A command that is to work."""
    result = ngs(*arguments)
    assert result.exit_code == 0, result.output
    return result


def printed(*arguments: str | Path) -> str:
    """What a command that is to work says, whatever the width of its lines."""
    return " ".join(done(*arguments).output.replace("│", " ").split())


def refused(*arguments: str | Path, lines: int = 1) -> str:
    """What a command that is to fail says, and nothing else: so many lines of its own.

    Of trainings, what they begin with may have been said.
    """
    result = ngs(*arguments)
    assert result.exit_code == 1 and (arguments[0] in ("train", "reproduce") or result.stdout == ""), (
        result.output
    )
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.stderr.startswith("ngs: ") and result.stderr.count("\n") == lines, result.stderr
    return result.stderr


def misused(*arguments: str | Path) -> str:
    """What is said of a command that does not exist in this form."""
    result = ngs(*arguments)
    assert result.exit_code == 2, result.output
    return " ".join(result.output.replace("│", " ").split())


def facts(path: Path) -> Any:
    return json.loads(path.read_text())


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
