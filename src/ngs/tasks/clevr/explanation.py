"""Programs and their corrections in words and as pictures: every step with the objects that it found.

A program is read from its root at the top; what a module works on stands below it. The objects of a set
keep their places in a row, and those that are not in it are pale.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from xml.etree import ElementTree

from ngs.explanations import text
from ngs.explanations.drawing import Panel, add, as_svg, drawn
from ngs.explanations.text import Box, Look, shown_ratio
from ngs.search.correction import Evaluated
from ngs.tasks.clevr.correction import ProgramCorrection
from ngs.tasks.clevr.execution import Step
from ngs.tasks.clevr.program_text import Executed, description, objects_of, shown_value
from ngs.tasks.clevr.reading import QuestionReading
from ngs.tasks.clevr.scenes import COLORS, Scene, Thing
from ngs.tasks.clevr.semantics import Unique

SHOWN = 5  # programs that are listed
LEGEND = (
    "squares are cubes, circles are spheres, barrels are cylinders; shiny ones are metal; "
    "pale ones are not in the set"
)
SLOT = 24.0  # the width of an object
RADIUS = {"small": 6.0, "large": 9.5}
PALE = 0.12


def as_text(correction: ProgramCorrection) -> str:
    probability = correction.reading.programs[0].probability
    told = f"read ({probability:.1%})\n{text.as_text(correction.search, _look(correction))}"
    return "\n\n".join([said(correction.reading), told, "\n".join(_alternatives(correction))])


def drawn_correction(correction: ProgramCorrection) -> str:
    return as_svg(correction.search, _look(correction))


def drawn_program(question: str, executed: Executed) -> str:
    told = "A program from the root down; each step shows the objects that it found."
    look = program_look(executed.scene, executed.unique, question)
    return drawn([Panel(program_box(executed))], f"answer: {executed.shown}", look, told)


def program_tree(executed: Executed) -> str:
    return text.tree_text(program_box(executed))


def said(reading: QuestionReading) -> str:
    """What the dictionary makes of the words: `how many: count; red: filter_color[red]; ...`"""
    spoken: dict[str, list[str]] = {}
    for module, phrase in reading.understood.reading:
        spoken.setdefault(phrase, []).append(module)
    modules = "; ".join(f"{phrase}: {', '.join(found)}" for phrase, found in spoken.items())
    return f"the dictionary: {modules}"


def program_look(scene: Scene, unique: Unique, question: str = "") -> Look:
    def executed(read: Evaluated) -> Executed:
        return Executed.of(read.sentence, scene, unique)

    heading = "".join(c if c.isprintable() else " " for c in question)
    return Look(
        lambda read: program_box(executed(read)), lambda read: executed(read).told, heading, (LEGEND,)
    )


def _look(correction: ProgramCorrection) -> Look:
    return program_look(correction.scene, correction.unique, correction.reading.text)


def program_box(executed: Executed) -> Box:
    def box(step: Step) -> Box:
        value, objects = shown_value(step, executed.scene), objects_of(step)
        plain = Box(step.module, value, tuple(map(box, step.arguments)), (step.position,), step.position)
        if objects is None:
            return plain
        draw = partial(_draw_objects, objects, executed.scene)
        return replace(plain, width=SLOT * len(executed.scene.things), draw=draw)

    return text.stacked(executed.program) if executed.steps is None else box(executed.steps)


def _alternatives(correction: ProgramCorrection) -> Iterator[str]:
    found, answer = correction.alternatives, correction.answer
    looked_at = f"all {found.of:,} programs" if found.exact else f"the {found.of:,} programs that were tried"
    if not found.programs:
        yield f"none of {looked_at} of these modules gives {answer}"
        return
    yield f"programs that give {answer}, by p(z | x, y)"
    shares = found.shares
    for share, each in zip(shares[:SHOWN], found.programs, strict=False):
        yield f"  {share:6.1%}  {' '.join(each.program)}"
    if len(shares) > SHOWN:
        yield f"  {sum(shares[SHOWN:]):6.1%}  {len(shares) - SHOWN:,} more"
    evidence = shown_ratio(found.log_evidence)
    yield f"  p(y | x) = {evidence}, summed over {looked_at}{'' if found.exact else ': at least'}"
    if correction.corrected is not None and (place := found.place(correction.corrected.program)):
        yield (
            f"{place} likelier program{'s give' if place > 1 else ' gives'} {answer} as well: "
            f"this correction may be right for the wrong reason"
        )


def _draw_objects(chosen: Collection[int], scene: Scene, group: ElementTree.Element, y: float) -> None:
    left = -SLOT * (len(scene.things) - 1) / 2
    for k, thing in enumerate(scene.things):
        place = f"translate({left + SLOT * k:.1f} {y:.1f})"
        glyph = add(group, "g", "object" if k in chosen else "other", transform=place)
        if k not in chosen:
            glyph.set("opacity", str(PALE))
        _draw_thing(glyph, thing)


def _draw_thing(glyph: ElementTree.Element, thing: Thing) -> None:
    add(glyph, "title", text=description(thing))
    r, look = RADIUS[thing.size], {"fill": COLORS[thing.color], "stroke": "#808890"}
    if thing.shape == "sphere":
        add(glyph, "circle", r=r, **look)
    elif thing.shape == "cube":
        add(glyph, "rect", x=-0.88 * r, y=-0.88 * r, width=1.76 * r, height=1.76 * r, **look)
    else:
        bulge = f"a{0.7 * r:.1f} {0.3 * r:.1f} 0 0"
        side, down = f"{0.7 * r:.1f}", f"{1.4 * r:.1f}"
        outline = f"M-{side} -{side}v{down}{bulge} 0 {down} 0v-{down}{bulge} 0 -{down} 0{bulge} 0 {down} 0"
        add(glyph, "path", d=outline, **look)
    if thing.material == "metal":
        add(glyph, "circle", cx=-0.25 * r, cy=-0.3 * r, r=0.28 * r, fill="#ffffff", opacity="0.85")
