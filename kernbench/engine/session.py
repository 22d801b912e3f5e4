"""One run of one program: feeds the compiled loop, answers its statuses, keeps the times.

The loop is entered once for a program whose threads are all recorded. It comes back for three reasons only: a pool must
grow, a thread asks for more rows (live kernels, the host), or nothing can happen any more.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from kernbench.engine import state as states
from kernbench.engine.deadlock import describe_waits
from kernbench.errors import DeadlockError, InputError
from kernbench.program.check import check_rows
from kernels_jit import codes
from kernels_jit import state as scalars

if TYPE_CHECKING:
    from kernbench.program.program import Program

MODES = ("flit",)

_EVENTS_A_CALL = 1 << 62


class Session:
    """A run of a program that may still grow. Times are int64 femtoseconds from the start of the run."""

    def __init__(self, program: Program, mode: str = "flit") -> None:
        if mode not in MODES:
            raise InputError(f"unknown mode {mode!r}; known: {', '.join(MODES)}")
        self.program = program
        self.machine = program.machine
        self.mode = mode
        self.wall_s = 0.0  # in the loop alone
        self._state = states.make_state(self.machine)
        self._checked = 0  # rows that have been checked

    def run(self, on_ask: Callable[[int, int], None] | None = None) -> int:
        """Run until nothing can happen any more; returns the time (fs).

        `on_ask(thread, now_fs)` is called for each ASK row and may append rows to that thread, or add threads.
        """
        from kernels_jit.loop import run

        self._load()
        grow = {
            codes.GROW_HEAP: states.grow_heap,
            codes.GROW_JOB: states.grow_jobs,
            codes.GROW_FLIGHT: states.grow_flights,
        }
        while True:
            begun = perf_counter()
            status = run(self._code, self.machine.stations, self._routes, self._state, _EVENTS_A_CALL)
            self.wall_s += perf_counter() - begun
            if status == codes.IDLE:
                return self.now_fs
            if status == codes.ASKED:
                if on_ask is not None:
                    on_ask(int(self._state.scalar[scalars.ASKING]), self.now_fs)
                    self._load()
            else:
                self._state = grow[status](self._state)

    def _load(self) -> None:
        """Bring what the program has gained since the last call into the loop's arrays."""
        program = self.program
        chunks = program.flush()
        check_rows(program, self._checked)
        self._checked = program.row_count
        s = states.fit_program(
            self._state,
            threads=len(program.threads),
            counters=len(program.counter_labels),
            plans=len(program.plan_notes),
            rows=program.row_count,
        )
        self._code = program.code()
        self._routes = self.machine.routing.tables()
        self._state = s = states.widen_gates(s, int(np.diff(self._routes.start).max(initial=0)))
        asking = int(s.scalar[scalars.RESUME])
        for thread, first, end in chunks:
            if s.thread_cursor[thread] < s.thread_end[thread]:
                raise ValueError(f"thread {program.threads[thread].name} was given rows before it came to its end")
            s.thread_cursor[thread], s.thread_end[thread] = first, end
            if thread != asking:
                self._wake(thread)

    def _wake(self, thread: int) -> None:
        from kernels_jit.flights import schedule

        if len(self._state.heap_fs) - self._state.scalar[scalars.HEAP_N] < 1:
            self._state = states.grow_heap(self._state)
        schedule(self._state, self.now_fs, (codes.WAKE << codes.KIND_SHIFT) | thread, 0, thread)

    def check_finished(self, exclude: Container[int] = ()) -> None:
        """Errors: DeadlockError naming every thread (but those in `exclude`) that is not at its end."""
        s, n = self._state, len(self.program.threads)
        stuck = np.flatnonzero(s.thread_cursor[:n] < s.thread_end[:n])
        waits = [int(thread) for thread in stuck if int(thread) not in exclude]
        if waits:
            raise DeadlockError(describe_waits(self.program, s, waits))

    @property
    def now_fs(self) -> int:
        """The time of the last event."""
        return int(self._state.scalar[scalars.NOW])

    @property
    def events(self) -> int:
        """How many events the loop has done."""
        return int(self._state.scalar[scalars.EVENTS])

    @property
    def flit_hops(self) -> int:
        """How many times a flit has crossed a link."""
        return int(self._state.scalar[scalars.FLIT_HOPS])

    @property
    def op_issue_fs(self) -> np.ndarray:
        """int64[row] when each row was asked for; -1: never."""
        return self._state.op_issue_fs[: self.program.row_count]

    @property
    def op_start_fs(self) -> np.ndarray:
        """int64[row] when each row began, after queueing; -1: never."""
        return self._state.op_start_fs[: self.program.row_count]

    @property
    def op_end_fs(self) -> np.ndarray:
        """int64[row] when each row was complete; -1: never."""
        return self._state.op_end_fs[: self.program.row_count]

    @property
    def counter_value(self) -> np.ndarray:
        """int64[counter]"""
        return self._state.counter_value[: len(self.program.counter_labels)]

    @property
    def station_busy_fs(self) -> np.ndarray:
        """int64[station] time spent serving flits."""
        return self._state.station_busy_fs

    @property
    def station_flits(self) -> np.ndarray:
        """int64[station] flits served."""
        return self._state.station_flits

    @property
    def server_busy_fs(self) -> np.ndarray:
        """int64[server] time its slots were taken, summed over slots."""
        return self._state.server_busy_fs
