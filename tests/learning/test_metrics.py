"""Counting what is right: against a loop, for each length, and without touching the network."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from ngs.errors import NGSError
from ngs.grammar.padding import PAD
from ngs.learning import metrics as scoring
from ngs.learning.metrics import Score, Scores, measure, read_all, scores_of
from tests.learning.tasks import GRAMMAR, SIZE, decoded, network, tiny, tiny_reasoner, value_of, whole


def test_scores_are_those_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "AT_ONCE", 7)  # several parts, the last of another size
    examples = tiny(40, seed=3, lengths=(1, 3, 5))
    net = network(seed=1)
    found = measure(net, tiny_reasoner(examples))
    batch = whole(examples)
    read = tiny_reasoner(examples).read(batch.beliefs(net(batch.inputs)), batch)
    assert examples.labels is not None
    for length in (1, 3, 5):
        own = [k for k in range(40) if examples.lengths[k] == length]
        labels = [[c for c in examples.labels[k].tolist() if c != PAD] for k in own]
        columns = [[c for c in read[k].tolist() if c != PAD] for k in own]
        answers = [value_of(decoded(read[k])) == examples.answers[k] for k in own]
        symbols = [a == b for x, y in zip(labels, columns, strict=True) for a, b in zip(x, y, strict=True)]
        whole_formulas = [a == b for a, b in zip(labels, columns, strict=True)]
        score = found.by_length[length]
        assert score == Score(len(own), len(own) * length, sum(answers), sum(whole_formulas), sum(symbols))
    assert found.total.examples == 40
    assert found.total.symbols == int(examples.lengths.sum())
    assert 0 < found.total.calculation < 1


def test_a_perfect_reading_scores_one() -> None:
    examples = tiny(20)
    engine = tiny_reasoner(examples)
    assert examples.labels is not None
    reading = scoring.Reading(examples.labels, torch.ones(20, dtype=torch.bool), torch.zeros(20, 3, 6))
    total = scores_of(reading, engine.examples).total
    assert (total.calculation, total.formula, total.symbol) == (1.0, 1.0, 1.0)


def test_without_labels_only_answers_are_judged() -> None:
    examples = replace(tiny(20), labels=None)
    total = measure(network(), tiny_reasoner(examples)).total
    assert total.formula is None and total.symbol is None
    assert total.answers_right == measure(network(), tiny_reasoner(tiny(20))).total.answers_right


def test_scores_add_up() -> None:
    a, b = Score(2, 6, 1, 1, 5), Score(1, 3, 1, 0, 2)
    assert a + b == Score(3, 9, 2, 1, 7)
    assert (a + Score(1, 3, 1, None, None)).formula is None
    facts = Scores({3: a, 5: b}).as_facts()
    assert facts["examples"] == 3 and facts["calculation"] == pytest.approx(2 / 3)
    assert facts["by_length"] == {"3": a.as_facts(), "5": b.as_facts()}


class Moody(nn.Module):
    """Reads well in evaluation and badly in training."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = network()
        self.drop = nn.Dropout(0.9)
        self.norm = nn.BatchNorm1d(SIZE)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.inner(self.drop(self.norm(inputs)))
        return scores


@pytest.mark.parametrize("training", [True, False])
def test_measuring_changes_nothing(training: bool) -> None:
    engine = tiny_reasoner(tiny(20))
    net = Moody().train(training)
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    state = torch.get_rng_state()
    first, second = read_all(net, engine), read_all(net, engine)
    assert torch.equal(first.log_probs, second.log_probs)  # no dropout
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(tensor, before[name]) for name, tensor in net.state_dict().items())
    assert net.training is training
    assert first.columns.shape == (20, 3) and first.log_probs.shape == (20, 3, len(GRAMMAR.symbols))


def test_measuring_before_training_is_no_obstacle_to_it() -> None:
    """What is prepared in inference mode must still do where gradients are wanted."""
    examples = tiny(20)
    engine = tiny_reasoner(examples)
    net = network()
    measure(net, engine)
    batch = whole(examples)
    log_probs = batch.beliefs(net(batch.inputs))
    (engine.log_evidence(log_probs, batch) + engine.log_partition(log_probs, batch)).sum().backward()
    assert all(parameter.grad is not None for parameter in net.parameters())


def test_no_examples_are_refused() -> None:
    with pytest.raises(NGSError, match="there are no examples to read"):
        measure(network(), tiny_reasoner(tiny(5).select([])))
