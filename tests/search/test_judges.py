"""Judges say of many sentences at once whether they give their answers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.compiled import BUDGET
from ngs.search.reasoner import reasoner
from ngs.tasks.hwf.dataset import GRAMMAR


@pytest.mark.parametrize("budget", [BUDGET, 0], ids=["tables", "reference"])
def test_no_sentences_are_judged_as_some_are(budget: int) -> None:
    known = SimpleNamespace(lengths=[3], answers=[3], device=torch.device("cpu"))
    judge = reasoner(GRAMMAR, Arithmetic, known, budget=budget).judge
    z = torch.tensor([GRAMMAR.encode("1+2"), GRAMMAR.encode("1+3")])
    rows = torch.zeros(2, dtype=torch.long)
    assert judge(rows, z).tolist() == [True, False]
    assert judge(rows[:0], z[:0]).tolist() == []
