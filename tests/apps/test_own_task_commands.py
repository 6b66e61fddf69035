"""`ngs predict` and `ngs explain` for a task in a file of the user's own, and commands that a task adds."""

import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ngs.tasks import finding
from tests.apps.commands import done, ngs, refused

SYMBOLWISE = """
import ngs, torch

GRAMMAR = ngs.arithmetic_grammar()

def examples(texts):
    '''The network copies its inputs, which say 4 in place of each 9.'''
    seen = [torch.eye(14)[GRAMMAR.encode(text.replace("9", "4"))] * 5 for text in texts]
    labels = [GRAMMAR.encode(text) for text in texts]
    return ngs.Examples.of(seen, answers=[ngs.exact(str(eval(text))) for text in texts], labels=labels)

class Copy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, inputs):
        return inputs * self.scale

task = ngs.Task(
    name="copied",
    grammar=GRAMMAR,
    semantics=ngs.Arithmetic,
    data=lambda settings: ngs.Splits(examples(["1+2", "3", "2*3", "4"] * 9), examples(["1+2", "9*2"])),
    network=lambda settings: Copy(),
)
"""

WRITER = (
    SYMBOLWISE
    + """
import dataclasses
from ngs.learning.examples import Stacked

def examples(texts):
    seen = torch.stack([torch.eye(14)[GRAMMAR.encode(text.replace("9", "4"))] * 5 for text in texts])
    given = ngs.Given(lengths=torch.full((len(texts),), 3))
    return ngs.Examples(Stacked(seen), tuple(ngs.exact(str(eval(text))) for text in texts), given)

@dataclasses.dataclass
class Copying:
    seen: torch.Tensor
    at: int = 0

    def select(self, rows):
        return Copying(self.seen[rows], self.at)

    def follow(self, before):
        end = self.at + before.shape[1]
        return self.seen[:, self.at : end], Copying(self.seen, end)

class Writes(Copy):
    def forward(self, inputs):
        return Copying(super().forward(inputs))

task = dataclasses.replace(
    task,
    data=lambda settings: ngs.Splits(examples(["1+2", "2*3"] * 9), examples(["1+2", "9*2"])),
    network=lambda settings: Writes(),
)
"""
)


@pytest.fixture(scope="module", params=[SYMBOLWISE, WRITER], ids=["symbolwise", "writer"])
def folder(request, tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("own")
    (folder / "copied.py").write_text(request.param)
    options = ("--steps", "1", "--learning-rate", "1e-6", "--out", folder / "run")
    done("train", folder / "copied.py", *options)
    return folder


def asked(folder: Path, command: str, *more: str) -> str:
    return done(command, folder / "run", "--task", folder / "copied.py", *more).output


def test_test_examples_are_read(folder) -> None:
    lines = asked(folder, "predict").splitlines()
    assert lines[0].startswith("example 1: 1 + 2 = 3  (") and "wrong" not in lines[0]
    assert lines[1].startswith("example 2: 4 * 2 = 8  (") and lines[1].endswith("wrong: the answer is 18")
    assert len(lines) == 2
    (only,) = json.loads(asked(folder, "predict", "--example", "2", "--json"))
    assert (only["read"], only["value"], only["answer"], only["right"]) == (["4", "*", "2"], "8", "18", False)


def test_the_first_wrong_example_is_explained_and_drawn(folder) -> None:
    drawing = folder / "why.svg"
    result = asked(folder, "explain", "--svg", str(drawing))
    assert result.startswith("example 2 of the test part, with the answer 18\n")
    assert "\nread   4 * 2 = 8\n" in result
    assert "4 * 2 = 8  ->  9 * 2 = 18" in result
    assert ("priority  edit" in result) == ("truth  9 * 2" in result)  # of symbols seen alone
    assert "9 * 2" in " ".join(ElementTree.parse(drawing).getroot().itertext())


def test_an_example_can_be_chosen(folder) -> None:
    assert "1 + 2 = 3, right as it stands" in asked(folder, "explain", "--example", "1")
    told = refused("explain", folder / "run", "--task", folder / "copied.py", "--example", "3")
    assert told == "ngs: --example is 3, and the test part has 2 examples\n"


def test_a_task_that_is_not_installed_must_be_given(folder) -> None:
    assert "say where it is with --task FILE" in refused("explain", folder / "run")


ADDED = """
from ngs.tasks.hwf.trainable import ReadingFormulas

class Added(ReadingFormulas):
    name = "added"
    commands = {"hello": "added_commands:hello", "data count": "added_commands:count"}

ADDED = Added()

def hello(name: str) -> None:
    '''Greet.'''
    print("hello", name)

def count() -> None:
    '''Count everything.'''
    print("one")
"""


def test_an_installed_task_adds_commands(tmp_path, monkeypatch) -> None:
    (tmp_path / "added_commands.py").write_text(ADDED)
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("added", "added_commands:ADDED", finding.GROUP)
    monkeypatch.setattr(finding, "entry_points", lambda group: [point])
    finding._references.cache_clear()
    try:
        assert "Greet." in ngs("--help").output and "Count everything." in ngs("data", "--help").output
        assert ngs("hello", "you").output == "hello you\n" and ngs("data", "count").output == "one\n"
    finally:
        finding._references.cache_clear()


@pytest.mark.parametrize("command", [[], ["data"], ["train"], ["train", "hwf"]])
def test_help_needs_no_pytorch(command) -> None:
    code = (
        "import sys\nfrom ngs.apps.cli import app\n"
        f"try:\n    app({[*command, '--help']!r})\n"
        "finally:\n    assert 'torch' not in sys.modules\n"
    )
    helped = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert helped.returncode == 0 and "Usage" in helped.stdout, helped.stderr
