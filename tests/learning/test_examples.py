"""Examples and batches: gathering and scattering against a loop, no padding in the network, refusals."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ngs.errors import SemanticsError, ShapeError
from ngs.grammar.padding import PAD
from ngs.learning.examples import Examples, Pool, padded
from ngs.reasoning.operation import UNDEFINED
from tests.learning.tasks import IN_TURN, TASKS, whole


def pooled() -> Examples:
    """Three examples over a pool of five inputs; the fourth input is shared, the last is of nobody."""
    inputs = torch.arange(10.0).view(5, 2)
    where = torch.tensor([[3, PAD, PAD], [0, 1, 2], [3, PAD, PAD]])
    labels = torch.tensor([[4, PAD, PAD], [1, 2, 0], [4, PAD, PAD]])
    return Examples.pooled(inputs, where, ("a", "b", "c"), labels)


def pool_of(examples: Examples) -> Pool:
    assert isinstance(examples.inputs, Pool)
    return examples.inputs


def test_padded_is_a_ragged_list_in_a_table() -> None:
    assert padded(np.arange(4), [1, 0, 3]).tolist() == [[0, PAD, PAD], [PAD, PAD, PAD], [1, 2, 3]]


def test_examples_of_keeps_each_tensor_whole() -> None:
    seen = [torch.randn(length, 2) for length in (2, 1, 3)]
    examples = Examples.of(seen, [5, 6, 7], [[0, 1], [2], [3, 4, 5]])
    assert examples.lengths.tolist() == [2, 1, 3]
    assert examples.answers == (5, 6, 7)
    pool = pool_of(examples)
    assert examples.labels is not None
    for number, each in enumerate(seen):
        assert torch.equal(pool.inputs[pool.where[number, : len(each)]], each)
        assert (pool.where[number, len(each) :] == PAD).all()
    assert examples.labels.tolist() == [[0, 1, PAD], [2, PAD, PAD], [3, 4, 5]]
    assert Examples.of(seen, [5, 6, 7]).labels is None


@pytest.mark.parametrize("numbers", [[0, 1, 2], [2, 0], [1], [1, 1, 0]])
def test_a_batch_gathers_and_scatters_as_a_loop_does(numbers: list[int]) -> None:
    examples = pooled()
    pool, batch = pool_of(examples), examples.batch(np.array(numbers))
    rows = [row for number in numbers for row in pool.where[number].tolist() if row != PAD]
    assert torch.equal(batch.inputs, pool.inputs[rows])
    assert batch.lengths.tolist() == [int((pool.where[number] != PAD).sum()) for number in numbers]
    assert batch.labels is not None and examples.labels is not None
    assert torch.equal(batch.labels, examples.labels[numbers])
    assert batch.examples.tolist() == numbers

    logits = torch.randn(len(rows), 6)
    expected = torch.zeros(len(numbers), examples.time, 6)
    scores = iter(logits.log_softmax(-1))
    for place, number in enumerate(numbers):
        for t in range(int(examples.lengths[number])):
            expected[place, t] = next(scores)
    assert torch.equal(batch.log_probs(logits), expected)


def test_gradients_flow_back_to_the_input_they_belong_to() -> None:
    batch = pooled().batch(np.array([1, 0]))
    logits = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    batch.log_probs(logits)[0, 2, 5].backward()
    assert logits.grad is not None
    assert logits.grad.abs().sum(1).gt(0).tolist() == [False, False, True, False]


@pytest.mark.parametrize(
    "given, kept", [(torch.bfloat16, torch.float32), (torch.float32,) * 2, (torch.float64,) * 2]
)
def test_scores_are_in_single_precision_at_least(given: torch.dtype, kept: torch.dtype) -> None:
    log_probs = pooled().batch(np.array([1])).log_probs(torch.randn(3, 6, dtype=given))
    assert log_probs.dtype == kept
    assert torch.allclose(log_probs.exp().sum(-1), torch.ones(1, 3, dtype=kept))


def test_the_network_is_shown_the_view_and_nothing_else() -> None:
    inputs = torch.arange(10, dtype=torch.uint8).view(5, 2)
    examples = Examples.pooled(inputs, torch.tensor([[4, 0]]), (1,), view=lambda seen: seen.float() / 2)
    assert whole(examples).inputs.tolist() == [[4.0, 4.5], [0.0, 0.5]]
    assert (whole(Examples.of([torch.ones(2, 3)], [1], view=lambda seen: -seen)).inputs == -1).all()


def test_select_keeps_the_pool_and_makes_room_for_the_longest() -> None:
    examples = pooled()
    some = examples.select([2, 0])
    assert pool_of(some).inputs is pool_of(examples).inputs
    assert some.answers == ("c", "a")
    assert pool_of(some).where.tolist() == [[3], [3]]
    assert some.labels is not None and some.labels.tolist() == [[4], [4]]
    assert examples.select([1, 0]).time == 3
    assert len(examples.select([])) == 0


def of_three(where: Tensor) -> Examples:
    return Examples.pooled(torch.randn(5, 2), where, (1, 2, 3))


def read(inputs: list[Any], labels: list[Any] | None = None) -> Examples:
    return Examples.of(inputs, list(range(len(inputs))), labels)


SEEN, SYMBOL_IDS = torch.randn(2, 2), r"the labels of the first example are .*; give symbol ids: grammar\.enc"


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: of_three(torch.zeros(3, dtype=torch.long)), r"`where` is torch.int64 of shape \[3\]"),
        (lambda: of_three(torch.zeros(3, 1)), r"`where` is torch.float32"),
        (lambda: of_three(torch.tensor([[0], [1], [5]])), r"rows 0 to 5 of 5 inputs"),
        (lambda: of_three(torch.tensor([[0], [1], [-2]])), r"rows -2 to 1 of 5 inputs"),
        (lambda: of_three(torch.tensor([[0, PAD, 1]] * 3)), r"`where` has a gap"),
        (lambda: of_three(torch.tensor([[0], [1]])), r"3 answers for a batch of 2"),
        (lambda: read([]), "there are no examples"),
        (lambda: read([[1.0, 2.0]]), "the inputs of example 0 are a list; give a tensor"),
        (lambda: read([SEEN, torch.tensor(3.0)]), "the inputs of example 1 are a Tensor; give a tensor"),
        (lambda: read([SEEN, torch.randn(1, 3)]), r"of example 1 is \[3\], one of example 0 is \[2\]"),
        (lambda: read([SEEN], [[0]]), "example 0 has 1 labels for 2 symbols; give one for each"),
        (lambda: read([SEEN, SEEN], [[0, 1]]), "1 of 2 examples have labels; label all or none"),
        (lambda: replace(pooled(), labels=torch.zeros(3, 1)), r"the labels are \[3, 1\], not \[3, 3\]"),
        (
            lambda: replace(IN_TURN.examples(5, 0, (3,)), labels=torch.zeros(4, 3)),
            r"the labels are \[4, 3\], not \[5, 3\]",
        ),
        # Also where the symbols are digits, which would pass for ids.
        *((partial(read, [SEEN], [labels]), SYMBOL_IDS) for labels in ("12", ("1", "2"), (1.0, 2.0))),
    ],
)
def test_what_does_not_fit_is_refused(make: Callable[[], Examples], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        make()


def test_an_undefined_answer_is_refused() -> None:
    with pytest.raises(SemanticsError, match="the answer is UNDEFINED"):
        Examples.of([torch.randn(1, 2)], [UNDEFINED])


def test_examples_say_what_they_are_in_a_line() -> None:
    assert repr(pooled()) == "Examples(3 of 1 to 3 symbols, with labels)"
    assert repr(Examples.of([torch.ones(2, 4)], [3])) == "Examples(1 of 2 to 2 symbols, without labels)"
    assert repr(pooled().select([])).startswith("Examples(0 of")


# Examples that a network looks at as a whole


def test_a_batch_has_what_its_examples_have() -> None:
    examples, numbers = IN_TURN.examples(8, 0, (3, 5)), np.array([6, 1, 3])
    assert examples.labels is not None and examples.given.multiset is not None
    batch = examples.batch(numbers)
    assert len(batch) == 3 and batch.examples.tolist() == [6, 1, 3] and batch.rows.tolist() == [0, 1, 2]
    assert batch.lengths.tolist() == examples.lengths[numbers].tolist()
    assert torch.equal(batch.given.sizes, batch.lengths)
    assert batch.labels is not None and torch.equal(batch.labels, examples.labels[numbers, : batch.time])
    assert batch.time == batch.lengths.max()  # and no longer: each symbol costs a step
    assert whole(replace(examples, labels=None)).labels is None


@pytest.mark.parametrize("kind", TASKS)
def test_an_example_is_read_alike_in_every_batch_and_selection(kind: str) -> None:
    task = TASKS[kind]
    examples, net = task.examples(8, 0, (1, 3, 5)), task.network()

    def read(some: Examples, numbers: list[int]) -> list[float]:
        batch = some.batch(np.array(numbers))
        assert batch.labels is not None
        p = task.reasoner(some).distribution(net(batch.inputs), batch)
        log_p: list[float] = p.score(batch.rows, batch.labels).tolist()
        return log_p

    together = read(examples, [*range(8)])
    for k in range(8):
        assert (
            read(examples, [k]) == read(examples.select([k]), [0]) == pytest.approx([together[k]], abs=1e-5)
        )
