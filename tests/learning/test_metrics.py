"""Counting what is right: against a loop, for each length, and without touching the network."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from ngs.errors import NGSError
from ngs.learning import metrics as scoring
from ngs.learning.metrics import Score, Scores, measure, read_all
from tests.learning.tasks import ONE_BY_ONE, SIZE, TASKS, decoded, value_of, whole


@pytest.mark.parametrize("kind", TASKS)
def test_scores_are_those_of_a_loop(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "AT_ONCE", 35)  # several parts, the last of another size
    task, net = TASKS[kind], TASKS[kind].network(seed=1)
    examples = task.examples(40, 3, (1, 3, 5))
    reasoner, batch = task.reasoner(examples), whole(examples)
    found = measure(net, reasoner)
    read = reasoner.distribution(net(batch.inputs), batch).best().symbols
    assert examples.labels is not None
    for length in (1, 3, 5):
        own = [k for k in range(40) if examples.lengths[k] == length]
        pairs = [(decoded(task.grammar, examples.labels[k]), decoded(task.grammar, read[k])) for k in own]
        answers = [
            value_of(task.grammar, z) == examples.answers[k] for k, (_, z) in zip(own, pairs, strict=True)
        ]
        symbols = [a == b for label, z in pairs for a, b in zip(label, z, strict=True)]
        sentences = [label == z for label, z in pairs]
        score = found.by_length[length]
        assert score == Score(len(own), len(own) * length, sum(answers), sum(sentences), sum(symbols))
    assert found.total.examples == 40
    assert found.total.symbols == int(examples.lengths.sum())
    assert 0 < found.total.answer < 1


def test_without_labels_only_answers_are_judged() -> None:
    examples, net = ONE_BY_ONE.examples(20), ONE_BY_ONE.network()
    total = measure(net, ONE_BY_ONE.reasoner(replace(examples, labels=None))).total
    assert total.sentence is None and total.symbol is None
    assert total.answers_right == measure(net, ONE_BY_ONE.reasoner(examples)).total.answers_right


def test_scores_add_up() -> None:
    a, b = Score(2, 6, 1, 1, 5), Score(1, 3, 1, 0, 2)
    assert a + b == Score(3, 9, 2, 1, 7)
    assert (a + Score(1, 3, 1, None, None)).sentence is None
    facts = Scores({3: a, 5: b}).as_facts()
    assert facts["examples"] == 3 and facts["answers"] == pytest.approx(2 / 3)
    assert facts["sentences"] == pytest.approx(1 / 3) and facts["symbols"] == pytest.approx(7 / 9)
    assert facts["by_length"] == {"3": a.as_facts(), "5": b.as_facts()}


class Moody(nn.Module):
    """Reads well in evaluation and badly in training."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = ONE_BY_ONE.network()
        self.drop = nn.Dropout(0.9)
        self.norm = nn.BatchNorm1d(SIZE)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.inner(self.drop(self.norm(inputs)))
        return scores


@pytest.mark.parametrize("training", [True, False])
def test_measuring_changes_nothing(training: bool) -> None:
    engine = ONE_BY_ONE.reasoner(ONE_BY_ONE.examples(20))
    net = Moody().train(training)
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    state = torch.get_rng_state()
    first, second = read_all(net, engine), read_all(net, engine)
    assert first.log_probs is not None and second.log_probs is not None
    assert torch.equal(first.log_probs, second.log_probs)  # no dropout
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(tensor, before[name]) for name, tensor in net.state_dict().items())
    assert net.training is training
    assert first.symbols.shape == (20, 3) and first.log_probs.shape == (20, 3, 6)


@pytest.mark.parametrize("kind", TASKS)
def test_measuring_before_training_is_no_obstacle_to_it(kind: str) -> None:
    """What is prepared in inference mode must still do where gradients are wanted."""
    task = TASKS[kind]
    examples = task.examples(20, 0, (1, 3, 5))
    reasoner, net, batch = task.reasoner(examples), task.network(), whole(examples)
    measure(net, reasoner)
    p = reasoner.distribution(net(batch.inputs), batch)
    (reasoner.posterior(p, batch, torch.Generator()).log_z + p.log_z).sum().backward()
    assert all(parameter.grad is not None for parameter in net.parameters())


def test_no_examples_are_refused() -> None:
    with pytest.raises(NGSError, match="there are no examples to read"):
        measure(ONE_BY_ONE.network(), ONE_BY_ONE.reasoner(ONE_BY_ONE.examples(5).select([])))
