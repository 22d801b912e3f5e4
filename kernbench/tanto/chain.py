"""Programs that run in turn on a chip as one device program.

Each is dispatched when all kernels of the one before have ended, and begins on all cores when that is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from kernbench.errors import RunError
from kernbench.program.gc_pause import pause_gc
from kernbench.program.program import Program
from kernbench.tanto.cores.kernel import TantoDeadlock, TantoError
from kernbench.tanto.loading import KernelFiles, ProgramLoader
from kernbench.tanto.run import write_program_rows
from kernbench.tanto.timing.lowering import Lowering
from kernbench.tanto.timing.row_arrays import add_rows, pause_row, wait_rows

if TYPE_CHECKING:
    from kernbench.engine import Session
    from kernbench.tanto.cores.grid_run import GridRun
    from kernbench.tanto.device import Device
    from kernbench.tanto.program_file import ProgramSpec


@dataclass(slots=True)
class Chain:
    """Programs of a device, in turn. With `numbers` each one's data is that which the ones before left."""

    device: Device
    numbers: bool
    program: Program = field(init=False)
    runs: list[GridRun] = field(default_factory=list["GridRun"])
    l1_peak_bytes: int = 0
    _ends: list[list[int]] = field(default_factory=list[list[int]])  # of each program, its threads
    _ended: int = field(init=False)  # a counter of threads
    _dispatch: np.ndarray = field(init=False)  # a row
    _threads: int = 0  # that have to end before the next program begins

    def __post_init__(self) -> None:
        self.program = Program(self.device.machine)
        self._ended = self.program.counter("kernels that have ended")
        took = self.program.duration(("tensix_core.dispatch", 1))
        self._dispatch = pause_row(took, self.program.tag("dispatch", "control"))

    @pause_gc()
    def add(self, spec: ProgramSpec, files: KernelFiles, name: str, figures: Mapping[str, float] | None = None) -> None:
        """Add a program; `figures` are those of cores that it sets otherwise than the machine.

        Errors: as of `run_program`, and RunError for a deadlock.
        """
        first = len(self.program.threads)
        lowering = Lowering(self.device.machine, self.program, figures)
        loader = ProgramLoader(self.device, spec, files, numbers=self.numbers, lowering=lowering)
        run = loader.load()
        self.l1_peak_bytes = max(self.l1_peak_bytes, loader.check_l1())
        try:
            write_program_rows(run)
        except TantoDeadlock as deadlock:
            raise RunError(f"{name}: {run.named(str(deadlock))}") from deadlock
        except TantoError as error:
            raise TantoError(f"{name}: {run.named(str(error))}") from error
        threads = self.program.threads[first:]
        wait, end = wait_rows(self._ended, np.array([self._threads])), add_rows(self._ended, np.array([1]))
        begin = np.concatenate([wait, self._dispatch])
        for thread in threads:
            thread.prepend(begin)
            lowering.shift_ends(thread.id, len(begin))
            thread.extend_encoded(end, np.zeros(1, np.int64))
        self._threads += len(threads)
        self._ends.append([thread.id for thread in threads])
        self.runs.append(run)

    def find_ends(self, session: Session) -> list[int]:
        """The time (fs) at which each program has ended, on a session that has run."""
        rows = [
            [self.program.threads[thread].find_row(self.program.threads[thread].row_count - 1) for thread in own]
            for own in self._ends
        ]
        return [int(session.op_end_fs[own].max()) for own in rows]

    def tell(self, session: Session) -> tuple[str, ...]:
        """A sentence for each race and each call that is missing, once."""
        found = dict[str, None]()
        for run in self.runs:
            races = run.races.find(run.lowering, session.op_start_fs, session.op_end_fs)
            named = [replace(race, name=run.named(race.object).removeprefix(race.object)[2:]) for race in races]
            warnings = [f"warning: {run.named(text)}" for text in (*run.warnings.values(), *run.outside.values())]
            found |= dict.fromkeys((*map(str, named), *warnings))
        return tuple(found)
