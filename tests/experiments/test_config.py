"""The configuration of a run: what is written comes back, and what makes no sense is refused by name."""

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from ngs.errors import DataError, NGSError
from ngs.learning.examples import Examples
from ngs.learning.methods import METHODS, KBest, Mapo, MultiStep, Reinforce, a_sample, most_likely
from ngs.learning.schedule import constant
from ngs.networks import lenet, pointer
from ngs.search.edits import Rearrange, Switch
from ngs.tasks.clevr.language import LANGUAGES
from ngs.tasks.clevr.semantics import UNIQUE
from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.finding import find, names
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.pictures.scene_network import SCENE_NETWORKS
from ngs.tasks.pictures.settings import TrainScenes
from ngs.tasks.run_folder import Configured, configured, read_facts
from ngs.tasks.settings import METHODS as NAMES
from ngs.tasks.settings import STARTS, RunSettings
from tests.experiments.training import task_of

FILE = Path("config.json")
FIVE = Examples.of([torch.zeros(1, 2)] * 5, [1] * 5, [[0]] * 5)

SHARED: dict[str, Any] = {
    "data": "some.ngs",
    "method": "m-bs",
    "steps": 7,
    "batch_size": 5,
    "learning_rate": 1e-4,
    "schedule": "constant",
    "weight_decay": 0.1,
    "clipping": 3.0,
    "averaging": 0.9,
    "precision": "bfloat16",
    "fraction": 0.5,
    "validation": 0.1,
    "validate_every": 11,
    "test_curve": True,
    "test_growth": 1.5,
    "seed": 12,
    "back_search": 0.25,
    "walk_steps": 2,
    "best": 3,
    "samples": 4,
    "memory": 6,
}
OTHER = TrainHWF(
    **SHARED,
    network="wide",
    augment=True,
    longest=15,
    lengths=(3, 5),
    pretrain=0.5,
    pretrain_formulas=9,
    start="sample",
)
OTHER_CLEVR = TrainCLEVR(
    **SHARED,
    network="paper",
    dropout=0.5,
    copies=False,
    grammar="free",
    moves=False,
    unique="lenient",
    start="likeliest",
    enumerated=3,
)
OTHER_SCENES = TrainScenes(data="some.ngs", network="full", rendered=9, rendered_steps=3, augment=False)
CONFIGURATIONS = [TrainHWF(), OTHER, TrainCLEVR(), OTHER_CLEVR, TrainScenes(), OTHER_SCENES]


@pytest.mark.parametrize("other", [OTHER, OTHER_CLEVR], ids=["hwf", "clevr"])
def test_every_setting_is_changed_in_the_example(other: RunSettings) -> None:
    same = [field.name for field in fields(other) if getattr(other, field.name) == field.default]
    assert same == []


