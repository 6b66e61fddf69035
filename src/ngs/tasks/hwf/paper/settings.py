"""The settings that experiments share: the paper's, ours, and those that take minutes."""

from functools import partial

from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.results.experiment import TEST_GROWTH, Rows

ROWS: Rows = {
    "NGS-RL": {"method": "reinforce"},
    "NGS-MAPO": {"method": "mapo"},
    "NGS-RL-Pretrain": {"method": "reinforce", "pretrain": 0.6},
    "NGS-MAPO-Pretrain": {"method": "mapo", "pretrain": 0.6},
    "NGS-m-BS": {"method": "m-bs"},
    "posterior": {"method": "posterior"},
    "supervised": {"method": "supervised"},
}
"""The methods of the paper's tables, ours, and the ceiling. The authors' released logs of pre-trained
networks begin with 58 to 63% of symbols right."""

paper = partial(
    TrainHWF,
    network="paper",
    steps=15_000,
    batch_size=64,
    learning_rate=5e-4,
    schedule="constant",
    augment=False,
    validate_every=500,
    test_curve=True,
    test_growth=TEST_GROWTH,
)
"""The paper's network, batch, optimiser and iterations (supplement); one in twenty formulas chooses."""

ours = partial(TrainHWF, batch_size=256, learning_rate=4e-3, steps=700, augment=False, test_curve=True)
"""A small network, large batches and one cycle of the learning rate: docs/handwriting.md."""

wide = partial(
    ours,
    network="wide",
    augment=True,
    weight_decay=0.05,
    averaging=0.99,
    steps=1100,
    validate_every=100,
)
"""What images that were not seen in training need; on HWF it changes little at full size."""

small = partial(TrainHWF, steps=100, validate_every=50, test_curve=True)
