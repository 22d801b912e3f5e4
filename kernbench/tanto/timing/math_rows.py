"""Rows of a kernel that computes: it runs on three processors at once, which unpack, compute and pack.

* The unpacker brings operands from L1 to the source registers, some banks ahead. Its processor waits for data in pipes and
  pops it when it was unpacked.
* The matrix unit takes operands when they are unpacked, the vector unit works on slots, each in order.
* The packer writes slots to L1. Its processor waits for room in pipes and pushes what was packed.
* The slots of two math objects exist at once: one is computed while the other is packed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.tanto.tiles import TILE
from kernbench.tanto.timing.row_buffer import Row, RowBuffer, exec_row
from kernbench.tanto.vector_functions import function_class

if TYPE_CHECKING:
    from kernbench.tanto.cores.storage import Core, PipePart
    from kernbench.tanto.timing.lowering import Lowering

HALVES = 2  # of the destination registers
_ENDS = (
    "unpacked operands",
    "tiles of the matrix unit",
    "tiles of the vector unit",
    "packed tiles",
    "full slots",
    "free slots",
)
_COSTS = {"copy": "copy", "transpose": "transpose", "add": "sum", "sub": "sum", "reduce": "reduce"}


class MathRows:
    """The rows of a math kernel on a core: threads that unpack, compute and pack."""

    def __init__(self, lowering: Lowering, core: Core) -> None:
        program, places = lowering.program, lowering.places
        self.lowering, self.core = lowering, core
        at = f"{core[0]},{core[1]}"
        self.unpack, self.math, self.packer = (
            RowBuffer(program.thread(f"{places.worker(core)}.{name}/{at}"), lowering.costs)
            for name in ("math.unpack", "math", "math.pack")
        )
        self.unpacked, self.multiplied, self.mapped, self.packed, self.full, self.free = (
            program.counter(f"{label} on core {at}") for label in _ENDS
        )
        self.servers = {name: places.server(core, name) for name in ("unpack", "matrix", "vector", "pack")}
        self.unpacks = self.vectors = self.packs = self.fulls = self.sections = 0
        self.committed = False
        self.last_vector = False
        self._rows: dict[tuple[str, str, int], bytes] = {}

    def next_unpack(self) -> Row:
        """The row in which the next operands will be unpacked."""
        return self.unpack.thread.id, self.unpack.count

    def _exec(self, server: str, name: str, size: int, counter: int) -> bytes:
        key = (server, name, size)
        found = self._rows.get(key)
        if found is None:
            costs, program = self.lowering.costs, self.lowering.program
            kind = {"matrix": "gemm", "vector": "math"}.get(server, "memory")
            duration = costs.cycles(self._cycles(server, name, size))
            found = self._rows[key] = exec_row(program.tag(name, kind), self.servers[server], duration, counter)
        return found

    def _cycles(self, server: str, name: str, size: int) -> float:
        """Cycles of a tile of elements of `size` bytes."""
        core = self.lowering.core_figures
        if server in ("unpack", "pack"):
            return TILE * size / core[f"{server}_bytes"]
        if server == "vector":
            return TILE / core["lanes"] * core[f"{function_class(name)}_cycles"]
        if name in ("matmul", "mul"):
            return core["phases"] * core["matmul_cycles" if name == "matmul" else "product_cycles"]
        return core[f"{_COSTS[name]}_cycles"]

    # The math object

    def begin(self, c: int) -> None:
        """Wait for free slots."""
        self.sections += 1
        self.committed = False
        self.math.spend(c)
        if self.sections > HALVES:
            self.math.wait(self.free, self.sections - HALVES)

    def end(self, c: int) -> None:
        """Free the slots when they are packed."""
        self.packer.spend(c)
        if self.packs:
            self.packer.wait(self.packed, self.packs)
        self.packer.increase(self.free, 1)

    def _reopen(self) -> None:
        if self.committed:
            self.math.wait(self.packed, self.packs)
            self.committed = False

    def matrix(self, c: int, name: str, size: int) -> None:
        """Unpack operands of `size` bytes an element, and compute with the matrix unit."""
        self._unpack(c, size)
        self.math.spend(c)
        self._reopen()
        if self.last_vector:
            self.math.wait(self.mapped, self.vectors)
            self.last_vector = False
        self.math.wait(self.unpacked, self.unpacks)
        self.math.add(self._exec("matrix", name, size, self.multiplied))

    def _unpack(self, c: int, size: int) -> None:
        self.unpack.spend(c)
        if self.unpacks >= self.lowering.source_banks:
            self.unpack.wait(self.multiplied, self.unpacks + 1 - self.lowering.source_banks)
        self.unpack.add(self._exec("unpack", "unpack", size, self.unpacked))
        self.unpacks += 1

    def vector(self, c: int, name: str) -> None:
        """Compute with the vector unit on a slot."""
        self.math.spend(c)
        self._reopen()
        if not self.last_vector and self.unpacks:
            self.math.wait(self.multiplied, self.unpacks)
        self.math.add(self._exec("vector", name, 0, self.mapped))
        self.vectors += 1
        self.last_vector = True

    def _commit(self, c: int) -> None:
        """Give the slots to the packer when they are computed."""
        self.math.spend(c)
        if self.unpacks:
            self.math.wait(self.multiplied, self.unpacks)
        if self.vectors:
            self.math.wait(self.mapped, self.vectors)
        self.fulls += 1
        self.math.increase(self.full, 1)
        self.packer.wait(self.full, self.fulls)
        self.committed = True

    def pack(self, c: int, size: int) -> None:
        """Pack a slot to elements of `size` bytes."""
        self.packer.spend(c)
        if not self.committed:
            self._commit(c)
        self.packer.add(self._exec("pack", "pack", size, self.packed))
        self.packs += 1

    def relayout(self, c: int, tiles: int, read_size: int, write_size: int) -> None:
        """Bring tiles into another order on the way through the slots, without a math object."""
        self.begin(c)
        for _ in range(tiles):
            self.matrix(c, "copy", read_size)
            self.pack(c, write_size)
        self.end(c)

    # Pipes

    def wait_room(self, c: int, part: PipePart, popped: int) -> None:
        """Wait until so many tiles in all were popped."""
        self.packer.wait_room(c, part, popped)

    def push(self, c: int, part: PipePart, tiles: int) -> Row:
        """Count pushed tiles, when they are packed."""
        self.packer.spend(c)
        if self.packs:
            self.packer.wait(self.packed, self.packs)
        return self.packer.push(c, part, tiles)

    def wait_tiles(self, c: int, part: PipePart, pushed: int) -> None:
        """Wait until so many tiles in all were pushed."""
        self.unpack.wait_tiles(c, part, pushed)

    def pop(self, c: int, part: PipePart, tiles: int) -> None:
        """Count popped tiles, when they are unpacked."""
        self.unpack.spend(c)
        if self.unpacks:
            self.unpack.wait(self.unpacked, self.unpacks)
        self.unpack.pop(c, part, tiles)

    def buffers(self) -> tuple[RowBuffer, ...]:
        """Those of its threads."""
        return self.unpack, self.math, self.packer

    def last_row(self) -> Row:
        """The row of the unpacker that was added last."""
        return self.unpack.last_row()

    def load(self, c: int) -> None:
        """Read a word of L1 by the processor."""
        self.unpack.spend(c, self.lowering.load_cycles)

    def finish(self, c: int) -> None:
        """End the kernel."""
        for buffer in self.buffers():
            buffer.spend(c)
            buffer.finish()
