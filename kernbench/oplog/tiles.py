"""The parameters of the stages of a composite: its tile, and the operand and the bytes of each transfer.

They follow from those of the composite: tokens take the tiles in the order of the machine's tile plan, and read the tiles of
their streamed operands in turn, each in one transfer, or in several if it straddles memories. A tile that an earlier token
read for a later one is not read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from kernbench.dtypes import itemsize
from kernbench.machine.costs import Plan, plan_tiles
from kernbench.oplog.params import Params

SCOPES = ("k_tile", "output_tile", "kernel")  # of epilogue steps, in the order in which a token runs them


class Stage(NamedTuple):
    """One stage of a token: its op name, its op kind, and the bytes of its transfer."""

    name: str
    kind: str
    nbytes: int


class _Tile:
    """One tile of a matrix, and the bytes of it that are still to be transferred."""

    __slots__ = ("address", "dtype", "left", "nbytes", "shape", "space")

    def __init__(self, of: Params, start: tuple[int, int], shape: list[int]) -> None:
        rows, columns = _matrix(of["shape"])
        size = itemsize(of["dtype"])
        first = start[0] + start[1] * rows if of.get("transposed") else start[0] * columns + start[1]
        self.space, self.dtype, self.shape = of.get("space"), of["dtype"], shape
        self.address = of.get("address", 0) + first * size  # of the next transfer
        self.nbytes = shape[0] * shape[1] * size
        self.left = (
            self.nbytes if self.space in ("hbm", "sram") and "value" not in of else 0
        )  # loaded tiles are not transferred

    def move(self, nbytes: int) -> Params:
        """The parameters of a transfer of the next bytes."""
        at = self.address
        self.address += nbytes
        self.left -= nbytes
        return {"space": self.space, "address": at, "shape": self.shape, "dtype": self.dtype, "nbytes": nbytes}

    def part(self) -> Params:
        """The tile as an operand of an engine."""
        return {"space": "tcm", "shape": self.shape, "dtype": self.dtype}


def describe_stages(composite: Params, tokens: Sequence[Sequence[Stage]], plan: Plan = plan_tiles) -> Iterator[Params]:
    """The parameters of each stage of each token of a composite, whose own parameters are given; `plan` orders its tiles."""
    rows, columns = _matrix(composite["out"]["shape"])
    gemm = composite["kind"] == "gemm"
    depth = composite["inputs"][0]["shape"][1] if gemm else 1
    tile_m, tile_k, tile_n = composite["tile"]
    steps = [step for scope in SCOPES for step in composite["epilogue"] if step["scope"] == scope]
    operands = composite["inputs"][: len(composite["inputs"]) - sum(step["operand"] is not None for step in steps)]
    cuts = _cut(rows, tile_m), _cut(depth, tile_k if gemm else 1), _cut(columns, tile_n)
    order, reads = plan(*map(len, cuts))
    places: list[list[int]] = order.tolist()
    for token, place, read in zip(tokens, places, reads.tolist(), strict=True):
        m, k, n = (cut[at] for cut, at in zip(cuts, place, strict=True))
        grids = ((m, k), (k, n)) if gemm else ((m, n), (m, n))
        tiles = [_tile(*of) for of in zip(operands, *zip(*grids, strict=True), read, strict=False)]
        out = _tile(composite["out"], m, n)
        index = {"op": composite["op"], "tile": [m[0], k[0], n[0]]}
        works = iter([_describe_work(composite, tiles, out), *(_describe_step(step, composite, out) for step in steps)])
        for stage in token:
            yield {**index, **_describe_stage(stage, tiles, out, works)}


def _describe_stage(stage: Stage, tiles: Sequence[_Tile], out: _Tile, works: Iterator[Params]) -> Params:
    if stage.kind == "control":  # nothing to read
        return {}
    return _describe_move(stage, tiles, out) if stage.kind == "memory" else next(works)


def _describe_move(stage: Stage, tiles: Sequence[_Tile], out: _Tile) -> Params:
    if stage.name == "dma_read":
        which = next(i for i, tile in enumerate(tiles) if tile.left)
        return {"operand": which, **tiles[which].move(stage.nbytes)}
    if stage.name == "dma_write":
        return out.move(stage.nbytes)
    return {"nbytes": out.nbytes if stage.name == "store" else sum(tile.nbytes for tile in tiles)}


def _describe_work(composite: Params, tiles: Sequence[_Tile], out: _Tile) -> Params:
    """The parameters of an engine's work on the tiles."""
    function = {"function": composite["function"]} if "function" in composite else {}
    return {**function, "inputs": [tile.part() for tile in tiles], "shape": out.shape}


def _describe_step(step: Params, composite: Params, out: _Tile) -> Params:
    """A step of the epilogue; one of the scope `kernel` is over the whole result."""
    shape = composite["out"]["shape"] if step["scope"] == "kernel" else out.shape
    return {"function": step["op"], "scope": step["scope"], "shape": shape}


def _tile(of: Params, row: tuple[int, int, int], column: tuple[int, int, int], read: bool = True) -> _Tile:
    tile = _Tile(of, (row[1], column[1]), [row[2], column[2]])
    tile.left *= read
    return tile


def _cut(size: int, tile: int) -> list[tuple[int, int, int]]:
    """(index, first, size) of each tile of an axis."""
    return [(i, first, min(tile, size - first)) for i, first in enumerate(range(0, size, tile))]


def _matrix(shape: Sequence[int]) -> tuple[int, int]:
    return prod(shape[:-1]), shape[-1]
