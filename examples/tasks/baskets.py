"""Learn what the goods in a basket are from the price of the basket; nobody names a single one.

ngs train examples/tasks/baskets.py --noise 0.8 --method m-bs
"""

from dataclasses import dataclass

import torch

import ngs

GRAMMAR = ngs.Grammar.parse("""
basket: basket item -> add | item
item: "apple" | "bread" | "cheese" | "milk"
""")


class Prices(ngs.Semantics):
    def __init__(self, **cents):
        self.symbol = cents.get

    def add(self, basket, item):
        return basket + item


@dataclass(frozen=True)
class Settings(ngs.TaskSettings):
    noise: float = ngs.setting(0.5, "How much the goods of one kind differ.")
    learning_rate: float = ngs.setting(0.03, "Of Adam, at its highest.")


PRICES = Prices(apple=25, bread=310, cheese=480, milk=115)


def baskets(number, noise, seed):
    chance = torch.Generator().manual_seed(seed)
    looks = torch.randn(4, 6, 6, generator=torch.Generator().manual_seed(7))
    labels = [torch.randint(4, (1 + k % 5,), generator=chance) for k in range(number)]
    goods = [looks[each] + noise * torch.randn(len(each), 6, 6, generator=chance) for each in labels]
    paid = [sum(PRICES.symbol(item) for item in GRAMMAR.decode(each)) for each in labels]
    return ngs.Examples.of(goods, paid, [each.tolist() for each in labels])


task = ngs.Task(
    name="baskets",
    about="Learn to tell goods apart from what baskets of them cost.",
    grammar=GRAMMAR,
    semantics=PRICES,
    data=lambda s: ngs.Splits(baskets(500, s.noise, seed=0), baskets(300, s.noise, seed=1)),
    network=lambda s: torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, len(GRAMMAR.symbols))),
    settings=Settings,
)
