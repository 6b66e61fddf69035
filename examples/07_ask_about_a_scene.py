"""A question about a scene: its words name the modules of a program, but not their order.

The dictionary gives the modules, the grammar the orders that make a program, the scene what each of them
answers. Who knows the answer knows which programs are left: that is all there is to learn from.
"""

from math import factorial

import numpy as np
import torch

from ngs import recognises
from ngs.grammar.constraint import Given, enumerate_sentences
from ngs.tasks.clevr.cues import words_of
from ngs.tasks.clevr.dictionary import modules_of
from ngs.tasks.clevr.execution import execute, spoken
from ngs.tasks.clevr.explanation import program_tree
from ngs.tasks.clevr.language import Programs, TidyPrograms
from ngs.tasks.clevr.program import clevr, clevr_tidy
from ngs.tasks.clevr.program_text import Executed, description
from ngs.tasks.clevr.scene_sampling import scenes
from ngs.tasks.clevr.semantics import strict

QUESTION = "How many red cubes are left of the big sphere?"
SCENE, ANSWER = 165, "1"

scene = scenes(SCENE + 1, np.random.default_rng(0))[SCENE]
print("the scene:", *(description(thing) for thing in scene.things), sep="\n  ", end="\n\n")

understood = modules_of(words_of(QUESTION))
print(QUESTION)
for module, phrase in understood.reading:
    print(f"  {phrase:12} {module}")

symbols = clevr().symbols
counts = torch.tensor([[understood.modules.count(symbol) for symbol in symbols]])


def programs_of(language):
    """Every program of the language with these modules."""
    found = enumerate_sentences(language, Given(multiset=counts), at_most=1000)
    return [clevr().decode(row) for row in found.sentences.tolist()]


free, tidy = programs_of(Programs()), programs_of(TidyPrograms())
assert all(recognises(clevr_tidy(), program) for program in tidy)
print(f"\norders of these modules: {factorial(len(understood.modules)):,}, of which {len(free)} are programs")
print(f"programs that name the filters of a noun phrase in one order: {len(tidy)}\n")

for program in tidy:
    executed = Executed.of(program, scene, strict)
    mark = "*" if executed.answer == ANSWER else " "
    print(f"{mark} {executed.shown:11}{' '.join(program)}")

right = [program for program in tidy if spoken(execute(program, scene)) == ANSWER]
print(f"\n{len(right)} of them give the answer, {ANSWER}; one of these is meant:")
for program in right:
    print("\n" + program_tree(Executed.of(program, scene, strict)))
