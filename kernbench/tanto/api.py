"""The host's side in Python: make objects and kernels, give arguments, run programs in turn.

device = Device(load_machine("wormhole_n150"))
program = Program(device)
grid = Grid((0, 0, 7, 7))
x = Global(device, "bfloat16", 64 * 1024)
p = Pipe(program, grid, INPUT, "bfloat16", 8, 4)
reader = Kernel(program, grid, READER, "kernels/reader.cpp")
reader.set_args(grid, [x, p, 4])
queue = Queue(device)
queue.enqueue_write(x, values)
queue.enqueue_program(program)
result, = queue.finish()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, cast

import numpy as np

from kernbench.errors import InputError
from kernbench.tanto.cores.storage import Core
from kernbench.tanto.device import Device
from kernbench.tanto.loading import KernelFiles
from kernbench.tanto.program_file import GlobalSpec, KernelSpec, LocalSpec, PipeSpec, ProgramSpec, SemaphoreSpec
from kernbench.tanto.run import TantoResult, run_program

READER, WRITER, MATH = 0, 1, 2
INPUT, OUTPUT, INTERMED = 0, 1, 2
Range = tuple[int, int, int, int]


class Grid:
    """A union of ranges of cores, each (x0, y0, x1, y1) with both corners in it."""

    def __init__(self, *ranges: Range) -> None:
        self.ranges = list(ranges)

    def __iter__(self) -> Iterator[Core]:
        """The cores, range by range and row by row."""
        seen = dict[Core, None]()
        for x0, y0, x1, y1 in self.ranges:
            seen |= {(x, y): None for y in range(y0, y1 + 1) for x in range(x0, x1 + 1)}
        return iter(seen)


class _Numbered:
    """An object with an id that no other of the device has."""

    letter = ""

    def __init__(self, device: Device) -> None:
        self.id = device.next_id()


class Global(_Numbered):
    """A global buffer of `size` elements, in pages of 2 ** log2_page_size of them."""

    letter = "g"

    def __init__(self, device: Device, format: str, size: int, log2_page_size: int = 10) -> None:
        super().__init__(device)
        self.spec = GlobalSpec(id=self.id, fmt=format, size=size, page=1 << log2_page_size)
        device.make_global(self.id, format, size, 1 << log2_page_size)


class Local(_Numbered):
    """A local buffer of a program, or of a device, where it outlives programs and the host can write and read it."""

    letter = "l"

    def __init__(self, owner: Program | Device, grid: Grid, format: str, size: int) -> None:
        super().__init__(owner.device if isinstance(owner, Program) else owner)
        self.spec = LocalSpec(id=self.id, fmt=format, size=size, ranges=grid.ranges)
        self.of_device = not isinstance(owner, Program)
        if isinstance(owner, Program):
            owner.locals.append(self.spec)
        else:
            owner.make_local(self.id, format, size, grid)


class Pipe(_Numbered):
    """A pipe of a program: its kind (INPUT, OUTPUT or INTERMED), tiles and frame; it may lie over a local."""

    letter = "p"

    def __init__(
        self, program: Program, grid: Grid, kind: int, format: str, size: int, frame: int, local: Local | None = None
    ) -> None:
        super().__init__(program.device)
        under = -1 if local is None else local.id
        if local is not None:
            program.use_local(local)
        spec = PipeSpec(id=self.id, kind=kind, fmt=format, tiles=size, frame=frame, local=under, ranges=grid.ranges)
        program.pipes.append(spec)


class Semaphore(_Numbered):
    """A semaphore of a program with its first value."""

    letter = "s"

    def __init__(self, program: Program, grid: Grid, init: int = 0) -> None:
        super().__init__(program.device)
        program.semaphores.append(SemaphoreSpec(id=self.id, init=init, ranges=grid.ranges))


class Kernel:
    """A kernel of a program: its kind (READER, WRITER or MATH), its file or Python function, and the values of its
    `param<>` declarations or keyword-only parameters.
    """

    def __init__(
        self,
        program: Program,
        grid: Grid,
        kind: int,
        source: str | Path | FunctionType,
        params: Sequence[int | float] = (),
    ) -> None:
        self.program, self.grid = program, grid
        self.kind, self.params = kind, list(params)
        self.path = program.use_function(source) if isinstance(source, FunctionType) else str(source)
        self.args: dict[str, list[Any]] = {}
        program.kernels.append(self)

    def set_args(self, where: Grid | Range | Core, args: Sequence[Any]) -> None:
        """Give arguments on a core, a range or a grid: numbers and objects."""
        cores = (
            [where]
            if isinstance(where, tuple) and len(where) == 2
            else list(Grid(where) if isinstance(where, tuple) else where)
        )
        given = [self._argument(value) for value in args]
        for x, y in cores:
            self.args[f"{x},{y}"] = given

    def _argument(self, value: Any) -> Any:
        if not isinstance(value, _Numbered):
            return cast("int | float", value.item()) if isinstance(value, np.generic) else value
        if isinstance(value, Global):
            self.program.use_global(value)
        if isinstance(value, Local):
            self.program.use_local(value)
        return {value.letter: value.id}


class Program:
    """A device program under construction."""

    def __init__(self, device: Device, name: str = "program") -> None:
        self.device, self.name = device, name
        self.globals: dict[int, GlobalSpec] = {}
        self.device_locals: dict[int, LocalSpec] = {}
        self.locals: list[LocalSpec] = []
        self.pipes: list[PipeSpec] = []
        self.semaphores: list[SemaphoreSpec] = []
        self.kernels: list[Kernel] = []
        self.functions: dict[str, FunctionType] = {}  # kernels that are functions, by their path in `spec`

    def use_function(self, function: FunctionType) -> str:
        """The path that stands for a Python function: its file and name."""
        path = f"{function.__code__.co_filename}:{function.__name__}"
        while self.functions.setdefault(path, function) is not function:
            path += "'"
        return path

    def use_global(self, buffer: Global) -> None:
        """Count a buffer among those of the program."""
        self.globals[buffer.id] = buffer.spec

    def use_local(self, local: Local) -> None:
        """Count a device local among those of the program."""
        if local.of_device:
            self.device_locals[local.id] = local.spec

    def spec(self) -> ProgramSpec:
        """The program as data, which a program file holds as JSON (`model_dump_json`)."""
        kernels = [
            KernelSpec(kind=k.kind, path=k.path, compile_args=k.params, ranges=k.grid.ranges, args=k.args)
            for k in self.kernels
        ]
        return ProgramSpec(
            globals=list(self.globals.values()),
            device_locals=list(self.device_locals.values()),
            locals=self.locals,
            pipes=self.pipes,
            semaphores=self.semaphores,
            kernels=kernels,
        )


class Queue:
    """Work of a device in order. What is enqueued is done at `finish`, which returns the results of the programs."""

    def __init__(self, device: Device, *, numbers: bool = True, mode: str = "hybrid") -> None:
        self.device, self.numbers, self.mode = device, numbers, mode
        self._work: list[tuple[Any, ...]] = []

    def enqueue_write(self, buffer: Global | Local, values: np.ndarray) -> None:
        """Write a global buffer, or a local of the device, core by core."""
        self._work.append(("write", buffer, np.array(values)))

    def enqueue_read(self, buffer: Global | Local, into: np.ndarray) -> None:
        """Read a global buffer, or a local of the device, into an array of as many elements."""
        self._work.append(("read", buffer, into))

    def enqueue_program(self, program: Program) -> None:
        """Run a program."""
        self._work.append(("program", program))

    def finish(self) -> list[TantoResult]:
        """Do all that was enqueued. Errors: those of `run_program`; InputError for an array of another size."""
        results, work = list[TantoResult](), self._work
        self._work = []
        for what, *rest in work:
            if what == "write":
                self.device.write(rest[0].id, rest[1], rest[0].letter)
            elif what == "read":
                found = self.device.read(rest[0].id, rest[0].letter)
                if rest[1].size != found.size:
                    raise InputError(f"buffer {rest[0].id} has {found.size:,} elements, the array {rest[1].size:,}")
                rest[1].reshape(-1)[:] = found
            else:
                program: Program = rest[0]
                files = KernelFiles(Path("."), functions=program.functions)
                results.append(
                    run_program(
                        self.device, program.spec(), files, name=program.name, numbers=self.numbers, mode=self.mode
                    )
                )
        return results
