"""Train a network of your own from answers, in one call."""

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn

from ngs.errors import NGSError, ShapeError
from ngs.grammar.grammar import Grammar
from ngs.grammar.padding import PAD
from ngs.learning.examples import Examples, Pool
from ngs.learning.loop import Augmentation, Lesson, Settings, Step, Trainer
from ngs.learning.methods import MakeMethod, Method, Objective, posterior
from ngs.learning.metrics import Scores, measure
from ngs.processes import mean_over_processes, own_seed
from ngs.reasoning.semantics import Meaning
from ngs.search.edits import Edits
from ngs.search.reasoner import MakeJudge, reasoner


def fit(
    network: nn.Module,
    grammar: Grammar,
    semantics: Meaning,
    examples: Examples,
    *,
    method: MakeMethod = posterior,
    steps: int = 500,
    settings: Settings | None = None,
    augment: Augmentation | None = None,
    judge: MakeJudge | None = None,
    edits: Edits | None = None,
    on_step: Callable[[Step], None] = lambda step: None,
) -> nn.Module:
    """Train `network`, in place, to read the symbols of `examples`, whose answers alone it is told.

    The network maps inputs [input, ...] to scores [input, symbol], one for each of `grammar.symbols`.
    `method` is one of `ngs.methods`; `judge` and `edits` are as in `reasoner`; `on_step` is called after each
    step, with its loss. PyTorch's global random numbers are left as they were.

    Returns the network that was learned: the moving average, where `settings` ask for one. A ShapeError says
    where network, grammar and examples do not fit together.

    >>> from ngs import Arithmetic, arithmetic_grammar
    >>> grammar = arithmetic_grammar()
    >>> images = [torch.eye(14)[grammar.encode(sentence)] for sentence in ("1+2", "7")]
    >>> examples = Examples.of(images, answers=[3, 7])
    >>> steps = []
    >>> settings = Settings(batch_size=2)
    >>> network = fit(
    ...     nn.Linear(14, 14), grammar, Arithmetic, examples, steps=3, settings=settings, on_step=steps.append
    ... )
    >>> [step.number for step in steps]
    [1, 2, 3]
    """
    if settings is not None and not isinstance(settings, Settings):
        raise NGSError(f"the settings are {settings!r}; give ngs.Settings(...)")
    check_labels(grammar, examples)
    if not isinstance(examples.inputs, Pool):
        raise NGSError(
            f"the inputs are {type(examples.inputs).__name__}, and fit reads symbols one by one; for a "
            f"network that writes sentences make an ngs.Task, or give ngs.Trainer an ngs.Lesson with "
            f"ngs.methods.Objective(method(examples), reasoner, generator)"
        )
    settings = Settings() if settings is None else settings
    accelerator = Accelerator()
    device = accelerator.device
    examples = examples.to(device)
    made = _made(method, examples)
    check_network(network.to(device), grammar, examples)
    generator = torch.Generator(device).manual_seed(own_seed(settings.seed, "objective"))
    reasons = reasoner(grammar, semantics, examples, judge=judge, edits=edits)
    objective = Objective(made, reasons, generator)
    lessons = [Lesson("fit", examples, objective, steps)]
    step, found = None, torch.zeros((), device=device)
    with torch.random.fork_rng([device] if device.type == "cuda" else []):  # training seeds global numbers
        trainer = Trainer(network, lessons, settings, augment=augment, accelerator=accelerator)
        for step in trainer:
            found += step.measures.get("found", step.measures.get("reward", 1.0))
            on_step(step)
    if step is not None:
        _check_outcome(step, mean_over_processes(found), examples)
    return trainer.learned


def score(
    network: nn.Module,
    grammar: Grammar,
    semantics: Meaning,
    examples: Examples,
    *,
    judge: MakeJudge | None = None,
) -> Scores:
    """Return how many answers the network gets right; with labels, also how many sentences and symbols.

    >>> from ngs import Arithmetic, arithmetic_grammar
    >>> grammar = arithmetic_grammar()
    >>> images = [torch.eye(14)[grammar.encode(sentence)] for sentence in ("1+2", "7")]
    >>> score(nn.Identity(), grammar, Arithmetic, Examples.of(images, answers=[3, 8])).accuracy
    0.5
    """
    check_labels(grammar, examples)
    parameter = next(network.parameters(), None)
    device = torch.device("cpu") if parameter is None else parameter.device
    reads = reasoner(grammar, semantics, examples.to(device), judge=judge)
    return measure(network, reads)


