"""The event loop of machines with credits: threads, servers and completions by event, flits in windows of cycles."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import jit
from kernels_jit.compile.pointers import index_pointer_to, pointer_to
from kernels_jit.credits.network import count_crossings, last_cycle_fs, serve_windows
from kernels_jit.layout import codes
from kernels_jit.layout.access import credit_at, state_at
from kernels_jit.layout.records import NEVER
from kernels_jit.loop.events import begin_call, do_event, next_event_fs
from kernels_jit.loop.stops import is_enough
from kernels_jit.loop.threads import pool_to_grow


@jit
def run_with_credits(words: np.ndarray, op: np.ndarray, entry: np.ndarray, times: np.ndarray, most_work: int) -> int:
    """Run as `loop.run` does, but that no pool of queued flits is needed; STALLED at a deadlock of flits."""
    m, own, rows = pointer_to(words), pointer_to(times), (pointer_to(op), index_pointer_to(entry))
    state = state_at(m, 0)
    credit = credit_at(m, state.credit)
    status = begin_call(m, rows, own, most_work)
    while status == codes.IDLE or status == codes.MORE:
        status = pool_to_grow(m)
        if status != codes.IDLE:
            return status
        if is_enough(state):
            count_crossings(m)
            return codes.MORE
        event_fs = next_event_fs(m)
        # Events come before the last cycle of a window (docs/credits.md, "Windows").
        if last_cycle_fs(credit) < event_fs:
            if serve_windows(m, rows, own, event_fs):
                count_crossings(m)
                return codes.STALLED
        elif event_fs == NEVER:
            count_crossings(m)
            return codes.IDLE
        else:
            status = do_event(m, rows, own)
    return status
