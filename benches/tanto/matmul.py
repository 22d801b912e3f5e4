"""Product of matrices on a grid of cores, as libraries do it: blocks in L1, multicast operands, sums of blocks of K in L1.

A core makes some rows and columns of C, block by block. For each block it gets blocks of A and B along K, of which two fit
into its pipes: the first core of a row reads A and multicasts it along the row, the first of a column B down the column. So
A is read from DRAM once for each block of C that a core has side by side, and B once for each that it has one above the
other. With layout `l1`, A is in L1 from the start: each core of a row has its share of the columns of A, and multicasts it
when it is due. C stays in L1 then. Readers bring A and write C, because the second network is better for writes to DRAM: they
leave the column of a core at once, where on the first network all would meet in the columns of the DRAM.

With `spread` rows all cores of the grid share the rows of C, as libraries do it for tall products: each core has its own A,
and B is multicast to all. With columns it is the other way round.

The math kernel makes a block part by part; a part has at most as many tiles as a math object has slots. Between blocks of K
sums wait in L1 and are copied back to the slots, unless the block is a single part.

Sides are filled up with zeros to whole tiles, and rows and columns to equal shares of the cores. By default blocks have the
sizes that bring the fewest tiles, among those whose estimated time is as good as the least (`choose_blocks`).
"""

from dataclasses import dataclass
from functools import cache
from itertools import product
from operator import itemgetter
from typing import NamedTuple

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
from kernbench.tanto.context import LEAST_CORRELATION
from kernbench.tanto.formats import Format, find_format
from kernbench.tanto.tiles import SIDE, TILE, matrix_to_tiles
from kernbench.tanto.timing.transfer_costs import TransferCosts

DTYPES = ("bfloat16", "float16", "float32", "bfloat8_b", "bfloat4_b")
FIDELITIES = ("chip", "lofi", "hifi2", "hifi3", "hifi4")
LAYOUTS = ("dram", "l1")
SPREADS = ("grid", "rows", "columns")
SUMS = ("format", "float32")
FRAMES = 2  # of the pipes of operands
SEMAPHORES = 5
NEAR = 1.05  # an estimate that is as good as the least: it knows nothing of contention
LEAST_OF_FOUR_BITS = 0.99  # correlation: the last of the 3 bits of a result depends on the order of sums


