"""Formulas that are misread, each in its own way, as examples for a network that does nothing."""

import torch
from torch import Tensor, nn

from ngs.learning.examples import Examples
from ngs.learning.metrics import read_all
from ngs.parsing.sentence import parse
from ngs.reasoning.arithmetic import Arithmetic
from ngs.reasoning.semantics import evaluate
from ngs.search.reasoner import Reasoner, reasoner
from ngs.tasks.hwf.dataset import GRAMMAR
from ngs.tasks.hwf.report.report import FormulaReadings

TRUE = ("4", [{"1": 0.7, "4": 0.2}])
SPURIOUS = ("2+3", [{"2": 0.6, "3": 0.35}, {"+": 0.9}, {"2": 0.9, "3": 0.05}])
"""read as 2+2; 3+2 is the likelier way to 5"""
RESCUED = ("7-2", [{"1": 0.4, "7": 0.38, "5": 0.1}, {"-": 0.9}, {"0": 0.4, "2": 0.38}])
"""read as 1-0; 5-0 is one change away from 5, and 7-2 is two, but likelier"""
HOPELESS = (
    "7/9-3",
    [{"1": 0.6, "7": 0.3}, {"-": 0.6, "/": 0.3}, {"1": 0.6, "9": 0.3}, {"-": 0.9}, {"3": 0.9}],
)
LUCKY = ("0*5", [{"0": 0.9}, {"*": 0.9}, {"6": 0.6, "5": 0.3}])
FINE = ("8", [{"8": 0.9}])


def part_of(*formulas: tuple[str, list[dict[str, float]]]) -> Reasoner:
    """Written formulas, with what the network says of each symbol; its inputs are the probabilities."""

    def scores(symbol: dict[str, float]) -> Tensor:
        rest = (1 - sum(symbol.values())) / (len(GRAMMAR.symbols) - len(symbol))
        return torch.tensor([symbol.get(name, rest) for name in GRAMMAR.symbols]).log()

    examples = Examples.of(
        [torch.stack([scores(symbol) for symbol in symbols]) for _, symbols in formulas],
        [evaluate(parse(GRAMMAR, written), Arithmetic) for written, _ in formulas],
        [GRAMMAR.encode(written) for written, _ in formulas],
    )
    return reasoner(GRAMMAR, Arithmetic, examples)


def readings_of(*formulas: tuple[str, list[dict[str, float]]]) -> FormulaReadings:
    """What a network that gives its inputs makes of them."""
    part, network = part_of(*formulas), nn.Identity()
    of = len(formulas)
    return FormulaReadings(GRAMMAR, part, network, read_all(network, part), of, range(of), Arithmetic)
