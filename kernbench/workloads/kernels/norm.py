"""Norms of many tokens, over the features of activations in panels: sums of parts of the features, then the norm itself.

Where operands lie: activations OVER_PES in panels, weights IN_CUBES, the sums OVER_PES.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kernbench.dtypes import itemsize
from kernbench.host.memory.placement import part_of
from kernbench.workloads.kernels.layout import CUBES, PES
from kernbench.workloads.kernels.panels import Copies, Panel, cut_rows
from kernbench.workloads.kernels.results import Rows

TEMPORARIES = 6  # of a block in f32


class Pieces(NamedTuple):
    """How work on whole panels is cut: each panel's features in `parts`; `scratch` bytes for results."""

    panels: tuple[tuple[int, int], ...]
    parts: int
    features: int
    dtype: str
    scratch: int

    def list_own(self, tl: Any) -> Iterator[tuple[Panel, int, tuple[int, int]]]:
        """(panel, number of the part, its rows) of a PE."""
        pes = tl.num_programs(PES)
        own, count = tl.program_id(CUBES) * pes + tl.program_id(PES), pes * tl.num_programs(CUBES)
        for unit in range(own, len(self.panels) * self.parts, count):
            number, part = divmod(unit, self.parts)
            rows = part_of((0, self.features), part, self.parts)
            yield Panel(*self.panels[number]), part, rows

    def cut(self, panel: Panel, rows: tuple[int, int]) -> list[tuple[int, int]]:
        """Rows in blocks whose results fit in scratch."""
        return cut_rows(rows, self.scratch // (TEMPORARIES * panel.width * itemsize("f32")))


def sum_features(x_ptr: int, sums_ptr: int, has_mean: bool, pieces: tuple[Any, ...], tl: Any) -> None:
    """The sums of squares, and of elements if the norm has a mean, of each part of each panel: f32 (2 x parts, tokens)."""
    p = Pieces(*pieces)
    for panel, part, rows in p.list_own(tl):
        squares: Any = 0.0
        elements: Any = 0.0
        for first, end in p.cut(panel, rows):
            block = Rows(tl, (first, end), panel.width, panel.at(p.features, first) * itemsize(p.dtype), p.dtype)
            x = tl.load(x_ptr + block.at, block.shape, p.dtype)
            square = tl.composite("math", x, x, math_op="mul", out_dtype="f32")
            tl.wait(square)
            squares = squares + tl.sum(block.keep(square.out), axis=0)
            if has_mean:
                ones = tl.full((1, end - first), 1.0, p.dtype)
                elements = elements + tl.dot(ones, x, out_dtype="f32")
            block.release()
        _store_sums(tl, sums_ptr, p, panel, part, squares)
        if has_mean:
            _store_sums(tl, sums_ptr, p, panel, p.parts + part, elements)


def _store_sums(tl: Any, sums_ptr: int, p: Pieces, panel: Panel, row: int, sums: Any) -> None:
    if not isinstance(sums, float):  # else the part has no features
        tl.store(sums_ptr + panel.at(2 * p.parts, row) * itemsize("f32"), sums)


class Normal(NamedTuple):
    """The weights of a norm, (features, 1): a scale, and a shift (0: a norm without a mean); a tensor to add to the result."""

    scale_ptr: int
    shift_ptr: int
    eps: float
    residual_ptr: int = 0
    whole_ptr: int = 0  # where the result is beside its copies, in one piece; 0: nowhere


def normalise(
    x_ptr: int,
    sums_ptr: int,
    y_ptr: int,
    normal: tuple[Any, ...],
    pieces: tuple[Any, ...],
    copies: Copies,
    tl: Any,
) -> None:
    """y = the norm of x, plus a residual, in all copies of y."""
    p, n = Pieces(*pieces), Normal(*normal)
    for panel, _, rows in p.list_own(tl):
        over, mean = _find_scale(tl, sums_ptr, p, panel, n)
        for first, end in p.cut(panel, rows):
            at = panel.at(p.features, first) * itemsize(p.dtype)
            block = Rows(tl, (first, end), panel.width, at, p.dtype)
            y = tl.load(x_ptr + at, block.shape, p.dtype)
            if mean is not None:
                y = block.keep(y - mean)
            y = block.keep(y * over, y)
            y = block.keep(y * block.column(n.scale_ptr), y)
            if n.shift_ptr:
                y = block.keep(y + block.column(n.shift_ptr), y)
            if n.residual_ptr:
                y = block.keep(y + tl.load(n.residual_ptr + at, block.shape, p.dtype), y)
            y = block.narrow(y)
            if n.whole_ptr:
                tl.store(n.whole_ptr + at, y)
            for copy in copies.list_all(panel):
                tl.store(y_ptr + copy.at(p.features, first) * itemsize(p.dtype), y)
            block.release()


def _find_scale(tl: Any, sums_ptr: int, p: Pieces, panel: Panel, n: Normal) -> tuple[Any, Any]:
    """1 / deviation of each token, (1, tokens), and its mean; None for a norm without a mean."""
    share = 1.0 / p.features
    busy = -(-p.features // -(-p.features // p.parts))  # the parts that have features

    def load(row: int) -> Any:
        found = tl.load(sums_ptr + panel.at(2 * p.parts, row) * itemsize("f32"), (busy, panel.width), "f32")
        return tl.sum(found, axis=0) * share

    squares = load(0)
    if not n.shift_ptr:
        return tl.rsqrt(squares + n.eps), None
    mean = load(p.parts)
    return tl.rsqrt(squares - mean * mean + n.eps), mean
