"""A run folder from a stranger is read, never run: nothing that it names is imported."""

import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ngs.apps.cli import app
from ngs.apps.serve.run_folders import RunFolders
from ngs.errors import NGSError
from ngs.tasks.finding import find, names
from ngs.tasks.run_folder import CONFIG, load_config

TRAP = "raise SystemExit('the code of a stranger ran')"
NAMED = (
    *("trap.py", "./trap.py", "../trap.py", "../../x.py", "trap.py:task", "trap", "trap:task"),
    *("os:system", "os.system", "os", "ngs.tasks.hwf.trainable:HWF", "json.decoder:JSONDecoder"),
    *("hwf:HWF", "hwf\n", " hwf", "HWF", "hwf.py", "no-such-entry-point", "__main__", "\x1b[31mred", ""),
)
DIGESTS = ("0" * 64, "sha256:" + "0" * 64, "", "../x", "x" * 100_000, 0, None, [], {"a": []}, True)
FILES = [
    *({"name": name, "sha256": "0" * 64} for name in ("trap.py", "../../x.py", "/etc/passwd", "os:system")),
    *({"name": "trap.py", "sha256": digest} for digest in DIGESTS),
    *({}, [], "trap.py", 3, None, {"name": {"name": "trap.py"}}, {"path": "trap.py"}),
]
DEEP = "[" * 100_000 + "]" * 100_000
TEXTS = (
    *(f'{{"task": {DEEP}}}', f'{{"task": "hwf", "steps": {DEEP}}}', DEEP, "", "null", "3", '"hwf"', "[]"),
    *('{"task": "hwf", "steps": ' + "9" * 5000 + "}", '{"task": ["hwf"]}', '{"task": {"hwf": 1}}', "\udc80"),
    *(
        '{"task": "hwf", "steps": "many"}',
        '{"task": "hwf", "__class__": "os"}',
        '{"task": "hwf", "seed": {}}',
    ),
    '{"task": "' + "x" * 2**27 + '"}',
)
CONFIGS = [
    *(json.dumps({"task": name, "method": "posterior", "steps": 1}) for name in NAMED),
    *(
        json.dumps({"task": task, "task_file": file, "method": "posterior", "steps": 1})
        for task in ("mine", "os:system")
        for file in FILES
    ),
    *TEXTS,
]


@pytest.fixture
def nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever imports something that is not there yet, or a file, fails."""
    for name in names():
        find(name)
    for command in ("evaluate", "report", "compare"):  # what the commands themselves import
        CliRunner().invoke(app, [command, "nowhere"])

    def refused(*given: Any, **_: Any) -> Any:
        raise AssertionError(f"something was to be imported: {given}")

    known = importlib.import_module

    def only_known(name: str, package: str | None = None) -> Any:
        return known(name, package) if name in sys.modules else refused(name)

    monkeypatch.setattr("ngs.tasks.finding.import_module", only_known)
    monkeypatch.setattr(importlib, "import_module", only_known)
    for module in ("importlib.util", "ngs.tasks.finding"):
        monkeypatch.setattr(f"{module}.spec_from_file_location", refused)


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of runs, with traps wherever a name could lead."""
    run = tmp_path / "runs" / "run"
    run.mkdir(parents=True)
    for folder in (run, run.parent, tmp_path):
        for name in ("trap.py", "x.py"):
            (folder / name).write_text(TRAP)
    monkeypatch.chdir(run)
    monkeypatch.syspath_prepend(run)
    return run


@pytest.mark.usefixtures("nothing_new")
@pytest.mark.parametrize("text", CONFIGS, ids=range(len(CONFIGS)))
def test_nothing_that_a_run_names_is_imported(text: str, stranger: Path) -> None:
    (stranger / CONFIG).write_bytes(text.encode("utf-8", "surrogateescape"))
    before = set(sys.modules)
    with pytest.raises(NGSError) as told:
        load_config(stranger)
    assert len(str(told.value).splitlines()) == 1 and "\x1b" not in str(told.value)
    found, skipped = RunFolders(stranger.parent).all()
    assert not found and [each.name for each in skipped] == ["run"]
    assert set(sys.modules) == before


def test_a_pipe_in_place_of_a_configuration_is_not_waited_for(stranger: Path) -> None:
    os.mkfifo(stranger / CONFIG)
    with pytest.raises(
        NGSError, match=r"config.json is no file; give the folder of a run, as `ngs train` makes it$"
    ):
        load_config(stranger)


@pytest.mark.usefixtures("nothing_new")
@pytest.mark.parametrize("command", ["evaluate", "report", "compare"])
@pytest.mark.parametrize(
    "text", [CONFIGS[0], CONFIGS[7], CONFIGS[len(NAMED)], TEXTS[0], TEXTS[-1]], ids=range(5)
)
def test_commands_refuse_such_runs_in_one_line(command: str, text: str, stranger: Path) -> None:
    (stranger / CONFIG).write_text(text)
    before = set(sys.modules)
    result = CliRunner().invoke(app, [command, str(stranger)])
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit), result.output
    assert result.stderr.startswith("ngs: ") and result.stderr.count("\n") == 1
    assert "train anew" in result.stderr or "--task FILE" in result.stderr
    assert set(sys.modules) == before
