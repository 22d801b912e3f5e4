"""Tanto benches of one math operation a tile: sums and products, functions, reductions, transposes, changes of layout."""

import numpy as np

from kernbench.errors import InputError
from kernbench.runs.bench import bench
from kernbench.tanto.api import INPUT, MATH, OUTPUT, READER, WRITER, Global, Grid, Kernel, Pipe, Program
from kernbench.tanto.context import TantoContext
from kernbench.tanto.formats import FORMATS
from kernbench.tanto.language.methods import SCALED, UNARIES
from kernbench.tanto.tiles import TILE, from_matrices, tilize, to_matrices, untilize
from kernbench.tanto.vector_functions import SCALED as SCALED_FUNCTIONS
from kernbench.tanto.vector_functions import UNARY, bits_to_float, power

OPERATIONS = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
BROADCASTS = ("none", "rows", "cols", "scalar")
REDUCTIONS, WAYS = ("sum", "max"), ("rows", "cols", "scalar")
FUNCTIONS = sorted([*(name for name in UNARIES if name != "max"), *SCALED])  # as `kernels/unary.cpp` counts them
BFLOAT = FORMATS["bfloat16"]


def stored(values: np.ndarray) -> np.ndarray:
    """Values as bfloat16 holds them."""
    return BFLOAT.to_float(BFLOAT.from_float(np.asarray(values, np.float32)))


