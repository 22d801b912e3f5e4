"""The message of a deadlock: no event is left although threads still wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.program.ops import EQ, Op
from kernels_jit.layout import records as r

if TYPE_CHECKING:
    import numpy as np

    from kernbench.engine.memory import Memory
    from kernbench.program.program import Program

_MOST = 8


def describe_waits(program: Program, memory: Memory, times: np.ndarray, threads: list[int]) -> str:
    """One sentence naming each waiting thread, what it waits for and since when."""
    parts = [_describe(program, memory, times, thread) for thread in threads[:_MOST]]
    if len(threads) > _MOST:
        parts.append(f"{len(threads) - _MOST} more threads")
    return f"deadlock at {_ns(memory['now_fs'])}: " + "; ".join(parts)


def _describe(program: Program, memory: Memory, times: np.ndarray, thread: int) -> str:
    row = int(memory.table("threads", r.THREAD, thread + 1)["cursor"][thread])
    op = program.op[row]
    name = program.threads[thread].name
    if op[0] != Op.WAIT:
        return f"{name} stopped before {Op(op[0]).name}"
    value = memory.table("counters", r.COUNTER, op[1] + 1)["value"][op[1]]
    sign = "=" if op[2] == EQ else "≥"
    return (
        f"{name} waits for {program.counter_labels[op[1]]} {sign} {op[3]} (is {value}) "
        f"since {_ns(int(times['issue_fs'][row]))}"
    )


def _ns(fs: int) -> str:
    return f"{fs / 1e6:g} ns"
