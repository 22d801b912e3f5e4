"""One run of one program: feeds the compiled loop, answers its statuses, keeps the times.

The loop is entered once for a program whose threads are all recorded. It comes back for few reasons only: a pool must
grow, a thread asks for more rows (live kernels, the host), somebody wants to see progress, or nothing can happen any more.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from kernbench.engine import state as states
from kernbench.engine.deadlock import describe_waits
from kernbench.engine.network import NetworkBuilder
from kernbench.errors import DeadlockError, InputError, suggest
from kernbench.program.check import check_rows
from kernels_jit import codes
from kernels_jit import state as scalars

if TYPE_CHECKING:
    from kernbench.program.program import Program

MODES = ("hybrid", "flit")

_EVENTS_A_CALL = 1 << 24  # between two looks at the clock, about a second


class Session:
    """A run of a program that may still grow. Times are int64 femtoseconds from the start of the run.

    `mode` "flit" serves every flit at every station; "hybrid" does transfers that meet nobody in closed form. All times
    are the same. Errors: InputError for another mode.
    """

    def __init__(self, program: Program, mode: str = "hybrid") -> None:
        if mode not in MODES:
            raise InputError(f"unknown mode {mode!r}{suggest(mode, MODES)}")
        self.program = program
        self.machine = program.machine
        self.mode = mode
        self.wall_s = 0.0  # in the loop alone
        self._state = states.make_state(self.machine, hybrid=mode == "hybrid")
        self._builder = NetworkBuilder(self.machine)
        self._pool = np.zeros((0, 2), np.int64)  # queued flits: arrival, packed flit
        self._checked = 0  # rows that have been checked

    def run(
        self,
        on_ask: Callable[[int, int], None] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Run until nothing can happen any more; returns the time (fs).

        `on_ask(thread, now_fs)` is called for each ASK row and may append rows to that thread, or add threads.
        `on_progress(events, now_fs)` is called about once a second.
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
            status, self._pool = run(self._code, self._network, self._state, self._pool, _EVENTS_A_CALL)
            self.wall_s += perf_counter() - begun
            if status == codes.IDLE:
                return self.now_fs
            if status == codes.MORE:
                if on_progress is not None:
                    on_progress(self.events, self.now_fs)
            elif status == codes.ASKED:
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
        self._state = s = states.fit_program(
            self._state,
            threads=len(program.threads),
            counters=len(program.counter_labels),
            plans=len(program.plan_notes),
            rows=program.row_count,
        )
        self._code = program.code()
        self._join_routes(program.op[self._checked :])
        self._checked = program.row_count
        asking = int(s.scalar[scalars.RESUME])
        for thread, first, end in chunks:
            if s.thread[thread, scalars.THREAD_CURSOR] < s.thread[thread, scalars.THREAD_END]:
                raise ValueError(f"thread {program.threads[thread].name} was given rows before it came to its end")
            s.thread[thread, : scalars.THREAD_END + 1] = first, end
            if thread != asking:
                self._wake(thread)

    def _join_routes(self, rows: np.ndarray) -> None:
        """Make the network hold the routes of new rows."""
        if not self._builder.add_rows(rows):
            return
        before = self._builder.pairs
        self._network = self._builder.build()
        s = states.widen_flights(self._state, *self._builder.widths())
        self._state = s = states.fit_network(s, before, self._builder.pairs, self._network)
        if s.scalar[scalars.POOL_N] > len(self._pool):
            pool = np.zeros((2 * int(s.scalar[scalars.POOL_N]), 2), np.int64)
            pool[: len(self._pool)] = self._pool
            self._pool = pool

    def _wake(self, thread: int) -> None:
        from kernels_jit.heap import schedule

        if len(self._state.heap) - self._state.scalar[scalars.HEAP_N] < 1:
            self._state = states.grow_heap(self._state)
        now = int(self._state.scalar[scalars.NOW])
        schedule(self._state, now, (codes.WAKE << codes.KIND_SHIFT) | thread, 0, thread)

    def check_finished(self, exclude: Container[int] = ()) -> None:
        """Errors: DeadlockError naming every thread (but those in `exclude`) that is not at its end."""
        s = self._state
        thread = s.thread[: len(self.program.threads)]
        stuck = np.flatnonzero(thread[:, scalars.THREAD_CURSOR] < thread[:, scalars.THREAD_END])
        waits = [int(thread) for thread in stuck if int(thread) not in exclude]
        if waits:
            raise DeadlockError(describe_waits(self.program, s, waits))

    @property
    def now_fs(self) -> int:
        """The time of the last event."""
        return int(max(self._state.scalar[scalars.NOW], self._state.scalar[scalars.LATEST]))

    @property
    def events(self) -> int:
        """How many events the loop has done: in flit mode every flit at every station is one."""
        return int(self._state.scalar[scalars.EVENTS])

    @property
    def flit_hops(self) -> int:
        """How many times a flit has crossed a link."""
        return int(self.station_flits[: self.machine.edge_count].sum())

    @property
    def op_issue_fs(self) -> np.ndarray:
        """int64[row] when each row was asked for; -1: never."""
        return self._state.times[: self.program.row_count, scalars.OP_ISSUE_FS]

    @property
    def op_start_fs(self) -> np.ndarray:
        """int64[row] when each row began, after queueing; -1: never."""
        return self._state.times[: self.program.row_count, scalars.OP_START_FS]

    @property
    def op_end_fs(self) -> np.ndarray:
        """int64[row] when each row was complete; -1: never."""
        return self._state.times[: self.program.row_count, scalars.OP_END_FS]

    @property
    def counter_value(self) -> np.ndarray:
        """int64[counter]"""
        return self._state.counter[: len(self.program.counter_labels), scalars.COUNTER_VALUE]

    @property
    def station_busy_fs(self) -> np.ndarray:
        """int64[station] time spent serving flits."""
        return self._state.station[:, scalars.STATION_BUSY_FS]

    @property
    def station_flits(self) -> np.ndarray:
        """int64[station] flits served."""
        return self._state.station[:, scalars.STATION_FLITS]

    @property
    def server_busy_fs(self) -> np.ndarray:
        """int64[server] time its slots were taken, summed over slots."""
        return self._state.server[:, scalars.SERVER_BUSY_FS]
