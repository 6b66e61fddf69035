"""NGS learns to read handwritten formulas as A of docs/handwriting.md does, in fewer and larger steps.

Run by run.py; the folder of the run itself is left beside OUT.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from accelerate import Accelerator
from contestant import first_use, parser, tell

from ngs.experiments.run import spared, training
from ngs.gpu import rounded_products
from ngs.networks.lenet import NETWORKS
from ngs.tasks.finding import find
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.preparation import formulas_of, reasoner_of
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.run_folder import remove


def settings(data: str, seed: int, steps: int, lengths: tuple[int, ...]) -> TrainHWF:
    """With a test at each validation, every 10 steps, off the clock; nothing is chosen by it."""
    return TrainHWF(
        data=data,
        batch_size=512,
        learning_rate=8e-3,
        steps=steps,
        augment=False,
        validate_every=10,
        test_curve=True,
        lengths=lengths,
        seed=seed,
    )


def seconds_of_compiling(config: TrainHWF) -> float:
    """For the tables of values, which the run reuses: on the clock, since ABLkit reasons while it trains."""
    data = formulas_of(config)  # read once more than a run needs, off the clock
    examples = data.examples(data.train)
    with spared():  # as in a run
        begin = time.perf_counter()
        reasoner_of(examples)
        return time.perf_counter() - begin


def right(row: dict[str, Any]) -> dict[str, float]:
    """The shares of formulas and symbols that a test had right."""
    return {"answers": row["test"]["calculation"], "symbols": row["test"]["symbol"]}


def main() -> None:
    asked = parser(__doc__, "what `ngs data import` made")
    asked.add_argument("--steps", type=int, default=250)
    asked.add_argument("--lengths", type=int, nargs="*", default=[])
    options = asked.parse_args()
    config = settings(options.data, options.seed, options.steps, tuple(options.lengths))
    folder = options.out.with_suffix("")
    remove(folder)  # of an earlier comparison
    compiling = seconds_of_compiling(config)
    if not options.cold:
        with rounded_products():
            first_use(partial(NETWORKS[config.network], len(GRAMMAR.symbols)), 12, Accelerator().device)
    events = training(find("hwf"), config, folder)
    first = next(events).row  # before any test
    before = time.time() - options.began - first["seconds"] - compiling
    *measured, result = [first, *(event.row for event in events)]
    curve = [{"seconds": compiling + row["seconds"], **right(row)} for row in measured if "test" in row]
    seconds = {"compiling_seconds": compiling, "training_seconds": compiling + result["training_seconds"]}
    tell(options, before, curve, **right(result), **seconds)


if __name__ == "__main__":
    main()
