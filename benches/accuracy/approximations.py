"""The declared approximations, each beside a finer model of the same cases."""

from __future__ import annotations

from collections.abc import Mapping

import kernbench
from benches.accuracy.family import Approximation, Point
from benches.accuracy.routers import DESTINATIONS, ROUTERS, texts_of
from kernbench import DPPolicy, bench

BENCHES: tuple[tuple[str, Mapping[str, object]], ...] = (
    ("matmul-composite", {"M": 128, "K": 256, "N": 128}),
    ("gemm-single-pe", {}),
    ("vector-add", {}),
)
ROWS, COLUMNS, WIDTH = 32, 64, 1024  # of a tile, and columns of its matrix


def compare_benches(finer: Mapping[str, object]) -> list[Point]:
    """Benches on `tiny` as it is, and with other fields."""
    return [
        Point(
            name,
            kernbench.run(name, "tiny", parameters=parameters).latency_ns,
            kernbench.run(name, "tiny", parameters=parameters, overrides=finer).latency_ns,
        )
        for name, parameters in BENCHES
    ]


def compare_batches(topology: str, finer: Mapping[str, object]) -> list[Point]:
    """The last cycle of each batch, and the mean latency of its packets, on a mesh without limits and on another."""
    points = list[Point]()
    for batch in DESTINATIONS:
        ours, theirs = (
            kernbench.probe(name, flows=texts_of(batch), overrides=fields, mode="flit")
            for name, fields in (("mesh_8x8", {}), (topology, finer))
        )
        points += [
            Point(f"{batch}, last cycle", ours.makespan_ns, theirs.makespan_ns),
            Point(f"{batch}, mean latency", float(ours.latency_fs.mean()), float(theirs.latency_fs.mean())),
        ]
    return points


def load_tile(pointer, rows, columns, width, by_rows, tl):
    """One tile of a matrix that is stored row by row, with one transfer or with one for each row."""
    if not by_rows:
        tl.load(pointer, (rows, columns), "f16")
        return
    for row in range(rows):
        tl.load(pointer + 2 * row * width, (1, columns), "f16")


@bench("tile-of-rows", "A tile of a matrix as one transfer, or as one for each row")
def tile_of_rows(torch, *, by_rows=False):
    """Everything lies in the PE's own memory.

    Parameters:
        by_rows: a transfer for each row
    """
    matrix = torch.draw((ROWS, WIDTH), "f16", DPPolicy(num_cubes=1, num_pes=1), name="matrix")
    torch.launch("load_tile", load_tile, matrix, ROWS, COLUMNS, WIDTH, by_rows)


def compare_tiles() -> list[Point]:
    """A tile of 32 rows of 128 B in a wider matrix."""
    ours, theirs = (kernbench.run(tile_of_rows, "tiny", parameters={"by_rows": rows}) for rows in (False, True))
    return [Point(f"{ROWS} x {COLUMNS} of f16", ours.pe_exec_ns, theirs.pe_exec_ns)]


APPROXIMATIONS = (
    Approximation(
        "unbounded queues",
        "Queues of links have no limit",
        "routers with four virtual channels of 16 flits, and their pipeline (`mesh_8x8_credit`)",
        "kernbench probe --flows FILE -t mesh_8x8_credit",
        lambda: compare_batches("mesh_8x8_credit", {"packet_flits": 64, **ROUTERS["four channels"]}),
    ),
    Approximation(
        "first come first served",
        "Links serve flits first come, first served",
        "links that keep the flits of a packet together (`interleave: packets`)",
        "kernbench probe --flows FILE -t mesh_8x8 --set interleave=packets",
        lambda: compare_batches("mesh_8x8", {"interleave": "packets"}),
    ),
    Approximation(
        "no banks",
        "HBM has no banks, rows or refresh",
        "memory that refreshes and opens a row for each access (`parts.hbm=hbm_refresh`)",
        "kernbench run matmul-composite -t tiny --set topology.parts.hbm=hbm_refresh",
        lambda: compare_benches({"parts.hbm": "hbm_refresh"}),
    ),
    Approximation(
        "one transfer a tile",
        "A tile of a composite operation is one transfer from the address of its first element",
        "a transfer for each of its rows, one after the other",
        "python -m benches.accuracy",
        compare_tiles,
    ),
)
