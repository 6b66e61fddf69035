"""The record of a run as it goes: lines of JSON, the same for TensorBoard, and small files of facts."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from ngs.learning.whole_file import replacing
from ngs.tasks.run_folder import METRICS, TENSORBOARD, read_rows


class Record:
    """Writes into `folder`, unless another process of the run does."""

    def __init__(self, folder: Path, *, writes: bool) -> None:
        self.folder, self.writes = folder, writes
        self._lines: TextIO | None = None
        self._board: Any = None

    def open(self, *, after: int) -> None:
        """Continue after this many steps; later rows of an interrupted run are dropped."""
        if not self.writes:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        for unfinished in self.folder.glob(".*.part"):  # of a run that was killed while writing
            unfinished.unlink()
        path = self.folder / METRICS
        kept = [row for row in read_rows(path) if row["step"] <= after] if after else []
        with replacing(path) as temporary:
            temporary.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
        from torch.utils.tensorboard import SummaryWriter  # here: slow to import, and only trainings need it

        self._lines = path.open("a", encoding="utf-8")
        self._board = SummaryWriter(str(self.folder / TENSORBOARD), purge_step=after + 1)

    def add(self, row: Mapping[str, Any]) -> None:
        if self._lines is None:
            return
        self._lines.write(json.dumps(row) + "\n")
        self._lines.flush()
        for name, value in _numbers(row):
            self._board.add_scalar(name, value, row["step"])

    def write(self, name: str, facts: Mapping[str, Any]) -> None:
        """Write a JSON file, whole or not at all."""
        if self.writes:
            with replacing(self.folder / name) as temporary:
                temporary.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")

    def close(self) -> None:
        if self._lines is not None:
            self._lines.close()
            self._board.close()


def _numbers(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of a row by TensorBoard tag."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{prefix}{name}/")
        elif isinstance(value, int | float) and name != "step":
            yield prefix + name, value
