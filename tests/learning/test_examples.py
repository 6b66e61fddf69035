"""Examples and batches: gathering and scattering against a loop, no padding in the network, refusals."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from hypothesis import given
from hypothesis import strategies as st
from ngs.learning.objective import Supervised
from torch import Tensor, nn

from ngs.errors import NGSError, SemanticsError, ShapeError
from ngs.grammar.padding import PAD
from ngs.learning.examples import Examples, most_inputs, padded
from ngs.learning.loop import Lesson, Order, Settings, Trainer
from ngs.reasoning.operation import UNDEFINED
from tests.learning.tasks import network, tiny, whole


def pooled() -> Examples:
    """Three examples over a pool of five inputs; the fourth input is shared, the last is of nobody."""
    inputs = torch.arange(10.0).view(5, 2)
    where = torch.tensor([[3, PAD, PAD], [0, 1, 2], [3, PAD, PAD]])
    labels = torch.tensor([[4, PAD, PAD], [1, 2, 0], [4, PAD, PAD]])
    return Examples(inputs, where, ("a", "b", "c"), labels)


def test_padded_is_a_ragged_list_in_a_table() -> None:
    assert padded(np.arange(4), [1, 0, 3]).tolist() == [[0, PAD, PAD], [PAD, PAD, PAD], [1, 2, 3]]


def test_examples_of_keeps_each_tensor_whole() -> None:
    seen = [torch.randn(length, 2) for length in (2, 1, 3)]
    examples = Examples.of(seen, [5, 6, 7], [[0, 1], [2], [3, 4, 5]])
    assert examples.lengths.tolist() == [2, 1, 3]
    assert examples.answers == (5, 6, 7)
    assert examples.labels is not None
    for number, each in enumerate(seen):
        assert torch.equal(examples.inputs[examples.where[number, : len(each)]], each)
        assert (examples.where[number, len(each) :] == PAD).all()
    assert examples.labels.tolist() == [[0, 1, PAD], [2, PAD, PAD], [3, 4, 5]]
    assert Examples.of(seen, [5, 6, 7]).labels is None


@pytest.mark.parametrize("numbers", [[0, 1, 2], [2, 0], [1], [1, 1, 0]])
def test_a_batch_gathers_and_scatters_as_a_loop_does(numbers: list[int]) -> None:
    examples = pooled()
    batch = examples.batch(np.array(numbers))
    rows = [row for number in numbers for row in examples.where[number].tolist() if row != PAD]
    assert torch.equal(batch.inputs, examples.inputs[rows])
    assert batch.lengths.tolist() == [int((examples.where[number] != PAD).sum()) for number in numbers]
    assert batch.labels is not None and examples.labels is not None
    assert torch.equal(batch.labels, examples.labels[numbers])
    assert batch.examples.tolist() == numbers

    logits = torch.randn(len(rows), 6)
    expected = torch.zeros(len(numbers), examples.time, 6)
    scores = iter(logits.log_softmax(-1))
    for place, number in enumerate(numbers):
        for t in range(int(examples.lengths[number])):
            expected[place, t] = next(scores)
    assert torch.equal(batch.beliefs(logits), expected)


def test_gradients_flow_back_to_the_input_they_belong_to() -> None:
    batch = pooled().batch(np.array([1, 0]))
    logits = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    batch.beliefs(logits)[0, 2, 5].backward()
    assert logits.grad is not None
    assert logits.grad.abs().sum(1).gt(0).tolist() == [False, False, True, False]


@pytest.mark.parametrize(
    "given, kept", [(torch.bfloat16, torch.float32), (torch.float32,) * 2, (torch.float64,) * 2]
)
def test_a_lattice_is_in_single_precision_at_least(given: torch.dtype, kept: torch.dtype) -> None:
    log_probs = pooled().batch(np.array([1])).beliefs(torch.randn(3, 6, dtype=given))
    assert log_probs.dtype == kept
    assert torch.allclose(log_probs.exp().sum(-1), torch.ones(1, 3, dtype=kept))


def test_the_network_is_shown_the_view_and_nothing_else() -> None:
    inputs = torch.arange(10, dtype=torch.uint8).view(5, 2)
    examples = Examples(inputs, torch.tensor([[4, 0]]), (1,), view=lambda seen: seen.float() / 2)
    assert whole(examples).inputs.tolist() == [[4.0, 4.5], [0.0, 0.5]]


class Counting(nn.Module):
    """A network that writes down how many inputs it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = network()
        self.counts: list[int] = []

    def forward(self, inputs: Tensor) -> Tensor:
        self.counts.append(len(inputs))
        scores: Tensor = self.inner(inputs)
        return scores


def test_no_padding_enters_the_network() -> None:
    accelerator = Accelerator()
    examples = tiny(40).to(accelerator.device)
    counting, lessons = Counting(), [Lesson("all", examples, Supervised(), 3)]
    trainer = Trainer(counting, lessons, Settings(batch_size=40), accelerator=accelerator)
    for _ in trainer:
        pass
    assert counting.counts == 3 * [int(examples.lengths.sum())]
    assert int(examples.lengths.sum()) < examples.where.numel()  # there was padding to be seen


def test_select_keeps_the_pool_and_makes_room_for_the_longest() -> None:
    examples = pooled()
    some = examples.select([2, 0])
    assert some.inputs is examples.inputs
    assert some.answers == ("c", "a")
    assert some.where.tolist() == [[3], [3]]
    assert some.labels is not None and some.labels.tolist() == [[4], [4]]
    assert examples.select([1, 0]).time == 3
    assert len(examples.select([])) == 0


