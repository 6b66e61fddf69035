"""Parse a noisy formula: the likeliest symbols need not make a sentence, the likeliest sentence always does.

The grammar is text, its symbols are the columns of the network's scores, and the distribution over its
sentences has the best one, the k best, and the marginals of all of that length.
"""

import torch

from ngs import Grammar, independent, pretty, recognises

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
p = independent(GRAMMAR, log_probs)
best = p.best()

print("columns of the scores: ", " ".join(GRAMMAR.symbols))
favourites = GRAMMAR.decode(log_probs[0].argmax(-1).tolist())
print("symbol by symbol:      ", " ".join(favourites), "- a sentence?", recognises(GRAMMAR, favourites))
print("best sentence:         ", " ".join(best[0]))
print()
print(pretty(best.tree(0)))

print(f"\nprobability that the five symbols are a sentence at all: {p.log_z.exp().item():.3f}")
print("the four likeliest sentences, with their share of it:")
four = p.topk(4)
for rank in range(4):
    share = (four.log_probs[0, rank] - p.log_z[0]).exp().item()
    print(f"  {' '.join(four[0, rank])}   {share:.3f}")

print("\nthe second image, seen alone and as part of a sentence:")
for symbol in ("4", "+", "*"):
    column = GRAMMAR.symbol_id(symbol)
    print(f"  {symbol}   {log_probs[0, 1, column].exp().item():.3f}   {p.marginals[0, 1, column].item():.3f}")
