"""The peak of tensors, on sums that can be done by hand."""

from __future__ import annotations

import torch
from torch import nn

from ngs.tasks.costs.tensor_memory import peak_tensor_mb

CPU = torch.device("cpu")
MB = 2**18
"""floats in a megabyte"""


def test_what_is_freed_makes_room() -> None:
    def one_after_the_other() -> None:
        for _ in range(5):
            torch.zeros(3 * MB)

    def together() -> None:
        kept = [torch.zeros(3 * MB) for _ in range(5)]
        kept.clear()
        torch.zeros(MB)

    assert peak_tensor_mb(one_after_the_other, CPU) == 3
    assert peak_tensor_mb(together, CPU) == 15


def test_views_and_changes_in_place_take_nothing() -> None:
    before = torch.zeros(4 * MB)

    def action() -> None:
        before.view(2, -1)[0].add_(1)
        made = torch.zeros(2 * MB)
        made.mul_(2).reshape(-1, 2).T.neg_()

    assert peak_tensor_mb(action, CPU) == 2


def test_what_is_kept_for_the_gradient_counts() -> None:
    x = torch.ones(MB)
    weight = nn.Parameter(torch.ones(()))

    def action() -> None:
        (weight * x).exp().exp().sum().backward()  # type: ignore[no-untyped-call]

    with torch.no_grad():
        without = peak_tensor_mb(lambda: (weight * x).exp().exp().sum(), CPU)
    assert 2 <= without < 2.1
    assert peak_tensor_mb(action, CPU) >= 3


def test_what_outlives_the_action_does_no_harm() -> None:
    kept = []
    assert peak_tensor_mb(lambda: kept.append(torch.zeros(MB)), CPU) == 1
    kept.clear()
    assert peak_tensor_mb(lambda: torch.zeros(MB), CPU) == 1
