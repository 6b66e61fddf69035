"""Every example runs and prints what is expected; its tasks can all that the built-in ones can.

After a change that is meant to show: python examples/NAME.py > examples/expected/NAME.txt
"""

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.documents import facts, said

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
TASKS = sorted((ROOT / "examples" / "tasks").glob("*.py"))
MOST_LINES = {"baskets": 40, "digit_sums": 40, "scan": 80}
"""Of tasks; other examples have at most 59."""
OPTIONS = {
    "baskets": ("--steps", "1000", "--validate-every", "20"),
    "digit_sums": ("--steps", "40", "--validate-every", "4", "--fraction", "0.2"),
    "scan": ("--data", "tasks_train_few.txt", "--steps", "24", "--validate-every", "2", "--batch-size", "16"),
}
"""Few steps; for those that take no time, enough to be killed among them."""
SCAN = "".join(
    f"IN: {verb} {side} {often} OUT: {' '.join([f'I_TURN_{side.upper()}', f'I_{verb.upper()}'] * times)}\n"
    for verb in ("walk", "look", "run", "jump")
    for side in ("left", "right")
    for often, times in (("twice", 2), ("thrice", 3))
)
"""Lines as in its files."""
IN_ONE_PROCESS = """
import json, sys
from ngs.apps.cli import app
import ngs
assert ngs.__file__.startswith(sys.argv[1]), ngs.__file__
for arguments in json.loads(sys.argv[2]):
    app(arguments, standalone_mode=False)
"""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_is_expected(path: Path) -> None:
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    settings = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", str(path)]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", env=os.environ | settings)
    assert run.returncode == 0, run.stderr
    assert run.stdout == (path.parent / "expected" / f"{path.stem}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [*EXAMPLES, *TASKS], ids=lambda path: path.stem)
def test_an_example_is_short_and_says_what_it_shows(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= MOST_LINES.get(path.stem, 59)
    assert ast.get_docstring(ast.parse(source))


def test_every_example_has_its_output_and_every_output_its_example() -> None:
    outputs = {path.stem for path in (ROOT / "examples" / "expected").iterdir()}
    assert outputs == {path.stem for path in EXAMPLES}
    others = {path.name for path in (ROOT / "examples").iterdir() if path not in EXAMPLES}
    assert others - {"__pycache__"} == {"expected", "tasks"}


# Tasks, as somebody has them who installed the wheel: trained, killed, resumed, shown


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, installed by itself: what it needs is here."""
    site = tmp_path_factory.mktemp("installed") / "site"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", f"--target={site}", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    return site


def environment(installed: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}


def done(installed: Path, folder: Path, *commands: list[str]) -> str:
    """What commands print, one after another in a process of their own."""
    given = [sys.executable, "-c", IN_ONE_PROCESS, str(installed), json.dumps(commands)]
    process = subprocess.run(given, cwd=folder, env=environment(installed), capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def killed(installed: Path, folder: Path, command: list[str], run: Path) -> None:
    """Begin a training, and kill it after its first checkpoint."""
    given = [sys.executable, "-m", "ngs.apps.cli", *command]
    process = subprocess.Popen(
        given, cwd=folder, env=environment(installed), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    while not (run / "checkpoint.safetensors").exists() and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    output, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL, output.decode()
    assert not (run / "result.json").exists()


def rows(run: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [{name: value for name, value in row.items() if name != "seconds"} for row in lines]


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.stem)
def test_a_task_in_one_file_has_all_that_the_built_in_ones_have(
    path: Path, installed: Path, tmp_path: Path
) -> None:
    shutil.copytree(path.parent, tmp_path / "elsewhere", ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("train", "test"):
        (tmp_path / f"tasks_{part}_few.txt").write_text(4 * SCAN)
    task = str(Path("elsewhere") / path.name)
    train = ["train", task, "--threads", "1", *OPTIONS[path.stem], "--out"]
    killed(installed, tmp_path, [*train, "killed"], tmp_path / "killed")
    shown = done(
        installed,
        tmp_path,
        ["train", task, "--resume", "killed", "--threads", "1"],
        [*train, "whole"],
        [*train, "other", "--seed", "1"],
        ["evaluate", "killed", "--task", task],
        ["compare", "whole", "other", "--task", task],
        ["report", "whole", "--task", task],
    )
    assert shown.count("test part") == 5 and "±" in shown
    assert "resumed" in facts(tmp_path / "killed" / "environment.json")
    weights = [(tmp_path / run / "best.safetensors").read_bytes() for run in ("killed", "whole", "other")]
    assert weights[0] == weights[1] != weights[2]
    assert rows(tmp_path / "killed") == rows(tmp_path / "whole")
    results = [facts(tmp_path / run / "result.json") for run in ("killed", "whole")]
    assert results[0]["test"] == results[1]["test"]
    assert results[0]["data"] in said((tmp_path / "whole" / "report.html").read_text(encoding="utf-8"))
