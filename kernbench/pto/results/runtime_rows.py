"""What threads and cores did in a run of task graphs, as rows of its op log.

The device program has the loads, the work and the stores of kernels alone. Beside them stand the phases of the runtime's
threads, on the processors that they run on, and the blocks of tasks, on their cores; a block whose kernel has one time is a row
of the program.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.program.ops import NONE, Op
from kernbench.pto.results.record import ORCHESTRATOR, BlockRow, Phase, PhaseRow
from kernbench.pto.results.summary import thread_name
from kernbench.pto.runtime.orchestrator import Backend
from kernbench.runs.other_rows import OtherRows

if TYPE_CHECKING:
    from kernbench.pto.launch import Outcome

KIND = "control"  # of phases
TASK_KIND = "kernel"  # of blocks, as of what kernels do
IDLE = (Phase.BLOCKED,)  # phases in which a thread waits


def find_processor(outcome: Outcome, thread: int) -> str:
    """The processor that a thread of the runtime runs on."""
    if thread != ORCHESTRATOR:
        return f"aicpu{thread}"
    return "host" if outcome.backend == Backend.HOST else f"aicpu{len(outcome.device.schedulers)}"


class RuntimeRows:
    """The rows of a finished run that its program lacks: the phases, then the blocks, in the order of the record."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome, self._record = outcome, outcome.record
        self._cores = outcome.device.cores
        own = self._rows_of_cores()
        self.blocks = [
            row for row in self._record.blocks if (self._cores[row.core].place.server, row.start_fs) not in own
        ]

    def part_of_thread(self, thread: int) -> str:
        """The processor that a thread runs on."""
        return find_processor(self._outcome, thread)

    def make(self) -> OtherRows:
        """The rows, with the servers of the machine that they held."""
        import polars

        names = {row.task: row.name for row in self._record.tasks}
        phases = [self._tell_phase(row) for row in self._record.phases]
        rows = phases + [self._tell_block(row, names[row.task]) for row in self.blocks]
        schema: dict[str, Any] = {
            "start_fs": polars.Int64,
            "end_fs": polars.Int64,
            "component": polars.String,
            "op_kind": polars.String,
            "op_name": polars.String,
            "params": polars.String,
            "dependencies": polars.List(polars.Int64),
            "thread": polars.String,
            "bytes": polars.Int64,
            "issue_fs": polars.Int64,
        }
        return OtherRows(polars.DataFrame(rows, schema=schema, orient="row"), self._list_parts())

    def _tell_phase(self, row: PhaseRow) -> tuple[Any, ...]:
        name = thread_name(row.thread)
        part = f"{self.part_of_thread(row.thread)}.{name}"
        return row.start_fs, row.end_fs, part, KIND, row.phase.label, "", [], name, 0, row.start_fs

    def _tell_block(self, row: BlockRow, name: str) -> tuple[Any, ...]:
        part, scheduler = self._cores[row.core].place.name, self._cores[row.core].scheduler
        params = json.dumps({"task": row.task, "block": row.block})
        dispatch = NONE if scheduler is None else self._dispatches.find(scheduler.number, row.dispatch_fs)
        after = [] if dispatch == NONE else [dispatch]
        return row.start_fs, row.end_fs, part, TASK_KIND, name, params, after, part, 0, row.dispatch_fs

    def _list_parts(self) -> np.ndarray:
        """int64[row] the server that each row held."""
        machine = self._outcome.device.machine
        server = {name: at for at, name in enumerate(machine.server_name)}
        phases = [NONE if row.phase in IDLE else server[self.part_of_thread(row.thread)] for row in self._record.phases]
        return np.array(phases + [self._cores[row.core].place.server for row in self.blocks], np.int64)

    def _rows_of_cores(self) -> set[tuple[int, int]]:
        """Server and start (fs) of the rows of the program that hold a whole core."""
        program, start_fs = self._outcome.session.program, self._outcome.session.op_start_fs
        entries = program.op.values
        servers = {core.place.server for core in self._cores}
        of_entry = np.where((entries[:, 0] == Op.EXEC) & np.isin(entries[:, 1], list(servers)), entries[:, 1], NONE)
        server = of_entry[program.op.entry]
        rows = np.flatnonzero(server != NONE)
        return set(zip(server[rows].tolist(), start_fs[rows].tolist(), strict=True))

    @cached_property
    def _dispatches(self) -> PhaseIndex:
        return PhaseIndex(self._record.phases, (Phase.DISPATCH,))


class PhaseIndex:
    """Phases of some kinds by thread and time, as places in the record."""

    def __init__(self, phases: list[PhaseRow], kinds: tuple[Phase, ...] = tuple(Phase)) -> None:
        self._phases = phases
        self._places: dict[int, list[int]] = {}
        for at, row in enumerate(phases):
            if row.phase in kinds:
                self._places.setdefault(row.thread, []).append(at)
        for places in self._places.values():
            places.sort(key=lambda at: phases[at].start_fs)
        self._starts = {thread: [phases[at].start_fs for at in places] for thread, places in self._places.items()}

    def find(self, thread: int, time_fs: int) -> int:
        """The phase of a thread that a time is in or at the end of; NONE if there is none."""
        at = self.find_before(thread, time_fs)
        return at if at != NONE and self._phases[at].end_fs >= time_fs else NONE

    def find_before(self, thread: int, time_fs: int) -> int:
        """The last phase of a thread that began before a time; NONE if there is none."""
        number = bisect_right(self._starts.get(thread, []), time_fs - 1) - 1
        return self._places[thread][number] if number >= 0 else NONE

    def threads(self) -> list[int]:
        """The threads that have such phases."""
        return list(self._places)
