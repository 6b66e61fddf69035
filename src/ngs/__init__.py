"""Learn what a network should see from what the answer should be.

Grammars as text, parsing of neural probabilities inside them, reasoning trees with inverses, one-step
and multi-step back-search, exact posteriors. After Li et al., "Closed Loop Neural-Symbolic Learning via
Integrating Neural Perception, Grammar Parsing, and Symbolic Reasoning", ICML 2020.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ngs.errors import BudgetError, DataError, GrammarError, NGSError, ParseError, SemanticsError, ShapeError
from ngs.grammar.automaton import PrefixAutomaton, prefix_automaton
from ngs.grammar.grammar import Grammar
from ngs.grammar.library import arithmetic as arithmetic_grammar
from ngs.grammar.library import clevr as clevr_grammar
from ngs.grammar.tree import Leaf, Node, Tree, pretty
from ngs.parsing.decode import PAD, Sentences, best, k_best, log_partition, marginals, sample
from ngs.parsing.earley import (
    Parsed,
    Segmentation,
    parse_aligned,
    parse_unsegmented,
    sentences_by_probability,
)
from ngs.parsing.sentence import parse, recognises
from ngs.reasoning.arithmetic import Arithmetic, exact
from ngs.reasoning.operation import ANY, UNDEFINED, OneOf, inverses
from ngs.reasoning.semantics import Semantics, evaluate
from ngs.search.batched import Corrections, one_step_batch
from ngs.search.batched_walk import multi_step_batch
from ngs.search.drawing import as_svg
from ngs.search.explanation import as_text
from ngs.search.multi_step import Chain, Walk, multi_step
from ngs.search.one_step import Action, Correction, Event, one_step
from ngs.search.posterior import Posterior, posterior

if TYPE_CHECKING:
    from ngs.learning import methods
    from ngs.learning.examples import Examples
    from ngs.learning.fit import fit, score
    from ngs.learning.loop import Lesson, Settings, Step, Trainer
    from ngs.learning.reasoner import Reasoner, reasoner
    from ngs.learning.scores import Score, Scores

__all__ = [
    # what may be said
    "Grammar",
    "PrefixAutomaton",
    "arithmetic_grammar",
    "clevr_grammar",
    "prefix_automaton",
    # what was most likely said
    "PAD",
    "Parsed",
    "Segmentation",
    "Sentences",
    "best",
    "k_best",
    "log_partition",
    "marginals",
    "parse",
    "parse_aligned",
    "parse_unsegmented",
    "recognises",
    "sample",
    "sentences_by_probability",
    # what it means
    "ANY",
    "Arithmetic",
    "Leaf",
    "Node",
    "OneOf",
    "Semantics",
    "Tree",
    "UNDEFINED",
    "evaluate",
    "exact",
    "inverses",
    "pretty",
    # what could have been said instead
    "Action",
    "Chain",
    "Correction",
    "Corrections",
    "Event",
    "Posterior",
    "Walk",
    "as_svg",
    "as_text",
    "multi_step",
    "multi_step_batch",
    "one_step",
    "one_step_batch",
    "posterior",
    # how the network improves
    "Examples",
    "Lesson",
    "Reasoner",
    "Score",
    "Scores",
    "Settings",
    "Step",
    "Trainer",
    "fit",
    "methods",
    "reasoner",
    "score",
    # what can go wrong
    "BudgetError",
    "DataError",
    "GrammarError",
    "NGSError",
    "ParseError",
    "SemanticsError",
    "ShapeError",
]

# Imported when first asked for: the core needs none of what training does (Accelerate, safetensors).
_WHEN_ASKED = {
    "Examples": "ngs.learning.examples",
    "Lesson": "ngs.learning.loop",
    "Reasoner": "ngs.learning.reasoner",
    "Score": "ngs.learning.scores",
    "Scores": "ngs.learning.scores",
    "Settings": "ngs.learning.loop",
    "Step": "ngs.learning.loop",
    "Trainer": "ngs.learning.loop",
    "fit": "ngs.learning.fit",
    "reasoner": "ngs.learning.reasoner",
    "score": "ngs.learning.fit",
}


def __getattr__(name: str) -> Any:
    if name == "methods":
        return import_module("ngs.learning.methods")
    if name in _WHEN_ASKED:
        return getattr(import_module(_WHEN_ASKED[name]), name)
    raise AttributeError(f"module 'ngs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
