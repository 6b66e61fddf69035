"""Pictures as data: whatever they are kept as, the same images come out."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ngs.errors import NGSError
from ngs.tasks.pictures.pictures import Pictures, divided, files_of, joined
from tests.tasks.pictures.picture_folders import CPU, few, small_data


@pytest.fixture(scope="module")
def encoded(tmp_path_factory: pytest.TempPathFactory) -> Pictures:
    return small_data(tmp_path_factory.mktemp("pictures")).train


def numbers(*given: int) -> NDArray[np.int64]:
    return np.array(given, dtype=np.int64)


def test_all_kinds_of_images_give_the_same_pixels(encoded: Pictures) -> None:
    true = torch.stack([encoded.decoded(numbers(k))[0] for k in range(len(encoded))])
    raw = replace(encoded, images=tuple(true))
    both = joined(encoded.select([0, 1]), raw.select([2, 3, 4]))
    chosen = numbers(4, 0, 3, 0)
    for pictures in (encoded, raw, both, encoded.on(CPU, 2**30)):
        assert torch.equal(pictures.decoded(chosen), true[chosen])
        assert torch.equal(pictures.select(chosen).select([2, 0]).decoded(numbers(1)), true[[4]])
        assert pictures.decoded(numbers()).shape == (0, 3, 320, 480)


def test_images_that_do_not_fit_stay_as_they_are(encoded: Pictures) -> None:
    assert encoded.on(CPU, most_bytes=10) is encoded
    assert all(image.shape == (3, 320, 480) for image in encoded.on(CPU, most_bytes=2**30).images)


def test_some_of_the_files_are_packed_without_the_others(encoded: Pictures) -> None:
    whole, some = encoded.files(), encoded.select([3, 1]).files()
    assert whole.flat.data_ptr() == encoded.images[0].data_ptr(), "nothing is copied where all are wanted"
    assert len(some) == 2 and len(some.flat) == int(some.offsets[-1])
    assert all(torch.equal(some.row(row), encoded.images[k]) for row, k in enumerate((3, 1)))
    assert all(torch.equal(whole.row(k), image) for k, image in enumerate(encoded.images))
    assert len(files_of([])) == len(encoded.select([]).files()) == 0


def test_files_are_in_memory_once() -> None:
    number, size = 40, 2**18
    tracemalloc.start()
    try:
        files = files_of(bytes([k]) * size for k in range(number))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert number * size <= most < 1.25 * number * size, f"{most:,} bytes for {number * size:,}"
    assert bytes(files[7].numpy()) == bytes([7]) * size


def test_selected_and_joined_pictures_belong_together() -> None:
    pictures = few()
    some = joined(pictures.select([4, 1]), pictures.select([0]))
    for place, k in enumerate((4, 1, 0)):
        assert (some.scenes[place], some.names[place]) == (pictures.scenes[k], pictures.names[k])
        assert torch.equal(some.cameras[place], pictures.cameras[k])
        assert torch.equal(some.boxes[place], pictures.boxes[k])
        assert torch.equal(some.visible[place], pictures.visible[k])
        assert torch.equal(some.decoded(numbers(place)), pictures.decoded(numbers(k)))


@pytest.mark.parametrize("share, taken", [(0.0, 0), (0.01, 1), (0.5, 3), (1.0, 6)])
def test_pictures_are_dealt_out_once(share: float, taken: int) -> None:
    one, rest = divided(few(), share, seed=2)
    assert (len(one), len(rest)) == (taken, 6 - taken)
    assert sorted(one.names + rest.names) == sorted(few().names)
    assert one.names == divided(few(), share, seed=2)[0].names
    with pytest.raises(NGSError, match=r"the share is 1\.5"):
        divided(few(), 1.5, seed=0)
