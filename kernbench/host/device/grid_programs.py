"""The programs of a grid on one PE: the rows of recorded ones, or live ones step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.limits.time_limit import watched_kernel
from kernbench.tl.lowering.plan_outline import SERVERS
from kernbench.triton.lowering.render import PLAN, ProgramRows, render
from kernbench.triton.lowering.script import FIRST_COUNTER, Script

if TYPE_CHECKING:
    from kernbench.host.device.grid_run import GridRun
    from kernbench.machine.families.sip.places import PePlace
    from kernbench.program.thread import Thread
    from kernbench.tl.pe import PeContext
    from kernbench.triton.lowering.issue import Facts
    from kernbench.triton.lowering.tensor_pieces import TensorPieces


class PeThread:
    """The thread of a PE, to which programs are written."""

    def __init__(self, context: PeContext, tensors: dict[int, TensorPieces], facts: Facts) -> None:
        self._context, self.tensors, self._facts = context, tensors, facts
        self.thread, self._program = context.thread, context.program
        place = context.place
        lead = self._program.duration(("pe_mmu.tlb", context.lookups), ("pe_dma.overhead", 1))
        self._numbers = [*(getattr(place, name) for name in SERVERS), lead, place.scheduler_server]
        self._servers = tuple(self._numbers[: FIRST_COUNTER - 2])
        self._begun = self.thread.row_count

    def numbers(self, counters: int) -> list[int]:
        """The numbers of placeholders, with that many counters at least."""
        while len(self._numbers) < FIRST_COUNTER + counters:
            label = f"command {len(self._numbers) - FIRST_COUNTER} of {self._context.path}"
            self._numbers.append(self._program.counter(label))
        return self._numbers

    def extend(self, rows: ProgramRows, script: Script) -> None:
        """Append the rows of a program."""
        thread, works = self.thread, self._facts.works
        if len(rows.pipes):
            plans = works.plans(script.works)
            first = self._program.plans_from(plans.templates, self._servers, plans.notes)
            rows.rows[rows.pipes, PLAN] = first + np.arange(len(plans.templates))
        thread.sources.rows.frombytes((rows.lines[:, 0] + thread.row_count).tobytes())
        thread.sources.lines.frombytes(np.ascontiguousarray(rows.lines[:, 1]).tobytes())
        thread.extend(rows.rows.tobytes())

    def check_limit(self) -> None:
        """Errors: LimitError for more operations than a run may issue."""
        program = self._program
        program.issued_ops += self.thread.row_count - self._begun
        self._begun = self.thread.row_count
        if program.issued_ops > program.most_ops:
            program.refuse_ops()


class LivePrograms:
    """The programs of a PE in a live launch: each step ends where the simulated time has to catch up."""

    def __init__(self, run: GridRun, thread: Thread, place: PePlace, programs: np.ndarray) -> None:
        from greenlet import getcurrent, greenlet

        self._run, self._thread, self._place, self._programs = run, thread, place, programs
        self._current = getcurrent
        self._pe: PeThread | None = None
        self._greenlet = greenlet(self._go)

    def resume(self) -> bool:
        """Go on; returns whether there is another step."""
        self._greenlet.parent = self._current()
        with watched_kernel():
            self._greenlet.switch()
        return not self._greenlet.dead

    def _go(self) -> None:
        run = self._run
        numbers, pe = run.read_numbers(), run.open_pe(self._thread, self._place)
        try:
            for program in self._programs.tolist():
                recorder = run.live_recorder(program)
                recorder.follow(numbers, lambda script: self._catch_up(pe, script))
                run.run_live(recorder)
                self._write(pe, recorder.script)
        finally:
            run.end_pe()

    def _write(self, pe: PeThread, script: Script) -> np.ndarray:
        (rows,) = render(script, np.zeros(1, np.int64), pe.numbers(script.counters), pe.tensors)
        pe.extend(rows, script)
        pe.check_limit()
        return rows.transfers

    def _catch_up(self, pe: PeThread, script: Script) -> Script:
        if not script.row_count:
            return script
        transfers = self._write(pe, script)
        self._thread.ask()
        self._greenlet.parent.switch()  # type: ignore[union-attr]
        return Script(1, script, transfers.tolist())
