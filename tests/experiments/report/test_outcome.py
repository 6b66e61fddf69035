"""What a run left behind is read, or the file that cannot be read is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ngs.errors import DataError, NGSError
from ngs.experiments.report.outcome import wilson
from ngs.experiments.report.page import write_report
from ngs.tasks.run_folder import CONFIG, ENVIRONMENT, METRICS, RESULT


@pytest.mark.parametrize("right, of", [(0, 10), (7, 10), (499, 500), (500, 500)])
def test_the_interval_ends_where_the_share_is_z_errors_away(right: int, of: int) -> None:
    low, high = wilson(right, of)
    assert 0 <= low <= right / of <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            assert abs(right / of - end) == pytest.approx(1.959964 * (end * (1 - end) / of) ** 0.5)


@pytest.mark.parametrize("name", ["nowhere", "empty", "file"])
def test_foreign_folders_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("hello")
    with pytest.raises(DataError, match=re.escape(str(tmp_path / name))):
        write_report(tmp_path / name)


@pytest.mark.parametrize(
    "name, content",
    [
        (CONFIG, '{"task": "chess"}'),
        (RESULT, '{"test": 1}'),
        (RESULT, "[]"),
        (RESULT, "{"),
        (ENVIRONMENT, "[1]"),
        (METRICS, "[1]\n"),
        (METRICS, '{"step": "one", "seconds": 2}\n'),
    ],
)
def test_damaged_files_are_named(copy: Path, name: str, content: str) -> None:
    (copy / name).write_text(content)
    with pytest.raises(NGSError, match=re.escape(str(copy / name))):
        write_report(copy)
