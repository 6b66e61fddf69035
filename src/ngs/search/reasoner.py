"""A reasoner: everything symbolic that learning asks about a batch, prepared once for a set of examples."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from ngs.grammar.constraint import Constraint, Given
from ngs.grammar.grammar import Grammar
from ngs.parsing.autoregressive import Autoregressive, Decoder
from ngs.parsing.candidates import fingerprints
from ngs.parsing.independent import Independent
from ngs.reasoning.operation import Value, check_answers
from ngs.reasoning.semantics import Meaning
from ngs.search.back_search import Judge, on_rows
from ngs.search.compiled import BUDGET, exact_length, table_values
from ngs.search.edits import Edits, Substitute
from ngs.search.judges import ReferenceJudge, TableJudge
from ngs.search.support import BEAM, Effort, ListPlan, Plan, Same, TablePlan


class Known(Protocol):
    """What a reasoner must know about examples."""

    @property
    def lengths(self) -> Any:
        """Integers [example]: symbols of each hidden sentence."""

    @property
    def given(self) -> Given:
        """What is known about each hidden sentence."""

    @property
    def answers(self) -> Sequence[Value]: ...

    @property
    def device(self) -> torch.device: ...


class Reasoner(nn.Module):
    """What learning asks about the examples of one task: distributions, a judge, edits, and a plan."""

    def __init__(
        self,
        examples: Any,
        distribution: Callable[[Any, Any], Any],
        judge: Judge,
        edits: Edits,
        make_plan: Callable[[], Plan],
    ) -> None:
        """`distribution` gives p(z|x) of a batch from what a network makes of it, and the batch.

        `make_plan` is called when the posterior is first needed, since a plan can take long to make.
        """
        super().__init__()
        self.examples, self.distribution = examples, distribution
        self.judge, self.edits, self._make_plan = judge, edits, make_plan

    @property
    def plan(self) -> Plan:
        """How the posterior is found: `print(reasoner.plan.describe())`."""
        if not hasattr(self, "_plan"):
            self._plan = self._make_plan()
        return self._plan

    def judge_of(self, batch: Any) -> Judge:
        """Whether f(z) = y, for rows of a batch."""
        return on_rows(batch.examples, self.judge)

    def right(self, batch: Any, z: Tensor) -> Tensor:
        """bool [batch]: whether each row's sentence [batch, time] gives its answer."""
        return self.judge(batch.examples, z)

    def posterior(self, p: Any, batch: Any, generator: torch.Generator) -> Any:
        """p(z|x,y) of a batch."""
        return self.plan.posterior(p, batch.examples, generator)


MakeJudge = Callable[[Grammar, Known], Judge]  # makes a judge for a grammar and some examples


def reasoner(
    grammar: Grammar,
    semantics: Meaning,
    examples: Known,
    *,
    judge: MakeJudge | None = None,
    edits: Edits | None = None,
    budget: int = BUDGET,
    beam: int = BEAM,
) -> Reasoner:
    """Return the reasoner of examples with independent scores.

    `judge` says which sentences give their answer: by default tables of all values with at most `budget`
    entries, or else parsing and executing one by one. `edits` are by default of one symbol.

    >>> from ngs import Arithmetic, Examples, arithmetic_grammar
    >>> examples = Examples.of([torch.zeros(3, 1)], [2])
    >>> task = reasoner(arithmetic_grammar(), Arithmetic, examples)
    >>> task.plan.describe()
    'tables for sentences of up to 3 symbols; exact'
    """
    lengths = [int(length) for length in examples.lengths]
    longest = max(lengths, default=0)
    check_answers(examples.answers, len(lengths))
    # Refuses lengths that the grammar does not have.
    plan = TablePlan(grammar, semantics, lengths, examples.answers, budget, beam)
    edits = (Substitute(grammar, longest) if edits is None else edits).to(examples.device)
    judging: Judge
    if judge is not None:
        judging = judge(grammar, examples)
    elif exact_length(grammar, semantics, longest, budget) >= longest:
        values = table_values(grammar, semantics, longest, budget, examples.device)
        judging = TableJudge(values, lengths, examples.answers).to(examples.device)
    else:
        judging = ReferenceJudge(grammar, semantics, examples.answers)
    return Reasoner(examples, partial(_independent, grammar), judging, edits, lambda: plan)


def autoregressive_reasoner(
    grammar: Grammar,
    constraint: Constraint[Any],
    examples: Known,
    judge: Judge,
    edits: Edits,
    *,
    same: Same = fingerprints,
    effort: Effort | None = None,
) -> Reasoner:
    """Return the reasoner of examples whose network gives a `Decoder` for each batch.

    `judge` and `edits` are as in `reasoner`. The posterior counts sentences that are the `same` once, and
    looks for them with so much `effort`.

    >>> from ngs import Arithmetic, Automaton, Examples, arithmetic_grammar
    >>> grammar = arithmetic_grammar()
    >>> examples = Examples.of([torch.zeros(3, 1)], [18])
    >>> judge = ReferenceJudge(grammar, Arithmetic, examples.answers)
    >>> effort = Effort(enumerated=1000)  # there are 400 sentences of three symbols
    >>> task = autoregressive_reasoner(
    ...     grammar, Automaton(grammar), examples, judge, Substitute(grammar, 3), effort=effort
    ... )
    >>> task.plan.describe()
    'all right sentences are listed and summed for 100% of the examples, exact'
    """
    edits = edits.to(examples.device)
    effort = Effort() if effort is None else effort
    plan = partial(ListPlan, constraint, examples.given, judge, edits, same, effort)
    return Reasoner(examples, partial(_autoregressive, grammar, constraint), judge, edits, plan)


def _autoregressive(
    grammar: Grammar, constraint: Constraint[Any], decoder: Decoder, batch: Any
) -> Autoregressive:
    return Autoregressive(grammar, decoder, constraint, batch.given.long(), batch.time)


def _independent(grammar: Grammar, logits: Tensor, batch: Any) -> Independent:
    return Independent(grammar, batch.log_probs(logits), batch.lengths)
