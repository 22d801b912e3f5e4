"""Operations of measured networks on chips: the bench of each with its parameters, or why it is left out.

`chip_operations.csv` has operations of seven profiler captures of whole networks with the time of their kernels on the device:
tenstorrent/tt-perf-report, `tests/data` (Apache-2.0), a half of their settings. Columns are those of the captures: padded
shapes W x Z x Y x X, formats, memories and layouts of operands. `config` is the program of a product where it was given.

What the captures do not tell follows from public sources of the measured library (tenstorrent/tt-metal, Apache-2.0,
`matmul_program_config.cpp`): how a product is spread over cores, which the number of cores decides, and the depth of its
blocks. Element-wise programs bring, compute and write one tile at a time. A capture of no stated chip is of a Blackhole: it
has the cores, operations and times of one of those.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod
from pathlib import Path
from typing import Any

from kernbench.errors import InputError
from kernbench.library import show_path

FILE = Path(__file__).with_suffix(".csv")
SIDE = 32
TOPOLOGIES = {"wormhole_b0": "wormhole_n150", "blackhole": "blackhole_p150", "not stated": "blackhole_p150"}
GRIDS = (
    (5, 4),
    (8, 8),
    (11, 10),
    (12, 10),
    (13, 10),
)  # the grid of a capture is the first that has the cores of all its operations
FORMATS = {"BFLOAT16": "bfloat16", "BFLOAT8_B": "bfloat8_b", "BFLOAT4_B": "bfloat4_b", "FLOAT32": "float32"}
KINDS = {"matmul": r"Matmul", "binary": r"Binary", "unary": r"Unary", "typecast": r"Typecast", "conv": r"Conv"}
NEEDED = ("capture", "chip", "op", "cores", "in0_shape", "in0_dtype", "in0_memory", "out_dtype", "kernel_ns_median")
MOST_FRAME = 8
WINDOWS, IMAGE_WIDTH = (1, 3, 5, 7), 64  # captures tell the area of images alone


@dataclass(frozen=True, slots=True)
class Operation:
    """A measured operation: the bench that it is, with its parameters, or the reason why it is left out."""

    kind: str  # of KINDS
    row: Mapping[str, Any]
    topology: str
    bench: str = ""
    parameters: Mapping[str, Any] | None = None
    reason: str = ""

    @property
    def case(self) -> str:
        """The shapes of the operands."""
        return " by ".join(shape for name in ("in0_shape", "in1_shape") if (shape := self.row.get(name)))


def read_operations(file: Path = FILE) -> list[Operation]:
    """The operations of a file, of kinds that are known. Errors: InputError with the row for what cannot be read."""
    import polars

    try:
        rows = polars.read_csv(file, infer_schema=False).to_dicts()
    except (OSError, polars.exceptions.PolarsError) as error:
        raise InputError(f"{show_path(file)}: is no table of operations: {str(error).splitlines()[0]}") from None
    missing = [name for name in NEEDED if not rows or name not in rows[0]]
    if missing:
        raise InputError(f"{show_path(file)}: has no {f'column {missing[0]!r}' if rows else 'rows'}")
    most = Counter[str]()
    for number, row in enumerate(rows):
        most[row["capture"]] = max(most[row["capture"]], _cores(file, number, row))
    return [
        _operation(file, number, kind, row, most[row["capture"]])
        for number, row in enumerate(rows)
        for kind, pattern in KINDS.items()
        if re.search(pattern, row["op"] or "", re.IGNORECASE)
    ]


def _cores(file: Path, number: int, row: Mapping[str, Any]) -> int:
    cores = row["cores"] or ""
    if not cores.isdigit() or not int(cores):
        raise InputError(f"{show_path(file)}: row {number + 1} has cores {cores!r}; expected 1 or more")
    return int(cores)


def _operation(file: Path, number: int, kind: str, row: dict[str, Any], most: int) -> Operation:
    where = f"{show_path(file)}: row {number + 1}"
    if row["chip"] not in TOPOLOGIES:
        raise InputError(f"{where} has chip {row['chip']!r}; known: {', '.join(TOPOLOGIES)}")
    topology = TOPOLOGIES[row["chip"]]
    try:
        measured = float(row["kernel_ns_median"])
        if not 0 < measured < float("inf"):
            raise ValueError
    except (TypeError, ValueError):
        raise InputError(f"{where} has kernel_ns_median {row['kernel_ns_median']!r}; expected a time in ns") from None
    try:
        shapes = [_shape(row.get(name)) for name in ("in0_shape", "in1_shape")]
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
    read = {**row, "cores": int(row["cores"]), "measured_ns": measured}
    if most > prod(GRIDS[-1]):
        return Operation(kind, read, topology, reason="more cores than the chip has")
    grid = next(one for one in GRIDS if prod(one) >= most)
    return _MAKE[kind](Operation(kind, read, topology), shapes, grid)


def _shape(text: str | None) -> list[int]:
    if not text:
        return []
    sizes = text.split("x")
    if len(sizes) != 4 or not all(size.isdigit() and int(size) for size in sizes):
        raise ValueError(f"got the shape {text!r}, expected four sizes such as 1x1x32x64")
    return [int(size) for size in sizes]


def _left_out(operation: Operation, reason: str) -> Operation:
    return Operation(operation.kind, operation.row, operation.topology, reason=reason)


def _unfit(row: Mapping[str, Any], *names: str) -> str:
    """Why operands cannot be made, or nothing."""
    formats = [row.get(f"{name}_dtype") for name in names]
    if unknown := [one for one in formats if one and one not in FORMATS]:
        return f"format {unknown[0]}"
    memories = [row.get(f"{name}_memory") or "" for name in names]
    if "L1_INTERLEAVED" in memories:
        return "operands interleaved over L1, of which Tanto has none"
    if any(one in ("L1_BLOCK_SHARDED", "L1_WIDTH_SHARDED") for one in memories):
        return "operands sharded by columns"
    return ""


def _tiles(shape: Sequence[int]) -> int:
    *outer, rows, columns = shape
    return prod(outer) * -(-rows // SIDE) * -(-columns // SIDE)


# Products


def _product(operation: Operation, shapes: list[list[int]], grid: tuple[int, int]) -> Operation:
    row, (a, b) = operation.row, shapes
    if not b:
        return _left_out(operation, "no second operand")
    if b[0] * b[1] > 1:
        return _left_out(operation, "many products in one, of which the library of kernels has none")
    if reason := _unfit(row, "in0", "in1", "out"):
        return _left_out(operation, reason)
    m, k, n = prod(a[:3]), a[3], b[3]
    sides = -(-m // SIDE), -(-k // SIDE), -(-n // SIDE)
    minimal, height = "Minimal" in row["op"], row["in0_memory"] == "L1_HEIGHT_SHARDED"
    spread = "grid" if minimal else find_spread(sides, grid, row["cores"])
    if not spread or (height and spread != "rows"):
        return _left_out(operation, "cores that follow from no known way to spread a product")
    parameters: dict[str, Any] = {
        "M": m,
        "K": k,
        "N": n,
        "grid_x": grid[0],
        "grid_y": grid[1],
        "spread": spread,
        "block_k": find_depth(row.get("config") or "", sides[1], grid, spread),
        "layout": "l1" if height else "dram",
        "dtype": FORMATS[row["in0_dtype"]],
        "dtype_b": FORMATS[row["in1_dtype"]],
        "dtype_c": FORMATS[row["out_dtype"]],
        "math_fidelity": (row.get("fidelity") or "chip").lower(),
        "sums": "float32" if row.get("fp32_acc") == "True" else "format",
    }
    return Operation(operation.kind, row, operation.topology, "tanto-matmul", parameters)


def find_spread(sides: tuple[int, int, int], grid: tuple[int, int], cores: int) -> str:
    """How a product of so many tiles is spread if it takes a number of cores of a grid: grid, rows or columns, else ""."""
    m, _, n = sides
    every = prod(grid)
    taken = {"grid": _parts(m, grid[1]) * _parts(n, grid[0]), "rows": _parts(m, every), "columns": _parts(n, every)}
    # Of several that fit, the library takes one side for narrow products.
    order = ("rows", "grid", "columns") if m > n else ("columns", "grid", "rows")
    return next((one for one in order if taken[one] == cores), "")


def _parts(side: int, cores: int) -> int:
    """The cores that have a share of a side when each has as many tiles as the first."""
    return -(-side // -(-side // cores))


def find_depth(config: str, k: int, grid: tuple[int, int], spread: str) -> int:
    """The depth of the blocks of a product in tiles: that of its program, else the one that the library chooses."""
    if given := re.search(r"(?:K_block_size|in0_block_w)=(\d+)", config):
        return min(int(given[1]), k)
    if spread == "grid":
        return k // grid[0] if k % grid[0] == 0 else 1
    return 1 if k % 2 else 2


# Element-wise operations


def _elementwise(operation: Operation, shapes: list[list[int]], grid: tuple[int, int]) -> Operation:
    row, (a, b) = operation.row, shapes
    two = bool(b) and operation.kind == "binary"
    if reason := _unfit(row, "in0", "out", *(["in1"] if two else [])):
        return _left_out(operation, reason)
    cores, width = row["cores"], grid[0]
    if cores > width and cores % width:
        return _left_out(operation, "cores that are no whole rows")
    sharded = row["in0_memory"] == "L1_HEIGHT_SHARDED"
    if sharded and two and (a != b or row.get("in1_memory") != "L1_HEIGHT_SHARDED"):
        return _left_out(operation, "operands of which one is sharded")
    tiles = -(-_tiles(a) // cores)
    frame = gcd(tiles, MOST_FRAME) if sharded else 1
    parameters: dict[str, Any] = {
        "cores": cores,
        "grid_x": width,
        "tiles": tiles,
        "frame": frame,
        "dtype": FORMATS[row["in0_dtype"]],
        "layout": "sharded" if sharded else "dram",
    }
    if two:
        parameters["broadcast"] = "none" if a == b else ("scalar" if b[2:] == [SIDE, SIDE] else "cols")
        return Operation(operation.kind, row, operation.topology, "tanto-binary", parameters)
    function = {"binary": "add_scalar", "unary": "relu", "typecast": "copy"}[operation.kind]
    parameters |= {"function": function, "dtype_y": FORMATS[row["out_dtype"]]}
    return Operation(operation.kind, row, operation.topology, "tanto-unary", parameters)


# Convolutions


def _convolution(operation: Operation, shapes: list[list[int]], grid: tuple[int, int]) -> Operation:
    row, (image, weights) = operation.row, shapes
    pixels = prod(_shape(row.get("out_shape"))[:3])
    if not weights or not pixels:
        return _left_out(operation, "no weights or no shape of the result")
    if reason := _unfit(row, "in0", "in1", "out"):
        return _left_out(operation, reason)
    if row["in0_memory"] != "L1_HEIGHT_SHARDED" or row["in0_dtype"] != "BFLOAT16":
        return _left_out(operation, "an image that is not sharded by rows")
    channels, depth = image[3], weights[2]
    parameters: dict[str, Any] = {
        "height": -(-pixels // IMAGE_WIDTH),
        "width": IMAGE_WIDTH,
        "channels": channels,
        "filters": weights[3],
        "window": min(WINDOWS, key=lambda side: abs(side * -(-side * channels // SIDE) * SIDE - depth)),
        "grid_x": grid[0],
        "grid_y": -(-row["cores"] // grid[0]),
        "dtype_w": FORMATS[row["in1_dtype"]],
        "dtype_y": FORMATS[row["out_dtype"]],
        "sums": "float32" if row.get("fp32_acc") == "True" else "bfloat16",
        "math_fidelity": (row.get("fidelity") or "chip").lower(),
    }
    return Operation(operation.kind, row, operation.topology, "tanto-conv-blocks", parameters)


_MAKE = {
    "matmul": _product,
    "conv": _convolution,
    "binary": _elementwise,
    "unary": _elementwise,
    "typecast": _elementwise,
}
