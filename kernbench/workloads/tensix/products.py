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

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

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
)
from kernbench.tanto.tiles import SIDE, TILE, matrix_to_tiles
from kernbench.workloads.tensix.blocks import FRAMES, SEMAPHORES, Blocks, Formats, Shares

if TYPE_CHECKING:
    from kernbench.tanto.device import Device


class Product:
    """The program of a product, object by object."""

    reader, math = "matmul_a.cpp", "matmul.cpp"
    reader_params: Sequence[int] = ()
    math_params: Sequence[int] = (0,)

    def __init__(
        self,
        device: Device,
        shares: Shares,
        blocks: Blocks,
        formats: Formats,
        layout: str,
    ) -> None:
        self.device, self.shares, self.blocks, self.layout = device, shares, blocks, layout
        self.places, a, b, c = device.places, *(one.name for one in formats[:3])
        self.m, self.n = shares.m * shares.rows, shares.n * shares.columns  # tiles with those filled up
        self.program = Program(device, "matmul")
        self.grid, self.reach = (
            Grid(*shares.ranges()),
            Grid(shares.reach()),
        )  # multicasts reach cores that have no share
        part = blocks.part_m * blocks.part_n
        self.parts = shares.parts(blocks)
        self.b = Global(self.device, b, shares.k * self.n * TILE)
        self._make_operands(a, c, part)
        self.pa = self._pipe(INPUT, a, FRAMES, blocks.m * blocks.k, self.reach)
        self.pb = self._pipe(INPUT, b, FRAMES, blocks.k * blocks.n, self.reach)
        self.sums = self._pipe(INTERMED, formats.sums.name, blocks.parts if blocks.k < shares.k else 1, part, self.grid)
        kept, frames = (self.c, self.parts) if isinstance(self.c, Local) else (None, blocks.parts)
        self.pc = Pipe(self.program, self.grid, OUTPUT, c, frames * part, part, kept)
        self._give_kernels()

    def _make_operands(self, a: str, c: str, part: int) -> None:
        """Make A and C in some formats; a part of C has `part` tiles."""
        shares = self.shares
        self.a: Global | Local
        self.c: Global | Local
        if self.layout == "l1":
            self.a = Local(self.device, self.grid, a, shares.m * shares.shard_k * TILE)
            self.c = Local(self.device, self.grid, c, self.parts * part * TILE)
        else:
            self.a = Global(self.device, a, self.m * shares.k * TILE)
            self.c = Global(self.device, c, self.m * self.n * TILE)

    def _pipe(self, kind: int, fmt: str, frames: int, frame: int, grid: Grid) -> Pipe:
        return Pipe(self.program, grid, kind, fmt, frames * frame, frame)

    def _give_kernels(self) -> None:
        shares, blocks, grid = self.shares, self.blocks, self.grid
        sizes = [shares.m, shares.k, shares.n, blocks.m, blocks.k, blocks.n]
        parts = [blocks.part_m, blocks.part_n]
        shards = self.layout == "l1"
        reader = Kernel(
            self.program, grid, READER, "matmul_a_shards.cpp" if shards else self.reader, self.reader_params
        )
        writer = Kernel(self.program, grid, WRITER, "matmul_b.cpp")
        math = Kernel(self.program, grid, MATH, self.math, self.math_params)
        math.set_args(grid, [*self._list_pipes(), *sizes, *parts])
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
                objects = [self.a, self.c, self.pa, self.pc, *self._list_added(), ready_a, valid_a]
                placed = self._sharing(core, "a")
                reader.set_args(
                    core,
                    [
                        *objects,
                        placed[0],
                        row * shares.m,
                        *self._place_c(column * shares.n),
                        *sizes,
                        *parts,
                        *placed[1:],
                    ],
                )
            placed = self._sharing(core, "b")
            writer.set_args(core, [self.b, self.pb, ready_b, valid_b, placed[0], *start, *sizes, *placed[1:]])

    def _list_pipes(self) -> list[Pipe]:
        """The pipes of the math kernel."""
        return [self.pa, self.pa, self.pb, self.sums, self.pc]

    def _list_added(self) -> list[Global | Pipe]:
        """What the reader brings beside A."""
        return []

    def _place_c(self, column: int) -> list[int]:
        """The first column of a core's share of C, and the columns of all."""
        return [column, self.n]

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


class After(NamedTuple):
    """What follows a product of many tokens: a tensor and a bias that are added, and a kind of activation."""

    added: Global | None = None
    bias: Global | None = None
    activation: int = 0

    @property
    def adds(self) -> int:
        """As kernels know it."""
        return (self.added is not None) + 2 * (self.bias is not None)

    def l1_tiles(self, shares: Shares, slots: int) -> int:
        """The tiles of L1 that it takes."""
        return shares.n * (self.bias is not None) + FRAMES * slots * (self.added is not None)


class PartProduct(Product):
    """A product of tensors that are there, in DRAM: C has its own rows and columns, whatever cores share them."""

    reader, math = "matmul_a_part.cpp", "matmul_part.cpp"

    def __init__(
        self,
        device: Device,
        shares: Shares,
        blocks: Blocks,
        formats: Formats,
        x: Global,
        y: Global,
        rows: int,
        columns: int,
        after: After,
    ) -> None:
        self.x, self.y, self.rows_of_c, self.columns_of_c, self.after = x, y, rows, columns, after
        self.reader_params, self.math_params = [after.adds], [after.adds, after.activation]
        super().__init__(device, shares, blocks, formats, "dram")

    def _make_operands(self, a: str, c: str, part: int) -> None:
        del c  # its buffer is there
        self.a, self.c = self.x, self.y
        self.padded = self.pbias = None
        if self.after.added is not None:
            self.padded = self._pipe(INPUT, a, FRAMES, part, self.grid)
        if self.after.bias is not None:
            self.pbias = self._pipe(INPUT, a, 1, self.shares.n, self.grid)

    def _list_pipes(self) -> list[Pipe]:
        return [self.pa, self.pb, self.sums, self.pc, self.padded or self.pc, self.pbias or self.pc]

    def _list_added(self) -> list[Global | Pipe]:
        added, bias = self.after.added or self.x, self.after.bias or self.x
        return [added, bias, self.padded or self.pc, self.pbias or self.pc]

    def _place_c(self, column: int) -> list[int]:
        return [column, self.rows_of_c, self.columns_of_c]
