"""Tanto benches of one math operation a tile: sums and products, functions, reductions, transposes, changes of layout."""

from dataclasses import dataclass

import numpy as np

from kernbench.errors import InputError
from kernbench.runs.bench import bench
from kernbench.tanto.api import INPUT, MATH, OUTPUT, READER, WRITER, Global, Grid, Kernel, Local, Pipe, Program
from kernbench.tanto.context import TantoContext
from kernbench.tanto.formats import FORMATS, Format
from kernbench.tanto.language.methods import SCALED, UNARIES
from kernbench.tanto.tiles import TILE, from_matrices, tilize, to_matrices, untilize
from kernbench.tanto.vector_functions import SCALED as SCALED_FUNCTIONS
from kernbench.tanto.vector_functions import UNARY, bits_to_float, power

OPERATIONS = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
BROADCASTS = ("none", "rows", "cols", "scalar")
REDUCTIONS, WAYS = ("sum", "max"), ("rows", "cols", "scalar")
COPY = "copy"
FUNCTIONS = [  # as `kernels/unary.cpp` counts them
    *sorted([*(name for name in UNARIES if name != "max"), *SCALED]),
    COPY,
]
DTYPES, LAYOUTS = ("bfloat16", "bfloat8_b"), ("dram", "sharded")
BFLOAT, BFLOATS = FORMATS["bfloat16"], ("bfloat16", "bfloat16")


def stored(values: np.ndarray, fmt: Format = BFLOAT) -> np.ndarray:
    """Values as a format holds them."""
    return fmt.to_float(fmt.from_float(np.asarray(values, np.float32)))


def is_exact(fmt: Format) -> bool:
    """Whether a format decides every bit of a result: a block format does not, since slots round before it does."""
    return not fmt.magnitude


