"""Learn what the goods in a basket are from the price of the basket; nobody names a single one.

ngs train examples/tasks/baskets.py --method m-bs
"""

import torch

import ngs

GRAMMAR = ngs.Grammar.parse("""
basket: basket item -> add | item
item: "apple" | "bread" | "cheese" | "milk"
""")
PRICES = {"apple": 25, "bread": 310, "cheese": 480, "milk": 115}


class Price(ngs.Semantics):
    symbol = PRICES.get

    def add(basket, item):
        return basket + item


def baskets(number, seed):
    chance = torch.Generator().manual_seed(seed)
    looks = torch.randn(4, 36, generator=torch.Generator().manual_seed(7))
    goods = [torch.randint(4, (1 + k % 5,), generator=chance) for k in range(number)]
    paid = [sum(PRICES[item] for item in GRAMMAR.decode(each)) for each in goods]
    seen = [looks[each] + torch.randn(len(each), 36, generator=chance) / 2 for each in goods]
    return ngs.Examples.of(seen, paid, labels=[each.tolist() for each in goods])


task = ngs.Task(
    name="baskets",
    about="Learn to tell goods apart from what baskets of them cost.",
    grammar=GRAMMAR,
    semantics=Price,
    data=lambda settings: ngs.Splits(baskets(500, seed=0), baskets(300, seed=1)),
    network=lambda settings: torch.nn.Linear(36, len(GRAMMAR.symbols)),
)
