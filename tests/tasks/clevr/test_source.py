"""Where questions come from."""

from __future__ import annotations

import pytest

from ngs.errors import DataError
from ngs.tasks.clevr import packed, source
from ngs.tasks.clevr.source import load, read_official
from tests.tasks.clevr.official_files import sound_files, written


def test_a_packed_file_is_loaded(tmp_path) -> None:
    data = read_official(written(tmp_path / "x", sound_files())).data
    packed.write(tmp_path / "x.ngs", data)
    assert load(str(tmp_path / "x.ngs")).digest == data.digest


def test_the_embedded_data_is_loaded_by_its_name(tmp_path, monkeypatch) -> None:
    data = read_official(written(tmp_path / "x", sound_files())).data
    monkeypatch.setattr(source, "embedded", lambda: data)
    assert load("embedded") is data


def test_a_folder_is_to_be_packed_first(tmp_path) -> None:
    folder = written(tmp_path / "x", sound_files())
    with pytest.raises(DataError, match=f"{folder} is not packed yet; first `ngs data import {folder}`"):
        load(str(folder))


def test_a_missing_file_says_what_to_give() -> None:
    with pytest.raises(DataError, match="nowhere: there is no such file; give 'embedded' or what `ngs data"):
        load("nowhere")
