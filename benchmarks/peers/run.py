"""NGS beside ABLkit: the same formulas, seeds and machine; accuracy, seconds and memory in one table.

    python benchmarks/peers/run.py --site bench/site --data data/HWF.ngs --seeds 5

runs every contestant with every seed in its own process, and writes table.md and results.json. See README.md.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ngs.errors import NGSError
from ngs.experiments.environment import environment
from ngs.tasks.hwf.dataset import GRAMMAR, HandwrittenFormulas
from ngs.tasks.hwf.packed import load
from ngs.tasks.results.outcome import Spread
from ngs.tasks.results.tables import rows_of

HERE = Path(__file__).resolve().parent
GOAL = 0.985
ABLKIT = "1.0.0"
INSTALL = f"pip install --target FOLDER --no-deps ablkit=={ABLKIT} zoopt==0.4.2 termcolor==3.3.0"
"""ABLkit and what it imports that we have not. It also asks for pyswip and torchvision, which only other
examples need."""

Run = Mapping[str, Any]  # what a contestant says of one seed, with the wall-clock seconds of its process
Quantity = Callable[[Run], float | None]


@dataclass(frozen=True)
class Contestant:
    """A script beside this one: what it is given before and after OUT and the seed, and its PYTHONPATH."""

    name: str
    script: Path
    data: str
    path: str
    options: list[str]

    def run(self, seed: int, out: Path, threads: int) -> Run:
        """Train and test with one seed, in a new process."""
        told = out / f"{self.script.stem}-{seed}.json"
        variables = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": self.path}
        began, begin = time.time(), time.perf_counter()
        words = [sys.executable, str(self.script), self.data, str(told), "--seed", str(seed)]
        words += ["--began", str(began), *self.options]
        with told.with_suffix(".log").open("w") as log:
            # In `out`: ABLkit keeps its own logs in the folder it is started from.
            done = subprocess.run(words, env=variables, cwd=out, stdout=log, stderr=subprocess.STDOUT)
        seconds = time.perf_counter() - begin
        if done.returncode:
            sys.exit(f"{self.name}, seed {seed}, failed with {done.returncode}; see {log.name}")
        return {**json.loads(told.read_text()), "wall_seconds": seconds}


def write_formulas(data: HandwrittenFormulas, path: Path) -> None:
    """The data set for somebody who has NumPy and nothing of ours."""
    arrays = {"images": data.images.numpy(), "symbols": np.array(GRAMMAR.decode(data.columns.tolist()))}
    for name, formulas in (("train", data.train), ("test", data.test)):
        arrays[f"{name}_where"] = formulas.where.numpy()
        arrays[f"{name}_values"] = np.array([float(answer) for answer in formulas.answers])
    np.savez(path, **arrays)


def seconds_to_goal(run: Run) -> float | None:
    return next((point["seconds"] for point in run["curve"] if point["answers"] >= GOAL), None)


def seconds_from_start_to_goal(run: Run) -> float | None:
    """With all that comes before training: Python, data, and what a GPU loads."""
    on_the_clock = seconds_to_goal(run)
    return None if on_the_clock is None else run["seconds_before_training"] + on_the_clock


def best_on_test(run: Run) -> float:
    return float(max(point["answers"] for point in run["curve"]))


COLUMNS: Mapping[str, tuple[Quantity, int]] = {
    "test accuracy, %": (lambda run: 100 * run["answers"], 2),
    "symbols, %": (lambda run: 100 * run["symbols"], 2),
    "best on test, %": (lambda run: 100 * best_on_test(run), 2),
    f"s to {GOAL:.1%}": (seconds_to_goal, 2),
    f"s from start to {GOAL:.1%}": (seconds_from_start_to_goal, 2),
    "training s": (itemgetter("training_seconds"), 2),
    "whole process s": (itemgetter("wall_seconds"), 1),
    "peak memory, MB": (itemgetter("peak_memory_mb"), 0),
    "peak GPU memory, MB": (itemgetter("peak_gpu_mb"), 0),
}
"""What is told of a run, and how many digits are shown."""


def cell(runs: Sequence[Run], value: Quantity, digits: int) -> str:
    """Mean and standard deviation over the seeds, and of how many where not all have a value."""
    values = list(map(value, runs))
    known = [each for each in values if each is not None]
    if not known:
        return "-"
    spread = Spread.of(known)
    deviation = "" if spread.deviation is None else f" ± {spread.deviation:.{digits}f}"
    missing = "" if len(known) == len(values) else f" ({len(known)} of {len(values)})"
    return f"{spread.mean:.{digits}f}{deviation}{missing}"


def table(asked: Mapping[str, Any], runs: Mapping[str, Sequence[Run]]) -> str:
    """Markdown: what was asked for, a row for each contestant, and the sentences that matter."""
    told = ", ".join(f"{name}: {value}" for name, value in asked.items())
    rows = [
        [name, str(len(its)), *(cell(its, *column) for column in COLUMNS.values())]
        for name, its in runs.items()
    ]
    return "\n".join([told, "", rows_of(["", "seeds", *COLUMNS], rows), "", *verdict(runs)]) + "\n"


def verdict(runs: Mapping[str, Sequence[Run]]) -> list[str]:
    """How the first compares to the second, where both have finished seeds."""
    ours, peer = runs.values()
    if not ours or not peer:
        return []
    gap = 100 * (Spread.of([r["answers"] for r in ours]).mean - Spread.of([r["answers"] for r in peer]).mean)
    lines = [f"Test accuracy, ours minus the peer's: {gap:+.2f} points."]
    for since, seconds in (("", seconds_to_goal), (" from its start", seconds_from_start_to_goal)):
        fast, slow = ([s for run in some if (s := seconds(run)) is not None] for some in (ours, peer))
        if fast and slow:
            ratio = Spread.of(slow).mean / Spread.of(fast).mean
            found = f"{ratio:.1f} times as fast{since}, of the seeds that reach it."
            lines.append(f"Ours reaches {GOAL:.1%} {found}")
    return lines


def contestants(options: argparse.Namespace, out: Path) -> list[Contestant]:
    # They run in another folder, where a relative path leads elsewhere.
    paths = [str(Path(path).resolve()) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    data = str(Path(options.data).resolve()) if Path(options.data).exists() else options.data
    cold = ["--cold"] if options.cold else []
    lengths = ["--lengths", *map(str, options.lengths)] if options.lengths else []
    ours = ["--steps", str(options.steps), *lengths, *cold]
    site = str(options.site.resolve())
    return [
        Contestant("NGS", HERE / "ngs_hwf.py", data, os.pathsep.join(paths), ours),
        Contestant(f"ABLkit {ABLKIT}", HERE / "ablkit_hwf.py", str(out / "formulas.npz"), site, cold),
    ]


def checked(options: argparse.Namespace) -> HandwrittenFormulas:
    """The formulas that were asked for; an error now rather than after ours has trained."""
    if options.seeds < 1:
        raise NGSError(f"--seeds is {options.seeds}; give one at least")
    if not (options.site / "ablkit").is_dir():
        raise NGSError(f"--site is {options.site}, which has no ablkit; put it there: {INSTALL}")
    data = load(options.data)
    chosen = data.restricted(options.lengths) if options.lengths else data
    if not len(chosen.train) or not len(chosen.test):
        raise NGSError(f"{options.data} has no formulas of --lengths {options.lengths} to train or test on")
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", default="data/HWF.ngs", help="made by `ngs data import`, or `embedded`")
    parser.add_argument("--seeds", type=int, default=5, help="how many: 0, 1, ...")
    parser.add_argument("--out", type=Path, default=Path("bench/peers"), help="folder to write")
    parser.add_argument("--site", type=Path, required=True, help=f"the FOLDER of `{INSTALL}`")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of each contestant")
    parser.add_argument("--steps", type=int, default=250, help="ours; fewer to try the script")
    parser.add_argument("--lengths", type=int, nargs="*", default=[], help="only formulas of these")
    parser.add_argument("--cold", action="store_true", help="leave the first use of a GPU on both clocks")
    options = parser.parse_args()
    try:
        data = checked(options)
    except NGSError as error:
        parser.error(str(error))
    asked = {
        "data": data.name,
        "lengths": options.lengths or "all",
        "steps of ours": options.steps,
        "cold": options.cold,
    }
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    machine = {"ablkit": ABLKIT, "threads": options.threads, "environment": environment(device, sys.argv)}
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    write_formulas(data, out / "formulas.npz")
    entered = contestants(options, out)
    runs: dict[str, list[Run]] = {contestant.name: [] for contestant in entered}
    for seed in range(options.seeds):
        for contestant in entered:
            runs[contestant.name].append(contestant.run(seed, out, options.threads))
            facts = {"goal": GOAL, **asked, **machine, "runs": runs}
            (out / "results.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
            # After each of them: it may be stopped.
            (out / "table.md").write_text(table(asked, runs), encoding="utf-8")
            print(f"{contestant.name}, seed {seed}: {runs[contestant.name][-1]['answers']:.2%}", flush=True)
    print(table(asked, runs))


if __name__ == "__main__":
    main()