def parts_of(tiles: int, count: int) -> int:
    """The tiles of one of so many parts of a side, or the parts of so many tiles; the last may have fewer."""
    return -(-tiles // count)


def pieces_of(side: int, block: int, part: int) -> int:
    """The parts of all blocks of a side."""
    return sum(parts_of(min(block, side - at), part) for at in range(0, side, block))


@dataclass(frozen=True)
class Shares:
    """What each core of a grid has, in tiles: rows and columns of C, all of K, and with layout `l1` its columns of A."""

    columns: int  # of the grid
    rows: int
    m: int
    n: int
    k: int
    shard_k: int

    width: int  # cores side by side; columns, unless the cores of several rows share one side
    spread: str

    @classmethod
    def of(cls, sizes: tuple[int, int, int], grid: tuple[int, int], spread: str) -> "Shares":
        """The shares of the cores of a grid that have any."""
        m, k, n = sizes
        cores = grid[0] * grid[1]
        across, down = {"grid": grid, "rows": (1, cores), "columns": (cores, 1)}[spread]
        share_m, share_n = parts_of(m, down), parts_of(n, across)
        columns, rows = parts_of(n, share_n), parts_of(m, share_m)
        width = columns if spread == "grid" else min(grid[0], columns * rows)
        return cls(columns, rows, share_m, share_n, k, parts_of(k, columns), width, spread)

    def cores(self) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """The cores, row by row, each with the column and the row of the shares that it has."""
        places = product(range(self.rows), range(self.columns))
        return [((n % self.width, n // self.width), (column, row)) for n, (row, column) in enumerate(places)]

    def ranges(self) -> list[tuple[int, int, int, int]]:
        """The ranges of the cores: whole rows of the chip, and the rest of one."""
        whole, rest = divmod(self.columns * self.rows, self.width)
        found = [(0, 0, self.width - 1, whole - 1)] if whole else []
        return [*found, (0, whole, rest - 1, whole)] if rest else found

    def reach(self) -> tuple[int, int, int, int]:
        """The rectangle around all cores."""
        return 0, 0, self.width - 1, parts_of(self.columns * self.rows, self.width) - 1

    def sharing(self, core: tuple[int, int], side: str) -> tuple[int, int, int, int]:
        """The rectangle of the cores that need the same part of an operand, "a" or "b", as one core."""
        x, y = core
        if self.spread == "grid":
            return (0, y, self.columns - 1, y) if side == "a" else (x, 0, x, self.rows - 1)
        return self.reach() if (side == "a") == (self.spread == "columns") else (x, y, x, y)

    def parts(self, blocks: "Blocks") -> int:
        """The parts of all blocks of C of a core."""
        return pieces_of(self.m, blocks.m, blocks.part_m) * pieces_of(self.n, blocks.n, blocks.part_n)

    def brought(self, blocks: "Blocks") -> int:
        """The tiles of A and B that come to a core."""
        return self.k * (self.m * parts_of(self.n, blocks.n) + self.n * parts_of(self.m, blocks.m))


@dataclass(frozen=True)
class Blocks:
    """A block of C, its depth along K, and the part of it that is made at a time, in tiles."""

    m: int
    n: int
    k: int
    part_m: int
    part_n: int

    @property
    def parts(self) -> int:
        """The parts of a block."""
        return parts_of(self.m, self.part_m) * parts_of(self.n, self.part_n)


def blocks_of(m: int, n: int, k: int, slots: int) -> Blocks:
    """Blocks of a size: as few parts across as slots allow, since a row of a part has its tile of A unpacked once."""
    part_n = parts_of(n, parts_of(n, slots))
    return Blocks(m, n, k, min(m, slots // part_n), part_n)


class Formats(NamedTuple):
    """The formats of A, B and C."""

    a: Format
    b: Format
    c: Format
    sums32: bool  # sums are float32

    def bytes_of(self, a: int, b: int, c: int) -> int:
        """The bytes of some tiles of each."""
        return sum(one.bytes_of(TILE) * tiles for one, tiles in zip(self[:3], (a, b, c), strict=True))

    @property
    def slot(self) -> Format:
        """The format of a math object: float32 for such sums, else that of all three, else bfloat16."""
        if self.sums32:
            return find_format("float32")
        return self.a if self.a == self.b == self.c else find_format("bfloat16")

    @property
    def sums(self) -> Format:
        """The format in which sums wait: a block format would lose most of them."""
        return find_format("bfloat16") if self.slot.magnitude else self.slot


def l1_bytes(shares: Shares, blocks: Blocks, formats: Formats, layout: str) -> int:
    """The bytes that blocks take in a core."""
    a, b = FRAMES * blocks.k * blocks.m, FRAMES * blocks.k * blocks.n
    c = (shares.parts(blocks) if layout == "l1" else blocks.parts) * blocks.part_m * blocks.part_n
    a += shares.m * shares.shard_k if layout == "l1" else 0
    sums = (blocks.parts if blocks.k < shares.k else 1) * blocks.part_m * blocks.part_n
    return formats.bytes_of(a, b, c) + formats.sums.bytes_of(TILE) * sums + SEMAPHORES * 4


def slot_bytes(fmt) -> int:
    """The bytes of a slot of a math object: block formats are 16 bits wide there."""
    return TILE * fmt.storage.itemsize


class Estimate:
    """Cycles of a product by its blocks: the first operands, the math or the traffic of all blocks, the last block of C."""

    def __init__(self, device, formats: Formats, layout: str) -> None:
        figures, grid = device.machine.figures, device.places.grid
        core, noc = device.machine.figures_of("tensix_core"), device.machine.figures_of("tensix_noc")
        clock, tile = core["clock_ghz"], max(one.bytes_of(TILE) for one in formats[:3])
        round_trip = (grid.width + grid.height) * noc["hop_ns"] + 4 * noc["interface_ns"] + 2 * noc["memory_ns"]
        # A block is read, its receivers are waited for, and it is sent.
        self.turn = (2 * round_trip + figures["tensix_dram.access_ns"]) * clock
        costs, bank = TransferCosts.of(core), tile / figures["tensix_dram.bank_gbs"] * clock
        self.bring = max(bank, costs.page + costs.read)  # a tile of DRAM by one core
        self.dram = bank / device.places.grid.banks  # by all of them
        self.shards = layout == "l1"
        self.unpack_a, self.unpack_b, self.copy = (
            one.bytes_of(TILE) / core["unpack_bytes"] for one in (formats.a, formats.b, formats.sums)
        )
        self.multiply = core["phases"] * core["matmul_cycles"]

    def cycles(self, shares: Shares, blocks: Blocks) -> float:
        """Cycles with blocks of a size."""
        deep = parts_of(shares.k, blocks.k)
        copies = self.copy * (deep - 1) / deep if blocks.parts > 1 else 0
        each = max(
            self.multiply, self.unpack_b + self.unpack_a / blocks.part_n
        )  # the tile of A stays for a row of a part
        math = blocks.m * blocks.n * (blocks.k * each + copies)
        read = blocks.n * shares.columns + (0 if self.shards else blocks.m * shares.rows)
        operands = self.turn + blocks.k * max(max(blocks.m, blocks.n) * self.bring, read * self.dram)
        tiles = 0 if self.shards else blocks.m * blocks.n
        write = tiles * max(self.bring, shares.columns * shares.rows * self.dram)
        count = parts_of(shares.m, blocks.m) * parts_of(shares.n, blocks.n)
        return operands + count * max(deep * math, deep * operands + write) + write


def choose_blocks(device, shares: Shares, given: tuple[int, int, int], formats: Formats, layout: str) -> Blocks:
    """The blocks that fit into L1 and are estimated to be fastest; sizes that are given (not 0) are taken.

    Errors: InputError if none fit, or a size is given that is no part of its side.
    """
    shared = layout == "l1"
    sides = {"block_m": shares.m, "block_n": shares.n, "block_k": shares.shard_k if shared else shares.k}
    for (name, side), size in zip(sides.items(), given, strict=True):
        if not 0 <= size <= side:
            raise InputError(f"{name} is {size}; a core has {side} tiles there, so give 1 to {side}, or 0 for the best")
    if shared and given[2] and shares.shard_k % given[2]:
        raise InputError(
            f"block_k is {given[2]}; a shard of A has {shares.shard_k} columns of tiles, so give a part of that"
        )
    sizes = [
        [size] if size else sorted({parts_of(side, count) for count in range(1, side + 1)})
        for side, size in zip(sides.values(), given, strict=True)
    ]
    depths = [k for k in sizes[2] if not shared or shares.shard_k % k == 0]
    figures, estimate = device.machine.figures, Estimate(device, formats, layout)
    room, slots = (
        figures["tensix_core.l1_bytes"],
        int(figures["tensix_core.destination_bytes"]) // slot_bytes(formats.slot),
    )
    found = [blocks_of(m, n, k, slots) for m, n, k in product(sizes[0], sizes[1], depths)]
    fitting = [one for one in found if l1_bytes(shares, one, formats, layout) <= room]
    if not fitting:
        least = min(l1_bytes(shares, one, formats, layout) for one in found)
        advice = "smaller blocks, more cores or layout dram" if shared else "smaller blocks"
        raise InputError(f"the blocks take {least:,} bytes of L1, a core has {int(room):,}; give {advice}")
    cycles = [estimate.cycles(shares, one) for one in fitting]
    most = NEAR * min(cycles)
    near = [(shares.brought(one), own, one) for one, own in zip(fitting, cycles, strict=True) if own <= most]
    return min(near, key=itemgetter(0, 1))[2]


def find_fields(math_fidelity: str, **_) -> dict[str, object]:
    """The field of the topology that the fidelity sets."""
    return {} if math_fidelity == "chip" else {"tensix_core.fidelity": math_fidelity}


def check_sizes(places, M: int, K: int, N: int, grid: tuple[int, int]) -> tuple[int, int]:
    """The grid, as large as the chip where it is 0. Errors: InputError for sides below 1 or a grid that does not fit."""
    for name, size in (("M", M), ("K", K), ("N", N)):
        if size < 1:
            raise InputError(f"{name} is {size}; give 1 or more")
    columns, rows = grid[0] or places.w, grid[1] or places.h
    if not (0 < columns <= places.w and 0 < rows <= places.h):
        raise InputError(f"a grid of {columns} x {rows} cores does not fit on {places.w} x {places.h}")
    return columns, rows


class Product:
    """The program of a product, object by object."""

    def __init__(self, tanto, shares: Shares, blocks: Blocks, formats: Formats, layout: str) -> None:
        self.device, self.shares, self.blocks, self.layout = tanto.device, shares, blocks, layout
        self.places, a, b, c = tanto.device.places, *(one.name for one in formats[:3])
        self.m, self.n = shares.m * shares.rows, shares.n * shares.columns  # tiles with those filled up
        self.program = Program(tanto.device, "matmul")
        self.grid, self.reach = (
            Grid(*shares.ranges()),
            Grid(shares.reach()),
        )  # multicasts reach cores that have no share
        part = blocks.part_m * blocks.part_n
        self.parts = shares.parts(blocks)
        self.b = Global(self.device, b, shares.k * self.n * TILE)
        if layout == "l1":
            self.a = Local(self.device, self.grid, a, shares.m * shares.shard_k * TILE)
            self.c = Local(self.device, self.grid, c, self.parts * part * TILE)
        else:
            self.a, self.c = (
                Global(self.device, a, self.m * shares.k * TILE),
                Global(self.device, c, self.m * self.n * TILE),
            )
        self.pa = self._pipe(INPUT, a, FRAMES, blocks.m * blocks.k, self.reach)
        self.pb = self._pipe(INPUT, b, FRAMES, blocks.k * blocks.n, self.reach)
        self.sums = self._pipe(INTERMED, formats.sums.name, blocks.parts if blocks.k < shares.k else 1, part, self.grid)
        self.pc = (
            Pipe(self.program, self.grid, OUTPUT, c, self.parts * part, part, self.c)
            if layout == "l1"
            else self._pipe(OUTPUT, c, blocks.parts, part, self.grid)
        )
        self._give_kernels()

    def _pipe(self, kind: int, fmt: str, frames: int, frame: int, grid: Grid) -> Pipe:
        return Pipe(self.program, grid, kind, fmt, frames * frame, frame)

    def _give_kernels(self) -> None:
        shares, blocks, grid = self.shares, self.blocks, self.grid
        sizes = [shares.m, shares.k, shares.n, blocks.m, blocks.k, blocks.n]
        parts = [blocks.part_m, blocks.part_n]
        shards = self.layout == "l1"
        reader = Kernel(self.program, grid, READER, "matmul_a_shards.cpp" if shards else "matmul_a.cpp")
        writer = Kernel(self.program, grid, WRITER, "matmul_b.cpp")
        math = Kernel(self.program, grid, MATH, "matmul.cpp", [0])
        math.set_args(grid, [self.pa, self.pa, self.pb, self.sums, self.pc, *sizes, *parts])
        ready_a, valid_a, ready_b, valid_b, sent = (Semaphore(self.program, self.reach) for _ in range(SEMAPHORES))
        columns = [self.places.physical((x, 0))[0] for x in range(shares.columns)] if shares.spread == "grid" else []
        for core, (column, row) in shares.cores():
            x, y = self.places.physical(core)
            start = (column * shares.n, self.n)
            if shards:
                across = columns or [x]
                placed = [shares.shard_k, sum(1 << one for one in across), across[0], across[-1], x, y, len(across) - 1]
                counts = [blocks.part_m * blocks.part_n, self.parts]
                reader.set_args(core, [self.a, self.pa, self.pc, ready_a, valid_a, sent, *sizes, *counts, *placed])
            else:
                objects, placed = [self.a, self.c, self.pa, self.pc, ready_a, valid_a], self._sharing(core, "a")
                reader.set_args(core, [*objects, placed[0], row * shares.m, *start, *sizes, *parts, *placed[1:]])
            placed = self._sharing(core, "b")
            writer.set_args(core, [self.b, self.pb, ready_b, valid_b, placed[0], *start, *sizes, *placed[1:]])

    def _sharing(self, core: tuple[int, int], side: str) -> list[int]:
        """Whether a core sends, the corners of those that need the same, how many receive it, and how many are reached."""
        x0, y0, x1, y1 = self.shares.sharing(core, side)
        reached = (x1 - x0 + 1) * (y1 - y0 + 1)
        working = min(reached, self.shares.columns * self.shares.rows)
        corners = [*self.places.physical((x0, y0)), *self.places.physical((x1, y1))]
        return [int(core == (x0, y0)), *corners, working - 1, reached - 1]

    def shard(self, a: np.ndarray) -> np.ndarray:
        """The shards of A, core by core and tile by tile, of A as a matrix of whole tiles; without layout `l1` its tiles."""
        if self.layout != "l1":
            return matrix_to_tiles(a)
        shares = self.shares
        filled = np.zeros((self.m * SIDE, shares.shard_k * shares.columns * SIDE), np.float32)
        filled[:, : a.shape[1]] = a
        height, width = shares.m * SIDE, shares.shard_k * SIDE
        return np.concatenate(
            [matrix_to_tiles(filled[y * height :][:height, x * width :][:, :width]) for _, (x, y) in shares.cores()]
        )

    def result(self, c: np.ndarray) -> np.ndarray:
        """C as it should be in its buffer, of C as a matrix of whole tiles; with layout `l1` part by part, as they are made."""
        if self.layout != "l1":
            return matrix_to_tiles(c)
        shares, blocks = self.shares, self.blocks
        return np.concatenate([self._result_of(c, x * shares.n, y * shares.m, blocks) for _, (x, y) in shares.cores()])

    def _result_of(self, c: np.ndarray, left: int, top: int, blocks: Blocks) -> np.ndarray:
        shares, frame, found = self.shares, blocks.part_m * blocks.part_n * TILE, []
        for m, n in product(range(0, shares.m, blocks.m), range(0, shares.n, blocks.n)):
            height, width = min(blocks.m, shares.m - m), min(blocks.n, shares.n - n)
            for i, j in product(range(0, height, blocks.part_m), range(0, width, blocks.part_n)):
                rows, columns = min(blocks.part_m, height - i), min(blocks.part_n, width - j)
                y, x = (top + m + i) * SIDE, (left + n + j) * SIDE
                part = np.zeros(frame, np.float32)
                part[: rows * columns * TILE] = matrix_to_tiles(c[y : y + rows * SIDE, x : x + columns * SIDE])
                found.append(part)
        return np.concatenate(found)


@bench(
    "tanto-matmul",
    "Product of matrices on a grid of cores, which multicast blocks along rows and columns",
    fields=find_fields,
    choices={
        "dtype": DTYPES,
        "dtype_b": ("", *DTYPES),
        "dtype_c": ("", *DTYPES),
        "math_fidelity": FIDELITIES,
        "layout": LAYOUTS,
        "spread": SPREADS,
        "sums": SUMS,
    },
    system="tanto",
)
def matmul(
    tanto,
    M=512,
    K=512,
    N=512,
    grid_x=0,
    grid_y=0,
    block_m=0,
    block_n=0,
    block_k=0,
    dtype="bfloat16",
    dtype_b="",
    dtype_c="",
    math_fidelity="chip",  # noqa: ARG001  # of `find_fields`
    layout="dram",
    spread="grid",
    sums="format",
):
    """Rows and columns of C are shared by the grid.

    Parameters:
        M: rows of A and C
        K: columns of A, rows of B
        N: columns of B and C
        grid_x: columns of the grid of cores; 0: all of the chip
        grid_y: rows of the grid of cores; 0: all of the chip
        block_m: rows of a block of C, in tiles; 0: the size that is estimated to be fastest
        block_n: columns of a block of C, in tiles; 0: as block_m
        block_k: depth of the blocks of A and B, in tiles; 0: as block_m; with layout l1 a part of the columns that a core has
        dtype: format of A, and of B and C unless they have another
        dtype_b: format of B
        dtype_c: format of C
        math_fidelity: phases of a product; chip: those of the topology
        layout: where A and C are: dram, or l1 with a part of them in each core; B is in DRAM
        spread: what the cores share: grid, the rows and the columns of C; rows or columns, those alone
        sums: float32 keeps sums in 32 bits, of which half as many fit into the slots; format: that of A, B and C
    """
    device = tanto.device
    formats = Formats(*(find_format(one or dtype) for one in (dtype, dtype_b, dtype_c)), sums == "float32")
    grid = check_sizes(device.places, M, K, N, (grid_x, grid_y))
    if spread == "columns" and layout == "l1":
        raise InputError("with spread columns each core needs all of A, which layout l1 has in parts; give layout dram")
    shares = Shares.of((parts_of(M, SIDE), parts_of(K, SIDE), parts_of(N, SIDE)), grid, spread)
    blocks = choose_blocks(device, shares, (block_m, block_n, block_k), formats, layout)
    made = Product(tanto, shares, blocks, formats, layout)

    def held(values: np.ndarray, fmt: Format) -> np.ndarray:
        return fmt.to_float(fmt.from_float(values))

    @cache
    def operands() -> tuple[np.ndarray, np.ndarray]:
        left = np.zeros((made.m * SIDE, shares.k * SIDE), np.float32)
        right = np.zeros((shares.k * SIDE, made.n * SIDE), np.float32)
        left[:M, :K], right[:K, :N] = (tanto.random.standard_normal(shape) for shape in ((M, K), (K, N)))
        return held(left, formats.a), held(right, formats.b)

    def fill() -> None:
        tanto.write(made.a, made.shard(operands()[0]))
        tanto.write(made.b, matrix_to_tiles(operands()[1]))

    tanto.prepare(fill)
    tanto.launch(made.program)
    least = LEAST_OF_FOUR_BITS if formats.c.name == "bfloat4_b" else LEAST_CORRELATION
    tanto.expect("c", made.c, lambda: made.result(held(np.matmul(*operands()), formats.c)), least=least)
