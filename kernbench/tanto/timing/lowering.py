"""The device program of one run: its threads, counters and figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from kernbench.machine.families.tensix.places import check_chip
from kernbench.program.program import Program
from kernbench.tanto.timing.dataflow_rows import DataflowRows
from kernbench.tanto.timing.kernel_log import Row
from kernbench.tanto.timing.math_rows import MathRows
from kernbench.tanto.timing.row_arrays import CycleCosts
from kernbench.tanto.timing.transfer_costs import TransferCosts

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.tanto.cores.storage import Core, PipePart, SemaphorePart

USERS = "Tanto programs run"  # of chips, for errors


class Lowering:
    """A device program under construction, with the figures that rows need.

    `program` has what ran before on the chip, if anything did. `figures` are those of cores that this program sets otherwise.
    """

    def __init__(
        self, machine: Machine, program: Program | None = None, figures: Mapping[str, float] | None = None
    ) -> None:
        self.machine, self.places = machine, check_chip(machine, USERS)
        self.program = program = Program(machine) if program is None else program
        self.routing = machine.routing
        self.costs = CycleCosts(program)
        self.core_figures = {**machine.figures_of("tensix_core"), **(figures or {})}
        figures = machine.figures
        self.transfer_costs = TransferCosts.of(self.core_figures)
        self.register_cycles = self.core_figures["register_cycles"]
        self.load_cycles, self.store_cycles = self.core_figures["load_cycles"], self.core_figures["store_cycles"]
        self.source_banks = int(self.core_figures["source_banks"])
        self.packet_bytes = int(figures["tensix_noc.packet_bytes"])
        self.signal_bytes = int(figures["tensix_noc.signal_bytes"])
        self.banks = self.places.grid.banks
        self.bank_nodes = [self.places.bank(bank) for bank in range(self.banks)]
        self._ends: dict[int, np.ndarray] = {}  # by thread
        self.read_tag, self.write_tag = program.tag("read", "memory"), program.tag("write", "memory")
        self.multicast_tag, self.signal_tag = program.tag("multicast", "memory"), program.tag("signal", "control")

    def keep_ends(self, thread: int, ends: np.ndarray) -> None:
        """Keep int64[entry] the number of rows of a thread up to the end of each entry."""
        self._ends[thread] = ends

    def shift_ends(self, thread: int, count: int) -> None:
        """Count rows that were put before those of a thread."""
        self._ends[thread] = self._ends[thread] + count

    def find_row(self, row: Row) -> int:
        """The row of the op table that is the last of an entry of a finished thread."""
        thread, entry = row
        return self.program.threads[thread].find_row(int(self._ends[thread][entry]) - 1)

    def bank_of(self, page: int) -> int:
        """The node of the bank of a page."""
        return self.bank_nodes[page % self.banks]

    def count_pipe(self, part: PipePart) -> None:
        """Make the counters of a pipe on a core."""
        x, y = part.core
        part.counters = (
            self.program.counter(f"tiles pushed to {part} on core {x},{y}"),
            self.program.counter(f"tiles popped from {part} on core {x},{y}"),
        )

    def count_semaphore(self, part: SemaphorePart) -> None:
        """Make the counter of a semaphore on a core."""
        part.counter = self.program.counter(f"changes of {part} on core {part.core[0]},{part.core[1]}")

    def rows(self, core: Core, kind: int) -> DataflowRows | MathRows:
        """The rows of a kernel of a kind: 0 reader, 1 writer, 2 math."""
        return MathRows(self, core) if kind == 2 else DataflowRows(self, core, ("reader", "writer")[kind], kind)
