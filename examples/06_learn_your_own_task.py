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
rows = {symbol: FONT.split()[k::6] for k, symbol in enumerate("IVXLC+")}
ink = torch.tensor([[[pixel == "#" for pixel in row] for row in rows[s]] for s in GRAMMAR.symbols]).float()
chance = torch.Generator().manual_seed(1)
even = torch.zeros(600, 6, 6).log_softmax(-1)  # all sums of a length are equally likely
sums = ngs.sample(GRAMMAR, even, [3, 4, 5, 6] * 150, generator=chance)
columns = [GRAMMAR.encode(sums[k]) for k in range(600)]
images = [ink[each] + 0.35 * torch.randn(len(each), 5, 5, generator=chance) for each in columns]
results = [ngs.evaluate(sums.tree(k), Roman) for k in range(600)]
train = ngs.Examples.of(images[:400], results[:400])  # not a letter is told
test = ngs.Examples.of(images[400:], results[400:], columns[400:])

for name, method in ("posterior", ngs.methods.posterior), ("m-bs", ngs.methods.multi_step(ngs.Walk())):
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(25, 6))
    settings = ngs.Settings(batch_size=32, learning_rate=0.05)
    before = ngs.score(network, GRAMMAR, Roman, test).total
    ngs.fit(network, GRAMMAR, Roman, train, method=method, steps=150, settings=settings)
    after = ngs.score(network, GRAMMAR, Roman, test).total
    print(f"{name:9}  results {before.calculation:.0%} -> {after.calculation:.0%} right,", end=" ")
    print(f"symbols {before.symbol:.0%} -> {after.symbol:.0%} right")
