"""Convolution as a product of matrices, as libraries do it: windows from L1, blocks of weights by multicast, sums in L1.

The pixels are shared by the cores. Each has its part of the image in L1 with the margins that windows need, so that a row of a
window is one move. A block of A is a row of the window for some pixels: it is gathered as rows of elements and made tiles.
Weights come as in a product whose cores share rows, and so do the parts of a block. The result stays in L1.
"""

from itertools import product

import numpy as np

from kernbench.errors import InputError
from kernbench.runs.bench import bench
from kernbench.tanto.api import (
    INPUT,
    INTERMED,
    MATH,
    OUTPUT,
    READER,
    WRITER,
    Global,
    Grid,
    Kernel,
    Local,
    Pipe,
    Program,
    Semaphore,
)  # fmt: skip
from kernbench.tanto.formats import find_format
from kernbench.tanto.tiles import SIDE, TILE, matrix_to_tiles

FORMATS = ("bfloat16", "bfloat8_b")
SUMS = ("bfloat16", "float32")
FIDELITIES = ("chip", "lofi", "hifi2", "hifi3", "hifi4")
SLOTS = 8  # of 16 bits
LEAST = 0.999  # correlation: sums wait as bfloat16 between the rows of the window


def find_fields(math_fidelity: str, **_) -> dict[str, object]:
    """The field of the topology that the fidelity sets."""
    return {} if math_fidelity == "chip" else {"tensix_core.fidelity": math_fidelity}


