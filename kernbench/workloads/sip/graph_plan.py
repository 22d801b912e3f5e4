"""Graphs on a SIP: for each operator its kernel, its blocks, and where its tensors lie.

A tensor lies by rows over all PEs, as many rows on each as its maker gives a PE. Operators whose launches are the same but
for the values that they read are alike, and one of them is simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernbench.dtypes import is_float, itemsize
from kernbench.errors import InputError
from kernbench.host.memory.placement import DPPolicy
from kernbench.workloads.graph.form import Along, Elements, Gathered, Graph, Operator, Product, Windowed
from kernbench.workloads.graph.view import View, merge_axes
from kernbench.workloads.kernels import tiles
from kernbench.workloads.kernels import windows as products
from kernbench.workloads.kernels.gather import gather
from kernbench.workloads.kernels.layout import OVER_PES
from kernbench.workloads.kernels.windows import Blocks
from kernbench.workloads.sip.engine import Engine, find_engine
from kernbench.workloads.sip.product_blocks import STAGES, Work, bound_fs, choose_blocks
from kernbench.workloads.sip.tile_choice import Sweeps, choose_tile, choose_window

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

COPIED = DPPolicy()  # a copy at each PE
IN_EACH_CUBE = DPPolicy(pe="row_wise")
_LINE = 512  # elements of a row of a lone axis: more than a burst
_MOST_SPREAD = 1 << 22  # bytes of what is copied to each cube
_ALONG_OPERATIONS = 6  # of an element, of a function along an axis
_LONGEST = 1 << 15  # elements of a row that a kernel along an axis holds


class Held(NamedTuple):
    """A tensor of a unit: a value as a kernel wants it, `shape` rows and columns, and how it is made of the value's numbers."""

    value: str
    shape: tuple[int, int]
    dtype: str
    policy: DPPolicy
    pack: Callable[[np.ndarray], np.ndarray] | None = None  # of weights that lie in blocks


@dataclass(frozen=True, slots=True)
class Unit:
    """A launch: a kernel, its grid and constants, and the tensors it gets, in order; None: one that it does not use."""

    operator: Operator
    kernel: Any
    grid: int  # programs; 0: of a kernel of `tl`
    tensors: tuple[Held | None, ...]
    constants: dict[str, Any]
    key: object  # equal for units of one time
    spread: tuple[Held, Held] | None = None  # a copy of an operand to each cube, before the launch

    def list_tensors(self) -> list[Held]:
        """All that it reads and writes."""
        return [*(one for one in self.tensors if one), *(self.spread or ())]


