"""The shares of cores in a product of matrices, and the blocks in which they make them, all in tiles."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from kernbench.errors import InputError
from kernbench.tanto.formats import Format, find_format
from kernbench.tanto.tiles import TILE
from kernbench.tanto.timing.transfer_costs import TransferCosts
from kernbench.workloads.tensix.chip import parts_of

if TYPE_CHECKING:
    from kernbench.tanto.device import Device

FRAMES = 2  # of the pipes of operands
SEMAPHORES = 5
NEAR = 1.05  # an estimate that is as good as the least: it knows nothing of contention


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
    def of(cls, sizes: tuple[int, int, int], grid: tuple[int, int], spread: str) -> Shares:
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

    def parts(self, blocks: Blocks) -> int:
        """The parts of all blocks of C of a core."""
        return pieces_of(self.m, blocks.m, blocks.part_m) * pieces_of(self.n, blocks.n, blocks.part_n)

    def brought(self, blocks: Blocks) -> int:
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


def slot_bytes(fmt: Format) -> int:
    """The bytes of a slot of a math object: block formats are 16 bits wide there."""
    return TILE * fmt.storage.itemsize


class Estimate:
    """Cycles of a product by its blocks: the first operands, the math or the traffic of all blocks, the last block of C."""

    def __init__(self, device: Device, formats: Formats, layout: str) -> None:
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


def choose_blocks(
    device: Device, shares: Shares, given: tuple[int, int, int], formats: Formats, layout: str, kept: int = 0
) -> Blocks:
    """The blocks that fit into L1 and are estimated to be fastest; sizes that are given (not 0) are taken.

    `kept` bytes of L1 are for something else.

    Errors: InputError if none fit, or a size is given that its side does not have.
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
        figures["tensix_core.l1_bytes"] - kept,
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