def grid_of(tanto: TantoContext, cores: int, grid_x: int = 0) -> Grid:
    """The first cores of the chip, at most `grid_x` side by side (0: all of a row): part of a row or several whole rows.

    Errors: InputError for a number that does not fit.
    """
    places = tanto.device.places
    if not 0 <= grid_x <= places.w:
        raise InputError(f"grid_x is {grid_x}; give 1 to {places.w}, or 0 for all columns")
    width = grid_x or places.w
    if 0 < cores <= width:
        return Grid((0, 0, cores - 1, 0))
    if cores < 1 or cores % width or cores > width * places.h:
        raise InputError(f"cores is {cores}; give at most {width}, or a multiple of it up to {width * places.h}")
    return Grid((0, 0, width - 1, cores // width - 1))


@dataclass(frozen=True, slots=True)
class Streams:
    """Stretches of tensors, one a core, that go frame by frame through a math kernel: from DRAM, or in L1 from the start."""

    tanto: TantoContext
    program: Program
    cores: int
    tiles: int
    frame: int
    layout: str = "dram"
    grid_x: int = 0

    @property
    def grid(self) -> Grid:
        """The cores."""
        return grid_of(self.tanto, self.cores, self.grid_x)

    @property
    def size(self) -> int:
        """The elements of a tensor."""
        return self.cores * self.tiles * TILE

    def tensor(self, kind: int, dtype: str = "bfloat16") -> tuple[Global | Local, Pipe]:
        """A tensor, and the pipe that brings or takes it."""
        if self.layout == "dram":
            return Global(self.tanto.device, dtype, self.size), Pipe(
                self.program, self.grid, kind, dtype, 2 * self.frame, self.frame
            )
        shard = Local(self.tanto.device, self.grid, dtype, self.tiles * TILE)
        return shard, Pipe(self.program, self.grid, kind, dtype, self.tiles, self.frame, shard)

    def read(self, x: Global | Local, into: Pipe) -> None:
        """Give the cores a reader of one tensor."""
        if self.layout == "dram":
            reader = Kernel(self.program, self.grid, READER, "read_frames.cpp")
            for core, start in self.starts():
                reader.set_args(core, [x, into, start, self.tiles // self.frame, self.frame])
        else:
            self.push(into)

    def push(self, *pipes: Pipe) -> None:
        """Give the cores a reader that pushes one or two shards."""
        reader = Kernel(self.program, self.grid, READER, "push_shards.cpp", [int(len(pipes) > 1)])
        reader.set_args(self.grid, [pipes[0], pipes[-1], self.tiles // self.frame, self.frame])

    def write(self, y: Global | Local, out: Pipe) -> None:
        """Give the cores a writer."""
        shared = self.layout != "dram"
        writer = Kernel(self.program, self.grid, WRITER, "keep_shard.cpp" if shared else "write_frames.cpp")
        for core, start in self.starts():
            writer.set_args(core, [*([out] if shared else [y, out, start]), self.tiles // self.frame, self.frame])

    def starts(self) -> list[tuple[tuple[int, int], int]]:
        """Each core with the first element of its stretch."""
        return [(core, number * self.tiles * TILE) for number, core in enumerate(self.grid)]


def map_tiles(streams: Streams, kernel: str, params: list[int], arguments: list[int], dtypes: tuple[str, str]):
    """Stream a tensor through one math kernel of two pipes; returns it and the result."""
    (x, into), (y, out) = (streams.tensor(kind, dtype) for kind, dtype in zip((INPUT, OUTPUT), dtypes, strict=True))
    streams.read(x, into)
    streams.write(y, out)
    Kernel(streams.program, streams.grid, MATH, kernel, params).set_args(streams.grid, [into, out, *arguments])
    return x, y


def check_tiles(tiles: int, frame: int) -> None:
    """Check that tiles are whole frames. Errors: InputError."""
    if frame < 1 or frame > 8 or tiles % frame:
        raise InputError(f"frame is {frame} and tiles {tiles}; frames have 1 to 8 tiles, and tiles are whole frames")


@bench(
    "tanto-binary",
    "Sum, difference or product of two tensors, the second broadcast or not",
    choices={"operation": tuple(OPERATIONS), "broadcast": BROADCASTS, "dtype": DTYPES, "layout": LAYOUTS},
    system="tanto",
)
def binary(
    tanto, operation="add", broadcast="none", cores=4, tiles=16, frame=8, dtype="bfloat16", layout="dram", grid_x=0
):
    """Each core has a stretch of the tensors.

    Parameters:
        operation: what is computed
        broadcast: what of the second tensor stands for all: nothing, its first row, column or element
        cores: cores: part of a row, or whole rows
        tiles: tiles of each core; a multiple of frame
        frame: tiles of a frame of a pipe, 1 to 8
        dtype: format of the tensors
        layout: where they are: dram, or sharded, the stretch of each core in its L1; a broadcast tensor is in DRAM
        grid_x: cores side by side; 0: all of a row
    """
    check_tiles(tiles, frame)
    params = [list(OPERATIONS).index(operation), BROADCASTS.index(broadcast)]
    whole, fmt = params[1] == 0, FORMATS[dtype]
    if layout == "sharded" and not whole:
        raise InputError("with layout sharded nothing is broadcast; give broadcast none, or layout dram")
    streams = Streams(tanto, Program(tanto.device, "binary"), cores, tiles, frame, layout, grid_x)
    (a, pa), (c, pc) = streams.tensor(INPUT, dtype), streams.tensor(OUTPUT, dtype)
    if whole:
        b, pb = streams.tensor(INPUT, dtype)
    else:
        b, pb = Global(tanto.device, dtype, TILE), Pipe(streams.program, streams.grid, INPUT, dtype, 2, 1)
    size, second_tiles = streams.size, frame if whole else 1
    first = to_matrices(tanto.write(a, tanto.random.standard_normal(size)).reshape(-1, TILE))
    second = to_matrices(tanto.write(b, tanto.random.standard_normal(size if whole else TILE)).reshape(-1, TILE))
    if layout == "sharded":
        streams.push(pa, pb)
    else:
        reader = Kernel(streams.program, streams.grid, READER, "read_two.cpp", [int(not whole)])
        for core, start in streams.starts():
            reader.set_args(core, [a, b, pa, pb, start, tiles // frame, frame, second_tiles])
    streams.write(c, pc)
    kernel = Kernel(streams.program, streams.grid, MATH, "binary.cpp", params)
    kernel.set_args(streams.grid, [pa, pb, pc, tiles // frame, frame])
    tanto.launch(streams.program)
    operand = {"none": second, "rows": second[:, :1], "cols": second[:, :, :1], "scalar": second[:, :1, :1]}[broadcast]
    tanto.expect("c", c, lambda: from_matrices(stored(OPERATIONS[operation](first, operand), fmt)), exact=is_exact(fmt))


@bench(
    "tanto-unary",
    "One function of the vector unit on a tensor; the operand is the bits of a float, or a natural power",
    choices={"function": FUNCTIONS, "dtype": DTYPES, "dtype_y": ("", *DTYPES), "layout": LAYOUTS},
    system="tanto",
)
def unary(
    tanto,
    function="gelu",
    operand=0x3F000000,
    cores=4,
    tiles=16,
    frame=8,
    dtype="bfloat16",
    dtype_y="",
    layout="dram",
    grid_x=0,
):
    """Each core has a stretch of the tensors.

    Parameters:
        function: the function of the vector unit; copy: none
        operand: bits of a float, or a natural power
        cores: cores: part of a row, or whole rows
        tiles: tiles of each core; a multiple of frame
        frame: tiles of a frame of a pipe, 1 to 8
        dtype: format of the tensors
        dtype_y: format of the result, if it is another
        layout: where they are: dram, or sharded, the stretch of each core in its L1
        grid_x: cores side by side; 0: all of a row
    """
    check_tiles(tiles, frame)
    streams = Streams(tanto, Program(tanto.device, "unary"), cores, tiles, frame, layout, grid_x)
    params, dtypes = [FUNCTIONS.index(function), operand], (dtype, dtype_y or dtype)
    x, y = map_tiles(streams, "unary.cpp", params, [tiles // frame, frame], dtypes)
    values, fmt = tanto.write(x, tanto.random.uniform(0.05, 0.95, streams.size)), FORMATS[dtypes[1]]
    tanto.launch(streams.program)

    def reference():
        if function == "power":
            return stored(power(values, operand), fmt)
        if function in SCALED:
            return stored(SCALED_FUNCTIONS[function](values, bits_to_float(operand)), fmt)
        return stored(UNARY[function](values) if function != COPY else values, fmt)

    tanto.expect("y", y, reference, exact=is_exact(fmt))


@bench("tanto-transpose", "Transposes every tile of a tensor", system="tanto")
def transpose(tanto, cores=4, tiles=16):
    """Each core has a stretch of the tensors.

    Parameters:
        cores: cores: part of a row, or whole rows
        tiles: tiles of each core
    """
    streams = Streams(tanto, Program(tanto.device, "transpose"), cores, tiles, 1)
    x, y = map_tiles(streams, "transpose.cpp", [], [tiles], BFLOATS)
    values = tanto.write(x, tanto.random.standard_normal(streams.size))
    tanto.launch(streams.program)
    tanto.expect("y", y, lambda: from_matrices(to_matrices(values.reshape(-1, TILE)).transpose(0, 2, 1)), exact=True)


@bench("tanto-tilize", "Brings rows of 32 x 32n elements into n tiles, or tiles into rows", system="tanto")
def relayout(tanto, untilizes=False, cores=4, blocks=4, block=4):
    """Each core has a stretch of the tensors.

    Parameters:
        untilizes: tiles into rows; else rows into tiles
        cores: cores: part of a row, or whole rows
        blocks: blocks of each core
        block: tiles of a block
    """
    streams = Streams(tanto, Program(tanto.device, "relayout"), cores, blocks * block, block)
    x, y = map_tiles(streams, "relayout.cpp", [int(not untilizes)], [blocks, block], BFLOATS)
    values = tanto.write(x, tanto.random.standard_normal(streams.size)).reshape(-1, block * TILE)
    tanto.launch(streams.program)
    change = untilize if untilizes else tilize
    shape = (block, TILE) if untilizes else (32, 32 * block)
    tanto.expect(
        "y", y, lambda: np.stack([change(one.reshape(shape), block).reshape(-1) for one in values]), exact=True
    )


@bench(
    "tanto-reduce",
    "Sum or maximum over rows, columns or all elements of tiles that follow each other",
    choices={"operation": REDUCTIONS, "way": WAYS},
    system="tanto",
)
def reduce(tanto, operation="sum", way="rows", cores=4, count=4, length=4):
    """Each core has a stretch of the tensors.

    Parameters:
        operation: what is computed
        way: along rows, along columns, or of all elements
        cores: cores: part of a row, or whole rows
        count: reductions of each core
        length: tiles of a reduction
    """
    params = [REDUCTIONS.index(operation), WAYS.index(way)]
    program, grid = Program(tanto.device, "reduce"), grid_of(tanto, cores)
    tiles = cores * count * length
    x, y = Global(tanto.device, "bfloat16", tiles * TILE), Global(tanto.device, "bfloat16", cores * count * TILE)
    one = Global(tanto.device, "bfloat16", TILE)
    values = tanto.write(x, tanto.random.standard_normal(tiles * TILE)).reshape(-1, TILE)
    tanto.write(one, np.ones(TILE))
    px, pone, py = (Pipe(program, grid, kind, "bfloat16", 2, 1) for kind in (INPUT, INPUT, OUTPUT))
    reader = Kernel(program, grid, READER, "read_two.cpp", [1])
    writer = Kernel(program, grid, WRITER, "write_frames.cpp")
    Kernel(program, grid, MATH, "reduce.cpp", params).set_args(grid, [px, pone, py, count, length])
    for number, core in enumerate(grid):
        reader.set_args(core, [x, one, px, pone, number * count * length * TILE, count * length, 1, 1])
        writer.set_args(core, [y, py, number * count * TILE, count, 1])
    tanto.launch(program)

    def reference():
        blocks, found = to_matrices(values).reshape(-1, length, 32, 32), np.zeros((cores * count, 32, 32), np.float32)
        place = {"rows": np.s_[:, :, 0], "cols": np.s_[:, 0, :], "scalar": np.s_[:, 0, 0]}[way]
        axes = {"rows": (1, 3), "cols": (1, 2), "scalar": (1, 2, 3)}[way]
        found[place] = (np.sum if operation == "sum" else np.max)(blocks, axis=axes)
        return from_matrices(stored(found))

    tanto.expect("y", y, reference, exact=operation == "max")
