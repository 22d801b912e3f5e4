"""Do addresses lead where they should? y[i] = x[(i + offset) mod n], counted along the virtual addresses of x.

Every PE writes its own part of y and reads that much of x from `offset` elements further on: across pages, across the parts of
x, which lie in other PEs' memories and in other cubes, and round its end. Neighbours in x differ, whatever its type, so
what is read from another place shows. `cube` and `pe` say how x is laid out; a part may be smaller than a page.
"""

from __future__ import annotations

import numpy as np

from kernbench import DPPolicy, InputError, bench, part_of, tile_grid
from kernbench.dtypes import canonical, is_float, itemsize, numpy_dtype
from kernbench.host.memory.placement import STRATEGIES

EXACT = {
    "f32": 1 << 24,
    "f16": 1 << 11,
    "bf16": 1 << 8,
    "f8e4m3": 1 << 4,
    "f8e5m2": 1 << 3,
}  # up to there whole numbers


def rotate(x_ptr, y_ptr, n, offset, dtype, tl):
    """This PE's elements of y, in two reads where they lie round the end of x."""
    cube = part_of((0, n), tl.program_id(axis=1), tl.num_programs(axis=1))
    first, end = part_of(cube, tl.program_id(axis=0), tl.num_programs(axis=0))
    while first < end:
        at = (first + offset) % n
        count = min(end - first, n - at)
        piece = tl.load(x_ptr + at * itemsize(dtype), count, dtype)
        tl.store(y_ptr + first * itemsize(dtype), piece)
        first += count


@bench(
    "va-offset-verify",
    "Every PE reads at an offset from its own part: do addresses lead right?",
    choices={"cube": STRATEGIES, "pe": STRATEGIES},
)
def run(torch, *, rows=512, columns=256, offset=12345, cube="row_wise", pe="column_wise", dtype="i32"):
    """x has `rows` x `columns` elements, laid out over cubes and PEs as `cube` and `pe` say; `offset` may be negative.

    Parameters:
        rows: rows of x
        columns: columns of x
        offset: elements from what a PE writes to what it reads; may be negative
        cube: how x is split over cubes
        pe: how x is split over the PEs of a cube
        dtype: type of elements, such as f16, bf16, f32 or f8e4m3
    """
    if min(rows, columns) < 1:
        raise InputError(f"va-offset-verify got rows={rows}, columns={columns}; each must be 1 or more")
    for sip in range(torch.device_count):
        with torch.device(sip):
            check_sip(torch, sip, rows, columns, offset, DPPolicy(cube=cube, pe=pe), dtype)


def check_sip(torch, sip, rows, columns, offset, policy, dtype):
    """One SIP, with elements of its own."""
    n = rows * columns
    numbers = distinct(n, sip, dtype).reshape(rows, columns)
    x = torch.from_numpy(numbers, policy, name=f"x{sip}")
    y = torch.empty(n, dtype, DPPolicy(cube="row_wise", pe="row_wise"), name=f"y{sip}")
    torch.launch("rotate", rotate, x, y, n, offset, dtype)
    torch.expect(y, np.roll(by_address(numbers, policy, torch.cubes_per_sip, torch.pes_per_cube), -offset), tolerance=0)


def distinct(n, sip, dtype):
    """Whole numbers that the type has exactly, over and over in an odd period: what is off by a power of two shows too."""
    kind = numpy_dtype(dtype)
    period = EXACT[canonical(dtype)] + 1 if is_float(dtype) else np.iinfo(kind).max
    return ((np.arange(n) + sip) % period).astype(kind)


def by_address(matrix, policy, cubes, pes):
    """The elements in the order of their addresses: part by part, row by row in each."""
    parts = [matrix]
    for strategy, count in ((policy.cube, cubes), (policy.pe, pes)):
        parts = [piece for part in parts for piece in cut(part, strategy, count)]
    return np.concatenate([part.ravel() for part in parts])


def cut(matrix, strategy, count):
    """The parts of a matrix along one axis of a policy, in the order of their addresses."""
    grids = {"replicate": (1, 1), "row_wise": (count, 1), "column_wise": (1, count)}
    down, across = grids.get(strategy) or tile_grid(count)
    tiles = [slice_up(rows, across, axis=1) for rows in slice_up(matrix, down, axis=0)]
    if strategy == "tiled_column_major":
        tiles = zip(*tiles, strict=True)
    return [tile for line in tiles for tile in line]


def slice_up(matrix, count, axis):
    """Equal parts along one axis, the last ones smaller."""
    ends = [part_of((0, matrix.shape[axis]), i, count)[1] for i in range(count - 1)]
    return np.split(matrix, ends, axis)
