"""The published data, where it is found: nothing of it is in this repository."""

from random import Random

from ngs.tasks.hwf import archive, packed
from ngs.tasks.hwf.inspection import LengthCount, inspect
from ngs.tasks.hwf.splitting import leak_free
from tests.tasks.hwf.archives import published
from tests.tasks.hwf.datasets import parts_of, same


def test_hwf_is_imported_whole_and_leaks(tmp_path) -> None:
    reading = archive.read(published("HWF.zip"))
    assert reading.left_out == ()
    found = inspect(reading.data)
    counts = [(1, 1000, 200), (3, 1000, 200), (5, 2000, 400), (7, 6000, 1200)]
    assert found.lengths == tuple(LengthCount(*count) for count in counts)
    assert (found.train_images, found.test_images, found.contents) == (35_411, 7_505, 20_758)
    assert (len(found.leaked), found.leaked_formulas) == (5_372, 1_931)
    leaked = {count.symbol: (count.leaked, count.test_images) for count in found.symbols}
    assert leaked["/"] == (174, 174) and leaked["*"] == (531, 539)
    (contradiction,) = found.contradictions
    assert sorted(contradiction.contradicting) == ["4/4_102699.jpg", "4/exp87039.jpg"]

    path = tmp_path / "HWF.ngs"
    packed.write(path, reading.data)
    assert same(packed.read(path), reading.data)

    split = leak_free(reading.data, Random(0))
    rebuilt = inspect(split)
    assert rebuilt.leaked == () and rebuilt.contradictions == ()
    assert rebuilt.train_images + rebuilt.test_images == rebuilt.contents == 20_757
    assert parts_of(split) == parts_of(reading.data)


def test_hwf_clean_does_not_leak() -> None:
    found = inspect(archive.read(published("HWF-clean.zip")).data)
    assert (found.train_images, found.test_images, found.contents) == (16_196, 4_424, 20_620)
    assert found.leaked == () and found.contradictions == ()
    assert all(count.train_written and count.test_written for count in found.symbols)
