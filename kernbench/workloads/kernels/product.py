"""Matrix products of many tokens, in one launch: y (out, tokens) = w (out, features) x (features, tokens), in panels.

Where operands lie: x, y and a residual are tensors OVER_PES in panels (`panels`), a weight is ROWS_AND_COLUMNS, as for
products of few tokens (`linear`), so that a network that is served keeps one layout. The cubes are cut into `groups`: all
tokens are shared by the groups, and the cubes at one place of each group make the rows of y whose weights are theirs. So x
moves within a group and weights between groups, and a PE reads the features of its tokens once and keeps them in TCM if
they fit; the weights stream past them in long reads.

The features come in chunks, those that a PE of a cube has the weights of. Two sums grow in turns, chunk by chunk: the
matrix engine works at one while the other is added up. What follows a sum is done while the engine works at the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kernbench.dtypes import itemsize
from kernbench.host.memory.placement import part_of
from kernbench.workloads.kernels.layout import CUBES, PES, TILE_BYTES
from kernbench.workloads.kernels.panels import Panel, Share, cut_rows, share_out
from kernbench.workloads.kernels.results import Extras, Rows

BUFFERS = (
    7  # of sums in f32 that scratch holds: two that grow, two that end, two that those become, and room for the rest
)


class Product(NamedTuple):
    """The sizes of a product on one SIP, and what the memory of a PE holds: `scratch` of results, `kept` of x. Bytes."""

    out: int
    features: int
    groups: int
    scratch: int
    kept: int


class _Block(NamedTuple):
    """Rows `first` to `end` of a panel of the result, whose weights are those of a cube that has rows `cube`."""

    panel: Panel
    first: int
    end: int
    cube: tuple[int, int]


def multiply_panels(
    x_ptr: int,
    w_ptrs: tuple[int, ...],
    y_ptr: int,
    panels: tuple[tuple[int, int], ...],
    sizes: tuple[int, int, int, int, int],
    types: tuple[str, str],
    extras: tuple[Any, ...],
    tl: Any,
) -> None:
    """y = w x and what follows it (`Extras`); of two weights the first makes the gate of the second.

    `sizes` are those of a `Product`, `types` of weights and of activations.
    """
    p, gated = Product(*sizes), len(w_ptrs) > 1
    ended: list[_Sum] = []
    for share, cubes in _list_work(tl, panels, p):
        x = _Input(tl, x_ptr, share.panel, p, types[1])
        for blocks in _pair(share, cubes, p, gated):
            pointers = w_ptrs if gated else w_ptrs * len(blocks)
            sums = [_Sum(tl, w_ptr, block, p.features, types[0]) for w_ptr, block in zip(pointers, blocks, strict=True)]
            for turn, chunk in enumerate(_order(tl, p)):
                columns = x.load(chunk)
                for one in sums:
                    one.add(chunk, columns)
                if not turn:
                    _finish(tl, ended, y_ptr, p, types[1], Extras(*extras), gated)
            ended = sums
    _finish(tl, ended, y_ptr, p, types[1], Extras(*extras), gated)


def _list_work(
    tl: Any, panels: tuple[tuple[int, int], ...], p: Product
) -> Iterator[tuple[Share, list[tuple[int, int]]]]:
    """What a PE makes of each panel, and the rows of the cubes whose weights it uses, to be counted one after the other."""
    cubes, pes = tl.num_programs(CUBES), tl.num_programs(PES)
    group, place = divmod(tl.program_id(CUBES), cubes // p.groups)
    owned = [part_of((0, p.out), place + cubes // p.groups * i, cubes) for i in range(p.groups)]
    rows = sum(end - first for first, end in owned)
    for share in share_out(panels, (0, rows), group * pes + tl.program_id(PES), p.groups * pes):
        yield share, owned


def _pair(share: Share, cubes: list[tuple[int, int]], p: Product, gated: bool) -> Iterator[list[_Block]]:
    """The sums that grow in turns: of two weights, or of two blocks of rows of one."""
    most = p.scratch // (BUFFERS * share.panel.width * itemsize("f32"))
    before = 0
    for cube in cubes:
        first, end = (min(max(place - before, 0), cube[1] - cube[0]) + cube[0] for place in (share.first, share.end))
        before += cube[1] - cube[0]
        if first == end:
            continue
        for block in cut_rows((first, end), most if gated else 2 * most):
            parts = [block, block] if gated else cut_rows(block, -(-(block[1] - block[0]) // 2))
            yield [_Block(share.panel, *part, cube) for part in parts]


def _order(tl: Any, p: Product) -> list[tuple[int, int]]:
    """The chunks of features; PEs begin with different ones, so that they do not all read one memory at a time."""
    cubes, pes, own = tl.num_programs(CUBES), tl.num_programs(PES), tl.program_id(PES)
    chunks = [part for part in (part_of((0, p.features), pe, pes) for pe in range(pes)) if part[0] < part[1]]
    group, place = divmod(tl.program_id(CUBES), cubes // p.groups)
    first = (own + group + place * pes * p.groups // cubes) % len(chunks)
    return chunks[first:] + chunks[:first]


class _Input:
    """The features of a panel, loaded a chunk at a time and kept if all fit."""

    def __init__(self, tl: Any, x_ptr: int, panel: Panel, p: Product, dtype: str) -> None:
        self._tl, self._panel, self._features, self._dtype = tl, panel, p.features, dtype
        self._ptr = x_ptr
        self._keeps = p.features * panel.width * itemsize(dtype) <= p.kept
        self._loaded: dict[tuple[int, int], Any] = {}

    def load(self, chunk: tuple[int, int]) -> Any:
        """(features of the chunk, tokens)."""
        if chunk in self._loaded:
            return self._loaded[chunk]
        first, end = chunk
        at = self._panel.at(self._features, first) * itemsize(self._dtype)
        found = self._tl.load(self._ptr + at, (end - first, self._panel.width), self._dtype)
        if self._keeps:
            self._loaded[chunk] = found
        return found


class _Sum:
    """A block of rows, summed over chunks of features in f32."""

    def __init__(self, tl: Any, w_ptr: int, block: _Block, features: int, dtype: str) -> None:
        self._tl, self._ptr, self._features, self._dtype = tl, w_ptr, features, dtype
        self.block = block
        self._job: Any = None
        self._spent: Any = None  # the sum that the open product adds

    def add(self, chunk: tuple[int, int], x: Any) -> None:
        """Start the product of a chunk, on top of those before it."""
        before = None if self._job is None else self.wait()
        (_, first, end, cube), size = self.block, itemsize(self._dtype)
        rows, inner = end - first, chunk[1] - chunk[0]
        at = cube[0] * self._features + (cube[1] - cube[0]) * chunk[0] + (first - cube[0]) * inner
        weight = self._tl.ref(self._ptr + at * size, (rows, inner), self._dtype)
        reads = -(-rows * inner * size // TILE_BYTES)
        tile = rows, -(-inner // reads), self.block.panel.width
        over = None if before is None else [{"op": "add", "operand": before}]
        self._job = self._tl.composite("gemm", weight, x, out_dtype="f32", epilogue=over, tile_shape=tile)
        self._spent = before

    def wait(self) -> Any:
        """The sum, when it is there."""
        self._tl.wait(self._job)
        if self._spent is not None:
            self._tl.release(self._spent)
            self._spent = None
        return self._job.out


def _finish(tl: Any, sums: list[_Sum], y_ptr: int, p: Product, dtype: str, then: Extras, gated: bool) -> None:
    """Write the results of sums; of a gated pair one."""
    groups = [sums] if gated and sums else [[one] for one in sums]
    for group in groups:
        panel, first, end, _ = group[0].block
        at = panel.at(p.out, first) * itemsize(dtype)
        rows = Rows(tl, (first, end), panel.width, at, dtype)
        made = [rows.keep(one.wait()) for one in group]
        tl.store(y_ptr + at, rows.end(made, then))
        rows.release()
