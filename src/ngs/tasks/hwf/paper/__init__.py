"""The paper's tables and figures of formulas (Li et al. 2020, Sec. 4.1), and experiments beside them."""

from typing import Any

from ngs.tasks.hwf.paper import long, steps, tables
from ngs.tasks.hwf.paper.settings import ours, small
from ngs.tasks.hwf.trainable import FORMULAS
from ngs.tasks.results.corrections import corrections

EARLY: dict[str, Any] = {"method": "m-bs", "steps": 80, "validate_every": 40}

EXPERIMENTS = (
    tables.TABLE,
    tables.CURVES,
    steps.EXPERIMENT,
    corrections(
        "hwf",
        "Handwritten formulas: corrections",
        (FORMULAS,),
        lambda means: ours(data=means.path(FORMULAS), **EARLY),
        small(**EARLY),
        number=300,
    ),
    tables.ONE_LENGTH,
    tables.LEAK,
    long.EXPERIMENT,
)
