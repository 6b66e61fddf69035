"""Your own language: a robot's commands were misread, and only the place where it stopped is known.

A grammar as text and a few functions are all there is to write. None of them has an inverse: what each
part of the program should have done is looked up in the table of what such parts can do.
"""

import torch

import ngs

ROBOT = ngs.Grammar.parse("""
    program: move -> begin
        | program move -> then
    move: direction
        | "twice" direction -> twice
    direction: "up" | "down" | "left" | "right"
""")


class Robot(ngs.Semantics):
    """A direction is a step (x, y), a program is the place it leads to, on a grid of 4 by 4."""

    def symbol(name):
        return {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}[name]

    def twice(step):
        return 2 * step[0], 2 * step[1]

    def begin(step):
        return Robot.then((0, 0), step)

    def then(place, step):
        x, y = place[0] + step[0], place[1] + step[1]
        return (x, y) if 0 <= x < 4 and 0 <= y < 4 else ngs.UNDEFINED


def drawn(sentence):
    """The grid with the places the robot stops at, in their order."""
    starts = [sentence[:k] for k in range(1, 6) if ngs.recognises(ROBOT, sentence[:k])]
    places = [(0, 0), *(ngs.evaluate(ngs.parse(ROBOT, start), Robot) for start in starts)]
    order = {place: str(k) for k, place in enumerate(places)}
    return [" ".join(order.get((x, y), ".") for x in range(4)) for y in (3, 2, 1, 0)]


SEEN = [{"up": 0.9}, {"twice": 0.8}, {"right": 0.7, "left": 0.2}, {"down": 0.6, "up": 0.3}, {"right": 0.85}]
STOPPED_AT = (3, 2)
rests = [(1 - sum(row.values())) / (5 - len(row)) for row in SEEN]
rows = [[row.get(s, rest) for s in ROBOT.symbols] for row, rest in zip(SEEN, rests, strict=True)]
log_probs = torch.tensor(rows, dtype=torch.float64).log()

correction = ngs.one_step(ROBOT, Robot, log_probs, STOPPED_AT)
print(ngs.as_text(correction), end="\n\n")
read = ngs.independent(ROBOT, log_probs[None]).best()[0]
for before, after in zip(drawn(read), drawn(correction.sentence), strict=True):
    print(f"  {before}      {after}")
exact = ngs.posterior(ROBOT, Robot, log_probs[None], None, [STOPPED_AT])
share = (exact.best().log_probs - exact.log_z).exp().item()
print(f"\nof all programs that stop there, {' '.join(exact.best()[0])!r} has {share:.1%}")
