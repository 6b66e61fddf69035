"""The embedded data set is the same from the same seed, rightly labelled, and legible in unseen hands."""

import hashlib
from collections import Counter

import pytest
import torch
from torch import Tensor

from ngs.errors import NGSError, ParseError
from ngs.grammar.padding import PAD
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.semantics import evaluate
from ngs.tasks.hwf.dataset import GRAMMAR, SIDE, Formulas, HandwrittenFormulas, as_ink
from ngs.tasks.hwf.embedded import embedded


@pytest.fixture(scope="module")
def data() -> HandwrittenFormulas:
    return embedded(1, train=600, test=150)


def rows(formulas: Formulas) -> Tensor:
    return formulas.where[formulas.where != PAD]


def tiny(seed: int = 0, *, train: int = 20, test: int = 10) -> HandwrittenFormulas:
    return embedded(seed, train=train, test=test, train_writers=5, test_writers=3)


def test_the_bytes_are_the_same_on_every_machine() -> None:
    """Figures are published for these images: whoever changes them has to measure again."""
    digest = hashlib.sha256(tiny().images.numpy().tobytes()).hexdigest()
    assert digest == "79920833e7fc419ed4f499d00877951ded610de12624582a17307e343cf36660"
    assert tiny().digest == tiny().digest and tiny().sources == tiny().sources


def test_another_seed_gives_other_formulas_in_other_hands() -> None:
    one, other = tiny(), tiny(1)
    assert one.train.answers != other.train.answers
    assert {image.numpy().tobytes() for image in one.images}.isdisjoint(
        image.numpy().tobytes() for image in other.images
    )


def test_more_formulas_leave_the_first_ones_as_they_are() -> None:
    few, many = tiny(), tiny(train=40, test=15)
    for part in ("train", "test"):
        short, long = getattr(few, part), getattr(many, part)
        assert long.answers[: len(short)] == short.answers
        assert torch.equal(many.images[rows(long)[: len(rows(short))]], few.images[rows(short)])


def test_every_formula_has_images_of_its_own_and_the_value_of_what_they_show(
    data: HandwrittenFormulas,
) -> None:
    assert (len(data.train), len(data.test)) == (600, 150)
    assert torch.cat([rows(data.train), rows(data.test)]).tolist() == list(range(len(data.images)))
    for formulas in (data.train, data.test):
        for k, answer in enumerate(formulas.answers):
            assert evaluate(parse(GRAMMAR, data.sentence(formulas, k)), Arithmetic) == answer
    assert len({image.numpy().tobytes() for image in data.images}) == len(data.images)


def test_it_fits_the_learning_loop(data: HandwrittenFormulas) -> None:
    assert data.images.dtype == data.columns.dtype == torch.uint8
    assert data.images.shape == (len(data.columns), SIDE, SIDE) and len(data.sources) == len(data.columns)
    examples = data.examples(data.test)
    assert examples.labels is not None
    assert examples.labels[examples.labels != PAD].tolist() == data.columns[rows(data.test)].tolist()


def test_a_formula_is_in_one_hand_and_no_writer_is_in_both_parts(data: HandwrittenFormulas) -> None:
    writers: list[set[str]] = []
    for formulas in (data.train, data.test):
        hands = [{data.sources[row] for row in line if row != PAD} for line in formulas.where.tolist()]
        assert all(len(hand) == 1 for hand in hands)
        writers.append(set().union(*hands))
    train, test = writers
    assert not train & test
    assert train == {f"writer {k} of train" for k in range(60)}
    assert test == {f"writer {k} of test" for k in range(20)}


def test_a_linear_classifier_reads_unseen_writers(data: HandwrittenFormulas) -> None:
    """Ridge regression on patches of 3 x 3 pixels: wrong labels or illegible images would show."""
    ink = torch.nn.functional.avg_pool2d(as_ink(data.images), 3).flatten(1)
    features = torch.cat([ink, torch.ones(len(ink), 1)], 1)
    targets = torch.nn.functional.one_hot(data.columns.long(), len(GRAMMAR.symbols)).float()
    train, test = rows(data.train), rows(data.test)
    square = features[train].T @ features[train] + 10 * torch.eye(features.shape[1])
    weights = torch.linalg.solve(square, features[train].T @ targets[train])
    right = (features[test] @ weights).argmax(1) == data.columns[test]
    assert right.float().mean() > 0.7
    assert all(right[data.columns[test] == column].float().mean() > 0.25 for column in range(14))


def test_lengths_are_those_of_the_paper_or_others_on_request() -> None:
    assert Counter(tiny(train=20).train.lengths.tolist()) == {1: 2, 3: 2, 5: 4, 7: 12}
    data = embedded(train=12, test=4, lengths={9: 1, 31: 2}, train_writers=2, test_writers=1)
    assert Counter(data.train.lengths.tolist()) == {9: 4, 31: 8}
    assert data.test.where.shape == (4, 31)


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(ParseError, match="no sentence of length 4"):
        embedded(train=2, test=1, lengths={4: 1.0})
    with pytest.raises(NGSError, match="2 formulas of the part `train` by 0 writers"):
        embedded(train=2, test=1, train_writers=0)
    with pytest.raises(NGSError, match="0 formulas of the part `test` by 20 writers"):
        embedded(train=2, test=0)
