"""Objects are the peaks of the map of centres, each once, and are what the other maps say there."""

from __future__ import annotations

import pytest
import torch

from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures.scene_network import VALUES, SceneMaps
from ngs.tasks.pictures.seen_objects import MOST_PEAKS, NEAREST, THRESHOLD, seen_objects
from tests.tasks.pictures.scene_maps import made_targets, perfect_maps


def blank(rows: int = 20, columns: int = 30) -> SceneMaps:
    """Of one picture in which nothing is seen."""
    shape = (rows, columns)
    return SceneMaps(
        torch.full((1, 1, *shape), -9.0),
        torch.zeros(1, VALUES, *shape),
        torch.zeros(1, 2, *shape),
        torch.ones(1, 4, *shape),
        torch.zeros(1, 3),
    )


@pytest.mark.parametrize("seed", range(4))
def test_what_is_said_is_what_is_seen(seed: int) -> None:
    truth = made_targets(seed, number=3)
    for n, seen in enumerate(seen_objects(perfect_maps(truth))):
        order, shown = seen.columns.argsort(), truth.shown[n]
        assert len(seen) == shown.sum() and (seen.scores > 0.99).all()
        assert torch.allclose(seen.columns[order], truth.columns[n, shown], atol=1e-3)
        assert torch.allclose(seen.rows[order], truth.rows[n, shown], atol=1e-3)
        assert torch.allclose(seen.boxes[order], truth.boxes[n, shown], atol=1e-3)
        for k, name in enumerate(ATTRIBUTES):
            assert torch.allclose(seen.attributes[name].sum(1), torch.ones(len(seen)))
            assert torch.equal(seen.attributes[name].argmax(1)[order], truth.attributes[n, shown, k])
        assert torch.equal(seen.camera, truth.cameras[n])


def test_in_an_empty_picture_nothing_is_seen() -> None:
    (seen,) = seen_objects(blank())
    assert len(seen) == 0 and seen.boxes.shape == (0, 4)
    assert {name: each.shape for name, each in seen.attributes.items()} == {
        name: (0, len(values)) for name, values in ATTRIBUTES.items()
    }


def test_the_surest_comes_first_and_the_unsure_not_at_all() -> None:
    maps = blank()
    for column, p in ((5, 0.6), (12, THRESHOLD - 0.01), (19, 0.9), (26, THRESHOLD + 0.01)):
        maps.centers[0, 0, 10, column] = torch.tensor(p).logit()
    (seen,) = seen_objects(maps)
    assert torch.allclose(seen.scores, torch.tensor([0.9, 0.6, THRESHOLD + 0.01]))
    assert seen.columns.tolist() == [4 * 19.5, 4 * 5.5, 4 * 26.5]
    assert len(seen_objects(maps, threshold=0.7)[0]) == 1


def test_beside_a_peak_is_none() -> None:
    maps = blank()
    maps.centers[0, 0, 9:12, 9:12] = 2.0
    maps.centers[0, 0, 10, 10] = 3.0
    (seen,) = seen_objects(maps)
    assert len(seen) == 1 and seen.columns[0] == seen.rows[0] == 42


def test_equally_high_neighbours_are_one_object() -> None:
    """As half precision makes them: both are peaks, and both say where the centre is."""
    maps = blank()
    maps.centers[0, 0, 10, 10:12] = 3.0
    maps.offsets[0, 0, 10, 10:12] = torch.tensor([0.5, -0.5])
    (seen,) = seen_objects(maps)
    assert len(seen) == 1 and seen.columns[0] == 44


@pytest.mark.parametrize("apart, objects", [(NEAREST - 1, 1), (NEAREST + 1, 2)])
def test_peaks_that_mean_the_same_centre_are_one_object(apart: float, objects: int) -> None:
    maps = blank()
    maps.centers[0, 0, 10, 10], maps.centers[0, 0, 10, 14] = 3.0, 2.0
    maps.offsets[0, 0, 10, 14] = (apart - 16) / 4
    (seen,) = seen_objects(maps)
    assert len(seen) == objects and seen.scores[0] == torch.tensor(3.0).sigmoid()


def test_too_many_can_be_noticed() -> None:
    maps = blank(60, 60)
    maps.centers[0, 0, ::6, ::6] = 2.0
    assert len(seen_objects(maps)[0]) == MOST_PEAKS
