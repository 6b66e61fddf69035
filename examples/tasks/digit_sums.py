"""Two handwritten digits and their sum: the network learns to read digits from sums alone.

ngs train examples/tasks/digit_sums.py
"""

import ngs

GRAMMAR = ngs.Grammar.parse("""
start: digit digit -> add
digit: "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9"
""")


class Sums(ngs.Semantics):
    symbol = int

    def add(a, b):
        return a + b


def pairs(number, seed):
    images, digits = ngs.embedded_digits(2 * number, seed=seed)
    pairs = list(zip(images.split(2), digits.split(2), strict=True))
    return ngs.Examples.of(
        [pair for pair, _ in pairs],
        answers=[int(pair.sum()) for _, pair in pairs],
        labels=[pair.tolist() for _, pair in pairs],  # for the report: they are not learned from
    )


task = ngs.Task(
    name="digit-sums",
    about="Learn to read two handwritten digits from their sum.",
    grammar=GRAMMAR,
    semantics=Sums,
    data=lambda settings: ngs.Splits(train=pairs(3000, seed=0), test=pairs(500, seed=1)),
    network=lambda settings: ngs.LeNet(len(GRAMMAR.symbols)),
)
