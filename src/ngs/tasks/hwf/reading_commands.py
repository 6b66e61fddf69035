"""`ngs predict`, `explain`, `tour`: the formula in a picture, and what was misread if its answer is wrong."""

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from torch import Tensor

from ngs.console.options import RunFolder
from ngs.console.printing import one_by_one, plain_console, tell
from ngs.console.written_files import check_apart, write_drawing
from ngs.explanations.drawing import as_svg
from ngs.explanations.text import as_text, shown_ratio
from ngs.grammar.tree import pretty
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.search.compiled import BUDGET
from ngs.search.correction import Correction
from ngs.search.one_step import one_step
from ngs.search.support import posterior
from ngs.tasks.hwf.dataset import GRAMMAR, value_of
from ngs.tasks.hwf.formula_reading import Formula, as_answer, likeliest, ranked, shown_value
from ngs.tasks.hwf.pictures import read_formula
from ngs.tasks.hwf.preparation import LONGEST_TABLED, load_network

SHOWN = 5  # formulas with an answer that are listed
WRITTEN = tuple("2*9+3")  # what is misread in the tour

LineOrStrip = Annotated[
    bool | None,
    typer.Option(
        "--line/--strip",
        help="Take a picture for one handwritten line, or for squares with a symbol each, side by side; "
        "by default one of 45 x 45, 90 x 45, 135 x 45, ... pixels is a strip and any other one a line.",
    ),
]


def predict(
    run: RunFolder,
    images: Annotated[
        list[Path], typer.Argument(metavar="IMAGE", help="Pictures or folders, each of one formula.")
    ],
    top: Annotated[int, typer.Option(min=1, max=100, help="Formulas to list for each, likeliest first.")] = 1,
    line: LineOrStrip = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Read the formulas in pictures, and say their values.

    An IMAGE is a strip of symbols side by side, 45 x 45 pixels each; a folder
    with a picture of each symbol, in the order of their names; or any other
    picture of one handwritten line, drawn or photographed, dark on light or
    light on dark, whose symbols do not touch each other.

    Percentages are probabilities among all formulas with as many symbols.
    """
    network = load_network(run)

    def predicted(path: Path) -> dict[str, Any]:
        seen = read_formula(path, network, line=line)
        formulas = likeliest(seen.log_probs, top)
        if not as_json:
            tell(plain_console(), _listed(path, formulas))
        boxes = [list(box) for box in seen.boxes]
        return {"formulas": [each.as_facts() for each in formulas], "boxes": boxes}

    one_by_one(images, predicted, as_json)


def _listed(path: Path, formulas: list[Formula]) -> str:
    if len(formulas) == 1:
        return f"{path}: {formulas[0]}  ({formulas[0].probability:.1%})"
    return "\n".join([f"{path}:", *(f"  {each.probability:6.1%}  {each}" for each in formulas)])


def explain(
    run: RunFolder,
    image: Annotated[
        Path, typer.Argument(metavar="IMAGE", help="A picture or folder, as for `ngs predict`.")
    ],
    answer: Annotated[str, typer.Option(help="The true answer: 12, -3, 0.75 or 7/3.")],
    svg: Annotated[Path | None, typer.Option(help="Also draw the correction into this file.")] = None,
    line: LineOrStrip = None,
) -> None:
    """Find out what was misread in the formula in a picture, if its answer should be another.

    Prints the likeliest symbols, the likeliest formula and its tree. Where
    that does not give the answer: how one-step back-search looks for the
    symbol to change, with all that entered its queue, and the correction; then
    the likeliest of all formulas that do give the answer.
    """
    check_apart([svg], [image])
    target, seen = as_answer(answer), read_formula(image, load_network(run), line=line)
    tell_correction(plain_console(), seen.log_probs, target, svg)


def tour(
    seed: Annotated[int, typer.Option(help="Seeds the noise of the misread formula.")] = 0,
    svg: Annotated[Path | None, typer.Option(help="Also draw the correction into this file.")] = None,
) -> None:
    """Read a noisy formula inside a grammar, find out that its answer is wrong, and correct it."""
    console, target = plain_console(), value_of(WRITTEN)
    tell(console, f"written            {' '.join(WRITTEN)}   with the answer {target}")
    correction = tell_correction(console, misreading(seed), Fraction(target), svg, always=True)
    if correction.position is not None and correction.sentence is not None:
        right = correction.sentence == WRITTEN
        tell(console, f"\nThe correction {'is' if right else 'is not'} what was written.")


def misreading(seed: int) -> Tensor:
    """Log-probabilities [time, symbol] of a network that mistakes the 9 for a 4 and doubts the operator."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(len(WRITTEN), len(GRAMMAR.symbols), generator=generator)
    scores[range(len(WRITTEN)), GRAMMAR.encode(WRITTEN)] += 4
    scores[2, GRAMMAR.symbol_id("4")] += 6
    scores[1, GRAMMAR.symbol_id("7")] += 6
    return scores.log_softmax(-1)


def tell_correction(
    console: Console, log_probs: Tensor, target: Fraction, svg: Path | None, *, always: bool = False
) -> Correction:
    """What scores [time, symbol] are read as, the search for the answer, and all that gives it.

    Where the reading is right, other formulas with the answer are told only if `always`.
    """
    first = likeliest(log_probs, 1)[0]
    tell(console, f"likeliest symbols  {' '.join(GRAMMAR.decode(log_probs.argmax(-1).tolist()))}")
    tell(console, f"in the grammar     {first}  ({first.probability:.1%})\n")
    tell(console, pretty(parse(GRAMMAR, first.sentence)) + "\n")
    correction = one_step(GRAMMAR, Arithmetic, log_probs, target, first.sentence)
    console.print(f"one-step back-search towards {shown_value(target)}", style="bold", highlight=False)
    tell(console, as_text(correction))
    if first.value != target or always:
        _tell_alternatives(console, log_probs, target, correction)
    if svg is not None:
        write_drawing(svg, as_svg(correction))
        tell(console, f"\ndrawn in {svg}")
    return correction


def _tell_alternatives(console: Console, log_probs: Tensor, target: Fraction, correction: Correction) -> None:
    budget = BUDGET if len(log_probs) <= LONGEST_TABLED else 1
    found = posterior(GRAMMAR, Arithmetic, log_probs[None], None, [target], budget=budget)
    exact = found.exact is None or bool(found.exact[0])
    if not bool(found.found[0]):
        tell(console, f"\n{_none(len(log_probs), target, exact)}")
        return
    heading = f"formulas that give {shown_value(target)}, by p(z | x, y)"
    console.print(f"\n{heading}", style="bold", highlight=False)
    formulas = ranked(found, SHOWN)
    for each in formulas:
        tell(console, f"  {each.probability:6.1%}  {' '.join(each.sentence)}")
    summed = "summed exactly" if exact else "at least: the formula is too long to sum over all"
    tell(console, f"  p(y | x) = {shown_ratio(found.log_z.item())}, {summed}")
    if correction.sentence is None:
        best = formulas[0].sentence
        changed = sum(one != other for one, other in zip(best, correction.read.sentence, strict=True))
        tell(console, f"\nThe likeliest of them, {' '.join(best)}, changes {changed} symbols.")


def _none(length: int, target: Fraction, exact: bool) -> str:
    count = f"{length} symbol{'s' if length > 1 else ''}"
    gives = "gives" if exact else "was found that gives"
    advice = "; is the answer exact? Write 7/3 rather than 2.33" if target.denominator > 1 else ""
    return f"no formula of {count} {gives} {shown_value(target)}{advice}"