def count(side: int, part: int) -> int:
    """The parts of a side."""
    return -(-side // part)


class Convolution:
    """The program of a convolution."""

    def __init__(self, tanto, shape, filters, window, grid, formats, sums) -> None:
        self.device, self.window, self.filters = tanto.device, window, filters
        self.height, self.width, self.channels = shape
        pixels = count(self.height * self.width, SIDE)  # in tiles
        self.m, self.n = count(pixels, grid[0] * grid[1]), count(filters, SIDE)
        self.cores = count(pixels, self.m)
        self.depth = count(window * self.channels, SIDE)
        self.columns = min(grid[0], self.cores)
        self.row = (self.width + window - 1) * self.channels  # elements of a row with its margins
        self.rows = count(self.width - 1 + self.m * SIDE, self.width) + window - 1
        self.formats = tuple(find_format(one) for one in formats)
        self.sums = find_format(sums)
        self.slots = SLOTS * 2 // self.sums.storage.itemsize
        self._choose_block()
        self._make()

    def _choose_block(self) -> None:
        """Take the widest blocks, and then the tallest, that fit into L1. Errors: InputError if one of a tile does not."""
        room = self.device.machine.figures["tensix_core.l1_bytes"]
        for across in range(1, self.n + 1):
            for down in range(1, self.m + 1):
                self._cut(count(self.m, down), count(self.n, across))
                if self._bytes() <= room:
                    return
        raise InputError(
            f"a block of one tile takes {self._bytes():,} bytes of L1, a core has {int(room):,}; give more cores, "
            "fewer channels or fewer filters"
        )

    def _cut(self, block_m: int, block_n: int) -> None:
        """Cut what a core makes into blocks, and those into parts."""
        self.block_m, self.block_n = block_m, block_n
        self.part_n = count(block_n, count(block_n, self.slots))
        self.part_m = min(block_m, self.slots // self.part_n)
        self.part = self.part_m * self.part_n
        self.heights = [min(block_m, self.m - at) for at in range(0, self.m, block_m)]
        self.widths = [min(block_n, self.n - at) for at in range(0, self.n, block_n)]
        down, across = (
            sum(count(size, part) for size in sizes)
            for sizes, part in ((self.heights, self.part_m), (self.widths, self.part_n))
        )
        self.parts = down * across
        self.most = count(block_m, self.part_m) * count(block_n, self.part_n)  # parts of a block

    def _bytes(self) -> int:
        """The bytes of L1 that are taken."""
        image, weights, result = (one.bytes_of(TILE) for one in self.formats)
        gathered = count(self.rows * self.row, TILE) + (2 + self.block_m) * self.depth
        sums = self.sums.bytes_of(TILE) * self.most * self.part
        return image * gathered + sums + weights * 2 * self.depth * self.block_n + result * self.parts * self.part + 64

    def _make(self) -> None:
        image, weights, result = (one.name for one in self.formats)
        whole, rest = divmod(self.cores, self.columns)
        ranges = [(0, 0, self.columns - 1, whole - 1), *([(0, whole, rest - 1, whole)] if rest else [])]
        corner = (self.columns - 1, whole - 1 + bool(rest))
        program, grid, reach = Program(self.device, "convolution"), Grid(*ranges), Grid((0, 0, *corner))
        part, parts, k = self.part, self.parts, self.window * self.depth
        self.image = Local(self.device, grid, image, self.rows * self.row)
        self.weights = Global(self.device, weights, k * self.n * TILE)
        self.result = Local(self.device, grid, result, parts * part * TILE)
        rows = Pipe(program, grid, INPUT, image, 2 * self.depth, self.depth)
        pa = Pipe(program, grid, INTERMED, image, self.block_m * self.depth, self.block_m * self.depth)
        pb = Pipe(program, reach, INPUT, weights, 2 * self.depth * self.block_n, self.depth * self.block_n)
        sums = Pipe(program, grid, INTERMED, self.sums.name, self.most * part, part)
        pc = Pipe(program, grid, OUTPUT, result, parts * part, part, self.result)
        ready, valid = (Semaphore(program, reach) for _ in range(2))
        sizes = [self.m, k, self.n, self.block_m, self.depth, self.block_n]
        math = Kernel(program, grid, MATH, "matmul.cpp", [1])
        math.set_args(grid, [rows, pa, pb, sums, pc, *sizes, self.part_m, self.part_n])
        reader = Kernel(program, grid, READER, "conv_shards.cpp")
        writer = Kernel(program, grid, WRITER, "matmul_b.cpp")
        places, reached = self.device.places, self.columns * (corner[1] + 1)
        corners = [*places.physical((0, 0)), *places.physical(corner)]
        for number, core in enumerate(grid):
            first = [number * self.m * SIDE % self.width, self.width, self.row, self.channels, self.window]
            reader.set_args(
                core, [self.image, rows, pc, *first, self.m, self.block_m, len(self.widths), self.depth, part, parts]
            )
            sends = [int(number == 0), 0, self.n]
            writer.set_args(
                core, [self.weights, pb, ready, valid, *sends, *sizes, *corners, self.cores - 1, reached - 1]
            )
        self.program = program

    def shards(self, image: np.ndarray) -> np.ndarray:
        """The part of the image of each core, with margins, one after the other."""
        margin = self.window // 2
        below = self.rows + self.window
        padded = np.pad(image, ((margin, below), (margin, self.window - 1 - margin), (0, 0)))
        first = [number * self.m * SIDE // self.width for number in range(self.cores)]
        return np.concatenate([padded[row : row + self.rows].reshape(-1) for row in first])

    def matrix(self, weights: np.ndarray) -> np.ndarray:
        """The weights as [row of the window, elements of that row, filter], each filled up to whole tiles."""
        filled = np.zeros((self.window, self.depth * SIDE, self.n * SIDE), np.float32)
        filled[:, : self.window * self.channels, : self.filters] = weights.reshape(self.window, -1, self.filters)
        return filled.reshape(-1, self.n * SIDE)

    def parts_of(self, found: np.ndarray) -> np.ndarray:
        """The result as it should be in L1, part by part as they are made, of float32[pixel, filter]."""
        filled = np.zeros((self.cores * self.m * SIDE, self.n * SIDE), np.float32)
        filled[: len(found), : self.filters] = found
        made = list[np.ndarray]()
        for core in range(self.cores):
            top = core * self.m
            for height in self.heights:
                for number, width in enumerate(self.widths):
                    left = number * self.block_n
                    made += self._parts_of_block(filled, top, left, height, width)
                top += height
        return np.concatenate(made)

    def _parts_of_block(self, filled: np.ndarray, top: int, left: int, height: int, width: int) -> list[np.ndarray]:
        found = list[np.ndarray]()
        for i, j in product(range(0, height, self.part_m), range(0, width, self.part_n)):
            rows, columns = min(self.part_m, height - i), min(self.part_n, width - j)
            y, x = (top + i) * SIDE, (left + j) * SIDE
            part = np.zeros(self.part * TILE, np.float32)
            part[: rows * columns * TILE] = matrix_to_tiles(filled[y : y + rows * SIDE, x : x + columns * SIDE])
            found.append(part)
        return found


@bench(
    "tanto-conv-blocks",
    "Convolution as a product: windows from L1, blocks of weights by multicast, results in L1",
    fields=find_fields,
    system="tanto",
    choices={"dtype_w": FORMATS, "dtype_y": FORMATS, "sums": SUMS, "math_fidelity": FIDELITIES},
)
def conv_blocks(
    tanto,
    height=16,
    width=16,
    channels=32,
    filters=32,
    window=3,
    grid_x=0,
    grid_y=0,
    dtype_w="bfloat16",
    dtype_y="bfloat16",
    sums="bfloat16",
    math_fidelity="chip",  # noqa: ARG001  # of `find_fields`
):
    """Pixels are shared by the cores; the image is bfloat16.

    Parameters:
        height: rows of the image
        width: columns of the image
        channels: channels of a pixel
        filters: channels of the result
        window: side of the window, an odd number
        grid_x: columns of the grid of cores; 0: all of the chip
        grid_y: rows of the grid of cores; 0: all of the chip
        dtype_w: format of the weights
        dtype_y: format of the result
        sums: format of sums; half as many in 32 bits fit into the slots
        math_fidelity: phases of a product; chip: those of the topology
    """
    places = tanto.device.places
    sizes = {"height": height, "width": width, "channels": channels, "filters": filters}
    for name, size in sizes.items():
        if size < 1:
            raise InputError(f"{name} is {size}; give 1 or more")
    if window < 1 or window % 2 == 0:
        raise InputError(f"window is {window}; give an odd number such as 1 or 3")
    grid = grid_x or places.w, grid_y or places.h
    if not (0 < grid[0] <= places.w and 0 < grid[1] <= places.h):
        raise InputError(f"a grid of {grid[0]} x {grid[1]} cores does not fit on {places.w} x {places.h}")
    made = Convolution(tanto, (height, width, channels), filters, window, grid, ("bfloat16", dtype_w, dtype_y), sums)
    image_format, weight_format, _ = made.formats

    def held(values: np.ndarray, fmt) -> np.ndarray:
        return fmt.to_float(fmt.from_float(values.astype(np.float32)))

    values = held(tanto.random.standard_normal((height, width, channels)), image_format)
    weights = held(made.matrix(tanto.random.standard_normal((window, window, channels, filters)) / 16), weight_format)

    def fill() -> None:
        tanto.write(made.image, made.shards(values))
        tanto.write(made.weights, matrix_to_tiles(weights))

    def reference() -> np.ndarray:
        margin, pixels = window // 2, made.cores * made.m * SIDE
        rows = count(pixels, width)  # those below the image fill up the last core
        padded = np.pad(values, ((margin, margin + rows - height), (margin, margin), (0, 0)))
        used = weights.reshape(window, -1, made.n * SIDE)[:, : window * channels, :filters]
        taps = used.reshape(window, window, channels, filters)
        found = np.zeros((rows, width, filters), np.float32)
        for y in range(window):
            for x in range(window):
                found += padded[y : y + rows, x : x + width] @ taps[y, x]
        return made.parts_of(found.reshape(-1, filters)[:pixels])

    tanto.prepare(fill)
    tanto.launch(made.program)
    tanto.expect("result", made.result, reference, least=LEAST)
