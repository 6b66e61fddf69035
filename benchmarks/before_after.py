"""Time two checkouts of NGS on one machine: training steps, charts, back-search and posteriors.

    python benchmarks/before_after.py OLD NEW --rounds 5 --out docs/benchmarks/one_engine.json

OLD is a checkout from before the one engine (commit 119d12c), NEW one from after it. Each round runs both,
one after the other, in processes of their own with one thread, so that a slow moment hits both.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

STEPS, CALLS, BATCH, LENGTH = 12, 31, 64, 7
METHODS = {
    "hwf": (
        "supervised",
        "posterior",
        "posterior-hard",
        "posterior-k-best",
        "1-bs",
        "m-bs",
        "mapo",
        "reinforce",
    ),
    "clevr": ("supervised", "posterior", "1-bs", "m-bs", "reinforce"),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if not given.trees:
        print(json.dumps(measured()))
        return
    found: list[list[dict[str, float]]] = [[], []]
    for _ in range(given.rounds):
        for results, tree in zip(found, given.trees, strict=True):
            results.append(in_tree(tree))
    rows = {}
    for name in found[0][0]:
        old, new = (median(each[name] for each in results) for results in found)
        rows[name] = {
            "before_ms": round(1000 * old, 3),
            "after_ms": round(1000 * new, 3),
            "ratio": round(new / old, 3),
        }
        print(f"{name:34} {1000 * old:9.2f} {1000 * new:9.2f} {new / old:6.2f}")
    if given.out:
        commits = [
            subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=t, text=True).strip()
            for t in given.trees
        ]
        facts = {
            "before": commits[0],
            "after": commits[1],
            "rounds": given.rounds,
            "threads": 1,
            "median_ms": rows,
        }
        given.out.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def in_tree(tree: Path) -> dict[str, float]:
    kept = {"MALLOC_TRIM_THRESHOLD_": str(2**32), "MALLOC_MMAP_THRESHOLD_": str(2**32)}  # as `ngs` sets them
    environment = {**os.environ, **kept, "PYTHONPATH": str(tree.resolve() / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(Path(__file__).resolve())]
    found: dict[str, float] = json.loads(
        subprocess.check_output(command, env=environment, cwd=tree, text=True)
    )
    return found


def measured() -> dict[str, float]:
    """Median seconds of everything, in the checkout that this process imports."""
    import torch

    torch.set_num_threads(1)
    return {**core(torch), **training_steps(torch)}


def timed(action: Callable[[], object], calls: int) -> float:
    spent = []
    for _ in range(calls + 2):
        begin = time.perf_counter()
        action()
        spent.append(time.perf_counter() - begin)
    return median(spent[2:])


def core(torch: Any) -> dict[str, float]:
    """Charts, back-search and the posterior for a batch of sentences of arithmetic."""
    import ngs

    grammar, semantics = ngs.arithmetic_grammar(), ngs.Arithmetic
    generator = torch.Generator().manual_seed(0)
    scores = (3 * torch.randn(BATCH, LENGTH, len(grammar.symbols), generator=generator)).log_softmax(-1)
    answers = [number % 19 - 3 for number in range(BATCH)]
    lengths = torch.full((BATCH,), LENGTH)

    def gradient(of: Callable[[Any], Any]) -> Callable[[], None]:
        return lambda: of(scores.clone().requires_grad_()).sum().backward()

    def posterior(log_probs: Any) -> Any:
        found = ngs.posterior(grammar, semantics, log_probs, None, answers)
        return found.log_z if hasattr(found, "log_z") else found.log_evidence

    actions: dict[str, Callable[[], object]] = {"posterior, length 7": gradient(posterior)}
    if hasattr(ngs, "independent"):
        p = ngs.independent(grammar, scores)
        known = ngs.Examples.of([torch.zeros(LENGTH, 1)] * BATCH, answers)
        z, r = p.best().symbols, ngs.reasoner(grammar, semantics, known)
        chain = ngs.ChainSettings(steps=5)
        actions |= {
            "best, length 7": lambda: ngs.independent(grammar, scores).best(),
            "log_z and gradient, length 7": gradient(lambda s: ngs.independent(grammar, s).log_z),
            "1-BS, length 7": lambda: ngs.back_search(z, p.score, r.edits, r.judge),
            "m-BS(5), length 7": lambda: ngs.sample_corrections(
                z, p.score, r.edits, r.judge, chain, generator
            ),
        }
    else:
        from ngs.search.batched import Batch, correct
        from ngs.search.batched_walk import walk_batch

        from ngs.search.multi_step import Draws

        z, walk = ngs.best(grammar, scores).columns, ngs.Walk(steps=5)
        batch = Batch.of(grammar, semantics, scores, lengths, answers)
        actions |= {
            "best, length 7": lambda: ngs.best(grammar, scores),
            "log_z and gradient, length 7": gradient(lambda s: ngs.log_partition(grammar, s)),
            "1-BS, length 7": lambda: correct(batch, z),
            "m-BS(5), length 7": lambda: walk_batch(batch, z, walk, Draws.of(walk, BATCH, LENGTH, generator)),
        }
    return {name: timed(action, CALLS) for name, action in sorted(actions.items())}


def training_steps(torch: Any) -> dict[str, float]:
    """A step of each method on both tasks, with the settings of `ngs train`."""
    from ngs.experiments.clevr import CLEVRCourse
    from ngs.experiments.config import TrainCLEVR, TrainHWF
    from ngs.experiments.hwf import HWFCourse

    from ngs.learning.loop import Trainer

    found = {}
    for task, settings, course in (("hwf", TrainHWF, HWFCourse), ("clevr", TrainCLEVR, CLEVRCourse)):
        learner = course(settings(), torch.device("cpu"))
        for method in METHODS[task]:
            learner.config = settings(method=method)
            torch.manual_seed(0)
            steps = iter(Trainer(learner.network(), learner.lessons(), learner.config.settings))
            found[f"{task} {method}, a training step"] = timed(lambda steps=steps: next(steps), STEPS)  # type: ignore[misc]
    return found


if __name__ == "__main__":
    main()
