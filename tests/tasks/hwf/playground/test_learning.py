"""Learning from drawings and their answers alone."""

from fractions import Fraction
from math import log

import pytest
import torch
from torch import nn

from ngs.errors import NGSError
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.playground import learning
from ngs.tasks.hwf.playground.learning import (
    Drawn,
    Taught,
    drawn_of,
    familiar,
    learn,
    log_probability,
    own_copy,
    right,
)
from ngs.tasks.hwf.playground.strokes import seen_in
from tests.tasks.hwf.playground.drawings import seen_as, strokes_of, trained


def unsure() -> nn.Module:
    """The trained network with flat scores, so that there is something to learn."""
    network = own_copy(trained())
    last = [layer for layer in network.modules() if isinstance(layer, nn.Linear)][-1]
    with torch.no_grad():
        last.weight *= 0.15
    return network


def drawn_as(sentence: str, answer: int, network: nn.Module) -> Drawn:
    return drawn_of(seen_in(strokes_of(sentence), network), Fraction(answer))


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_answer_becomes_likelier() -> None:
    network = unsure()
    drawn = drawn_as("3+4", 7, network)
    before = log_probability(network, drawn)
    taken = list(learn(network, drawn, [], 6, generator()))
    assert len(taken) == 6
    assert taken[0].before == pytest.approx(2.718281828**before)
    assert [step.after for step in taken[:-1]] == [step.before for step in taken[1:]]
    assert taken[-1].after > 2 * taken[0].before
    assert taken[-1].loss < taken[0].loss
    assert log_probability(network, drawn) == pytest.approx(log(taken[-1].after))


def test_one_seed_one_network() -> None:
    def learned(seed: int) -> list[float]:
        network = unsure()
        drawn = drawn_as("3+4", 7, network)
        return [step.after for step in learn(network, drawn, [drawn], 2, generator(seed))]

    assert learned(1) == learned(1) != learned(2)


def test_the_copied_network_stays_as_it_is() -> None:
    network = trained()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    own = own_copy(network)
    list(learn(own, drawn_as("3+4", 8, network), [], 2, generator()))
    assert all(torch.equal(before[name], tensor) for name, tensor in network.state_dict().items())
    changed = [name for name, tensor in own.state_dict().items() if not torch.equal(before[name], tensor)]
    assert changed and not any("running" in name or "tracked" in name for name in changed)


def test_what_it_was_sure_of_is_kept() -> None:
    own = own_copy(trained())
    with torch.no_grad():
        sure = trained()(familiar()).softmax(-1).max(-1)
    known = sure.values > 0.8
    list(learn(own, drawn_as("3+4", 8, own), [], 10, generator()))
    with torch.no_grad():
        now = own(familiar()).argmax(-1)
    assert known.float().mean() > 0.5
    assert (now == sure.indices)[known].float().mean() > 0.95


def test_what_was_drawn_earlier_is_repeated() -> None:
    network = unsure()
    earlier, drawn = drawn_as("9", 9, network), drawn_as("3+4", 7, network)
    before = log_probability(network, earlier)
    list(learn(network, drawn, [earlier], 6, generator()))
    assert log_probability(network, earlier) > before + 0.1


def test_right_is_counted() -> None:
    network = trained()
    drawings = [drawn_as("3+4", 7, network), drawn_as("8", 3, network), drawn_as("9-4*2", 1, network)]
    expected = [each.right_before for each in drawings]
    assert expected[1] is False
    assert right(network, drawings) == sum(expected) and right(network, []) == 0


@pytest.mark.parametrize(("sentence", "why"), [("34", "2 symbols"), ("1+1+1+1+1+1", "11 symbols")])
def test_what_cannot_be_learned_from_is_refused(sentence, why) -> None:
    with pytest.raises(NGSError, match=why):
        drawn_of(seen_as(sentence), Fraction(1))


def test_handwriting_shows_every_symbol() -> None:
    assert len(familiar()) % len(GRAMMAR.symbols) == 0
    assert familiar().amin() >= 0 and familiar().flatten(1).sum(1).amin() > 10


def test_the_latest_drawings_are_remembered_each_once(monkeypatch) -> None:
    monkeypatch.setattr(learning, "REMEMBERED", 2)
    taught, drawings = Taught(), [drawn_as(f"{k}+1", k + 1, trained()) for k in (1, 2, 3)]
    for each in (*drawings, drawings[-1]):
        taught = taught.with_lesson(each, trained())
    assert taught.drawn == tuple(drawings[1:]) and taught.score.drawn == 2
