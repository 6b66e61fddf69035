"""The paper's tables and figures of formulas (Li et al. 2020, Sec. 4.1), and experiments beside them.

settings.py          the settings that experiments share
tables.py            methods, shares of the data, lengths, and data that leak nothing
curves.py            learning curves, beside those that the authors released
steps.py             steps of back-search
long.py              longer formulas than those of training
workloads.py         what a step costs as formulas grow
published.toml       what others published
released_curves.json what the authors logged
"""

from typing import Any

from ngs.tasks.hwf.paper import curves, long, steps, tables
from ngs.tasks.hwf.paper.settings import ours, small
from ngs.tasks.hwf.trainable import FORMULAS
from ngs.tasks.results.corrections import corrections

EARLY: dict[str, Any] = {"method": "m-bs", "steps": 80, "validate_every": 40}

EXPERIMENTS = (
    tables.TABLE,
    curves.EXPERIMENT,
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
