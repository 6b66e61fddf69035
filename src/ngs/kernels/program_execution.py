"""Programs executed on a GPU, in Triton: all modules of a program in one launch.

`ngs.tasks.clevr.batched_execution` says what the operations mean; there each is a launch of its own.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor
from triton import language as tl

BLOCK = 128
"""Programs that are executed side by side, each by a thread of its own: so nobody waits for a stack."""


@triton.jit(do_not_specialize=["programs"])
def _execute(
    columns,
    questions,
    scenes,
    recorded,
    words,
    starts,
    values,
    joins,
    answers,
    stack,
    result,
    programs,
    time,
    ACTIONS: tl.constexpr,
    KEEP: tl.constexpr,
    CHANGE: tl.constexpr,
    PAYLOAD: tl.constexpr,
    NUMBERS: tl.constexpr,
    NOTHING: tl.constexpr,
    NO_ANSWER: tl.constexpr,
    JUDGES: tl.constexpr,
    B: tl.constexpr,
):
    """Each lane: one program, from its last module to its first."""
    program = tl.program_id(0) * B + tl.arange(0, B)
    inside = program < programs
    question = program
    if JUDGES:
        question = tl.load(questions + program, mask=inside, other=0)
    row = tl.load(scenes + question, mask=inside, other=0).to(tl.int32) * ACTIONS
    own_stack = stack + program
    place = tl.zeros([B], tl.int32) + time  # of the value below the last
    last = tl.full([B], NOTHING, tl.int32)
    below = tl.zeros([B], tl.int32)
    refused = tl.zeros([B], tl.int32)
    action = tl.zeros([B], tl.int32)
    for done in range(time):
        column = tl.load(columns + program.to(tl.int64) * time + (time - 1 - done), mask=inside, other=-1)
        action = column.to(tl.int32) + 1
        known = (action >= 0) & (action < ACTIONS)
        refused |= tl.where(known, 0, PAYLOAD + 1)
        action = tl.where(known, action, 0)
        below = tl.load(own_stack + place.to(tl.int64) * programs, mask=inside, other=0)
        tl.store(own_stack + (place.to(tl.int64) + 1) * programs, last, mask=inside)
        word = tl.load(words + row + action)
        first = last & word
        second = below & tl.load(joins + action)
        refused |= first | second
        payload = ((first & (below | (word >> KEEP))) | second) & PAYLOAD
        last = tl.load(values + payload + tl.load(starts + row + action))
        place += word >> CHANGE
    key = (action * NUMBERS + (last & (NUMBERS - 1))) * NUMBERS + (below & (NUMBERS - 1))
    answer = tl.load(answers + key)
    undefined = (refused > PAYLOAD) | (place != time + 1)
    given = tl.where(undefined, NO_ANSWER, answer).to(tl.int64)
    if JUDGES:
        tl.store(result + program, given == tl.load(recorded + question, mask=inside, other=0), mask=inside)
    else:
        tl.store(result + program, given, mask=inside)


Tables = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]  # those of SceneTables, all int32


def executed(
    tables: Tables,
    columns: Tensor,
    scenes: Tensor,
    constants: dict[str, int],
    asked: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """Answers int64 [program] to programs [program, time] about scenes [program].

    With `asked`, the questions [program] and the answers [question]: bool [program], whether each program
    gives the right one. `scenes` are then [question].
    """
    programs, time = columns.shape
    questions, answers = (scenes, scenes) if asked is None else asked
    dtype = torch.int64 if asked is None else torch.bool
    result = torch.empty(programs, dtype=dtype, device=columns.device)
    if not programs:
        return result
    # As many rows up and down from the bottom as a program has modules: none gets past the ends.
    stack = torch.empty((2 * time + 2) * programs, dtype=torch.int32, device=columns.device)
    with torch.cuda.device_of(columns):
        _execute[triton.cdiv(programs, BLOCK),](
            *(each.contiguous() for each in (columns, questions, scenes, answers, *tables)),
            stack,
            result,
            programs,
            time,
            **constants,
            JUDGES=asked is not None,
            B=BLOCK,
            num_warps=BLOCK // 32,
        )
    return result
