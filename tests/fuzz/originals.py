"""What inputs are made from: the files that come with KernBench, small command lines, and results that small runs leave."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from kernbench.library import shipped
from tests.fuzz.document import parse_yaml

# Benches with parameters by which they run in milliseconds on `tiny`
BENCHES: dict[str, dict[str, object]] = {
    "vector-add": {"n": 1024, "dtype": "f16"},
    "gemm-single-pe": {"M": 32, "K": 32, "N": 32, "dtype": "f16"},
    "matmul-composite": {"M": 64, "K": 64, "N": 64, "variant": "ref_ref", "sips": 0, "cubes": 1, "pes": 1},
    "pe-to-pe": {"nbytes": 512, "messages": 2, "to": "cube", "via": "recv", "buffer_kind": "tcm", "slots": 2},
    "qkv-gemm": {"tokens": 16, "hidden": 64, "heads": 4, "kv_heads": 2, "head_dim": 16},
    "transformer-block": {"tokens": 4, "hidden": 32, "heads": 2, "mlp": 64},
    "attention-decode": {"users": 2, "context": 128, "heads": 4, "kv_heads": 2, "head_dim": 32, "block": 64},
    "attention-prefill": {"users": 1, "tokens": 64, "heads": 2, "kv_heads": 1, "head_dim": 32, "tile": 32, "block": 32},
    "va-offset-verify": {"rows": 32, "columns": 32, "offset": 100, "cube": "row_wise", "pe": "column_wise"},
    "ccl-allreduce": {"bytes_per_pe": 256, "n_sips": 2, "sip_topology": "ring_1d", "n_slots": 2, "slot_size": 256},
    "gpt3-qkv": {"tokens": 4, "share": 1, "hidden": 128, "heads": 4, "head_dim": 32, "stream": False},
}
# Fields of machines with values that are odd and legal, or nearly
SETTINGS: dict[str, tuple[object, ...]] = {
    "flit_bytes": (1, 16, 64, 100, 4096, "1 KiB"),
    "ns_per_mm": (0, 0.01, 5, "1 ns/mm"),
    "sips.count": (1, 2, 3, 6),
    "sips.topology": ("ring_1d", "mesh_2d_no_wrap", "torus_2d", "switch"),
    "sips.gap_mm": (0, 1e6),
    "sip.cubes.w": (1, 2, 3),
    "sip.cubes.h": (1, 2, 3),
    "cube.pes": (1, 2, 3, 4),
    "cube.rows": (1, 2, 3, 9),
    "cube.cols": (1, 3, 4, 9),
    "cube.hole": ("[]", "[r0c1]", "[r1c1, r0c1]"),
    "cube.pe_routers": ("[r0c0, r0c0]", "[r0c0, r1c1]"),
    "cube.pitch_mm": ("[0, 0]", "[1, 100]"),
    "cube.ucie.N": ("[]", "[r0c0]", "[r0c0, r0c1, r0c2]"),
    "cube.ucie.E": ("[]", "[r1c2]"),
    "pe.tile_m": (1, 16, 33, 4096),
    "pe.tile_k": (1, 7, 1024),
    "pe.tile_n": (1, 8, 100),
    "pe.scratch_bytes": (0, 1, 64, "16 MiB"),
    "mmu.model": ("va", "pa"),
    "mmu.page_bytes": (64, 4096, 3000, "1 GiB"),
    "mmu.va_bytes": (4096, "1 TiB"),
    "command.bytes": (0, 1, 1000000),
    "hbm.channel_gbs": (0.001, 1, 32, 1e6),
    "hbm.channels": (1, 3, 8, 64),
    "hbm.burst_bytes": (1, 32, 100, 4096),
    "hbm.slice_bytes": (1, 4096, "1 TiB"),
    "hbm.turn_ns": (0, 10),
    "noc.gbs": (0.5, 256, 1e9),
    "noc.overhead_ns": (0, 0.000001, 1e6),
    "ucie.gbs": (1, 128),
    "pe_dma.gbs": (1, 256),
    "pe_dma.read_channels": (1, 2, 1024),
    "pe_gemm.tflops_f16": (0.001, 8, 1e5),
    "pe_math.elements_f16": (1, 256, 100000),
    "pe_tcm.bytes": (1, 4096, "1 GiB"),
    "pe_tcm.read_gbs": (1, 1e6),
    "pe_ipcq.slots": (1, 4),
    "tiling.order": ("mnk", "kmn"),
    "parts.pe_gemm": ("systolic", "pe_gemm"),
    "parts.hbm": ("hbm_refresh", "hbm"),
    "parts.noc": ("pipelined_router",),
    "parts.tiling": ("weight_stationary",),
    "pe_gemm.rows": (1, 128),
}
MESH_SETTINGS: dict[str, tuple[object, ...]] = {
    "k": (1, 2, 3, 5),
    "w": (1, 2, 7),
    "h": (1, 2, 3),
    "torus": (True, False),
    "one_way": (True, False),
    "networks": (1, 2, 3),
    "acknowledged": (True, False),
    "issue_ns": (0, 0.001, 7.5, 1e6),
    "outstanding": (1, 2, 1000),
    "flit_bytes": (1, 16, 256, 100),
    "link_gbs": (0.01, 256, 1e6),
    "hop_ns": (0, 1, 1000),
    "injection_ns": (0, 0.5),
    "ejection_ns": (0, 7),
    "endpoint_gbs": (1, 256),
}
FLOWS = (
    "host:sip0.cube0.pe1:64KiB",
    "sip0.cube0.pe0:sip0.cube1.pe1:1KiB:read@100",
    "sip0.cube0.sram:sip0.cube0.pe0:4096",
    "sip0.cube0.pe0:sip0.cube0.pe0:16KiB:write@1.5us",
    "sip0.io0.pcie_ep:sip0.cube1.m_cpu:64",
    "sip0.cube0.pe1:host:1 MB",
)
MESH_FLOWS = ("node[0][0]:node[1][2]:4KiB", "1:2:1KiB@20", "0:5:100000:read@3", "node[2][2]:0:1")
GRID = """
bench: vector-add
topology: tiny
mode: hybrid
description: a grid
parameters:
  n: {values: [1024, 2048]}
  dtype: [f16, f32]
  topology.hbm.channel_gbs: {logspace: [8, 64, 3]}
  topology.pe.tile_k: {values: [32, 128], when: dtype == "f16"}
