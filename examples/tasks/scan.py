"""SCAN (Lake and Baroni 2018): learn what "jump left twice" means from the actions that it leads to.

The hidden program is as long as the command: `twice left jump`. Nobody says what a word means. With seed 0 on
one core, 99.9% of a fifth of all commands are followed after 42 s of training on the others; and 99.7% of the
long ones after 75 s on short ones, the second line below.

    ngs train examples/tasks/scan.py
    ngs train examples/tasks/scan.py --data tasks_train_length.txt --steps 400    # the test file lies beside
"""

import random
import re
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import torch

import ngs

GRAMMAR = ngs.Grammar.parse("""
!start: clause | ("and" | "after") clause clause -> call
!clause: part | ("twice" | "thrice") part -> call
!part: verb | side (verb | "turn") -> call | ("opposite" | "around") side (verb | "turn") -> call
verb: "walk" | "look" | "run" | "jump"
side: "left" | "right"
""")
VERBS = ("walk", "look", "run", "jump")
ACTIONS = {
    **{verb: (f"I_{verb.upper()}",) for verb in VERBS},
    "turn": (),
    "left": lambda move: ("I_TURN_LEFT", *move),
    "right": lambda move: ("I_TURN_RIGHT", *move),
    "opposite": lambda side, move: side(side(move)),
    "around": lambda side, move: 4 * side(move),
    "twice": lambda part: 2 * part,
    "thrice": lambda part: 3 * part,
    "and": lambda first, second: first + second,
    "after": lambda second, first: first + second,
}


class Does(ngs.Semantics):
    symbol = ACTIONS.get

    def call(function, *parts):
        return function(*parts)


def all_commands():
    parts = {verb: ACTIONS[verb] for verb in VERBS}
    for move, side in product((*VERBS, "turn"), ("left", "right")):
        parts[f"{move} {side}"] = ACTIONS[side](ACTIONS[move])
        for how in ("opposite", "around"):
            parts[f"{move} {how} {side}"] = ACTIONS[how](ACTIONS[side], ACTIONS[move])
    clauses = parts | {
        f"{a} {often}": ACTIONS[often](parts[a]) for often in ("twice", "thrice") for a in parts
    }
    pairs = product(("and", "after"), clauses, clauses)
    return clauses | {f"{a} {how} {b}": ACTIONS[how](clauses[a], clauses[b]) for how, a, b in pairs}


def read(file):
    if not file.is_file():
        raise ngs.DataError(f"there is no {file}; give tasks_train_NAME.txt, with tasks_test_NAME.txt beside")
    return {a: tuple(b.split()) for a, b in re.findall("IN: (.*) OUT: (.*)", file.read_text())}


def examples(commands):
    words = [torch.tensor(GRAMMAR.encode(command.split())) for command in commands]  # a number for each word
    return ngs.Examples.whole(words, list(commands.values()), lengths=[len(each) for each in words])


def data(settings):
    if settings.data == "made":
        pairs = random.Random(0).sample(sorted(all_commands().items()), 20_910)
        return ngs.Splits(examples(dict(pairs[4182:])), examples(dict(pairs[:4182])), "all commands of SCAN")
    train = Path(settings.data)
    test = train.with_name(train.name.replace("train", "test"))
    return ngs.Splits(examples(read(train)), examples(read(test)), train.name)


@dataclass(frozen=True)
class Settings(ngs.WriterSettings):
    data: str = ngs.setting("made", "A file of SCAN; made: all commands, divided at random.")
    steps: int = ngs.setting(250, "Training steps.")


task = ngs.Task(
    name="scan",
    about="Learn what commands mean from the actions that they lead to.",
    grammar=GRAMMAR,
    semantics=Does,
    data=data,
    network=lambda settings: ngs.SequenceNetwork(words=len(GRAMMAR.symbols), symbols=len(GRAMMAR.symbols)),
    settings=Settings,
)
