"""Claims: one holder at a time, abandoned ones are taken over, live ones are not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from ngs.experiments.sweep import claim as claims_module
from ngs.experiments.sweep.claim import Claim, Claims


@pytest.fixture
def claims(tmp_path: Path) -> Claims:
    return Claims(tmp_path / "claims", patience=60)


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    return tmp_path / "result.json"


def abandoned(claims: Claims, **holder: object) -> Path:
    """A claim that nobody touches, just made."""
    claims.folder.mkdir(exist_ok=True)
    path = claims.folder / "a.1"
    path.write_text(json.dumps({"host": "far", "pid": 1, "machine": "far", **holder}))
    return path


def let_pass(claims: Claims, path: Path) -> None:
    """As if nobody had touched this claim for longer than patience."""
    touched = path.stat().st_mtime - claims.patience - 1
    os.utime(path, (touched, touched))


def test_one_at_a_time(claims: Claims, finished: Path) -> None:
    mine = claims.take("a", finished)
    assert mine is not None and mine.held and claims.taken("a")
    assert claims.take("a", finished) is None
    other = claims.take("b", finished)
    assert other is not None
    other.release()
    mine.release()
    assert not claims.taken("a")
    again = claims.take("a", finished)
    assert again is not None
    again.release()


def test_of_many_that_come_at_once_one_gets_it(claims: Claims, finished: Path) -> None:
    together = Barrier(8)

    def come(_: int) -> Claim | None:
        together.wait()
        return claims.take("a", finished)

    with ThreadPoolExecutor(8) as threads:
        for round_ in range(20):
            got = [claim for claim in threads.map(come, range(8)) if claim is not None]
            assert len(got) == 1, f"round {round_}"
            got[0].release()


def test_it_says_who_has_it(claims: Claims, finished: Path) -> None:
    with claims.take("a", finished) or pytest.fail("it was free"):
        (path,) = claims.folder.iterdir()
        facts = json.loads(path.read_text())
    assert facts["pid"] == os.getpid() and {"host", "time"} <= facts.keys()


def test_a_live_claim_is_touched_again_and_again(finished: Path, tmp_path: Path) -> None:
    claims = Claims(tmp_path / "claims", patience=0.6)
    with claims.take("a", finished) or pytest.fail("it was free") as mine:
        (path,) = claims.folder.iterdir()
        for _ in range(3):
            let_pass(claims, path)
            limit = time.monotonic() + 60
            while not claims.taken("a"):
                assert time.monotonic() < limit
        assert mine.held


def test_a_claim_that_nobody_touches_is_taken_over_once(claims: Claims, finished: Path) -> None:
    path = abandoned(claims)
    assert claims.take("a", finished) is None  # it is young
    let_pass(claims, path)
    mine = claims.take("a", finished)
    assert mine is not None
    assert claims.take("a", finished) is None
    mine.release()


def test_the_clocks_of_the_machines_do_not_matter(
    claims: Claims, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 4e9)  # in the next century
    abandoned(claims)
    assert claims.take("a", finished) is None


def test_that_a_process_here_is_gone_is_known_at_once(finished: Path, tmp_path: Path) -> None:
    claims = Claims(tmp_path / "claims", patience=1000)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    here = claims_module._machine()
    path = abandoned(claims, pid=gone.pid, machine=here)
    assert not claims.taken("a")
    path.write_text(json.dumps({"pid": gone.pid, "machine": "another container on this host"}))
    assert claims.taken("a")
    path.write_text(json.dumps({"pid": os.getppid(), "machine": here}))
    assert claims.taken("a")


def test_an_empty_claim_counts_until_it_is_old(claims: Claims, finished: Path) -> None:
    path = abandoned(claims)
    path.write_text("")  # its maker was killed before it wrote, or is about to
    assert claims.taken("a")
    let_pass(claims, path)
    assert not claims.taken("a")


def test_who_slept_too_long_learns_that_others_took_over(claims: Claims, finished: Path) -> None:
    mine = claims.take("a", finished)
    assert mine is not None
    mine._released.set()  # no more beats, as in a process that is stopped
    let_pass(claims, claims.folder / "a.1")
    theirs = claims.take("a", finished)
    assert theirs is not None and theirs.held
    assert not mine.held
    mine.release()
    assert theirs.held and claims.take("a", finished) is None
    theirs.release()


def test_what_is_finished_leaves_no_claims(claims: Claims, finished: Path) -> None:
    for _ in range(3):
        unfinished = claims.take("a", finished)
        assert unfinished is not None
        unfinished.release()
    mine = claims.take("a", finished)
    assert mine is not None and len(list(claims.folder.iterdir())) == 4
    finished.touch()
    mine.release()
    assert list(claims.folder.iterdir()) == []
