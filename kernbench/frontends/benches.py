"""Benches: functions under `@bench`, whose kernels run on PEs or are Tanto programs, as they declare."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernbench.frontends.frontend import Files, FrontEnd, Named
from kernbench.runs.declared_benches import TANTO as SYSTEM
from kernbench.runs.declared_benches import file_of_bench, find_declared

WORKLOADS = "kernbench.frontends.bench_workloads"
CODE = "bench"  # what its file is: Python, which runs


def name_files(name: str, parameters: Mapping[str, object] | None = None) -> Files:
    """The file of a bench that is named by a path."""
    del parameters
    file = file_of_bench(name)
    return [] if file is None else [(CODE, Path(file))]


def _names(*, tanto: bool) -> Named:
    return {name: one.values for name, one in find_declared().items() if (one.system == SYSTEM) == tanto}


def _is_tanto(name: str) -> bool:
    found = find_declared().get(name)
    return found is not None and found.system == SYSTEM


TANTO = FrontEnd(
    name="tanto-bench",
    kind="bench",
    title="Tanto bench",
    machine="wormhole_n150",
    workloads=WORKLOADS,
    claims=_is_tanto,
    names=lambda: _names(tanto=True),
    small={"bench": "tanto-unary", "topology": "tensix_tiny", "parameters": {"cores": 1, "tiles": 1, "frame": 1}},
    files_of=name_files,
)
FRONT_END = FrontEnd(
    name="bench",
    kind="bench",
    title="bench",
    machine="sip_2x4x4",
    workloads=WORKLOADS,
    claims=lambda _: True,
    names=lambda: _names(tanto=False),
    small={
        "bench": "gemm-single-pe",
        "topology": "tiny",
        "parameters": {"M": 32, "topology.noc.gbs": [128.0, 256.0]},  # points that share a structure
    },
    files_of=name_files,
    shares=True,
    options=frozenset({"live", "device", "op_limit"}),
    suffixes=(".py",),
)