@pytest.mark.parametrize(
    "config", CONFIGURATIONS, ids=["hwf", "other hwf", "clevr", "other clevr", "scenes", "other scenes"]
)
def test_what_is_written_comes_back(config: RunSettings, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    task = task_of(config)
    path.write_text(json.dumps(Configured(task, config).as_facts()))
    assert configured(read_facts(path), path) == (task, config)
    assert read_facts(path)["task"] == task.name


def test_every_task_has_a_configuration_of_its_own() -> None:
    assert [find(name).name for name in names()] == ["hwf", "clevr", "scenes"] == list(names())
    assert len({find(name).settings for name in names()}) == 3


def test_names_that_options_offer_are_there() -> None:
    """They are listed apart from what they name, so that help needs no PyTorch."""
    assert list(NAMES) == list(METHODS)
    assert set(STARTS) == {"likeliest", "sample"}
    assert list(TrainHWF.choices["network"]) == list(lenet.NETWORKS)
    assert list(TrainCLEVR.choices["network"]) == list(pointer.SIZES)
    assert list(TrainCLEVR.choices["grammar"]) == list(LANGUAGES)
    assert list(TrainCLEVR.choices["unique"]) == list(UNIQUE)
    assert list(TrainScenes.choices["network"]) == list(SCENE_NETWORKS)


@pytest.mark.parametrize("kind", [find(name).settings for name in names()])
def test_every_setting_has_help_and_every_name_a_choice(kind: type[RunSettings]) -> None:
    assert all(field.metadata["option"]["help"].endswith(".") for field in fields(kind))
    texts = {field.name for field in fields(kind) if isinstance(field.default, str)} - {"data"}
    assert texts == kind.choices.keys()
    assert all(getattr(kind(), name) in known for name, known in kind.choices.items())


@pytest.mark.parametrize("other", [OTHER, OTHER_CLEVR], ids=["hwf", "clevr"])
def test_every_setting_of_the_loop_is_that_of_the_configuration(other: RunSettings) -> None:
    settings = other.settings
    assert (settings.batch_size, settings.learning_rate, settings.schedule) == (5, 1e-4, constant)
    assert (settings.weight_decay, settings.averaging, settings.clipping) == (0.1, 0.9, 3.0)
    assert (settings.precision, settings.seed) == (torch.bfloat16, 12)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_made(name: str) -> None:
    assert type(replace(OTHER, method=name).make_method()(FIVE)) is type(METHODS[name](FIVE))


def test_the_options_of_a_method_reach_it() -> None:
    several, ranked, drawing, mapo = (
        replace(OTHER, method=name).make_method()(FIVE)
        for name in ("m-bs", "posterior-k-best", "reinforce", "mapo")
    )
    assert isinstance(several, MultiStep) and several.chain.steps == 2
    assert isinstance(ranked, KBest) and ranked.k == 3
    assert isinstance(drawing, Reinforce) and drawing.samples == 4
    assert isinstance(mapo, Mapo) and mapo.memory.stored.shape == (5, 6, 1)


OF_ANY_TASK: list[tuple[dict[str, Any], str]] = [
    ({"method": "guess"}, "method is 'guess'; choose from .*posterior.*m-bs"),
    ({"network": "huge"}, "network is 'huge'; choose from small"),
    ({"schedule": "square"}, "schedule is 'square'; choose from one-cycle"),
    ({"precision": "int8"}, "precision is 'int8'; choose from float32"),
    ({"start": "anywhere"}, "start is 'anywhere'; choose from likeliest, sample"),
    ({"fraction": 1.5}, "fraction is 1.5; it must be above 0 and at most 1"),
    ({"fraction": float("nan")}, "fraction is nan"),
    ({"validation": -0.1}, "validation is -0.1"),
    ({"validation": 0.0}, "validation is 0.0; it must be above 0"),
    ({"validate_every": 0}, "validate_every is 0; it must be at least 1"),
    ({"test_growth": 0.5}, "test_growth is 0.5; give a factor above 1"),
    ({"best": 0}, "best is 0"),
    ({"samples": 0}, "samples is 0; it must be at least 1"),
    ({"memory": 0}, "memory is 0; it must be at least 1"),
    ({"steps": -1}, "steps is -1; it must be 0 or more"),
    ({"walk_steps": -1}, "steps is -1"),
    ({"back_search": 1.0}, r"back_search is 1.0; it must be in \[0, 1\)"),
    ({"back_search": -0.5}, "back_search is -0.5"),
    ({"back_search": float("nan")}, "back_search is nan"),
    ({"batch_size": 0}, "the batch size is 0"),
    ({"learning_rate": -1.0}, "the learning rate is -1.0"),
    ({"weight_decay": -1.0}, "the weight decay is -1.0"),
    ({"averaging": 1.0}, "averaging is 1.0"),
    ({"clipping": -1.0}, "clipping is -1.0"),
    ({"seed": -1}, "the seed is -1"),
]


@pytest.mark.parametrize(
    "kind, options, message",
    [
        *((kind, *each) for kind in (TrainHWF, TrainCLEVR) for each in OF_ANY_TASK),
        (TrainHWF, {"pretrain": 2.0}, "pretrain is 2.0"),
        (TrainHWF, {"pretrain_formulas": 0}, "pretrain_formulas is 0"),
        (TrainHWF, {"longest": 8}, "longest is 8; formulas have 1, 3, 5, ... symbols"),
        (TrainHWF, {"longest": -1}, "longest is -1"),
        (TrainCLEVR, {"grammar": "tidier"}, "grammar is 'tidier'; choose from tidy, free, none"),
        (TrainCLEVR, {"unique": "maybe"}, "unique is 'maybe'; choose from strict, lenient"),
        (TrainCLEVR, {"network": "huge"}, "network is 'huge'; choose from small, paper"),
        (TrainCLEVR, {"enumerated": 0}, "enumerated is 0; it must be at least 1"),
        (TrainCLEVR, {"dropout": 1.0}, r"dropout is 1.0; it must be in \[0, 1\)"),
        (TrainCLEVR, {"dropout": -0.1}, "dropout is -0.1"),
        (TrainScenes, {"rendered": 0}, "rendered is 0; it must be at least 1"),
        (TrainScenes, {"rendered_steps": -1}, "rendered_steps is -1; it must be 0 or more"),
        (
            TrainScenes,
            {"rendered_steps": 5},
            "rendered_steps is 5, and is for imported data alone; give data",
        ),
        (TrainScenes, {"network": "huge"}, "network is 'huge'; choose from small, full"),
        (TrainScenes, {"method": "posterior"}, "method is 'posterior'; choose from supervised"),
    ],
)
def test_what_makes_no_sense_is_refused(
    kind: type[RunSettings], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(NGSError, match=message):
        kind(**options)


# Questions about scenes


def test_how_to_search_is_what_the_settings_say() -> None:
    effort = OTHER_CLEVR.effort
    assert (effort.samples, effort.enumerated, effort.memory) == (4, 3, 6)
    several, usual = (
        replace(config, method="m-bs").make_method()(FIVE) for config in (OTHER_CLEVR, TrainCLEVR())
    )
    assert isinstance(several, MultiStep) and isinstance(usual, MultiStep)
    assert (several.chain.steps, several.chain.back_search) == (2, 0.25)
    assert (several.start, usual.start) == (most_likely, a_sample)


@pytest.mark.parametrize(
    "grammar, moves, kind, moving",
    [
        ("tidy", True, Rearrange, True),
        ("tidy", False, Rearrange, False),
        ("free", True, Switch, False),
        ("free", False, Switch, False),
        ("none", True, Switch, False),
    ],
)
def test_neighbours_are_those_of_the_language(grammar: str, moves: bool, kind: type, moving: bool) -> None:
    """Moving a filter needs the tidy order: elsewhere it would have many places in a noun phrase."""
    edits = TrainCLEVR(grammar=grammar, moves=moves).edits
    assert type(edits) is kind and getattr(edits, "moves", False) == moving


@pytest.mark.parametrize(
    "facts, message",
    [
        ([], "config.json is no configuration of `ngs train`: its task is None, and there are hwf, clevr"),
        ({}, "its task is None"),
        (
            {"task": "chess"},
            "'chess', which is not installed .there are hwf, clevr, scenes.; say where it is with --task",
        ),
        ({"task": ["clevr"]}, r"its task is \['clevr'\]"),
        ({"task": "clevr", "lengths": [3]}, "are unknown here: 'lengths'; use the version it was made with"),
        ({"task": "hwf", "grammar": "tidy"}, "are unknown here: 'grammar'"),
        ({"task": "clevr", "steps": "many"}, "config.json is no configuration of `ngs train clevr`"),
        ({"task": "clevr", "grammar": {}}, "grammar is {}; choose from tidy"),
        ({"task": "clevr", "grammar": "none at all"}, "grammar is 'none at all'; choose from"),
        ({"task": "hwf", "colour": "red", "age": 3}, "are unknown here: 'age', 'colour'"),
        ({"task": "hwf", "steps": "many"}, "config.json is no configuration"),
        ({"task": "hwf", "lengths": "3"}, "the lengths are '3'; give whole numbers"),
        ({"task": "hwf", "lengths": 5}, "the lengths are 5; give whole numbers"),
    ],
)
def test_configurations_of_no_task_are_refused(facts: object, message: str) -> None:
    with pytest.raises(NGSError, match=message):
        configured(facts, FILE)


def test_settings_of_earlier_versions_get_their_defaults() -> None:
    assert configured({"task": "hwf", "steps": 9}, FILE).settings == TrainHWF(steps=9)


def test_files_that_hold_no_facts_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.json cannot be read: No such file .*; give the folder"):
        read_facts(tmp_path / "none.json")
    for content in (b"{", b"\xff\xfe\x00"):
        (tmp_path / "bad.json").write_bytes(content)
        with pytest.raises(DataError, match=r"bad\.json is damaged"):
            read_facts(tmp_path / "bad.json")
