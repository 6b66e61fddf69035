"""The package as a whole: what the wheel carries, which way imports point, what the core needs."""

import ast
import inspect
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import ngs
from ngs.tasks.finding import every

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "ngs"
MODULES = sorted(SOURCE.rglob("*.py"))

FACADE = "__init__"  # ngs/__init__.py collects the public names, so only apps may import from it
LAYERS = (
    "kernels",  # these import nothing else of ours, and every layer may ask for them
    "errors",
    "gpu",
    "processes",
    "grammar",
    "parsing",
    "reasoning",
    "search",
    "explanations",
    "learning",
    "networks",
    "console",
    "tasks",
    "experiments",
    FACADE,
    "apps",
)
CORE = LAYERS[: LAYERS.index("search") + 1]


def layer_of_file(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def layer_of_import(module: str) -> str:
    """ngs.parsing.chart -> parsing; a public name (ngs, ngs.Grammar) comes from the facade."""
    layer = module.partition(".")[2].partition(".")[0]
    return layer if layer in LAYERS else FACADE


def imports_of_ngs(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything of ours that `tree` imports; a relative import names no layer."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                imported = [alias.name for alias in names]
            case ast.ImportFrom(module=module, names=names, level=0):
                imported = [f"{module}.{alias.name}" for alias in names]
            case ast.ImportFrom():
                imported = ["ngs.apps.a_relative_import"]
            case _:
                continue
        yield from ((node.lineno, name) for name in imported if name.split(".")[0] == "ngs")


def wrong_way_imports(source: str, path: Path) -> list[str]:
    here = layer_of_file(path)
    return [
        f"{path.relative_to(SOURCE)}:{line}: {here} imports {name}, which is of a later layer"
        for line, name in imports_of_ngs(ast.parse(source))
        if LAYERS.index(layer_of_import(name)) > LAYERS.index(here)
    ]


def prints(source: str) -> list[int]:
    """The lines that call print."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]


def named_in_code(source: str, names: str) -> list[int]:
    """The lines whose code, without comments and docstrings, has one of the names."""
    tree = ast.parse(source)
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return sorted(
        node.lineno
        for node in ast.walk(tree)
        if id(node) not in docstrings
        for part in vars(node).values()
        if isinstance(part, str) and re.search(names, part, re.IGNORECASE)
    )


def test_no_code_outside_the_tasks_names_one() -> None:
    outside = [path for path in MODULES if "tasks" not in path.relative_to(SOURCE).parts]
    found = {path: named_in_code(path.read_text(encoding="utf-8"), "hwf|clevr") for path in outside}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_names_in_code_are_found_and_those_in_docstrings_are_not() -> None:
    assert named_in_code('"""HWF."""\n# clevr\nx = 1\n"""CLEVR."""\n', "hwf|clevr") == []
    for code in (
        "import ngs.tasks.hwf",
        "from ngs.tasks.clevr import x",
        "clevr = 1",
        "f('hwf')",
        "x.HWF",
        "f(hwf=1)",
    ):
        assert named_in_code(code, "hwf|clevr") == [1]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_a_module_imports_one_way_and_prints_in_apps_alone(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert layer_of_file(path) in LAYERS and wrong_way_imports(source, path) == []
    assert layer_of_file(path) == "apps" or prints(source) == []


def test_only_commands_tell_something() -> None:
    """Those of `apps`, and those that tasks add."""
    telling = {path for path in MODULES if "from ngs.console.printing import" in path.read_text("utf-8")}
    added = {place.partition(":")[0] for task in every() for place in task.commands.values()}
    commands = {SOURCE.parent.joinpath(*module.split(".")).with_suffix(".py") for module in added}
    assert {path for path in telling - commands if layer_of_file(path) not in ("apps", "console")} == set()


@pytest.mark.parametrize(
    "statement, allowed",
    [
        ("from ngs.errors import ParseError", True),
        ("from ngs.grammar.tree import Tree", True),
        ("import ngs.parsing.chart", True),
        ("from torch import Tensor", True),
        ("import ngs.search", False),
        ("from ngs.reasoning import Semantics", False),
        ("from ngs import reasoning", False),
        ("from . import semiring", False),
        ("from ..grammar import tree", False),
        ("def later():\n    from ngs.search import posterior", False),
        ("from ngs import Grammar", False),
    ],
)
def test_the_layer_check_sees_every_form_of_import(statement: str, allowed: bool) -> None:
    assert (wrong_way_imports(statement, SOURCE / "parsing" / "chart.py") == []) is allowed


def test_the_wheel_carries_the_whole_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        carried = {name for name in archive.namelist() if name.startswith("ngs/")}
        (entry_points,) = (name for name in archive.namelist() if name.endswith("/entry_points.txt"))
        scripts = archive.read(entry_points).decode()

    files = (path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert carried == {path.relative_to(SOURCE.parent).as_posix() for path in files}
    assert {"ngs/py.typed", "ngs/grammar/data/arithmetic.lark", "ngs/tasks/clevr/data/clevr.lark"} <= carried
    assert "ngs = ngs.apps.cli:main" in scripts.splitlines()


IMPORT = """
import importlib, sys, lark, numpy, torch
needed = {name.partition(".")[0] for name in sys.modules} | sys.stdlib_module_names | {"ngs"}
for module in sys.argv[1:]:
    importlib.import_module(module)
extra = {name.partition(".")[0] for name in sys.modules} - needed
sys.exit(f"the core also imports {sorted(extra)}" if extra else 0)
"""


def test_the_core_imports_with_torch_numpy_and_lark_alone() -> None:
    """But for kernels, which are imported where there is Triton and a GPU."""
    files = (path for path in MODULES if "kernels" not in path.parts)
    core = (path.relative_to(SOURCE) for path in files if layer_of_file(path) in CORE)
    names = (".".join(("ngs", *path.with_suffix("").parts)) for path in core)
    modules = ["ngs", *(name.removesuffix(".__init__") for name in names)]
    run = subprocess.run([sys.executable, "-c", IMPORT, *modules], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_every_public_name_is_found_where_it_is_said_to_be() -> None:
    for name in ngs.__all__:
        assert getattr(ngs, name) is not None
    with pytest.raises(AttributeError, match="module 'ngs' has no attribute 'nothing'"):
        _ = ngs.nothing


def test_importing_ngs_loads_nothing_yet() -> None:
    """The command line sets up its process before PyTorch is loaded; the facade must not be in its way."""
    code = "import sys, ngs, ngs.apps; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


USED = (
    *("Grammar", "arithmetic_grammar", "prefix_automaton", "Automaton", "Given", "Multiset", "pretty"),
    *("parse", "recognises", "parse_aligned", "parse_unsegmented", "sentences_by_probability", "independent"),
    *("Semantics", "evaluate", "inverses", "OneOf", "exact", "as_svg", "as_text"),
    *("ChainSettings", "Substitute", "Switch", "back_search", "sample_corrections", "one_step", "multi_step"),
    *("one_step_among", "reasoner", "posterior", "Examples", "Settings", "Trainer", "fit", "score"),
)
"""Functions and constructors that people call: their docstrings have an example."""
WITHOUT_DOCSTRING = ("PAD", "Tree")
"""A number and a union of types, which cannot have one of their own."""


@pytest.mark.parametrize("name", [name for name in ngs.__all__ if name not in WITHOUT_DOCSTRING])
def test_every_public_name_has_a_docstring(name: str) -> None:
    """Whole sentences, and an example where people call it; `pytest src` runs the examples."""
    found = getattr(ngs, name)
    text = inspect.cleandoc(vars(found).get("__doc__") or "") if isinstance(found, type) else found.__doc__
    assert text, f"{name} has no docstring"
    assert ">>>" in text or name not in USED, f"{name} has no example"
    assert ">>>" in text or text.rstrip().endswith("."), f"{name}: the docstring ends without a full stop"


MAPS = (
    *("grammar", "parsing", "reasoning", "search", "learning", "networks", "kernels", "explanations"),
    *("tasks", "tasks/hwf", "tasks/clevr", "tasks/pictures", "console", "experiments", "apps"),
)


@pytest.mark.parametrize("folder", MAPS)
def test_every_folder_has_a_map(folder: str) -> None:
    """The docstring of its `__init__.py` names every file and folder of it, and nothing else."""
    text = ast.get_docstring(ast.parse((SOURCE / folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert "Read first:" in text
    named = {word.strip("`") for word in re.findall(r"^(?:    |\| )(`\w+`|[\w.]+)  *\S", text, re.MULTILINE)}
    there = {path.name for path in (SOURCE / folder).iterdir()} - {"__init__.py", "__pycache__"}
    assert {name.removesuffix(".py") for name in named} - {"module"} == {
        name.removesuffix(".py") for name in there
    }
