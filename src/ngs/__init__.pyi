# The public names of NGS, and where each is defined: the one list that Python, type checkers and people read.

# Which sentences exist
from ngs.grammar.automaton import PrefixAutomaton as PrefixAutomaton
from ngs.grammar.automaton import prefix_automaton as prefix_automaton
from ngs.grammar.prefix_constraint import Automaton as Automaton
from ngs.grammar.constraint import Constraint as Constraint
from ngs.grammar.constraint import Given as Given
from ngs.grammar.multiset_constraint import Multiset as Multiset
from ngs.grammar.grammar import Grammar as Grammar
from ngs.grammar.grammar import arithmetic as arithmetic_grammar
from ngs.grammar.padding import PAD as PAD
from ngs.grammar.tree import Leaf as Leaf
from ngs.grammar.tree import Node as Node
from ngs.grammar.tree import Tree as Tree
from ngs.grammar.tree import pretty as pretty

# Which sentence is most likely
from ngs.parsing.autoregressive import Autoregressive as Autoregressive
from ngs.parsing.autoregressive import Decoder as Decoder
from ngs.parsing.distribution import Distribution as Distribution
from ngs.parsing.earley import Parsed as Parsed
from ngs.parsing.earley import Segmentation as Segmentation
from ngs.parsing.earley import parse_aligned as parse_aligned
from ngs.parsing.earley import parse_unsegmented as parse_unsegmented
from ngs.parsing.earley import sentences_by_probability as sentences_by_probability
from ngs.parsing.independent import Independent as Independent
from ngs.parsing.independent import independent as independent
from ngs.parsing.sentence import parse as parse
from ngs.parsing.sentence import recognises as recognises
from ngs.parsing.sentence import Sentences as Sentences

# What a sentence means
from ngs.reasoning.arithmetic import Arithmetic as Arithmetic
from ngs.reasoning.arithmetic import exact as exact
from ngs.reasoning.operation import ANY as ANY
from ngs.reasoning.operation import UNDEFINED as UNDEFINED
from ngs.reasoning.operation import OneOf as OneOf
from ngs.reasoning.operation import inverses as inverses
from ngs.reasoning.semantics import Semantics as Semantics
from ngs.reasoning.semantics import evaluate as evaluate

# Which sentence would have been right
from ngs.explanations.drawing import as_svg as as_svg
from ngs.explanations.text import as_text as as_text
from ngs.search.back_search import ChainSettings as ChainSettings
from ngs.search.back_search import Corrections as Corrections
from ngs.search.back_search import back_search as back_search
from ngs.search.back_search import sample_corrections as sample_corrections
from ngs.search.correction import Action as Action
from ngs.search.correction import Correction as Correction
from ngs.search.correction import Edit as Edit
from ngs.search.correction import Event as Event
from ngs.search.edits import Edits as Edits
from ngs.search.edits import Substitute as Substitute
from ngs.search.edits import Switch as Switch
from ngs.search.multi_step import Visited as Visited
from ngs.search.multi_step import multi_step as multi_step
from ngs.search.one_step import one_step as one_step
from ngs.search.one_step import one_step_among as one_step_among
from ngs.search.judges import ReferenceJudge as ReferenceJudge
from ngs.search.reasoner import Reasoner as Reasoner
from ngs.search.reasoner import autoregressive_reasoner as autoregressive_reasoner
from ngs.search.reasoner import reasoner as reasoner
from ngs.search.support import posterior as posterior

# How the network improves
from ngs.learning import methods as methods
from ngs.learning.examples import Examples as Examples
from ngs.learning.examples import Stacked as Stacked
from ngs.learning.fit import fit as fit
from ngs.learning.fit import score as score
from ngs.learning.loop import Lesson as Lesson
from ngs.learning.loop import Settings as Settings
from ngs.learning.loop import Step as Step
from ngs.learning.loop import Trainer as Trainer
from ngs.learning.loop import Loss as Loss
from ngs.learning.methods import Method as Method
from ngs.learning.methods import Objective as Objective
from ngs.learning.metrics import Score as Score
from ngs.learning.metrics import Scores as Scores

# A task of your own
from ngs.experiments.run import train as train
from ngs.networks.lenet import LeNet as LeNet
from ngs.networks.pointer import SequenceNetwork as SequenceNetwork
from ngs.tasks.hwf.embedded import embedded_digits as embedded_digits
from ngs.tasks.settings import TaskSettings as TaskSettings
from ngs.tasks.settings import WriterSettings as WriterSettings
from ngs.tasks.settings import setting as setting
from ngs.tasks.task import Splits as Splits
from ngs.tasks.task import Task as Task
from ngs.tasks.trainable import MetricsView as MetricsView
from ngs.tasks.trainable import Trainable as Trainable

# What can go wrong
from ngs.errors import BudgetError as BudgetError
from ngs.errors import DataError as DataError
from ngs.errors import GrammarError as GrammarError
from ngs.errors import NGSError as NGSError
from ngs.errors import ParseError as ParseError
from ngs.errors import SemanticsError as SemanticsError
from ngs.errors import ShapeError as ShapeError
