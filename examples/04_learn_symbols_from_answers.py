"""Learn symbols from answers: a network that is never told a symbol learns ten digits and four operators.

Each symbol is seen as a noisy vector, and all that is known of a formula is its value. The loss is
-log p(answer | vectors), where p sums over every formula with this value.
"""

import random

import torch

from ngs import UNDEFINED, Arithmetic, arithmetic_grammar, evaluate, independent, parse, posterior

GRAMMAR = arithmetic_grammar()
SIZE, NOISE = 12, 0.6
torch.set_default_dtype(torch.float64)
chance = random.Random(1)
LOOKS = {symbol: [chance.gauss(0, 1) for _ in range(SIZE)] for symbol in GRAMMAR.symbols}


def formula():
    """Three digits and two operators, and the value of it all."""
    while True:
        sentence = tuple(chance.choice("+-*/" if t % 2 else "0123456789") for t in range(5))
        value = evaluate(parse(GRAMMAR, sentence), Arithmetic)
        if value is not UNDEFINED:
            return sentence, value


def examples(number):
    """Formulas, what is seen of them [number, 5, SIZE], and their values."""
    sentences, answers = zip(*(formula() for _ in range(number)), strict=True)
    seen = [[[x + chance.gauss(0, NOISE) for x in LOOKS[symbol]] for symbol in z] for z in sentences]
    return sentences, torch.tensor(seen), answers


def report(network, sentences, seen, answers):
    read = independent(GRAMMAR, network(seen).log_softmax(-1)).best()
    symbols = [a == b for n, z in enumerate(sentences) for a, b in zip(z, read[n], strict=True)]
    values = [evaluate(read.tree(n), Arithmetic) == answer for n, answer in enumerate(answers)]
    return (
        f"symbols right {sum(symbols) / len(symbols):4.0%}   answers right {sum(values) / len(values):4.0%}"
    )


_, seen, answers = examples(400)  # the formulas themselves are thrown away
test = examples(200)
network = torch.nn.Linear(SIZE, len(GRAMMAR.symbols), bias=False)
network.weight.data = torch.tensor([[chance.gauss(0, 0.1) for _ in range(SIZE)] for _ in GRAMMAR.symbols])
optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
print("untrained: ", report(network, *test))
for epoch in range(1, 17):
    for first in range(0, 400, 50):
        log_probs = network(seen[first : first + 50]).log_softmax(-1)
        loss = -posterior(GRAMMAR, Arithmetic, log_probs, None, answers[first : first + 50]).log_z
        optimizer.zero_grad()
        loss.mean().backward()
        optimizer.step()
    if epoch in (1, 2, 4, 8, 16):
        print(f"epoch {epoch:2}:  ", report(network, *test))