def grid_of(tanto: TantoContext, cores: int) -> Grid:
    """The first cores of the chip: a row or several whole rows. Errors: InputError for a number that does not fit."""
    places = tanto.device.places
    if cores <= places.w:
        return Grid((0, 0, cores - 1, 0))
    if cores % places.w or cores > places.w * places.h:
        raise InputError(f"cores is {cores}; give at most {places.w}, or a multiple of it up to {places.w * places.h}")
    return Grid((0, 0, places.w - 1, cores // places.w - 1))


def unary_program(tanto, x, y, kernel, params, arguments, cores, tiles, frame):
    """A program that streams a buffer through one math kernel, a stretch of it on each core."""
    program, grid = Program(tanto.device, kernel), grid_of(tanto, cores)
    into, out = (Pipe(program, grid, kind, "bfloat16", 2 * frame, frame) for kind in (INPUT, OUTPUT))
    reader = Kernel(program, grid, READER, "read_frames.cpp")
    writer = Kernel(program, grid, WRITER, "write_frames.cpp")
    Kernel(program, grid, MATH, kernel, params).set_args(grid, [into, out, *arguments])
    for number, core in enumerate(grid):
        start = number * tiles * TILE
        reader.set_args(core, [x, into, start, tiles // frame, frame])
        writer.set_args(core, [y, out, start, tiles // frame, frame])
    return program


def check_tiles(tiles: int, frame: int) -> None:
    """Check that tiles are whole frames. Errors: InputError."""
    if frame < 1 or frame > 8 or tiles % frame:
        raise InputError(f"frame is {frame} and tiles {tiles}; frames have 1 to 8 tiles, and tiles are whole frames")


@bench(
    "tanto-binary",
    "Sum, difference or product of two tensors, the second broadcast or not",
    choices={"operation": tuple(OPERATIONS), "broadcast": BROADCASTS},
    system="tanto",
)
def binary(tanto, operation="add", broadcast="none", cores=4, tiles=16, frame=8):
    """Each core has a stretch of the tensors.

    Parameters:
        operation: what is computed
        broadcast: what of the second tensor stands for all: nothing, its first row, column or element
        cores: cores: part of a row, or whole rows
        tiles: tiles of each core; a multiple of frame
        frame: tiles of a frame of a pipe, 1 to 8
    """
    check_tiles(tiles, frame)
    params = [list(OPERATIONS).index(operation), BROADCASTS.index(broadcast)]
    whole = params[1] == 0
    program, grid = Program(tanto.device, "binary"), grid_of(tanto, cores)
    size = cores * tiles * TILE
    a, c = (Global(tanto.device, "bfloat16", size) for _ in range(2))
    b = Global(tanto.device, "bfloat16", size if whole else TILE)
    first = to_matrices(tanto.write(a, tanto.random.standard_normal(size)).reshape(-1, TILE))
    second = to_matrices(tanto.write(b, tanto.random.standard_normal(size if whole else TILE)).reshape(-1, TILE))
    second_tiles = frame if whole else 1
    pa, pc = (
        Pipe(program, grid, INPUT, "bfloat16", 2 * frame, frame),
        Pipe(program, grid, OUTPUT, "bfloat16", 2 * frame, frame),
    )
    pb = Pipe(program, grid, INPUT, "bfloat16", 2 * second_tiles, second_tiles)
    reader = Kernel(program, grid, READER, "read_two.cpp", [int(not whole)])
    writer = Kernel(program, grid, WRITER, "write_frames.cpp")
    Kernel(program, grid, MATH, "binary.cpp", params).set_args(grid, [pa, pb, pc, tiles // frame, frame])
    for number, core in enumerate(grid):
        start = number * tiles * TILE
        reader.set_args(core, [a, b, pa, pb, start, tiles // frame, frame, second_tiles])
        writer.set_args(core, [c, pc, start, tiles // frame, frame])
    tanto.launch(program)
    operand = {"none": second, "rows": second[:, :1], "cols": second[:, :, :1], "scalar": second[:, :1, :1]}[broadcast]
    tanto.expect("c", c, lambda: from_matrices(stored(OPERATIONS[operation](first, operand))), exact=True)


@bench(
    "tanto-unary",
    "One function of the vector unit on a tensor; the operand is the bits of a float, or a natural power",
    choices={"function": FUNCTIONS},
    system="tanto",
)
def unary(tanto, function="gelu", operand=0x3F000000, cores=4, tiles=16, frame=8):
    """Each core has a stretch of the tensors.

    Parameters:
        function: the function of the vector unit
        operand: bits of a float, or a natural power
        cores: cores: part of a row, or whole rows
        tiles: tiles of each core; a multiple of frame
        frame: tiles of a frame of a pipe, 1 to 8
    """
    check_tiles(tiles, frame)
    number, size = FUNCTIONS.index(function), cores * tiles * TILE
    x, y = (Global(tanto.device, "bfloat16", size) for _ in range(2))
    values = tanto.write(x, tanto.random.uniform(0.05, 0.95, size))
    tanto.launch(
        unary_program(tanto, x, y, "unary.cpp", [number, operand], [tiles // frame, frame], cores, tiles, frame)
    )

    def reference():
        if function == "power":
            return stored(power(values, operand))
        if function in SCALED:
            return stored(SCALED_FUNCTIONS[function](values, bits_to_float(operand)))
        return stored(UNARY[function](values))

    tanto.expect("y", y, reference, exact=True)


@bench("tanto-transpose", "Transposes every tile of a tensor", system="tanto")
def transpose(tanto, cores=4, tiles=16):
    """Each core has a stretch of the tensors.

    Parameters:
        cores: cores: part of a row, or whole rows
        tiles: tiles of each core
    """
    size = cores * tiles * TILE
    x, y = (Global(tanto.device, "bfloat16", size) for _ in range(2))
    values = tanto.write(x, tanto.random.standard_normal(size))
    tanto.launch(unary_program(tanto, x, y, "transpose.cpp", [], [tiles], cores, tiles, 1))
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
    size = cores * blocks * block * TILE
    x, y = (Global(tanto.device, "bfloat16", size) for _ in range(2))
    values = tanto.write(x, tanto.random.standard_normal(size)).reshape(-1, block * TILE)
    tanto.launch(
        unary_program(tanto, x, y, "relayout.cpp", [int(not untilizes)], [blocks, block], cores, blocks * block, block)
    )
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