class Planner:
    """Plans the units of a graph for the SIPs of a machine."""

    def __init__(self, graph: Graph, machine: Machine) -> None:
        self.graph, self.machine = graph, machine

    def plan(self) -> list[Unit]:
        """The units in order. Errors: InputError for an operator that does not fit."""
        return [self._plan(one) for one in self.graph.operators]

    def check_memory(self, units: Sequence[Unit], sip_bytes: int) -> dict[str, int]:
        """Bytes of weights and activations on a SIP, all copies counted. Errors: InputError with what is missing."""
        places = self.machine.places
        held = {(one.value, one.shape, repr(one.policy)): one for unit in units for one in unit.list_tensors()}
        found = {"weights": 0, "activations": 0}
        for one in held.values():
            copies = 1
            if one.policy is COPIED:
                copies = self._pes
            elif one.policy is IN_EACH_CUBE:
                copies = places.cubes_per_sip
            kind = "weights" if self.graph.values[one.value].constant else "activations"
            found[kind] += prod(one.shape) * itemsize(one.dtype) * copies
        missing = sum(found.values()) - sip_bytes
        if missing > 0:
            whole, weights, rest = (f"{one / 1e9:,.3f} GB" for one in (sum(found.values()), *found.values()))
            raise InputError(
                f"{self.graph.name} needs {whole} on a SIP ({weights} of weights and their copies, {rest} of activations), "
                f"which has {sip_bytes / 1e9:,.3f} GB: {missing / 1e9:,.3f} GB are missing; give a smaller batch or types of "
                "fewer bits"
            )
        return found

    @property
    def _pes(self) -> int:
        places = self.machine.places
        return places.cubes_per_sip * places.pes_per_cube

    def _plan(self, one: Operator) -> Unit:
        planners: dict[type, Callable[[Operator], Unit]] = {
            Product: self._product,
            Windowed: self._window,
            Along: self._along,
            Elements: self._elementwise,
            Gathered: self._gather,
        }
        return planners[type(one.spec)](one)

    def _hold(self, name: str) -> Held:
        """A value as it lies in memory."""
        value = self.graph.values[name]
        cols = value.shape[-1] if value.shape else 1
        return Held(name, (prod(value.shape) // cols, cols), value.dtype, COPIED if value.constant else OVER_PES)

    def _unit(
        self, one: Operator, kernel: Any, grid: int, tensors: Sequence[Held | None], constants: dict[str, Any]
    ) -> Unit:
        given = list(tensors)
        given += [self._hold(view.base) for view in one.extras]
        order: dict[str, int] = {}
        alike = tuple(
            None
            if held is None
            else (order.setdefault(held.value, len(order)), held.shape, held.dtype, repr(held.policy))
            for held in given
        )
        key = (kernel.__name__, grid, alike, tuple(sorted((name, repr(value)) for name, value in constants.items())))
        return Unit(one, kernel, grid, tuple(given), constants, key)

    def _product(self, one: Operator) -> Unit:
        spec, (x, w) = one.spec, one.inputs
        assert isinstance(spec, Product)
        n, h, w_out, groups, cols = one.output.shape
        channels = x.shape[4]
        extent = products.Extent(n, h, w_out, groups, cols, channels)
        weights = self.graph.values[w.base]
        depth = spec.taps[0] * spec.taps[1] * channels
        engine = find_engine(self.machine, weights.dtype)
        constant = weights.constant and not any(w.strides[:2])
        made, given = n * h * w_out, prod(self.graph.values[x.base].shape[:-1])
        held_rows = -(-given // self.machine.places.cubes_per_sip) * made // given
        memory_rows = max(1, -(-given // engine.all_pes) * made // given)
        plain = spec.taps == spec.steps == (1, 1)
        run = depth if plain else channels * (spec.taps[1] if spec.dilations[1] == 1 and groups == 1 else 1)
        size = itemsize(self.graph.values[x.base].dtype)
        work = Work(extent, depth, size, held_rows, memory_rows, constant, run, plain and constant)
        if not constant:
            w_rows = max(1, prod(weights.shape[:-1]) // engine.all_pes)
            in_lines = h == 1 or x.strides[1] >= x.strides[2]
            work = work._replace(w_rows=w_rows, w_by_inner=abs(w.strides[5]) == 1, x_by_line=in_lines)
        blocks, held_x = choose_blocks(work, engine), self._hold(x.base)
        spread = None
        if constant and self._is_worth_spreading(work, blocks, held_x, engine):
            spread = held_x, held_x._replace(policy=IN_EACH_CUBE)
            blocks, held_x = choose_blocks(_in_each_cube(work, engine), engine), spread[1]
        x_rows = products.Rows(x.strides[0], x.strides[1], x.strides[2], x.strides[3], x.strides[4], x.first)
        window = products.Window(*spec.taps, *spec.steps, *spec.dilations, *spec.before, x.shape[1], x.shape[2])
        if constant:
            held, blocks = self._weights(w, extent, blocks, engine)
            at = None
        else:
            held = self._hold(w.base)
            at = products.Rows(w.strides[0], w.strides[1], w.strides[5], w.strides[2], w.strides[6], w.first)
        constants = {
            "EXTENT": extent,
            "WINDOW": window,
            "BLOCKS": blocks,
            "X": x_rows,
            "W": at,
            "Y": _as_rows(one.output),
            "EXTRAS": tuple(map(_as_rows, one.extras)),
            "STEPS": one.steps,
            "num_stages": STAGES,
        }
        grid = engine.all_pes * blocks.row_blocks * blocks.col_blocks
        tensors = [held_x, held, self._hold(one.output.base)]
        return replace(self._unit(one, products.multiply_windows, grid, tensors, constants), spread=spread)

    def _is_worth_spreading(self, work: Work, blocks: Blocks, x: Held, engine: Engine) -> bool:
        """Whether a product is quicker with a copy of x in each cube, made before it."""
        nbytes = prod(x.shape) * itemsize(x.dtype)
        if self.machine.places.cubes_per_sip == 1 or nbytes > _MOST_SPREAD or self.graph.values[x.value].constant:
            return False
        anywhere = _in_each_cube(work, engine)
        copied_fs = nbytes / engine.link_bytes_fs + 2 * engine.read_fs
        return bound_fs(choose_blocks(anywhere, engine), anywhere, engine) + copied_fs < bound_fs(blocks, work, engine)

    def _weights(
        self, w: View, extent: products.Extent, blocks: products.Blocks, engine: Engine
    ) -> tuple[Held, products.Blocks]:
        """Weights as blocks, those of a PE one after the other, as many PEs beside each other as have blocks of their own."""
        parts, per = blocks.col_parts, blocks.col_blocks
        copies = 1 if parts == 1 else engine.pes if engine.pes % parts == 0 else engine.all_pes
        policy = {1: COPIED, engine.pes: IN_EACH_CUBE}.get(copies, OVER_PES)
        value = self.graph.values[w.base]
        depth = prod(w.shape[3:6])
        inner = -(-depth // blocks.inner) * blocks.inner
        of_group = -(-extent.cols // blocks.cols)

        def pack(numbers: np.ndarray) -> np.ndarray:
            matrix = w.of(numbers)[0, 0].reshape(extent.groups, depth, extent.cols)
            room = np.zeros((copies * per, inner, blocks.cols), numbers.dtype)
            for place in range(copies * per):
                column = place // per % parts * per + place % per
                group, at = divmod(column, of_group)
                if group < extent.groups:
                    mine = matrix[group, :, at * blocks.cols : (at + 1) * blocks.cols]
                    room[place, :depth, : mine.shape[1]] = mine
            return room.reshape(-1, blocks.cols)

        held = Held(w.base, (copies * per * inner, blocks.cols), value.dtype, policy, pack)
        return held, blocks._replace(copies=copies)

    def _window(self, one: Operator) -> Unit:
        spec, x, y = one.spec, one.inputs[0], one.output
        assert isinstance(spec, Windowed)
        n, high, wide, channels = y.shape
        engine = find_engine(self.machine, one.dtype)
        taps = prod(spec.taps)
        sweeps = Sweeps(taps + len(one.extras), taps, itemsize(one.dtype), reads_ahead=True)
        lines, wide_tile, cols = choose_window(y.shape, sweeps, engine)
        grid = n * -(-high // lines) * -(-wide // wide_tile) * -(-channels // cols)
        sweep = tiles.Sweep(spec.taps, spec.steps, spec.dilations, spec.before, (x.shape[1], x.shape[2]))
        constants = {
            "SIZES": y.shape,
            "X": _placed(x),
            "W": _placed(one.inputs[1]) if len(one.inputs) > 1 else None,
            "Y": _placed(y),
            "EXTRAS": tuple(map(_placed, one.extras)),
            "STEPS": one.steps,
            "SWEEP": sweep,
            "TILE": tiles.Tile(lines * wide_tile, cols),
            "HIGH": lines,
            "FUNCTION": spec.function,
            "COUNTS_EDGE": spec.counts_edge,
        }
        weights = self._hold(one.inputs[1].base) if len(one.inputs) > 1 else None
        return self._unit(one, tiles.window, grid, [self._hold(x.base), weights, self._hold(y.base)], constants)

    def _along(self, one: Operator) -> Unit:
        spec, x, y = one.spec, one.inputs[0], one.output
        assert isinstance(spec, Along)
        length = x.shape[-1]
        if length > _LONGEST:
            raise InputError(
                f"node {one.nodes[0]!r} of {self.graph.name} takes {spec.function} along {length:,} elements; kernels hold at "
                f"most {_LONGEST:,}; make the axis shorter"
            )
        views = [x, y, *one.extras]
        outer = merge_axes([_outer(view) for view in views], x.shape[:-1]) or [(1, (0,) * len(views))]
        sizes = (*(size for size, _ in outer), length)
        engine = find_engine(self.machine, one.dtype)
        sweeps = Sweeps(1 + len(one.extras), _ALONG_OPERATIONS, itemsize(one.dtype))
        rows, cols = choose_tile(sizes, sweeps, engine, whole_rows=True)
        placed = [
            tiles.Placed((*(strides[at] for _, strides in outer), view.strides[-1]), view.first)
            for at, view in enumerate(views)
        ]
        constants = {
            "SIZES": sizes,
            "X": placed[0],
            "Y": placed[1],
            "EXTRAS": tuple(placed[2:]),
            "STEPS": one.steps,
            "TILE": tiles.Tile(rows, cols),
            "FUNCTION": spec.function,
            "EPS": spec.eps,
        }
        grid = prod(sizes[:-2]) * -(-sizes[-2] // rows)
        return self._unit(one, tiles.along, grid, [self._hold(x.base), self._hold(y.base)], constants)

    def _elementwise(self, one: Operator) -> Unit:
        y = one.output
        views = [y, *one.extras]
        order = sorted(range(len(y.shape)), key=lambda axis: -abs(y.strides[axis]))
        views = [view.transpose(order) for view in views]
        runs = merge_axes(views, views[0].shape) or [(1, (0,) * len(views))]
        runs = [(1, (0,) * len(views))] * (2 - len(runs)) + list(_split_long(runs))
        sizes = tuple(size for size, _ in runs)
        engine = find_engine(self.machine, one.dtype)
        sweeps = Sweeps(len(one.extras), len(one.steps), itemsize(one.dtype))
        rows, cols = choose_tile(sizes, sweeps, engine)
        placed = [tiles.Placed(tuple(run[1][at] for run in runs), view.first) for at, view in enumerate(views)]
        types = {one.dtype, *(self.graph.values[view.base].dtype for view in one.extras)}
        floats = any(is_float(each) for each in types)
        inexact = any(step[0] not in tiles.NATIVE for step in one.steps)
        constants = {
            "SIZES": sizes,
            "Y": placed[0],
            "EXTRAS": tuple(placed[1:]),
            "STEPS": one.steps,
            "TILE": tiles.Tile(rows, cols),
            "WIDE": floats and (inexact or len(types) > 1),
        }
        grid = prod(sizes[:-2]) * -(-sizes[-2] // rows) * -(-sizes[-1] // cols)
        return self._unit(one, tiles.elementwise, grid, [self._hold(y.base)], constants)

    def _gather(self, one: Operator) -> Unit:
        spec, table, y = one.spec, one.inputs[0], one.output
        assert isinstance(spec, Gathered)
        width = prod(table.shape[1:])
        held = self._hold(table.base)
        rows = prod(held.shape)
        table_held = Held(held.value, (rows // width, width), held.dtype, OVER_PES) if held.policy is COPIED else held
        constants = {"rows": spec.rows, "width": width}
        return self._unit(one, gather, 0, [table_held, self._hold(y.base)], constants)


def _in_each_cube(work: Work, engine: Engine) -> Work:
    """The same work with a copy of x in each cube."""
    rows = work.extent.n * work.extent.h * work.extent.w
    return work._replace(held_rows=rows, memory_rows=-(-rows // engine.pes))


def _split_long(runs: Sequence[tuple[int, tuple[int, ...]]]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The same axes; a lone axis is cut in two, so that all PEs have a part."""
    if len(runs) > 1 or not runs:
        yield from runs or [(1, ())]
        return
    size, strides = runs[0]
    cols = next((one for one in range(min(size, _LINE), 0, -1) if size % one == 0), 1)
    if cols < 32:
        yield size, strides
        return
    yield size // cols, tuple(stride * cols for stride in strides)
    yield cols, strides


def _as_rows(view: View) -> products.Rows:
    n, h, w, group, col = view.strides
    return products.Rows(n, h, w, group, col, view.first)


def _placed(view: View) -> tiles.Placed:
    return tiles.Placed(view.strides, view.first)


def _outer(view: View) -> View:
    return view._replace(shape=view.shape[:-1], strides=view.strides[:-1])
