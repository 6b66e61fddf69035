"""Every example runs and prints what it is expected to print.

After a change that is meant to show: python examples/NAME.py > examples/expected/NAME.txt
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
MOST_LINES = 59


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_is_expected(path: Path) -> None:
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    settings = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", str(path)]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", env=os.environ | settings)
    assert run.returncode == 0, run.stderr
    assert run.stdout == (path.parent / "expected" / f"{path.stem}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_says_what_it_shows(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= MOST_LINES
    assert ast.get_docstring(ast.parse(source))


def test_every_example_has_its_output_and_every_output_its_example() -> None:
    outputs = {path.stem for path in (ROOT / "examples" / "expected").iterdir()}
    assert outputs == {path.stem for path in EXAMPLES}
    others = {path.name for path in (ROOT / "examples").iterdir() if path not in EXAMPLES}
    assert others - {"__pycache__"} == {"expected", "tasks"}
