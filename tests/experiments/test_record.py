"""The record of a run: lines that a killed run may leave half, and the same numbers for TensorBoard."""

import json
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from ngs.errors import DataError
from ngs.experiments.record import Record, read_rows
from ngs.tasks.run_folder import METRICS, TENSORBOARD

ROWS = [
    {"step": 5, "seconds": 0.5, "lesson": "a", "loss": 1.5},
    {
        "step": 5,
        "seconds": 0.5,
        "validation": {"calculation": 0.25, "formula": None, "by_length": {"3": {"calculation": 0.5}}},
    },
    {"step": 10, "seconds": 1.0, "lesson": "a", "loss": 0.5},
]
ANOTHER = {"step": 10, "seconds": 1.0, "lesson": "a", "loss": 0.75}


def recorded(folder: Path, rows: list[dict[str, object]], after: int = 0) -> None:
    record = Record(folder, writes=True)
    record.open(after=after)
    for row in rows:
        record.add(row)
    record.close()


def test_rows_are_there_as_soon_as_they_are_added(tmp_path: Path) -> None:
    record = Record(tmp_path, writes=True)
    record.open(after=0)
    record.add(ROWS[0])
    assert read_rows(tmp_path / METRICS) == ROWS[:1]
    record.close()


def test_a_resumed_record_drops_what_lies_behind_the_checkpoint(tmp_path: Path) -> None:
    recorded(tmp_path, ROWS)
    assert read_rows(tmp_path / METRICS) == ROWS
    recorded(tmp_path, [ANOTHER], after=5)
    assert read_rows(tmp_path / METRICS) == [*ROWS[:2], ANOTHER]
    recorded(tmp_path, [], after=0)  # begun anew
    assert read_rows(tmp_path / METRICS) == []


def test_a_half_written_last_line_is_no_row(tmp_path: Path) -> None:
    recorded(tmp_path, ROWS)
    path = tmp_path / METRICS
    whole = path.read_text()
    last = len(json.dumps(ROWS[2])) + 1
    for cut in range(1, last):
        path.write_text(whole[:-cut])
        assert read_rows(path) in (ROWS, ROWS[:2])
    recorded(tmp_path, [ANOTHER], after=5)
    assert read_rows(path)[-1] == ANOTHER


def test_damage_in_the_middle_is_named_by_line(tmp_path: Path) -> None:
    (tmp_path / METRICS).write_text('{"step": 1, "seconds": 1}\n{"step"\n{"step": 3}\n')
    with pytest.raises(DataError, match=r"metrics\.jsonl, line 2"):
        read_rows(tmp_path / METRICS)


@pytest.mark.parametrize("row", ["3", '{"step": "a", "seconds": 1}', '{"step": 1, "seconds": 1, "test": 3}'])
def test_a_line_that_is_no_record_is_named(row: str, tmp_path: Path) -> None:
    (tmp_path / METRICS).write_text(row + "\n")
    with pytest.raises(DataError, match=r"metrics\.jsonl, line 1 is no record of a run"):
        read_rows(tmp_path / METRICS)


def test_a_folder_without_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"metrics\.jsonl: there is no such file; give the folder of a run"):
        read_rows(tmp_path / METRICS)


def test_tensorboard_gets_the_same_numbers(tmp_path: Path) -> None:
    recorded(tmp_path, ROWS)
    events = EventAccumulator(str(tmp_path / TENSORBOARD)).Reload()
    assert set(events.Tags()["scalars"]) == {
        "loss",
        "seconds",
        "validation/calculation",
        "validation/by_length/3/calculation",
    }
    assert [(event.step, event.value) for event in events.Scalars("loss")] == [(5, 1.5), (10, 0.5)]


def test_only_the_main_process_writes(tmp_path: Path) -> None:
    record = Record(tmp_path / "run", writes=False)
    record.open(after=0)
    record.add(ROWS[0])
    record.write("facts.json", {"a": 1})
    record.close()
    assert not (tmp_path / "run").exists()


def test_facts_are_written_whole(tmp_path: Path) -> None:
    record = Record(tmp_path, writes=True)
    record.write("facts.json", {"a": 1})
    record.write("facts.json", {"a": 2})
    assert json.loads((tmp_path / "facts.json").read_text()) == {"a": 2}
    with pytest.raises(TypeError):
        record.write("facts.json", {"a": object()})
    assert json.loads((tmp_path / "facts.json").read_text()) == {"a": 2}
    assert [path.name for path in tmp_path.iterdir()] == ["facts.json"]
