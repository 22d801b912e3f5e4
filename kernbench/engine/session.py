"""One run of one program: enter the compiled loop, handle its statuses, keep the times.

The loop is entered once for a program whose threads are all recorded. It returns for few reasons: a pool must grow, a thread
asks for more rows (live kernels, the host), progress is reported, or no event is left.

A live kernel asks a million times and adds a few rows each time, so an ask must be cheap: tables are checked only if they have
grown, rows by compiled code. The network is rebuilt for new routes when the first transfer on one of them is about to begin,
since by then the other PEs of a launch have mostly asked too.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kernbench.engine.credit_deadlock import describe_packets
from kernbench.engine.deadlock import describe_waits
from kernbench.engine.jit_status import enter, running_s
from kernbench.engine.memory import Memory, empty_pool, enlarged_pool
from kernbench.engine.network import NetworkBuilder
from kernbench.engine.network_waits import NetworkWaits
from kernbench.engine.progress import ProgressReporter, Speculation
from kernbench.errors import DeadlockError, RunError
from kernbench.limits.run_options import OnProgress
from kernbench.modes import Mode, check_mode
from kernbench.oplog.causes import Times
from kernbench.program.check import check_rows
from kernbench.program.growable_array import enlarged
from kernbench.program.ops import CLOCK, LONGEST_FS
from kernbench.units import format_ns
from kernels_jit.layout import codes
from kernels_jit.layout import records as r
from kernels_jit.loop.op_append import give_rows

if TYPE_CHECKING:
    from kernbench.program.program import Program

WORK_A_CALL = 1 << 20  # of the loop, between two looks at signals and progress


@dataclass(slots=True)
class _Known:
    """The extent of the program that is in the loop's memory."""

    rows: int = 0
    entries: int = 0
    sizes: tuple[int, ...] | None = None  # of the program's other tables, as they were checked
    counters: int = 0
    durations: int = 0
    plans: int = 0


