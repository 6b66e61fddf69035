"""Where formulas come from, and how they are divided."""

import pytest
import torch

from ngs.errors import DataError, NGSError
from ngs.tasks.hwf import packed
from ngs.tasks.hwf.dataset import divided
from ngs.tasks.hwf.embedded import embedded
from ngs.tasks.hwf.packed import load


def test_a_packed_file_is_loaded(tmp_path) -> None:
    data = embedded(train=20, test=10)
    packed.write(tmp_path / "x.ngs", data)
    assert torch.equal(load(str(tmp_path / "x.ngs")).images, data.images)


def test_a_missing_file_says_what_to_give() -> None:
    with pytest.raises(DataError, match="nowhere: there is no such file; give 'embedded' or what `ngs data"):
        load("nowhere")


def test_each_length_is_divided_by_the_same_share() -> None:
    formulas = embedded(train=200, test=1).train
    first, rest = divided(formulas, 0.25, seed=0)
    lengths = {n: int((formulas.lengths == n).sum()) for n in (1, 3, 5, 7)}
    assert {n: int((first.lengths == n).sum()) for n in lengths} == {n: c // 4 for n, c in lengths.items()}
    assert sorted(first.names + rest.names) == sorted(formulas.names)


def test_the_division_depends_on_the_seed_alone() -> None:
    formulas = embedded(train=100, test=1).train
    assert divided(formulas, 0.5, seed=0)[0].names == divided(formulas, 0.5, seed=0)[0].names
    assert divided(formulas, 0.5, seed=0)[0].names != divided(formulas, 0.5, seed=1)[0].names


def test_a_share_is_from_0_to_1() -> None:
    with pytest.raises(NGSError, match=r"the share is 1\.5"):
        divided(embedded(train=10, test=1).train, 1.5, seed=0)
