"""A correction of a program in words: what was read, what was tried, and what came of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ngs.explanations.text import shown_ratio
from ngs.tasks.clevr.correction import ProgramCorrection
from ngs.tasks.clevr.program_text import Executed, shown_answer
from ngs.tasks.clevr.reading import QuestionReading

SHOWN = 5
"""Programs that are listed."""


def as_text(correction: ProgramCorrection) -> str:
    """The likeliest program with the value of every step; where it is wrong, how it was corrected.

    Modules that are put elsewhere have a star, in the program that was read and in the corrected one.
    """
    parts = [said(correction.reading), _first(correction)]
    if not correction.is_right:
        parts += [_tried(correction), _corrected(correction)]
    return "\n\n".join([*filter(None, parts), _alternatives(correction)])


def said(reading: QuestionReading) -> str:
    """What the dictionary makes of the words: `how many: count; red: filter_color[red]; ...`"""
    spoken: dict[str, list[str]] = {}
    for module, phrase in reading.understood.reading:
        spoken.setdefault(phrase, []).append(module)
    modules = "; ".join(f"{phrase}: {', '.join(found)}" for phrase, found in spoken.items())
    return f"the dictionary: {modules}"


def result(correction: ProgramCorrection, arrow: str = "->") -> str:
    """`no  ->  yes: relate[left] and relate[right] change places`"""
    said = shown_answer(correction.first.answer)
    if correction.is_right:
        return f"{said}, right as it stands"
    if correction.chosen is None:
        return f"{said}  {arrow}  no program one step away gives {correction.target}"
    return f"{said}  {arrow}  {correction.target}: {correction.chosen.edit}"


def _first(correction: ProgramCorrection) -> str:
    chosen, probability = correction.chosen, correction.reading.programs[0].probability
    text = _told(f"read ({probability:.1%})", correction.first, chosen.edit.old if chosen else ())
    return text + (", right as it stands" if correction.is_right else f"; it should be {correction.target}")


def _told(title: str, executed: Executed, marked: Collection[int]) -> str:
    """The program and its answer, or why there is none."""
    answer = f"answer: {shown_answer(executed.answer)}"
    return f"{title}\n{executed.tree(marked)}\n{answer}" + (f" ({executed.fault})" if executed.fault else "")


def _tried(correction: ProgramCorrection) -> str:
    right, target = correction.right, correction.target
    near, give = len(correction.neighbours), "gives" if len(right) == 1 else "give"
    lines = [f"one step away: {near} program{'s' if near != 1 else ''}, {len(right)} {give} {target}"]
    lines += [f"  {shown_ratio(each.log_prob):>8}  {each.edit}" for each in right[:SHOWN]]
    if len(right) > SHOWN:
        lines.append(f"            and {len(right) - SHOWN} more")
    return "\n".join(lines)


def _corrected(correction: ProgramCorrection) -> str:
    chosen, corrected = correction.chosen, correction.corrected
    if chosen is None or corrected is None:
        return ""
    return _told(f"corrected: {chosen.edit}", corrected, chosen.edit.new)


def _alternatives(correction: ProgramCorrection) -> str:
    """The likeliest programs that give the answer, and how sure that is."""
    found, target = correction.alternatives, correction.target
    looked_at = f"all {found.of:,} programs" if found.exact else f"the {found.of:,} programs that were tried"
    if not found.programs:
        return f"none of {looked_at} of these modules gives {target}"
    lines = [f"programs that give {target}, by p(z | x, y)", *_ranked(correction)]
    evidence = shown_ratio(found.log_evidence)
    lines.append(f"  p(y | x) = {evidence}, summed over {looked_at}{'' if found.exact else ': at least'}")
    if correction.corrected is not None and (place := found.place(correction.corrected.program)):
        lines.append(
            f"{place} likelier program{'s give' if place > 1 else ' gives'} {target} as well: "
            f"this correction may be right for the wrong reason"
        )
    return "\n".join(lines)


def _ranked(correction: ProgramCorrection) -> Iterator[str]:
    """Those that come first, and how many more there are."""
    found = correction.alternatives
    shares = found.shares
    for share, each in zip(shares[:SHOWN], found.programs, strict=False):
        yield f"  {share:6.1%}  {' '.join(each.program)}"
    if len(shares) > SHOWN:
        yield f"  {sum(shares[SHOWN:]):6.1%}  {len(shares) - SHOWN:,} more"
