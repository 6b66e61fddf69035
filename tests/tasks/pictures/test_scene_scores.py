"""Scores of what is seen: each kind of mistake counts where it should, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ngs.errors import NGSError
from ngs.tasks.clevr.scenes import ATTRIBUTES, RELATIONS, Scene
from ngs.tasks.pictures.picture_examples import PictureExamples
from ngs.tasks.pictures.rendered_pictures import without_others
from ngs.tasks.pictures.scene_network import SceneMaps
from ngs.tasks.pictures.scene_scores import (
    AT_ONCE,
    SceneMetrics,
    facts_of,
    matched,
    outcomes,
    overlaps,
    see_all,
)
from ngs.tasks.pictures.seen_scene import SeenObjects, seen_objects
from tests.tasks.clevr.sampled_pictures import pictures_of, sampled_scenes
from tests.tasks.pictures.scene_maps import perfect_maps

CPU = torch.device("cpu")


def examples_of(number: int = 3, seed: int = 0) -> PictureExamples:
    return PictureExamples.of(pictures_of(sampled_scenes(number, seed), seed), CPU)


def seen_in(examples: PictureExamples) -> list[SeenObjects]:
    return seen_objects(perfect_maps(examples.targets))


def scored(examples: PictureExamples, seen: list[SeenObjects]) -> dict[str, Any]:
    return facts_of(outcomes(examples, seen))


class Remembers(nn.Module):
    """Says of the picture whose first pixel is k the k-th of some maps."""

    def __init__(self, maps: SceneMaps) -> None:
        super().__init__()
        self.maps, self.calls = maps, list[tuple[int, bool]]()

    def forward(self, images: Tensor) -> SceneMaps:
        self.calls.append((len(images), self.training))
        return SceneMaps(*(each[images[:, 0, 0, 0].long()] for each in self.maps))


def test_a_perfect_network_sees_everything() -> None:
    examples = examples_of(AT_ONCE + 3)
    network = Remembers(perfect_maps(examples.targets)).train()
    found = outcomes(examples, see_all(network, examples))
    metrics, facts = SceneMetrics.of(found), facts_of(found)
    assert facts["objects"] == facts["examples"] == examples.lengths.sum()
    shares = ("objects_right", "found", "precision", *ATTRIBUTES, "relations", "pictures_right")
    assert all(facts[name] == 1 for name in shares) and facts["pictures"] == len(examples)
    assert facts["false"] == 0 and facts["position_error"] < facts["position_error_95"] < 5e-3
    by_objects = metrics.as_facts().pop("by_objects")
    assert metrics.accuracy == 1 and {**facts, "by_objects": by_objects} == metrics.as_facts()
    assert [int(number) for number in by_objects] == sorted(set(examples.lengths.tolist()))
    assert sum(group["pictures"] for group in by_objects.values()) == len(examples)
    assert network.calls == [(AT_ONCE, False), (3, False)] and network.training


def test_a_missed_object_is_missed_in_everything_but_the_share_of_the_false() -> None:
    examples = examples_of(1)
    (seen,) = seen_in(examples)
    count = len(seen)
    (row,) = outcomes(examples, [seen.select(list(range(1, count)))])
    assert len(row.missed) == 1 and row.false == () and not row.all_right
    facts = facts_of([row])
    assert facts["objects_right"] == facts["found"] == (count - 1) / count and facts["false"] == 0
    assert facts["relations"] == pytest.approx((count - 2) / count)  # those with the missed one are wrong
    assert facts["relations_of_found"] == 1 and facts["pictures_right"] == 0 and facts["color"] == 1


def test_a_false_object_leaves_the_true_ones_right() -> None:
    examples = examples_of(1)
    (seen,) = seen_in(examples)
    count = len(seen)
    more = seen.select([*range(count), 0])
    more.boxes[count] += 100
    (row,) = outcomes(examples, [more])
    assert row.false == (count,) and row.missed == ()
    facts = facts_of([row])
    assert facts["objects_right"] == 1 and facts["pictures_right"] == 0
    assert facts["false"] == 1 / (count + 1) and facts["precision"] == count / (count + 1)


def test_the_same_object_twice_is_found_once() -> None:
    examples = examples_of(1)
    (seen,) = seen_in(examples)
    twice = seen.select([0, *range(len(seen))])
    twice.boxes[0, 2] += 3  # the less exact one is the false one, though it comes first
    (row,) = outcomes(examples, [twice])
    assert row.false == (0,) and len(row.matches) == len(seen)


@pytest.mark.parametrize("attribute", [name for name in ATTRIBUTES if name != "size"])
def test_a_wrong_value_is_a_wrong_object_that_is_found(attribute: str) -> None:
    examples = examples_of(1)
    (seen,) = seen_in(examples)
    values = seen.attributes[attribute].clone()
    values[0] = values[0].roll(1)
    wrong = replace(seen, attributes={**seen.attributes, attribute: values})
    (row,) = outcomes(examples, [wrong])
    assert [names for names in row.wrong.values() if names] == [(attribute,)]
    facts, right = facts_of([row]), (len(seen) - 1) / len(seen)
    assert facts["found"] == facts["relations"] == 1
    assert facts["objects_right"] == right and facts["pictures_right"] == 0
    assert all(facts[name] == (right if name == attribute else 1) for name in ATTRIBUTES)


def test_a_wrong_size_puts_an_object_elsewhere() -> None:
    examples = examples_of(1)
    (seen,) = seen_in(examples)
    values = seen.attributes["size"].clone()
    values[0] = values[0].roll(1)
    facts = scored(examples, [replace(seen, attributes={**seen.attributes, "size": values})])
    assert facts["size"] == (len(seen) - 1) / len(seen) and facts["position_error"] > 0.5 / len(seen)


def test_two_objects_that_changed_places_are_related_wrongly() -> None:
    """Boxes stay, so that both are found; the centres say where they stand."""
    examples = examples_of(1)
    (seen,) = seen_in(examples)
    order = seen.columns.argsort().tolist()
    swapped = list(range(len(seen)))
    swapped[order[0]], swapped[order[-1]] = order[-1], order[0]
    moved = replace(seen, columns=seen.columns[swapped], rows=seen.rows[swapped])
    facts, relations = scored(examples, [moved]), 4 * len(seen) * (len(seen) - 1)
    assert facts["found"] == facts["objects_right"] == 1 and facts["pictures_right"] == 0
    assert 4 <= round(relations * (1 - facts["relations"])) <= 4 * (4 * len(seen) - 6)
    assert facts["position_error_95"] > 0.5


def test_an_empty_picture_is_right_if_nothing_is_seen() -> None:
    empty = PictureExamples.of(pictures_of([Scene((), dict.fromkeys(RELATIONS, ()), {})]), CPU)
    full = examples_of(1)
    right, wrong = scored(empty, seen_in(empty)), scored(empty, seen_in(full))
    assert right["pictures_right"] == 1 and right["objects"] == 0
    assert wrong["pictures_right"] == 0 and wrong["false"] == 1
    shares = {*ATTRIBUTES, "objects_right", "found", "precision", "false", "relations", "relations_of_found"}
    assert {name for name, share in right.items() if share is None} == {
        *shares,
        "position_error",
        "position_error_95",
    }


def test_an_object_alone_stands_in_no_relation() -> None:
    (scene,) = sampled_scenes(1, 0)
    examples = PictureExamples.of(pictures_of([without_others(scene, [0])]), CPU)
    facts = scored(examples, seen_in(examples))
    assert facts["objects_right"] == facts["pictures_right"] == 1
    assert facts["relations"] is None and facts["relations_of_found"] is None


def test_seeing_nothing_finds_nothing() -> None:
    examples = examples_of(1)
    (seen,) = seen_in(examples)
    facts = scored(examples, [seen.select([])])
    assert facts["found"] == facts["objects_right"] == facts["relations"] == 0
    assert facts["precision"] is facts["false"] is facts["color"] is facts["position_error"] is None


def test_overlap_is_the_area_in_both_over_that_in_either() -> None:
    boxes = torch.tensor([[0.0, 0.0, 10.0, 10.0], [5.0, 0.0, 15.0, 10.0], [0.0, 0.0, 0.0, 0.0]])
    assert torch.allclose(overlaps(boxes[:2], boxes), torch.tensor([[1, 1 / 3, 0], [1 / 3, 1, 0]]))
    assert overlaps(boxes[2:], boxes[2:]).item() == 0


def test_the_closest_boxes_are_matched_first() -> None:
    true = torch.tensor([[0.0, 0, 10, 10], [2.0, 0, 12, 10]])
    seen = torch.tensor([[1.9, 0, 12, 10], [20.0, 0, 30, 10], [0.5, 0, 10, 10]])
    assert matched(true, seen) == {0: 2, 1: 0}
    assert matched(true, seen[:1]) == {1: 0} and matched(true, seen[1:2]) == {}


def test_no_pictures_are_refused() -> None:
    examples = PictureExamples.of(pictures_of(sampled_scenes(1, 0)).select([]), CPU)
    with pytest.raises(NGSError, match="no pictures to look at"):
        see_all(nn.Identity(), examples)
