"""All experiments, in the order of the page."""

from __future__ import annotations

from collections.abc import Mapping

from ngs.errors import NGSError
from ngs.experiments.catalogue import (
    clevr_tables,
    cost,
    hwf_curves,
    hwf_long,
    hwf_steps,
    hwf_tables,
)
from ngs.experiments.catalogue.examples import CLEVR_EXAMPLES, HWF_EXAMPLES
from ngs.experiments.catalogue.experiment import Experiment

EXPERIMENTS: Mapping[str, Experiment] = {
    each.name: each
    for each in (
        hwf_tables.TABLE,
        hwf_curves.EXPERIMENT,
        hwf_steps.EXPERIMENT,
        HWF_EXAMPLES,
        clevr_tables.TABLE,
        clevr_tables.CURVES,
        clevr_tables.LEARNING_RATES,
        CLEVR_EXAMPLES,
        hwf_tables.ONE_LENGTH,
        hwf_tables.LEAK,
        hwf_long.EXPERIMENT,
        cost.EXPERIMENT,
    )
}


def experiment(name: str) -> Experiment:
    """By its name."""
    if name not in EXPERIMENTS:
        raise NGSError(f"there is no experiment {name!r}; choose from {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
