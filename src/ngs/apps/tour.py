"""`ngs tour`: the whole loop of the paper on one misread formula, printed step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from torch import Tensor

from ngs.apps.written_files import write_drawing
from ngs.explanations.drawing import as_svg
from ngs.explanations.text import as_text
from ngs.grammar.library import arithmetic
from ngs.grammar.tree import pretty
from ngs.parsing.independent import independent
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.semantics import evaluate
from ngs.search.one_step import one_step
from ngs.search.support import posterior

WRITTEN = "2*9+3"


def tour(
    seed: Annotated[int, typer.Option(help="Seeds the noise of the misread formula.")] = 0,
    svg: Annotated[Path | None, typer.Option(help="Also draw the correction into this file.")] = None,
) -> None:
    """Read a noisy formula inside a grammar, find out that its answer is wrong, and correct it."""
    console = Console()
    grammar = arithmetic()
    log_probs = misreading(seed)
    target = evaluate(parse(grammar, WRITTEN), Arithmetic)
    argmax = " ".join(grammar.symbols[k] for k in log_probs.argmax(-1).tolist())
    read = independent(grammar, log_probs[None]).best()
    tree = read.tree(0)
    console.print(f"[bold]written[/]            {' '.join(WRITTEN)}   with the answer {target}")
    console.print(f"[bold]likeliest symbols[/]  {argmax}")
    console.print(f"[bold]in the grammar[/]     {' '.join(read[0])}   = {evaluate(tree, Arithmetic)}\n")
    console.print(pretty(tree) + "\n")
    console.print("[bold]one-step back-search[/]")
    correction = one_step(grammar, Arithmetic, log_probs, target)
    console.print(as_text(correction), highlight=False, markup=False)
    exact = posterior(grammar, Arithmetic, log_probs[None], None, [target])
    console.print(f"\n[bold]all formulas that give {target}[/], by p(z | x, y)")
    ranked = exact.topk(5)
    log_z = exact.log_z[0]
    for k in range(5):
        share = (ranked.log_probs[0, k] - log_z).exp().item()
        console.print(f"  {share:6.1%}  {' '.join(ranked[0, k])}", highlight=False)
    console.print(f"  p(y | x) = {log_z.exp().item():.2e}, summed exactly")
    if correction.position is not None and correction.sentence is not None:
        right = "".join(correction.sentence) == WRITTEN
        console.print(f"\nThe correction {'is' if right else 'is not'} what was written.")
    if svg is not None:
        write_drawing(svg, as_svg(correction))


def misreading(seed: int) -> Tensor:
    """Log-probabilities [time, symbol] of a network that mistakes the 9 for a 4 and doubts the operator."""
    grammar = arithmetic()
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(len(WRITTEN), len(grammar.symbols), generator=generator)
    scores += 4 * _one_hot(WRITTEN)
    scores[2, grammar.column("4")] += 6
    scores[1, grammar.column("7")] += 6
    return scores.log_softmax(-1)


def _one_hot(sentence: str) -> Tensor:
    grammar = arithmetic()
    return torch.nn.functional.one_hot(torch.tensor(grammar.encode(sentence)), len(grammar.symbols)).float()