constraints:
  - n * 2 <= 2 ** 24
  - latency_ns <= 50000
exclude: dtype == "f32" and n < 2000
derived:
  cost: topology.hbm.channel_gbs * topology.hbm.channels / 32 + topology.pe_gemm.tflops_f16
objectives: [min latency_ns, min cost]
baseline: {topology.hbm.channel_gbs: 8}
"""
DRAWN = """
bench: matmul-composite
topology: tiny
mode: auto
method: {method}
samples: 5
seed: 3
parameters:
  M: 32
  K: {{min: 16, max: 64}}
  N: {{range: [16, 48, 16]}}
  variant: [ref_ref, load_load]
  topology.noc.gbs: {{min: 16.0, max: 512.0, scale: log}}
  topology.pe_gemm.tflops_f16: {{linspace: [0.5, 2.0, 3]}}
zip: []
where: M * N <= K * 100
derived: {{price: topology.noc.gbs + 2 * topology.pe_gemm.tflops_f16, per: price / latency_ns}}
objectives: {{latency_ns: min, per: max}}
"""
TRAFFIC = """
pattern: uniform
topology: mesh_8x8_credit
parameters:
  pattern: [uniform, transpose]
  load: {linspace: [0.1, 0.9, 3]}
  loads: "0.1:0.5:0.2"
  packet_flits: [1, 4]
  window: 50
  topology.k: 2
  topology.buffer_flits: {range: [1, 5, 2]}
  topology.virtual_channels: 2
constraints: accepted > 0.05
derived: {storage: topology.buffer_flits * topology.virtual_channels}
objectives: [max accepted, min storage]
baseline: {topology.buffer_flits: 5}
"""
RESULTS = (
    ("run", ("run", "vector-add", "-t", "tiny", "--set", "n=1024", "--explain", "--out", "run")),
    ("other", ("run", "gemm-single-pe", "-t", "tiny", "--set", "topology.noc.gbs=64", "--out", "other")),
    ("sweep", ("sweep", "sweep.yaml", "--workers", "1", "--out", "sweep")),
    ("flows", ("probe", "-t", "tiny", "--flow", FLOWS[0], "--flow", FLOWS[1], "--out", "flows")),
    ("gemm", ("evaluate", "gemm", "-t", "tiny", "--data-only", "--out", "gemm")),
)
SWEEP = (
    "bench: vector-add\ntopology: tiny\nmode: auto\nparameters:\n  n: [1024, 2048]\n  topology.noc.gbs: [16, 32, 64]\n"
)
SWEEP += "derived: {cost: topology.noc.gbs * 2}\nobjectives: [min latency_ns, min cost]\n"
KEPT = ("result.json", "table.parquet", "pareto.parquet", "sweep.json", "gemm.json", "gemm.parquet", "flows.parquet")
KEPT += ("critical_path.parquet",)


@cache
def trees(kind: str) -> dict[str, Any]:
    """The shipped YAML files of a kind by their name, as trees."""
    return {path.stem: parse_yaml(path.read_text()) for path in sorted((shipped() / kind).glob("*.yaml"))}


parse_text = cache(parse_yaml)  # of the texts above; whoever changes a tree copies it


@cache
def sources(kind: str) -> dict[str, str]:
    """The shipped Python files of a kind by their name."""
    return {path.stem: path.read_text() for path in sorted((shipped() / kind).glob("*.py"))}


def make_results(folder: Path) -> None:
    """Run the commands of `RESULTS` in a folder. Errors: RuntimeError if one fails."""
    (folder / "sweep.yaml").write_text(SWEEP)
    script = (
        "import ast, sys; from kernbench.cli.main import main; sys.exit(max(map(main, ast.literal_eval(sys.argv[1]))))"
    )
    commands = [list(command) for _, command in RESULTS]
    path = os.pathsep.join([str(shipped()), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    made = subprocess.run(
        [sys.executable, "-c", script, repr(commands)], cwd=folder, env=environment, capture_output=True, text=True
    )
    if made.returncode:
        raise RuntimeError(f"results to start from could not be made: {made.stderr}")


@cache
def results(folder: Path) -> dict[str, dict[str, bytes]]:
    """The files that `make_results` left: by the name of the result, then of the file."""
    found = {}
    for name, _ in RESULTS:
        files = [
            path for path in sorted((folder / name).rglob("*")) if path.name in KEPT or path.parent.name == "parts"
        ]
        found[name] = {
            path.relative_to(folder / name).as_posix(): path.read_bytes() for path in files if path.is_file()
        }
    return found