class Session:
    """A run of a program that may still grow. Times are int64 femtoseconds from the start of the run.

    `mode` "flit" serves every flit at every station; "hybrid" does uncontended transfers in closed form. All times
    are the same. With `count_waits`, what flits wait for is counted on a machine with credits. Errors: InputError for
    another mode.
    """

    def __init__(self, program: Program, mode: str = "hybrid", *, count_waits: bool = False) -> None:
        check_mode(mode)
        self._count_waits = count_waits
        self.program = program
        self.machine = program.machine
        self.mode = mode
        self.wall_s = 0.0  # in the loop alone, without compiling it
        self._times = np.zeros(0, r.TIME)  # of the rows of the op table
        self._builder = NetworkBuilder(self.machine)
        self._pool = empty_pool(self.machine)
        self._known = _Known()
        self._progress = ProgressReporter(program)
        self._asking = False

    @cached_property
    def _memory(self) -> Memory:
        """The loop's memory, made on first use: a program that is recorded for others, or only bounded, needs none."""
        return Memory(self.machine, hybrid=self.mode == Mode.HYBRID, count_waits=self._count_waits)

    def run(self, on_ask: Callable[[int], None] | None = None, on_progress: OnProgress | None = None) -> int:
        """Run until no event is left; returns the time (fs). Errors: RunError if it exceeds the clock,
        DeadlockError if packets in buffers wait for each other.

        `on_ask(thread)` is called for each ASK row and may append rows to that thread, or add threads.
        `on_progress(served, known, now_fs)` is called every second or sooner in runs that take longer: how many times a flit
        has been served at a station, and how many times that will be in all, by what is known of the program.
        """
        self._load()
        while True:
            status = self._advance(WORK_A_CALL, on_ask)
            if status == codes.IDLE:
                return self.now_fs
            if on_progress is not None and self._progress.is_due:
                self._progress.report(on_progress, self.station_flits, self.now_fs)

    def step(self, on_ask: Callable[[int], None] | None = None) -> bool:
        """Do the least piece of work, such as an event or a visit to a station; returns whether any is left. For tests."""
        self._load()
        while True:
            status = self._advance(1, on_ask)
            if status in (codes.IDLE, codes.MORE):
                return status == codes.MORE

    def peek(self) -> int | None:
        """A time (fs) before which only flits are served; None if no event and no delivery is known."""
        memory = self._memory
        if memory["resume"] != codes.NONE:  # a thread has rows left of this instant
            return memory["now_fs"]
        events, bounds = (
            memory.table("heap", r.EVENT, memory["heap_n"]),
            memory.table("bounds", r.BOUND, memory["bound_n"]),
        )
        known = [int(table["fs"][0]) for table in (events, bounds) if len(table)]
        return min(known, default=None)

    def _advance(self, most_work: int, on_ask: Callable[[int], None] | None) -> int:
        """Call the loop once, handle its status and return it. Errors: RunError beyond the clock."""
        from kernels_jit.compile.cache import seal_compiled

        begun = running_s()
        status = self._enter_loop(most_work)
        self.wall_s += running_s() - begun
        if status == codes.ASKED:
            if on_ask is not None:
                self._asking = True
                try:
                    on_ask(self._memory["asking"])
                finally:
                    self._asking = False
                self._load()
        elif status == codes.IDLE:
            self._check_clock()
            seal_compiled()
        elif status == codes.LAY:
            self._write_network()
        elif status == codes.STALLED:
            raise DeadlockError(describe_packets(self.program, self._memory, self.machine))
        elif status == codes.GROW_SLOTS:
            self._pool = enlarged_pool(self._pool)
        elif status != codes.MORE:
            self._memory.grow(status)
        return status

    def _enter_loop(self, most_work: int) -> int:
        """One call of the loop of this machine's kind of network. Returns its status."""
        arrays = self._memory.words, self._op.values, self._op.entry, self._times
        if self._memory.credit:
            from kernels_jit.credits.loop import run_with_credits

            return enter(run_with_credits, *arrays, most_work)
        from kernels_jit.loop.loop import run

        return enter(run, *arrays, self._pool, most_work)

    def _check_clock(self) -> None:
        """Check that a run has ended in which nothing can happen. Errors: RunError beyond the clock, RuntimeError for a bug."""
        memory, after = self._memory, f"after {format_ns(self.now_fs)}"
        if memory["heap_n"] or memory.has_flits or self.now_fs >= LONGEST_FS:
            raise RunError(f"{after} the run goes beyond {CLOCK}; make it shorter")
        if memory["in_flight"]:
            raise RuntimeError(f"{after} nothing is left to do while transfers are under way: {memory['in_flight']}")

    def lay(self) -> tuple[Memory, NetworkBuilder]:
        """Write the program to the loop's memory without running it: see `kernbench.engine.batch`."""
        self._load()
        return self._memory, self._builder

    def _load(self) -> None:
        """Write the additions to the program since the last call to the loop's memory."""
        program, memory, known = self.program, self._memory, self._known
        chunks = program.flush()
        if known.rows == 0:  # rows flushed before the session count too
            chunks = [
                (thread.id, first, first + count) for thread in program.threads for _, first, count in thread.chunks
            ]
        check_rows(program)
        if program.checked_sizes is not known.sizes:
            self._load_tables()
        self._op = program.op
        self._enlarge_times()
        live = self._builder.live
        if self._builder.add_entries(self._op.values, known.entries):
            if live:
                memory["pending_row"] = min(memory["pending_row"], known.rows)
            else:  # stations look ahead, as if there were only the known routes
                self._write_network()
        known.rows, known.entries = len(self._op), len(self._op.values)
        for number, first, end in chunks:
            if not give_rows(memory.words, number, first, end):
                raise ValueError(f"thread {program.threads[number].name} was given rows before it came to its end")

    def add_finished(self, times_fs: np.ndarray) -> None:
        """Take rows that were added to the program after the run, with their times: int64[row, issue, start and end].

        They say what else was done, such as by agents: no thread runs them, no server serves them, they make no event.
        """
        self.program.flush()
        self._op = self.program.op
        self._enlarge_times()
        added = self._times[len(self._op) - len(times_fs) : len(self._op)]
        for name, column in zip(("issue_fs", "start_fs", "end_fs"), times_fs.T, strict=True):
            added[name] = column

    def _write_network(self) -> None:
        self._memory.write_network(self._builder.build(), *self._builder.widths(), live=self._builder.live)

    def _load_tables(self) -> None:
        """Write new threads, counters, durations, plans and tokens."""
        program, tables, known, memory = self.program, self.program.tables(), self._known, self._memory
        memory.add_threads(len(program.threads))
        memory.add_counters(known.counters, len(program.counter_labels))
        known.counters = len(program.counter_labels)
        if len(tables.duration_fs) > known.durations:
            memory.write("durations", tables.duration_fs[known.durations :], known.durations)
            known.durations = len(tables.duration_fs)
        plans = len(tables.plan_start) - 1
        if plans > known.plans:
            rows = np.zeros(plans - known.plans, r.PLAN)
            rows["first"], rows["end"] = tables.plan_start[known.plans : -1], tables.plan_start[known.plans + 1 :]
            rows["chain_first"] = rows["transfer"] = codes.NONE
            memory.write("plans", rows, known.plans * r.words_of(r.PLAN))
            first = int(tables.plan_start[known.plans])
            tokens = np.stack([tables.token_start[first:], tables.token_end[first:]], axis=1)
            memory.write("tokens", tokens, first * r.words_of(r.TOKEN))
            known.plans = plans
        known.sizes = program.checked_sizes

    def _enlarge_times(self) -> None:
        known = len(self._times)
        if len(self._op) <= known:
            return
        self._times = enlarged(self._times, known, len(self._op))
        self._times[known:].view(np.int64).fill(codes.NONE)

    def check_finished(self, exclude: Container[int] = ()) -> None:
        """Check the end of a run. Errors: DeadlockError naming every thread (but those in `exclude`) that is not at its end."""
        waits = [thread for thread in self.waiting.tolist() if thread not in exclude]
        if waits:
            raise DeadlockError(describe_waits(self.program, self._memory, self._times, waits))

    @property
    def waiting(self) -> np.ndarray:
        """int64[] the threads that are not at their ends; after a run they wait for ever."""
        threads = self._memory.table("threads", r.THREAD, len(self.program.threads))
        return np.flatnonzero(threads["cursor"] < threads["end"])

    @property
    def now_fs(self) -> int:
        """The time of the last event."""
        return max(self._memory["now_fs"], self._memory["latest_fs"])

    @property
    def ask_fs(self) -> int | None:
        """The time of the ask under way; None outside of asks. Times of rows up to it are certain, later ones may change."""
        return self._memory["now_fs"] if self._asking else None

    @property
    def speculation(self) -> Speculation:
        """Counts of the loop's speculation and roll-back."""
        return Speculation.of(self._memory)

    @property
    def events(self) -> int:
        """The number of events of the loop: in flit mode every flit at every station is one."""
        return self._memory["events"]

    @property
    def flit_hops(self) -> int:
        """The number of link crossings of flits."""
        return int(self.station_flits[: self.machine.edge_count].sum())

    @property
    def op_times(self) -> np.ndarray:
        """TIME[row] the three times of each row, which the next properties have one by one."""
        return self._times[: self.program.row_count]

    @property
    def times(self) -> Times:
        """Issue, start and end of each row."""
        return Times(self.op_issue_fs, self.op_start_fs, self.op_end_fs)

    @property
    def op_issue_fs(self) -> np.ndarray:
        """int64[row] issue of each row; -1: never."""
        return self.op_times["issue_fs"]

    @property
    def op_start_fs(self) -> np.ndarray:
        """int64[row] start of each row, after queueing; -1: never."""
        return self.op_times["start_fs"]

    @property
    def op_end_fs(self) -> np.ndarray:
        """int64[row] end of each row; -1: never."""
        return self.op_times["end_fs"]

    @property
    def counter_value(self) -> np.ndarray:
        """int64[counter]"""
        return self._memory.table("counters", r.COUNTER, len(self.program.counter_labels))["value"]

    @property
    def station_busy_fs(self) -> np.ndarray:
        """int64[station] time spent serving flits."""
        return self._memory.stations["busy_fs"]

    @property
    def station_flits(self) -> np.ndarray:
        """int64[station] flits served."""
        return self._memory.stations["flits"]

    @property
    def network_waits(self) -> NetworkWaits | None:
        """What flits waited for by link; None if it was not counted, or the machine has no credits."""
        credit = self._memory.credit
        waits = None if credit is None else credit.waits
        if waits is None:
            return None
        return NetworkWaits.of(tuple(self.machine.station_name[: len(waits)]), waits)

    @property
    def server_busy_fs(self) -> np.ndarray:
        """float64[server] busy time, summed over up to a thousand slots."""
        servers = self._memory.table("servers", r.SERVER, len(self.machine.server_slots))
        return servers["busy_fs"] + servers["busy_carried"] * 2.0**r.BUSY_SHIFT
