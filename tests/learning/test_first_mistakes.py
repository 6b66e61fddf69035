"""What a newcomer gives, and what it is told."""

from __future__ import annotations

import pytest
import torch

import ngs
from ngs.errors import NGSError, ShapeError
from ngs.learning.examples import Examples
from ngs.learning.fit import fit, score
from ngs.reasoning.arithmetic import Arithmetic
from tests.learning.tasks import GRAMMAR, network, tiny


@pytest.mark.parametrize(
    "inputs, message",
    [
        ([[[1.0, 2.0]]], "the inputs of example 0 are a list; give a tensor"),
        ([torch.ones(1, 2), torch.tensor(3.0)], "the inputs of example 1 are a Tensor; give a tensor"),
        ([torch.ones(1, 2), torch.ones(2, 3)], r"an input of example 1 is \[3\], one of example 0 is \[2\]"),
        ([], "there are no examples; give at least one"),
    ],
)
def test_inputs_that_make_no_pool_are_refused(inputs, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ShapeError, match=message):
        Examples.of(inputs, [1] * len(inputs))


@pytest.mark.parametrize("labels", ["12", ("1", "2"), (1.0, 2.0)])
def test_labels_are_columns_and_nothing_else(labels) -> None:  # type: ignore[no-untyped-def]
    """Also where the symbols are digits, which would pass for columns."""
    with pytest.raises(ShapeError, match=r"the labels of the first example are .*grammar\.encode"):
        Examples.of([torch.ones(2, 2)], [3], [labels])


def test_examples_of_shows_the_network_the_view() -> None:
    examples = Examples.of([torch.ones(2, 2, dtype=torch.uint8)], [3], view=lambda stored: stored.float() / 2)
    assert examples.batch(ngs_numbers(1)).inputs.tolist() == [[0.5, 0.5]] * 2


def ngs_numbers(count: int):  # type: ignore[no-untyped-def]
    import numpy as np

    return np.arange(count)


def test_examples_print_in_a_line() -> None:
    assert repr(tiny(5, lengths=(1, 3))).count("\n") == 0
    assert repr(Examples.of([torch.ones(2, 4)], [3])) == "Examples(1 of 2 to 2 inputs [4], without labels)"


def test_labels_outside_the_grammar_are_refused() -> None:
    examples = Examples.of([torch.ones(1, 8)], [3], [[6]])
    for call in (fit, score):
        with pytest.raises(
            ShapeError, match="the labels are 6 to 6; the grammar's 6 symbols are columns 0 to 5"
        ):
            call(network(), GRAMMAR, Arithmetic, examples)


def test_a_training_that_found_nothing_is_no_result() -> None:
    examples = tiny(40)
    texts = Examples(examples.inputs, examples.where, tuple(map(str, examples.answers)))
    for method in (ngs.methods.posterior, ngs.methods.one_step, ngs.methods.reinforce(), ngs.methods.mapo()):
        with pytest.raises(NGSError, match=r"in 3 steps no sentence was found .* such as '"):
            fit(network(), GRAMMAR, Arithmetic, texts, method=method, steps=3)


@pytest.mark.parametrize(
    "method", [ngs.posterior, ngs.multi_step, ngs.methods.multi_step, ngs.methods.reinforce, "posterior"]
)
def test_what_is_no_method_is_refused(method) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(
        NGSError, match=r"cannot be called with a reasoner and a generator; give ngs\.methods"
    ):
        fit(network(), GRAMMAR, Arithmetic, tiny(10), method=method)


def test_settings_are_settings() -> None:
    with pytest.raises(NGSError, match=r"the settings are .*; give ngs\.Settings"):
        fit(network(), GRAMMAR, Arithmetic, tiny(10), settings={"batch_size": 3})  # type: ignore[arg-type]
    with pytest.raises(NGSError, match="the schedule is 'constant'; give a function"):
        ngs.Settings(schedule="constant")  # type: ignore[arg-type]
