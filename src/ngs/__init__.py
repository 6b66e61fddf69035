"""Learn what a network should see from what the answer should be.

Grammars as text, parsing of neural probabilities inside them, reasoning trees with inverses, one-step
and multi-step back-search, exact posteriors. After Li et al., "Closed Loop Neural-Symbolic Learning via
Integrating Neural Perception, Grammar Parsing, and Symbolic Reasoning", ICML 2020.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ngs.errors import (
        BudgetError,
        DataError,
        GrammarError,
        NGSError,
        ParseError,
        SemanticsError,
        ShapeError,
    )
    from ngs.explanations.drawing import as_svg
    from ngs.explanations.text import as_text
    from ngs.grammar.automaton import PrefixAutomaton, prefix_automaton
    from ngs.grammar.grammar import Grammar
    from ngs.grammar.library import arithmetic as arithmetic_grammar
    from ngs.grammar.tree import Leaf, Node, Tree, pretty
    from ngs.learning import methods
    from ngs.learning.examples import Examples
    from ngs.learning.fit import fit, score
    from ngs.learning.loop import Lesson, Settings, Step, Trainer
    from ngs.learning.metrics import Score, Scores
    from ngs.learning.reasoner import Reasoner, reasoner
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
    from ngs.search.multi_step import Chain, Walk, multi_step
    from ngs.search.one_step import Action, Correction, Event, one_step
    from ngs.search.posterior import Posterior, posterior

__all__ = [
    # what may be said
    "Grammar",
    "PrefixAutomaton",
    "arithmetic_grammar",
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

_HOME = {
    "ngs.errors": "BudgetError DataError GrammarError NGSError ParseError SemanticsError ShapeError",
    "ngs.grammar.automaton": "PrefixAutomaton prefix_automaton",
    "ngs.grammar.grammar": "Grammar",
    "ngs.grammar.tree": "Leaf Node Tree pretty",
    "ngs.parsing.decode": "PAD Sentences best k_best log_partition marginals sample",
    "ngs.parsing.earley": "Parsed Segmentation parse_aligned parse_unsegmented sentences_by_probability",
    "ngs.parsing.sentence": "parse recognises",
    "ngs.reasoning.arithmetic": "Arithmetic exact",
    "ngs.reasoning.operation": "ANY UNDEFINED OneOf inverses",
    "ngs.reasoning.semantics": "Semantics evaluate",
    "ngs.search.batched": "Corrections one_step_batch",
    "ngs.search.batched_walk": "multi_step_batch",
    "ngs.explanations.drawing": "as_svg",
    "ngs.explanations.text": "as_text",
    "ngs.search.multi_step": "Chain Walk multi_step",
    "ngs.search.one_step": "Action Correction Event one_step",
    "ngs.search.posterior": "Posterior posterior",
    "ngs.learning.examples": "Examples",
    "ngs.learning.fit": "fit score",
    "ngs.learning.loop": "Lesson Settings Step Trainer",
    "ngs.learning.reasoner": "Reasoner reasoner",
    "ngs.learning.metrics": "Score Scores",
}
_RENAMED = {
    "arithmetic_grammar": ("ngs.grammar.library", "arithmetic"),
}
_WHERE = {name: (module, name) for module, names in _HOME.items() for name in names.split()} | _RENAMED


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for.

    So that `import ngs` is instant, the core asks for nothing that training needs, and the command line can
    set up its process before PyTorch is loaded.
    """
    if name == "methods":
        return import_module("ngs.learning.methods")
    if name not in _WHERE:
        raise AttributeError(f"module 'ngs' has no attribute {name!r}")
    module, known_as = _WHERE[name]
    value = globals()[name] = getattr(import_module(module), known_as)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
