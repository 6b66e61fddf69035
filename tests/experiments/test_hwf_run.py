"""Runs on formulas: which lengths, new formulas, and a lesson with labels before the others."""

import json
from collections import Counter
from pathlib import Path

import pytest
import torch

from ngs.errors import NGSError
from ngs.experiments.run import evaluate_run
from ngs.learning.metrics import Score, Scores
from ngs.search.judges import TableJudge
from ngs.tasks.hwf import packed
from ngs.tasks.hwf import preparation as hwf
from ngs.tasks.hwf.dataset import GRAMMAR, SIDE
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.integer_judge import IntegerJudge
from ngs.tasks.hwf.preparation import load_network, parts_of
from ngs.tasks.run_folder import BEST, EARLY, RESULT
from tests.experiments.short_runs import CPU, Short, Straight


def test_the_network_of_a_run_reads_images(formulas: Short, straight: Straight) -> None:
    folder = straight(formulas)
    for name in (BEST, EARLY):
        network = load_network(folder, name)
        assert not network.training
        assert network(torch.rand(2, 1, SIDE, SIDE)).shape == (2, len(GRAMMAR.symbols))
    assert set(json.loads((folder / RESULT).read_text())["test"]["by_length"]) == {"1", "3"}


def test_lengths_restrict_all_parts(formulas: Short) -> None:
    parts = formulas.but(lengths=(3,)).prepared().parts
    for part in (parts.train, parts.validation, parts.test):
        assert set(part.examples.lengths.tolist()) == {3}
    assert set(formulas.but(lengths=(1, 2, 9)).prepared().parts.train.examples.lengths) == {1}
    with pytest.raises(NGSError, match="no formulas are left to train on"):
        formulas.but(lengths=(2,)).prepared()


@pytest.fixture(scope="module")
def all_symbols(formulas: Short, tmp_path_factory: pytest.TempPathFactory) -> Short:
    """With images of every symbol in both parts."""
    path = tmp_path_factory.mktemp("data") / "all.ngs"
    packed.write(path, embedded(train=80, test=60, lengths={3: 1.0}))
    return formulas.but(data=str(path))


def test_new_formulas_take_the_place_of_those_of_the_data(all_symbols: Short) -> None:
    """As many as before, in equal shares of all lengths, and the same whatever else is set."""
    asked = all_symbols.but(longest=11)
    parts, other = asked.prepared().parts, asked.but(seed=7, method="1-bs").prepared().parts
    assert isinstance(parts.train.judge, IntegerJudge) and isinstance(parts.test.judge, IntegerJudge)
    assert len(parts.train.examples) + len(parts.validation.examples) == 80
    counted = Counter(parts.test.examples.lengths.tolist())
    assert counted == {1: 10, 3: 10, 5: 10, 7: 10, 9: 10, 11: 10}
    packed_as = packed.read(Path(all_symbols.settings.data))
    assert parts.data.digest == other.data.digest != packed_as.digest
    shorter = asked.but(longest=3).prepared().parts
    assert parts.data.digest != shorter.data.digest and isinstance(shorter.train.judge, TableJudge)


@pytest.mark.parametrize("method", ["m-bs", "1-bs"])
def test_formulas_too_long_for_tables_can_be_learned_from(
    method: str, all_symbols: Short, tmp_path: Path
) -> None:
    asked = all_symbols.but(method=method, longest=15, steps=3)
    result = asked.finished(tmp_path / "run")
    assert result["digest"] == parts_of(asked.settings, CPU).data.digest
    assert set(result["test"]["by_length"]) == {str(length) for length in range(1, 16, 2)}
    name, scores = evaluate_run(tmp_path / "run")
    assert name == "embedded, new formulas" and scores.as_facts() == result["test"]
    name, scores = evaluate_run(tmp_path / "run", all_symbols.settings.data)  # other data as they are
    assert name == "embedded" and set(scores.as_facts()["by_length"]) == {"3"}


def test_pretraining_comes_first_and_ends_when_it_is_enough(formulas: Short, tmp_path: Path) -> None:
    asked = formulas.but(pretrain=0.3, pretrain_formulas=20, augment=False, averaging=0.0)
    events = list(asked.train(tmp_path / "run"))
    assert events[0].steps == 12 + hwf.PRETRAIN_STEPS
    lessons = [event.row["lesson"] for event in events if "lesson" in event.row]
    assert set(lessons) == {"pretrain", "m-bs"} and lessons == sorted(lessons, reverse=True)
    assert 12 < events[-1].step < 300
    assert events[-1].step - 12 > 0 and (events[-1].step - 12) % 5 == 0


def test_what_pretraining_made_is_not_chosen(
    formulas: Short, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With scores made up: the network is worse at each validation."""
    scores = (Scores({1: Score(100, 100, right, None, None)}) for right in range(100, 0, -1))
    monkeypatch.setattr(hwf, "PRETRAIN_STEPS", 3)
    monkeypatch.setattr(hwf.PreparedFormulas, "measure", staticmethod(lambda network, part: next(scores)))
    asked = formulas.but(pretrain=1.0, pretrain_formulas=20, steps=3, validate_every=1)
    rows = [event.row for event in asked.train(tmp_path / "run")]
    pretrained = [row["step"] for row in rows if row.get("lesson") == "pretrain"]
    assert pretrained == [1, 2, 3] and rows[-1]["chosen_step"] == 4
