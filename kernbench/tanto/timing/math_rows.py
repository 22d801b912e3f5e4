"""What a kernel that computes does, step by step; `math_lowering` makes the rows of its three threads of that.

* The unpacker brings operands from L1 to the source registers, some banks ahead. Its processor waits for data in pipes and
  pops it when it was unpacked.
* The matrix unit takes operands when they are unpacked, the vector unit works on slots, each in order.
* The packer writes slots to L1. Its processor waits for room in pipes and pushes what was packed.
* The slots of two math objects exist at once: one is computed while the other is packed.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from kernbench.program.ops import Op
from kernbench.program.rows import pack_row
from kernbench.tanto.tiles import TILE
from kernbench.tanto.timing.math_lowering import lower_math
from kernbench.tanto.timing.math_step import STEP_WIDTH, Step
from kernbench.tanto.timing.source_registers import SourceRegisters
from kernbench.tanto.vector_functions import function_class

if TYPE_CHECKING:
    from kernbench.tanto.cores.kernel import Kernel
    from kernbench.tanto.cores.storage import Core, PipePart
    from kernbench.tanto.formats import Format
    from kernbench.tanto.timing.lowering import Lowering
    from kernbench.tanto.timing.row_buffer import Row


_BEGIN, _END, _MATRIX, _VECTOR, _PACK, _ROOM, _PUSH, _DATA, _POP, _LOAD, _FINISH = map(int, Step)
_STEP = Struct("5q")  # step, operations of the processor so far, line, two values
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
    """The steps of a math kernel on a core, and the threads that unpack, compute and pack."""

    def __init__(self, lowering: Lowering, core: Core) -> None:
        program, places = lowering.program, lowering.places
        self.lowering, self.core = lowering, core
        at = f"{core[0]},{core[1]}"
        self.unpack, self.math, self.packer = self.threads = tuple(
            program.thread(f"{places.worker(core)}.{name}/{at}") for name in ("math.unpack", "math", "math.pack")
        )
        self.counters = tuple(program.counter(f"{label} on core {at}") for label in _ENDS)
        self.unpacked, self.multiplied, self.mapped, self.packed, self.full, self.free = self.counters
        self.servers = {name: places.server(core, name) for name in ("unpack", "matrix", "vector", "pack")}
        self.sources = SourceRegisters()
        self.kernel: Kernel  # whose lines issue rows; set before the first step
        self.jobs: list[bytes] = []  # packed rows
        self.job_keys: list[tuple[str, str, float]] = []  # server, name and cycles of each
        self._job_ids: dict[tuple[str, str, float], int] = {}
        self._steps: list[bytes] = []
        self.single: set[int] = set()  # steps that are in no run

    def follow(self, kernel: Kernel) -> None:
        """Take the lines that issue rows from a kernel."""
        self.kernel = kernel

    def _add(self, step: int, c: int, first: int = 0, second: int = 0) -> None:
        self._steps.append(_STEP.pack(step, c, self.kernel.line, first, second))

    def next_unpack(self, after: int = 0) -> Row:
        """The row in which the next operands will be unpacked, after some steps that unpack none."""
        step = len(self._steps) + after
        self.single.add(step)
        return self.unpack.id, step

    def job(self, server: str, name: str, size: int) -> int:
        """The number of a job of a server on a tile."""
        return self.long_job(server, name, self._cycles(server, name, size))

    def long_job(self, server: str, name: str, cycles: float) -> int:
        """The number of a job of a server that takes some cycles."""
        key = (server, name, cycles)
        found = self._job_ids.get(key)
        if found is None:
            found = self._job_ids[key] = len(self.jobs)
            counter = {"unpack": self.unpacked, "matrix": self.multiplied, "vector": self.mapped, "pack": self.packed}
            tag = self.lowering.program.tag(name, {"matrix": "gemm", "vector": "math"}.get(server, "memory"))
            duration = self.lowering.costs.cycles(cycles)
            row = pack_row(tag, Op.EXEC, self.servers[server], duration, counter[server], 0, 0, 0, 0)
            self.jobs.append(row)
            self.job_keys.append(key)
        return found

    def _cycles(self, server: str, name: str, size: int) -> float:
        """Cycles of a job on a tile, of which `size` bytes are unpacked or packed."""
        core = self.lowering.core_figures
        if server in ("unpack", "pack"):
            return size / core[f"{server}_bytes"]
        if server == "vector":
            return TILE / core["lanes"] * core[f"{function_class(name)}_cycles"]
        if name in ("matmul", "mul"):
            return core["phases"] * core["matmul_cycles" if name == "matmul" else "product_cycles"]
        return core[f"{_COSTS[name]}_cycles"]

    # The math object

    def begin(self, c: int) -> None:
        """Wait for free slots."""
        self._add(_BEGIN, c)

    def end(self, c: int) -> None:
        """Free the slots when they are packed."""
        self._add(_END, c)

    def matrix(self, c: int, name: str, size: int) -> None:
        """Unpack `size` bytes of operands, and compute with the matrix unit."""
        self._add(_MATRIX, c, self.job("matrix", name, size), self.job("unpack", "unpack", size))

    def vector(self, c: int, name: str) -> None:
        """Compute with the vector unit on a slot."""
        self._add(_VECTOR, c, self.job("vector", name, 0))

    def pack(self, c: int, size: int) -> None:
        """Pack a slot to a tile of `size` bytes."""
        self._add(_PACK, c, self.job("pack", "pack", size))

    def relayout(self, c: int, tiles: int, src: Format, dst: Format) -> None:
        """Bring tiles into another order on the way through the slots, without a math object."""
        self.begin(c)
        for _ in range(tiles):
            self.matrix(c, "copy", self.sources.take(src))
            self.pack(c, dst.bytes_of(TILE))
        self.end(c)

    # Pipes

    def wait_room(self, c: int, part: PipePart, popped: int) -> None:
        """Wait until so many tiles in all were popped."""
        self._add(_ROOM, c, part.counters[1], popped)

    def push(self, c: int, part: PipePart, tiles: int) -> Row:
        """Count pushed tiles, when they are packed."""
        self._add(_PUSH, c, part.counters[0], tiles)
        return self.packer.id, len(self._steps) - 1

    def wait_tiles(self, c: int, part: PipePart, pushed: int) -> None:
        """Wait until so many tiles in all were pushed."""
        self._add(_DATA, c, part.counters[0], pushed)

    def pop(self, c: int, part: PipePart, tiles: int) -> None:
        """Count popped tiles, when they are unpacked."""
        self._add(_POP, c, part.counters[1], tiles)

    def last_row(self) -> Row:
        """The row of the unpacker that was added last."""
        return self.unpack.id, len(self._steps) - 1

    def load(self, c: int) -> None:
        """Read a word of L1 by the processor."""
        self._add(_LOAD, c)

    store = load

    def finish(self, c: int) -> None:
        """End the kernel."""
        self._add(_FINISH, c)
        steps = np.frombuffer(b"".join(self._steps), np.int64).reshape(-1, STEP_WIDTH)
        self._steps.clear()
        for thread, made in zip(self.threads, lower_math(self, steps), strict=True):
            thread.extend(made.rows.tobytes())
            thread.sources = made.sources
            self.lowering.keep_ends(thread.id, made.ends)
