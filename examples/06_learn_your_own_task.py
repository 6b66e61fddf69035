"""Learn a task of your own: read the letters of Roman sums such as XIV+IX, told only that it makes 23."""

import torch

import ngs

GRAMMAR = ngs.Grammar.parse("""
    sum: sum "+" number -> add | number
    number: tens ones -> add | tens | ones
    !tens: "X" | "X" ~ 2..3 -> add | "X" "L" -> before | "L" | "L" "X" ~ 1..3 -> add | "X" "C" -> before
    !ones: "I" | "I" ~ 2..3 -> add | "I" "V" -> before | "V" | "V" "I" ~ 1..3 -> add | "I" "X" -> before
""")


class Roman(ngs.Semantics):
    symbol = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}.get

    def add(*parts):
        return sum(parts)

    def before(small, large):
        return large - small


FONT = """
    .###. #...# #...# #.... .#### .....
    ..#.. #...# .#.#. #.... #.... ..#..
    ..#.. #...# ..#.. #.... #.... .###.
    ..#.. .#.#. .#.#. #.... #.... ..#..
    .###. ..#.. #...# ##### .#### ....."""
glyphs = [FONT.split()["IVXLC+".index(symbol) :: 6] for symbol in GRAMMAR.symbols]
ink = torch.tensor([[[pixel == "#" for pixel in row] for row in glyph] for glyph in glyphs]).float()
chance = torch.Generator().manual_seed(1)
even = torch.zeros(600, 6, 6).log_softmax(-1)  # all sums of a length are equally likely
sums = ngs.independent(GRAMMAR, even, [3, 4, 5, 6] * 150).sample(chance)
labels = [GRAMMAR.encode(each) for each in sums]
images = [ink[each] + 0.35 * torch.randn(len(each), 5, 5, generator=chance) for each in labels]
results = [ngs.evaluate(ngs.parse(GRAMMAR, each), Roman) for each in sums]
train = ngs.Examples.of(images[:400], results[:400])  # not a letter is told
test = ngs.Examples.of(images[400:], results[400:], labels[400:])

torch.set_num_threads(1)  # the tensors are small
for name, method in ("posterior", ngs.methods.posterior), ("m-bs", ngs.methods.multi_step()):
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(25, 6))
    settings = ngs.Settings(batch_size=32, learning_rate=0.05)
    for steps in (0, 150):
        ngs.fit(network, GRAMMAR, Roman, train, method=method, steps=steps, settings=settings)
        got = ngs.score(network, GRAMMAR, Roman, test).total
        print(f"{name:9} {steps:3} steps: results {got.answer:4.0%}, symbols {got.symbol:4.0%} right")
