"""Words for a run in which nothing can happen any more although threads still wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.program.ops import EQ, Op
from kernels_jit import state as scalars

if TYPE_CHECKING:
    from kernbench.program.program import Program
    from kernels_jit.state import State

_MOST = 8


def describe_waits(program: Program, s: State, threads: list[int]) -> str:
    """One sentence naming each waiting thread, what it waits for and since when."""
    parts = [_describe(program, s, thread) for thread in threads[:_MOST]]
    if len(threads) > _MOST:
        parts.append(f"{len(threads) - _MOST} more threads")
    return f"deadlock at {_ns(int(s.scalar[scalars.NOW]))}: " + "; ".join(parts)


def _describe(program: Program, s: State, thread: int) -> str:
    row = int(s.thread[thread, scalars.THREAD_CURSOR])
    op = program.op[row]
    name = program.threads[thread].name
    if op[0] != Op.WAIT:
        return f"{name} stopped before {Op(op[0]).name}"
    sign = "=" if op[2] == EQ else "≥"
    return (
        f"{name} waits for {program.counter_labels[op[1]]} {sign} {op[3]} (is {s.counter[op[1], scalars.COUNTER_VALUE]}) "
        f"since {_ns(int(s.times[row, scalars.OP_ISSUE_FS]))}"
    )


def _ns(fs: int) -> str:
    return f"{fs / 1e6:g} ns"
