"""Archives that could do harm are refused before anything in them is read."""

import stat
import zipfile
from pathlib import Path

import pytest

from ngs.errors import DataError
from ngs.tasks.hwf import members
from ngs.tasks.hwf.members import opened
from tests.tasks.hwf.archives import unpacked, zipped


def read_all(path: Path) -> dict[str, bytes]:
    with opened(path, lambda folder: sorted(folder.rglob("*"))) as files:
        return {name: read() for name, read in files.items()}


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as refused:
        read_all(path)
    return str(refused.value)


def test_an_archive_and_its_folder_hold_the_same(tmp_path) -> None:
    files = {"a/b.txt": b"one", "a/c/d.txt": b"two", "e": b""}
    assert read_all(zipped(tmp_path / "x.zip", {"a/": b"", **files})) == files
    assert read_all(unpacked(tmp_path / "x", files)) == files


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "a/../../x",
        "a/..",
        "/etc/passwd",
        "//x",
        "C:/x",
        "C:x",
        "a\\..\\x",
        "./x",
        "a//b",
        "a\nb",
        "\x1b[2J",
    ],
)
def test_paths_that_lead_elsewhere_are_refused(tmp_path, name) -> None:
    message = refusal(zipped(tmp_path / "bad.zip", {"fine": b"", name: b"x"}))
    assert repr(name) in message and "no plain path" in message and "bad.zip" in message


def test_links_are_refused(tmp_path) -> None:
    link = zipfile.ZipInfo("a/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    assert "'a/link', which is a link" in refusal(tmp_path / "bad.zip")


@pytest.mark.parametrize("linked, wanted", [("a/file", "a/file"), ("a", "a"), ("a", "a/file")])
def test_links_in_a_folder_and_what_is_behind_them_are_refused(tmp_path, linked, wanted) -> None:
    target = unpacked(tmp_path / "elsewhere", {"a/file": b"secret"})
    path = tmp_path / "folder" / linked
    path.parent.mkdir(parents=True)
    path.symlink_to(target / linked)
    with pytest.raises(DataError, match=f"'{wanted}', which is a link"):
        opened(tmp_path / "folder", lambda folder: [folder / wanted]).__enter__()


def test_a_name_given_twice_is_refused(tmp_path) -> None:
    assert "'a' twice" in refusal(zipped(tmp_path / "bad.zip", [("a", b"1"), ("b", b"2"), ("a", b"3")]))


def test_an_encrypted_file_is_refused(tmp_path) -> None:
    path = zipped(tmp_path / "bad.zip", {"a": b"1"})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1  # the flag in the directory at the end
    path.write_bytes(content)
    assert "'a' encrypted" in refusal(path)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path) -> None:
    path = zipped(tmp_path / "bomb.zip", {"a": bytes(members.LARGEST_FILE + 1)})
    assert path.stat().st_size < 100_000
    assert "'a' of 67,108,865 bytes, and at most 67,108,864 are read" in refusal(path)


@pytest.mark.parametrize("limit, most", [("LARGEST_TOTAL", 10), ("MOST_FILES", 2)])
def test_files_that_are_too_much_together_are_refused(tmp_path, monkeypatch, limit, most) -> None:
    files = {"a": b"1234", "b": b"1234", "c": b"1234"}
    path, folder = zipped(tmp_path / "x.zip", files), unpacked(tmp_path / "x", files)
    assert read_all(path) == read_all(folder) == files
    monkeypatch.setattr(members, limit, most)
    assert "unpacks to more than" in refusal(path)
    assert "unpacks to more than" in refusal(folder)


def test_a_file_larger_than_it_says_is_damaged(tmp_path) -> None:
    path = zipped(tmp_path / "bad.zip", {"a": b"x" * 1000})
    content = bytearray(path.read_bytes())
    size = content.index(b"PK\x01\x02") + 24
    content[size : size + 4] = (10).to_bytes(4, "little")
    path.write_bytes(content)
    assert "'a' is damaged in the archive" in refusal(path)


def test_what_is_no_archive_or_cut_short_is_refused(tmp_path) -> None:
    path = zipped(tmp_path / "x.zip", {"a": b"1" * 1000})
    for content in (path.read_bytes()[:-10], b"", b"PK", b"no archive at all"):
        path.write_bytes(content)
        assert "x.zip is no zip archive, or is cut short" in refusal(path)


def test_what_is_not_there_is_named(tmp_path) -> None:
    message = refusal(tmp_path / "nowhere.zip")
    assert "nowhere.zip cannot be read: No such file" in message
