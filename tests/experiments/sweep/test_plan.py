"""What may be begun at the same time."""

from __future__ import annotations

from pathlib import Path

from ngs.experiments.sweep.event import Done
from ngs.experiments.sweep.plan import Plan
from ngs.experiments.sweep.store import Store
from tests.experiments.sweep.jobs import Sum


def numbers(plan: Plan) -> list[int]:
    """What is begun now, one after the other, until all else has to wait."""
    list(plan.survey())
    begun = []
    while (entry := plan.begin()) is not None:
        begun.append(entry.job.facts["number"])
    return begun


def end(plan: Plan, *done: int) -> None:
    for entry in [entry for entry in plan.left.values() if entry.job.facts["number"] in done]:
        plan.note(entry, Done(entry.job))


def test_what_has_to_be_alone_waits_and_is_waited_for(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    jobs = [Sum(1, log, alone=True), Sum(2, log), Sum(3, log), Sum(4, log, alone=True)]
    plan = Plan(jobs, Store(tmp_path / "store"))
    assert numbers(plan) == [2, 3]
    end(plan, 2)
    assert numbers(plan) == []
    end(plan, 3)
    assert numbers(plan) == [1]
    end(plan, 1)
    assert numbers(plan) == [4]
