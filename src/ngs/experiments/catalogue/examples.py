"""hwf-examples and clevr-examples: corrections of each kind that the paper shows, and how frequent it is."""

from __future__ import annotations

from typing import Any

from ngs.experiments.catalogue.experiment import Cell, Experiment
from ngs.experiments.catalogue.settings import our_hwf, quick_clevr, quick_hwf
from ngs.experiments.job import Trained
from ngs.experiments.jobs.corrections import Corrections
from ngs.experiments.results.outcome import Outcome
from ngs.experiments.results.tables import Section, rows_of

PLACE = ("corrections", "")
EARLY_FORMULAS: dict[str, Any] = {"method": "m-bs", "steps": 80, "validate_every": 40}
EARLY_QUESTIONS: dict[str, Any] = {"method": "m-bs", "steps": 60, "validate_every": 60}
"""A network that has learned something, and still makes mistakes of every kind."""


def _cells(task: str, config: Any, **settings: Any) -> list[Cell]:
    return [Cell(*PLACE, (Corrections(Trained(task, config), **settings),))]


def show(outcome: Outcome) -> Section:
    run, name = next(outcome.runs, None), outcome.experiment
    if run is None:
        return Section("Not run yet.")
    result, counted = run.result, run.result["kinds"]
    rows = [
        [kind, str(found["count"]), "" if found["share"] is None else f"{100 * found['share']:.1f}%"]
        for kind, found in counted.items()
    ]
    shown, drawings = [], {}
    for kind in counted:
        example = next((each for each in result["examples"] if each["kind"] == kind), None)
        if example is not None:
            stem = example["drawing"].removesuffix(".svg")
            drawings[f"{name}-{stem}"] = (run.drawings or {})[stem]
            shown.append(f"**{kind}**: {_told(example)}\n\n![{kind}]({{{name}-{stem}}})")
    noun = "formulas" if "formulas" in result else "questions"
    wrong = f"{result['wrong']} were wrong"
    head = f"Of {result[noun]} {noun} read by the network of step {result['step']}, {wrong}."
    return Section("\n\n".join([head, rows_of(["kind", "count", "share"], rows), *shown]), drawings=drawings)


def _told(example: dict[str, Any]) -> str:
    """What was written, read and found, in the order it happened."""
    told = {
        "question": "asked",
        "written": "written",
        "true": "which means",
        "read": "read",
        "value": "which gives",
        "answer": "instead of",
        "one_step": "1-BS finds",
        "multi_step": "m-BS finds",
    }
    if example.get("true") is None:  # of a formula, or nobody knows it
        del told["true"]
    return "; ".join(
        f"{phrase} nothing" if example[name] is None else f"{phrase} `{example[name]}`"
        for name, phrase in told.items()
        if name in example
    )


HWF_EXAMPLES = Experiment(
    "hwf-examples",
    "Handwritten formulas: corrections",
    "The paper's `fig_HME_examples` and `fig_mBS_example`: what back-search makes of wrong answers of a "
    "network that has just begun to learn (HWF, the small network, our settings). 1-BS sets a digit or an "
    "operator right; finds nothing, but m-BS does in more steps, be it what is written or not; neither finds "
    "anything; or 1-BS finds a spurious correction, which gives the answer but is not what is written.",
    ("hwf",),
    lambda means: _cells("hwf", our_hwf(data=means.hwf, **EARLY_FORMULAS)),
    lambda means: _cells("hwf", quick_hwf(**EARLY_FORMULAS), number=300),
    show,
)
CLEVR_EXAMPLES = Experiment(
    "clevr-examples",
    "CLEVR: corrections",
    "The paper's `fig_BS_CLEVR_example`: what back-search makes of wrong programs of a network that has just "
    "begun to learn (embedded questions like CLEVR's, since drawings show scenes, and those of a data set "
    "are not ours to publish; the small network). The kinds are those of formulas, but that 1-BS finds a "
    "program that means what the true one means, or one that gives the answer and means something else; "
    "*unjudged* are those whose true program nobody knows.",
    (),
    lambda means: _cells("clevr", quick_clevr(**EARLY_QUESTIONS)),
    lambda means: _cells("clevr", quick_clevr(**EARLY_QUESTIONS), number=200),
    show,
)