def test_moving_leaves_the_content() -> None:
    examples = pooled().to(torch.device("cpu"))
    assert torch.equal(examples.where, pooled().where)
    assert examples.answers == pooled().answers


@pytest.mark.parametrize(
    "where, message",
    [
        (torch.zeros(3, dtype=torch.long), r"`where` is torch.int64 of shape \[3\]"),
        (torch.zeros(3, 1), r"`where` is torch.float32"),
        (torch.tensor([[0], [1], [5]]), r"rows 0 to 5 of 5 inputs"),
        (torch.tensor([[0], [1], [-2]]), r"rows -2 to 1 of 5 inputs"),
        (torch.tensor([[0, PAD, 1]] * 3), r"`where` has a gap"),
        (torch.tensor([[0], [1]]), r"3 answers for a batch of 2"),
    ],
)
def test_what_does_not_fit_is_refused(where: Tensor, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        Examples(torch.randn(5, 2), where, (1, 2, 3))


def test_labels_must_stand_for_the_inputs() -> None:
    with pytest.raises(ShapeError, match=r"the labels are \[1, 1\], the examples \[1, 2\]"):
        Examples(torch.randn(2, 2), torch.tensor([[0, 1]]), (1,), torch.tensor([[0]]))
    with pytest.raises(ShapeError, match="example 0 has 1 labels for 2 inputs; give one for each"):
        Examples.of([torch.randn(2, 2)], [1], [[0]])


def test_an_undefined_answer_is_refused() -> None:
    with pytest.raises(SemanticsError, match="the answer is UNDEFINED"):
        Examples.of([torch.randn(1, 2)], [UNDEFINED])


@pytest.mark.parametrize(
    "inputs, message",
    [
        ([], "there are no examples"),
        ([[1.0, 2.0]], "the inputs of example 0 are a list; give a tensor"),
        ([torch.randn(1, 2), torch.tensor(3.0)], "the inputs of example 1 are a Tensor; give a tensor"),
        (
            [torch.randn(1, 2), torch.randn(1, 3)],
            r"an input of example 1 is \[3\], one of example 0 is \[2\]",
        ),
    ],
)
def test_inputs_that_cannot_be_put_together_are_refused(inputs: list[Tensor], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        Examples.of(inputs, list(range(len(inputs))))


def test_symbols_are_no_columns() -> None:
    with pytest.raises(ShapeError, match=r"the labels of the first example are \['1', '\+'\]; give columns"):
        Examples.of([torch.randn(2, 2)], [1], [["1", "+"]])  # type: ignore[list-item]


def test_a_view_can_be_given_with_the_examples() -> None:
    examples = Examples.of([torch.ones(2, 3)], [1], view=lambda seen: -seen)
    assert (whole(examples).inputs == -1).all()


def test_examples_say_what_they_are() -> None:
    assert repr(pooled()) == "Examples(3 of 1 to 3 inputs [2], with labels)"
    assert repr(pooled().select([])).startswith("Examples(0 of")


@given(st.lists(st.integers(1, 60), min_size=1, max_size=4), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_no_batch_of_an_order_has_more_inputs_than_there_is_room_for(
    counts: list[int], batch_size: int, seed: int
) -> None:
    lengths = np.repeat(1 + 2 * np.arange(len(counts)), counts)
    order = Order(lengths, batch_size, seed)
    room = most_inputs(lengths, order.batch_size)
    inputs = [lengths[order(step)].sum() for step in range(3 * (len(lengths) // order.batch_size))]
    assert max(inputs) <= room <= order.batch_size * lengths.max()


def test_a_batch_put_together_on_the_device_is_the_same_batch() -> None:
    """But for what stands in for inputs that there are not; of it, nothing is believed."""
    examples = tiny(60, lengths=(1, 3, 5))
    order = Order(examples.lengths, 10, seed=0)
    torch.manual_seed(0)
    seeing = network()
    spare = 0
    for step in range(6):
        numbers = order(step)
        plain, gathered = examples.batch(numbers), examples.batch_of(torch.from_numpy(numbers))
        assert len(gathered.inputs) == most_inputs(examples.lengths, 10) >= len(plain.inputs)
        spare += len(gathered.inputs) - len(plain.inputs)
        for name in ("examples", "lengths", "labels"):
            assert torch.equal(getattr(plain, name), getattr(gathered, name))
        beliefs = [batch.beliefs(seeing(batch.inputs)) for batch in (plain, gathered)]
        assert torch.allclose(*beliefs, atol=1e-6)
        toward = torch.randn_like(beliefs[0])
        slopes = [torch.autograd.grad(each, list(seeing.parameters()), toward) for each in beliefs]
        assert all(torch.allclose(*pair, atol=1e-5) for pair in zip(*slopes, strict=True))
    assert spare > 0
    with pytest.raises(NGSError, match="known on the device alone"):
        _ = gathered.numbers


def test_examples_that_no_order_would_take_together_have_no_room() -> None:
    """Nothing of them is dropped in silence."""
    examples = tiny(60, lengths=(1, 3))
    longest = np.argsort(-examples.lengths)[:20]
    with pytest.raises(RuntimeError, match=r"more than the \d+ inputs that a batch can have"):
        examples.batch_of(torch.from_numpy(longest))