def _check_outcome(last: Step, found: Tensor, examples: Examples) -> None:
    """An untrained network must not pass for a trained one."""
    if not last.loss.isfinite():
        raise NGSError(
            f"the loss is {float(last.loss)} after {last.number} steps; lower the learning rate, and look "
            f"for inputs that are not finite"
        )
    if not found:
        raise NGSError(
            f"in {last.number} steps no sentence was found that gives an example's answer, so nothing was "
            f"learned; compare the answers, such as {examples.answers[0]!r}, with what your functions "
            f"return; if they agree, begin with ngs.methods.posterior or with shorter examples"
        )


def _takes_examples(method: MakeMethod) -> bool:
    try:
        signature(method).bind("examples")
    except TypeError:
        return False
    return not isinstance(method, type | nn.Module)


def _made(method: MakeMethod, examples: Examples) -> Method:
    """The method for some examples. What makes one is easily mistaken for what it makes or is made of."""
    made = method(examples) if _takes_examples(method) else None
    if isinstance(made, Method):
        return made
    raise NGSError(
        f"the method is {getattr(method, '__qualname__', repr(method))}, which does not make a method for "
        f"examples; give ngs.methods.posterior, ngs.methods.multi_step(ngs.ChainSettings()), "
        f"ngs.methods.reinforce() or another of ngs.methods"
    )


def check_labels(grammar: Grammar, examples: Examples) -> None:
    """A ShapeError where labels are no symbols of the grammar."""
    if examples.labels is None or not examples.labels.numel():
        return
    lowest, highest = int(examples.labels.min()), int(examples.labels.max())
    if lowest < PAD or highest >= len(grammar.symbols):
        raise ShapeError(
            f"the labels are {lowest} to {highest}; the grammar's {len(grammar.symbols)} symbols are 0 "
            f"to {len(grammar.symbols) - 1}, and {PAD} comes after the end"
        )


def check_network(network: nn.Module, grammar: Grammar, examples: Examples) -> None:
    """One pass before anything is compiled: the mistake everybody makes is the size of the last layer."""
    if not len(examples):
        raise NGSError("there are no examples to learn from; give at least one")
    pool, some, was_training = examples.inputs, np.arange(min(2, len(examples))), network.training
    one_by_one = isinstance(pool, Pool)
    seen = pool.view(pool.inputs[:2]) if isinstance(pool, Pool) else pool.batch(some)
    before = [len(seen)] if one_by_one else [len(some), 1]
    try:
        with torch.inference_mode():
            made = network.eval()(seen)
            _check_kind(made, one_by_one)
            beginnings = torch.full(before, PAD, device=examples.device)
            shape = list((made if one_by_one else made.follow(beginnings)[0]).shape)
    except RuntimeError as error:  # of PyTorch: sizes that do not fit
        size = f" of shape {list(seen.shape)}" if isinstance(seen, Tensor) else ""
        raise ShapeError(f"the network cannot take its inputs{size}: {error}; change its layers") from error
    finally:
        network.train(was_training)
    wanted = [*before, len(grammar.symbols)]
    if shape != wanted:
        raise ShapeError(
            f"the network makes {shape} of {before[0]} inputs; the grammar has {wanted[-1]} symbols "
            f"({' '.join(grammar.symbols)}), so it must make {wanted}"
        )


def _check_kind(made: Any, one_by_one: bool) -> None:
    if one_by_one and not isinstance(made, Tensor):
        raise NGSError(
            f"the network makes a {type(made).__name__} of inputs that are seen one by one; it must make "
            f"scores [input, symbol]; to write sentences give ngs.Examples.whole"
        )
    if not one_by_one and not hasattr(made, "follow"):
        raise NGSError(
            f"the network makes a {type(made).__name__} of inputs that are seen as a whole; it must return "
            f"an ngs.Decoder, as ngs.SequenceNetwork does; else give ngs.Examples.of"
        )
