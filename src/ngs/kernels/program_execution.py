"""Programs executed on a GPU, in Triton: all modules of a program in one launch.

The same operations as in `ngs.tasks.clevr.batched_execution`, which says what they mean; there each is a
launch of its own.
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
    """Each lane: one program, from its last module to its first.

    If it judges, the scene and the recorded answer are those of the program's question.
    """
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


Tables = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]
"""SceneTables, all int32."""


def executed(tables: Tables, columns: Tensor, scenes: Tensor, constants: dict[str, int]) -> Tensor:
    """Answers int64 [program] to programs [program, time] about scenes [program]."""
    return _launched(tables, columns, (scenes, scenes, scenes), torch.int64, constants)


def judged(
    tables: Tables,
    columns: Tensor,
    asked: tuple[Tensor, Tensor, Tensor],
    constants: dict[str, int],
) -> Tensor:
    """bool [program]: whether programs [program, time] give the answers to their questions.

    `asked` are the questions [program], and the scene and the answer of every question [question].
    """
    return _launched(tables, columns, asked, torch.bool, constants)


def _launched(
    tables: Tables,
    columns: Tensor,
    asked: tuple[Tensor, Tensor, Tensor],
    dtype: torch.dtype,
    constants: dict[str, int],
) -> Tensor:
    programs, time = columns.shape
    result = torch.empty(programs, dtype=dtype, device=columns.device)
    if not programs:
        return result
    # As many rows up and down from the bottom as a program has modules: none gets past the ends.
    stack = torch.empty((2 * time + 2) * programs, dtype=torch.int32, device=columns.device)
    with torch.cuda.device_of(columns):
        _execute[triton.cdiv(programs, BLOCK),](
            columns.contiguous(),
            *(each.contiguous() for each in (*asked, *tables)),
            stack,
            result,
            programs,
            time,
            **constants,
            JUDGES=dtype == torch.bool,
            B=BLOCK,
            num_warps=BLOCK // 32,
        )
    return result
