"""Parse a noisy formula: the likeliest symbols need not make a sentence, the likeliest sentence always does.

The grammar is text, its symbols are the columns of the network's scores, and `best`, `k_best` and
`marginals` answer for all sentences of that length at once.
"""

import torch

from ngs import Grammar, best, k_best, log_partition, marginals, pretty, recognises

GRAMMAR = Grammar.parse("""
    sum: product
       | sum "+" product -> add
    product: digit
       | product "*" digit -> multiply
    digit: "1" | "2" | "3" | "4"
""")

# What a network made of five images of 1+2*3: it took the plus for a 4, and doubts the star.
SEEN = [
    {"1": 0.94, "4": 0.03},
    {"4": 0.60, "+": 0.34, "*": 0.03},
    {"2": 0.70, "3": 0.26},
    {"*": 0.52, "+": 0.43},
    {"3": 0.90, "2": 0.06},
]


def scores(seen: list[dict[str, float]]) -> torch.Tensor:
    """Log-probabilities [time, symbol]; what is left of a row is shared by the symbols not named in it."""
    rows = []
    for row in seen:
        rest = (1 - sum(row.values())) / (len(GRAMMAR.symbols) - len(row))
        rows.append([row.get(symbol, rest) for symbol in GRAMMAR.symbols])
    return torch.tensor(rows, dtype=torch.float64).log()


log_probs = scores(SEEN)[None]  # a batch of one: [batch, time, symbol]

print("columns of the scores: ", " ".join(GRAMMAR.symbols))
favourites = GRAMMAR.decode(log_probs[0].argmax(-1).tolist())
print("symbol by symbol:      ", " ".join(favourites), "- a sentence?", recognises(GRAMMAR, favourites))
print("best sentence:         ", " ".join(best(GRAMMAR, log_probs)[0]))
print()
print(pretty(best(GRAMMAR, log_probs).tree(0)))

log_z = log_partition(GRAMMAR, log_probs)
print(f"\nprobability that the five symbols are a sentence at all: {log_z.exp().item():.3f}")
print("the four likeliest sentences, with their share of it:")
four = k_best(GRAMMAR, log_probs, k=4)
for rank in range(4):
    share = (four.log_probs[0, rank] - log_z[0]).exp().item()
    print(f"  {' '.join(four[0, rank])}   {share:.3f}")

print("\nthe second image, seen alone and as part of a sentence:")
inside = marginals(GRAMMAR, log_probs)[0]
for symbol in ("4", "+", "*"):
    column = GRAMMAR.column(symbol)
    print(f"  {symbol}   {log_probs[0, 1, column].exp().item():.3f}   {inside[1, column].item():.3f}")
