"""What a kernel that computes does, step by step; `math_lowering` makes the rows of its three threads of that.

* The unpacker brings operands from L1 to the source registers, some banks ahead. Its processor waits for data in pipes and
  pops it when it was unpacked.
* The matrix unit takes operands when they are unpacked, the vector unit works on slots, each in order.
* The packer writes slots to L1. Its processor waits for room in pipes and pushes what was packed.
* The slots of two math objects exist at once: one is computed while the other is packed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.program.ops import Op
from kernbench.program.rows import pack_row
from kernbench.tanto.tiles import TILE
from kernbench.tanto.timing.kernel_log import Issuer, KernelLog, Row
from kernbench.tanto.timing.math_step import STEP_WIDTH, Step
from kernbench.tanto.timing.source_registers import SourceRegisters
from kernbench.tanto.vector_functions import function_class

if TYPE_CHECKING:
    from kernbench.tanto.cores.storage import Core, PipePart
    from kernbench.tanto.formats import Format
    from kernbench.tanto.timing.lowering import Lowering

_BEGIN, _END, _MATRIX, _VECTOR, _PACK, _ROOM, _PUSH, _DATA, _POP, _LOAD, _FINISH = map(int, Step)
_ENDS = (
    "unpacked operands",
    "tiles of the matrix unit",
    "tiles of the vector unit",
    "packed tiles",
    "full slots",
    "free slots",
)
_COSTS = {"copy": "copy", "transpose": "transpose", "add": "sum", "sub": "sum", "reduce": "reduce"}


class MathRows(KernelLog):
    """The steps of a math kernel on a core, and the threads that unpack, compute and pack.

    An entry is a step: what it is, the operations of the processor so far, the line, and two values.
    """

    width = STEP_WIDTH

    def __init__(self, lowering: Lowering, core: Core) -> None:
        program, places = lowering.program, lowering.places
        self.lowering, self.core = lowering, core
        at = f"{core[0]},{core[1]}"
        self.unpack, self.math, self.packer = self.threads = tuple(
            program.thread(f"{places.worker(core)}.{name}/{at}") for name in ("math.unpack", "math", "math.pack")
        )
        super().__init__(self.unpack.id)
        self.counters = tuple(program.counter(f"{label} on core {at}") for label in _ENDS)
        self.unpacked, self.multiplied, self.mapped, self.packed, self.full, self.free = self.counters
        self.servers = {name: places.server(core, name) for name in ("unpack", "matrix", "vector", "pack")}
        self.sources = SourceRegisters()
        self.jobs: list[bytes] = []  # packed rows
        self.job_keys: list[tuple[str, str, float]] = []  # server, name and cycles of each
        self._job_ids: dict[tuple[str, str, float], int] = {}
        self.single: set[int] = set()  # steps that are in no run

    def follow(self, kernel: Issuer) -> None:
        super().follow(kernel)
        self.sources = SourceRegisters()
        self.single.clear()

    def finish(self) -> None:
        """End the kernel."""
        self.add(_FINISH)
        self.close()

    def add(self, step: int, first: int = 0, second: int = 0) -> None:
        """Add a step."""
        kernel = self.kernel
        self.log += (step, kernel.c, kernel.line, first, second)

    def next_unpack(self, after: int = 0) -> Row:
        """The row in which the next operands will be unpacked, after some steps that unpack none."""
        step = self.count + after
        self.single.add(step)
        return self.id, step

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

    def begin(self) -> None:
        """Wait for free slots."""
        self.add(_BEGIN)

    def end(self) -> None:
        """Free the slots when they are packed."""
        self.add(_END)

    def matrix(self, name: str, size: int) -> None:
        """Unpack `size` bytes of operands, and compute with the matrix unit."""
        self.add(_MATRIX, self.job("matrix", name, size), self.job("unpack", "unpack", size))

    def vector(self, name: str) -> None:
        """Compute with the vector unit on a slot."""
        self.add(_VECTOR, self.job("vector", name, 0))

    def pack(self, size: int) -> None:
        """Pack a slot to a tile of `size` bytes."""
        self.add(_PACK, self.job("pack", "pack", size))

    def relayout(self, tiles: int, src: Format, dst: Format) -> None:
        """Bring tiles into another order on the way through the slots, without a math object."""
        self.begin()
        for _ in range(tiles):
            self.matrix("copy", self.sources.take(src))
            self.pack(dst.bytes_of(TILE))
        self.end()

    def load(self) -> None:
        """Read a word of L1 by the processor."""
        self.add(_LOAD)

    store = load

    def pipe(self, part: PipePart) -> MathPipeRows:
        """The steps of a pipe."""
        return MathPipeRows(self, part)


class MathPipeRows:
    """The steps of a pipe among those of a math kernel."""

    def __init__(self, rows: MathRows, part: PipePart) -> None:
        self._rows = rows
        self._pushed, self._popped = part.counters
        self.set_frame(part.frame or part.tiles)

    def set_frame(self, tiles: int) -> None:
        """Set how many tiles are pushed and popped at once."""
        self._frame = tiles

    def wait_room(self, popped: int) -> None:
        """Wait until so many tiles in all were popped."""
        self._rows.add(_ROOM, self._popped, popped)

    def push(self) -> Row:
        """Count the tiles of a frame as pushed, when they are packed."""
        rows = self._rows
        rows.add(_PUSH, self._pushed, self._frame)
        return rows.packer.id, rows.count - 1

    def wait_tiles(self, pushed: int) -> None:
        """Wait until so many tiles in all were pushed."""
        self._rows.add(_DATA, self._pushed, pushed)

    def pop(self) -> None:
        """Count the tiles of a frame as popped, when they are unpacked."""
        self._rows.add(_POP, self._popped, self._frame)
