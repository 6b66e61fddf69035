"""Scores of what is seen: each kind of mistake counts where it should, and nowhere else."""

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
    PictureOutcome,
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


def examples_of(number: int = 1) -> PictureExamples:
    return PictureExamples.of(pictures_of(sampled_scenes(number, 0)), CPU)


ONE = examples_of()
(SEEN,) = seen_objects(perfect_maps(ONE.targets))
"""All that there is in one picture."""
COUNT = len(SEEN)


def outcome(seen: SeenObjects) -> PictureOutcome:
    (row,) = outcomes(ONE.pictures, [seen])
    return row


def scored(seen: SeenObjects) -> dict[str, Any]:
    return facts_of([outcome(seen)])


def mistaken(attribute: str) -> SeenObjects:
    """The first object has another value."""
    values = SEEN.attributes[attribute].clone()
    values[0] = values[0].roll(1)
    return replace(SEEN, attributes={**SEEN.attributes, attribute: values})


class Remembers(nn.Module):
    """Says of the picture whose first pixel is k the k-th of some maps."""

    def __init__(self, maps: SceneMaps) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.maps, self.calls = maps, list[tuple[int, bool]]()

    def forward(self, images: Tensor) -> SceneMaps:
        self.calls.append((len(images), self.training))
        return SceneMaps(*(each[images[:, 0, 0, 0].long()] for each in self.maps))


def test_a_perfect_network_sees_everything() -> None:
    examples = examples_of(AT_ONCE + 3)
    network = Remembers(perfect_maps(examples.targets)).train()
    found = outcomes(examples.pictures, see_all(network, examples.pictures))
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
    row = outcome(SEEN.select(range(1, COUNT)))
    assert len(row.missed) == 1 and row.false == () and not row.all_right
    facts = facts_of([row])
    assert facts["objects_right"] == facts["found"] == (COUNT - 1) / COUNT and facts["false"] == 0
    assert facts["relations"] == pytest.approx((COUNT - 2) / COUNT)  # those with the missed one are wrong
    assert facts["relations_of_found"] == 1 and facts["pictures_right"] == 0 and facts["color"] == 1


def test_a_false_object_leaves_the_true_ones_right() -> None:
    more = SEEN.select([*range(COUNT), 0])
    more.boxes[COUNT] += 100
    row = outcome(more)
    assert row.false == (COUNT,) and row.missed == ()
    facts = facts_of([row])
    assert facts["objects_right"] == 1 and facts["pictures_right"] == 0
    assert facts["false"] == 1 / (COUNT + 1) and facts["precision"] == COUNT / (COUNT + 1)


def test_the_same_object_twice_is_found_once() -> None:
    twice = SEEN.select([0, *range(COUNT)])
    twice.boxes[0, 2] += 3  # the less exact one is the false one, though it comes first
    row = outcome(twice)
    assert row.false == (0,) and len(row.matches) == COUNT


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_a_wrong_value_is_a_wrong_object_that_is_found(attribute: str) -> None:
    row = outcome(mistaken(attribute))
    assert [names for names in row.wrong.values() if names] == [(attribute,)]
    facts, right = facts_of([row]), (COUNT - 1) / COUNT
    assert facts["found"] == 1 and facts["objects_right"] == right and facts["pictures_right"] == 0
    assert all(facts[name] == (right if name == attribute else 1) for name in ATTRIBUTES)
    if attribute == "size":  # which puts an object elsewhere
        assert facts["position_error"] > 0.5 / COUNT
    else:
        assert facts["relations"] == 1


def test_two_objects_that_changed_places_are_related_wrongly() -> None:
    """Boxes stay, so that both are found; the centres say where they stand."""
    order, swapped = SEEN.columns.argsort().tolist(), list(range(COUNT))
    swapped[order[0]], swapped[order[-1]] = order[-1], order[0]
    facts = scored(replace(SEEN, columns=SEEN.columns[swapped], rows=SEEN.rows[swapped]))
    assert facts["found"] == facts["objects_right"] == 1 and facts["pictures_right"] == 0
    wrong = round(4 * COUNT * (COUNT - 1) * (1 - facts["relations"]))
    assert 4 <= wrong <= 4 * (4 * COUNT - 6) and facts["position_error_95"] > 0.5


def test_an_empty_picture_is_right_if_nothing_is_seen() -> None:
    empty = pictures_of([Scene((), dict.fromkeys(RELATIONS, ()), {})])
    right, wrong = (facts_of(outcomes(empty, [seen])) for seen in (SEEN.select([]), SEEN))
    assert right["pictures_right"] == 1 and right["objects"] == 0
    assert wrong["pictures_right"] == 0 and wrong["false"] == 1
    shares = ("objects_right", "found", "precision", "false", "relations", "relations_of_found")
    unknown = {*ATTRIBUTES, *shares, "position_error", "position_error_95"}
    assert {name for name, share in right.items() if share is None} == unknown


def test_an_object_alone_stands_in_no_relation() -> None:
    alone = PictureExamples.of(pictures_of([without_others(ONE.pictures.scenes[0], [0])]), CPU)
    facts = facts_of(outcomes(alone.pictures, seen_objects(perfect_maps(alone.targets))))
    assert facts["objects_right"] == facts["pictures_right"] == 1
    assert facts["relations"] is None and facts["relations_of_found"] is None


def test_seeing_nothing_finds_nothing() -> None:
    facts = scored(SEEN.select([]))
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
    with pytest.raises(NGSError, match="no pictures to look at"):
        see_all(nn.Identity(), ONE.pictures.select([]))
