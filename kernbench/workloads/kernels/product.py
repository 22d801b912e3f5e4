"""Matrix products of many tokens, in one launch: y (out, tokens) = w (out, features) x (features, tokens), in panels.

Where operands lie: a weight is ROWS_AND_COLUMNS, as for products of few tokens (`linear`), so that a network that is served
keeps one layout; x is where `Copies` say, y where those of its reader say, a residual in one copy OVER_PES. The cubes are in
groups, which share the tokens; the cubes at one place of each group make the rows of y whose weights are theirs. So x is near
by, and weights move between groups.

A PE takes rows of one panel or of two. The features come in chunks, those that a PE of a cube has the weights of. Several sums
grow in turns, chunk by chunk: the matrix engine works at one while another is added up and the next weights are loaded. What
follows a sum is done while the engine works at the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from kernbench.dtypes import itemsize
from kernbench.host.memory.placement import part_of
from kernbench.workloads.kernels.layout import CUBES, PES
from kernbench.workloads.kernels.panels import Copies, Panel, cut_rows, share_out
from kernbench.workloads.kernels.results import Extras, Rows

TEMPORARIES = 3  # of a sum in f32 that ends
PIECES = 2  # of a chunk: one is fetched while the engine works at the other


class Product(NamedTuple):
    """What a product on one SIP is of: sizes, panels, where x and y lie, and what a PE holds, in bytes.

    `bundle` panels at a time share weights, of at most `rows` rows; `scratch` is for results, `kept` for x.
    """

    out: int
    features: int
    panels: tuple[Panel, ...]
    bundle: int
    rows: int
    x: Copies
    y: Copies
    scratch: int
    kept: int


class _Block(NamedTuple):
    """Rows `first` to `end` of the result, whose weights are those of a cube that has rows `cube`; for some panels."""

    panels: tuple[Panel, ...]
    first: int
    end: int
    cube: tuple[int, int]


def multiply_panels(
    x_ptr: int,
    w_ptrs: tuple[int, ...],
    y_ptr: int,
    product: Product,
    types: tuple[str, str],
    extras: tuple[Any, ...],
    tl: Any,
) -> None:
    """y = w x and what follows it (`Extras`); of two weights the first makes the gate of the second.

    `types` are of weights and of activations.
    """
    ended: list[_Sum] = []
    written: list[_Written] = []
    x: dict[tuple[Panel, ...], _Input] = {}
    for blocks in _list_work(tl, product, len(w_ptrs)):
        panels = blocks[0].panels
        if panels not in x:
            x = {panels: _Input(tl, x_ptr, panels, product, types[1])}
        sums = [_Sum(tl, block, panel) for block in blocks for panel in panels for _ in w_ptrs]
        for turn, chunk in enumerate(_order(tl, product)):
            inputs, growing = x[panels].load(chunk), iter(sums)
            before = iter(() if turn else ended)
            weights = [
                _load(tl, w_ptr, block, chunk, product.features, types[0]) for block in blocks for w_ptr in w_ptrs
            ]
            for number in range(len(blocks)):
                for columns in inputs:
                    for weight in weights[number * len(w_ptrs) : (number + 1) * len(w_ptrs)]:
                        for one in islice(before, 1):  # whose last product is over by now: what it added is free
                            one.wait()
                        next(growing).add(weight, columns)
            if not turn:
                _settle(tl, written)
                written = list(_finish(tl, ended, y_ptr, product, types[1], Extras(*extras), len(w_ptrs)))
        ended = sums
    _settle(tl, written)
    _settle(tl, list(_finish(tl, ended, y_ptr, product, types[1], Extras(*extras), len(w_ptrs))))


def _list_work(tl: Any, p: Product, weights: int) -> Iterator[list[_Block]]:
    """The blocks of a PE, those together whose sums grow in turns: rows of cubes whose weights its own uses, for its panels.

    A weight of one panel has two blocks, so that there are two sums.
    """
    cubes, pes = tl.num_programs(CUBES), tl.num_programs(PES)
    group, place = divmod(tl.program_id(CUBES), cubes // p.x.groups)
    owned = [part_of((0, p.out), place + cubes // p.x.groups * i, cubes) for i in range(p.x.groups)]
    panels = [panel for panel in p.panels if p.x.bounds[group] <= panel.first < p.x.bounds[group + 1]]
    bundles = [tuple(panels[i : i + p.bundle]) for i in range(0, len(panels), p.bundle)]
    wide = {Panel(bundle[0].first, sum(panel.width for panel in bundle)): bundle for bundle in bundles}
    for panel, first, end in share_out(list(wide), sum(b - a for a, b in owned), tl.program_id(PES), pes):
        bundle, before = wide[panel], 0
        together = 2 if weights * len(bundle) == 1 else 1
        sums = 2 * weights * len(bundle) * together + TEMPORARIES
        most = min(p.rows, p.scratch // (sums * max(one.width for one in bundle) * itemsize("f32")))
        for cube in owned:
            rows = [min(max(row - before, 0), cube[1] - cube[0]) + cube[0] for row in (first, end)]
            before += cube[1] - cube[0]
            if rows[0] < rows[1]:
                for block in cut_rows((rows[0], rows[1]), together * most):
                    yield [
                        _Block(bundle, *part, cube) for part in cut_rows(block, -(-(block[1] - block[0]) // together))
                    ]


def _order(tl: Any, p: Product) -> list[tuple[int, int]]:
    """The chunks of features; PEs begin with different ones, so that they do not all read one memory at a time."""
    cubes, pes, own = tl.num_programs(CUBES), tl.num_programs(PES), tl.program_id(PES)
    chunks = [part for part in (part_of((0, p.features), pe, pes) for pe in range(pes)) if part[0] < part[1]]
    group, place = divmod(tl.program_id(CUBES), cubes // p.x.groups)
    first = (own + group + place * pes * p.x.groups // cubes) % len(chunks)
    return chunks[first:] + chunks[:first]


def _load(tl: Any, w_ptr: int, block: _Block, chunk: tuple[int, int], features: int, dtype: str) -> Any:
    """(rows, features of a chunk) of a weight."""
    _, first, end, cube = block
    inner = chunk[1] - chunk[0]
    at = cube[0] * features + (cube[1] - cube[0]) * chunk[0] + (first - cube[0]) * inner
    return tl.load(w_ptr + at * itemsize(dtype), (end - first, inner), dtype)


class _Input:
    """The features of panels, loaded a chunk at a time and kept if all fit."""

    def __init__(self, tl: Any, x_ptr: int, panels: tuple[Panel, ...], p: Product, dtype: str) -> None:
        self._tl, self._ptr, self._features, self._dtype = tl, x_ptr, p.features, dtype
        self._panels = [p.x.find(panel, tl.program_id(CUBES)) for panel in panels]
        size = p.features * sum(panel.width for panel in panels) * itemsize(dtype)
        self._keeps = size <= p.kept
        self._loaded: dict[tuple[int, int], list[Any]] = {}

    def load(self, chunk: tuple[int, int]) -> list[Any]:
        """(features of the chunk, tokens) of each panel."""
        if chunk in self._loaded:
            return self._loaded[chunk]
        first, end = chunk
        places = [(panel.at(self._features, first) * itemsize(self._dtype), panel.width) for panel in self._panels]
        found = [self._tl.load(self._ptr + at, (end - first, width), self._dtype) for at, width in places]
        if self._keeps:
            self._loaded[chunk] = found
        return found


class _Sum:
    """A block of rows of one panel, summed over chunks of features in f32."""

    def __init__(self, tl: Any, block: _Block, panel: Panel) -> None:
        self._tl, self.block, self.panel = tl, block, panel
        self._job: Any = None
        self._spent: Any = None  # the sum that the open product adds

    def add(self, weight: Any, x: Any) -> None:
        """Start the product of a chunk, on top of those before it."""
        before = None if self._job is None else self.wait()
        over = None if before is None else [{"op": "add", "operand": before}]
        tile = weight.shape[0], -(-weight.shape[1] // PIECES), self.panel.width
        self._job = self._tl.composite("gemm", weight, x, out_dtype="f32", epilogue=over, tile_shape=tile)
        self._spent = before

    def wait(self) -> Any:
        """The sum, when it is there."""
        self._tl.wait(self._job)
        if self._spent is not None:
            self._tl.release(self._spent)
            self._spent = None
        return self._job.out


class _Written(NamedTuple):
    """A write that may still be under way, and the results that it reads."""

    job: Any
    rows: Rows


def _finish(
    tl: Any, sums: list[_Sum], y_ptr: int, p: Product, dtype: str, then: Extras, weights: int
) -> Iterator[_Written]:
    """Write the results of sums, of all weights of a panel one; of one copy the write goes on meanwhile."""
    for number in range(0, len(sums), weights):
        group = sums[number : number + weights]
        _, first, end, _ = group[0].block
        panel = group[0].panel
        rows = Rows(tl, (first, end), panel.width, panel.at(p.out, first) * itemsize(dtype), dtype)
        made = [rows.keep(one.wait()) for one in group]
        places = [y_ptr + copy.at(p.out, first) * itemsize(dtype) for copy in p.y.list_all(panel)]
        if len(places) == 1 and len(sums) <= 2:
            yield _Written(rows.end_at_once(made, then, places[0]), rows)
            continue
        result = rows.end_at_once(made, then)
        for place in places:
            tl.store(place, result)
        rows.release()


def _settle(tl: Any, written: list[_Written]) -> None:
    """Wait for writes and let go of what they read."""
    for job, rows in written:
        tl.wait(job)
        rows.release()
