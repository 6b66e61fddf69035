"""Actions that are timed."""

from __future__ import annotations

from ngs.tasks.costs.timed_steps import timed


def test_actions_are_timed_in_turn() -> None:
    calls: list[str] = []
    actions = {name: lambda name=name: calls.append(name) for name in "ab"}
    spent = timed(actions, 3)
    assert calls == ["a", "a", "b", "b", *["a", "b"] * 3]
    assert spent.keys() == {"a", "b"} and min(each.median for each in spent.values()) >= 0
    assert all(len(each.times) == 3 for each in spent.values())
