"""Fix a misread formula: one-step back-search with its reasons, and whether its answer can be trusted.

The images show 4*7-6 and the answer 22 is known, but the network reads 4*1+6. Back-search looks for one
symbol to change and finds one; the exact posterior weighs every formula whose value is 22.
"""

import torch

from ngs import Arithmetic, arithmetic_grammar, as_text, evaluate, one_step, parse, posterior

GRAMMAR = arithmetic_grammar()

ANSWER = 22
# Sure of the digits at the ends; 7 looks like 1, and - like +.
SEEN = [{"4": 0.98}, {"*": 0.98}, {"1": 0.52, "7": 0.45}, {"+": 0.52, "-": 0.46}, {"6": 0.98}]


def scores(seen: list[dict[str, float]]) -> torch.Tensor:
    """Log-probabilities [time, symbol]; what is left of a row is shared by the symbols not named in it."""
    rows = []
    for row in seen:
        rest = (1 - sum(row.values())) / (len(GRAMMAR.symbols) - len(row))
        rows.append([row.get(symbol, rest) for symbol in GRAMMAR.symbols])
    return torch.tensor(rows, dtype=torch.float64).log()


log_probs = scores(SEEN)
correction = one_step(GRAMMAR, Arithmetic, log_probs, ANSWER)
print(as_text(correction))

exact = posterior(GRAMMAR, Arithmetic, log_probs[None], None, [ANSWER])
print(f"\np(answer is {ANSWER}) = {exact.log_z.exp().item():.4f}; of this, by formula:")
likeliest = exact.topk(2)
for rank in range(2):
    sentence = likeliest[0, rank]
    share = (likeliest.log_probs[0, rank] - exact.log_z[0]).exp().item()
    changed = sum(a != b for a, b in zip(sentence, "4*1+6", strict=True))
    value = evaluate(parse(GRAMMAR, sentence), Arithmetic)
    print(f"  {' '.join(sentence)} = {value}   {share:6.1%}   symbols changed: {changed}")

assert correction.sentence is not None
symbols = torch.tensor([GRAMMAR.encode(correction.sentence)])
trust = (exact.score(torch.tensor([0]), symbols) - exact.log_z).exp().item()
found, best = (" ".join(z) for z in (correction.sentence, exact.best()[0]))
print(f"\nback-search says {found}, with a posterior probability of {trust:.1%}: right value, wrong formula.")
print(f"The likeliest formula is {best}; it takes two changes.")
