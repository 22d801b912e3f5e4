"""Digests of the op log of every shipped bench: a change of any time, order or part of any of them is seen.

`python -m tests.golden` (`make golden`) writes them anew; the difference of `digests.json` then says which runs changed, by
how much their latency, and by how many rows.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import polars as pl

from kernbench import RunResult, run

FILE = Path(__file__).parent / "digests.json"

SIZES: dict[str, dict[str, object]] = {
    "attention-decode": {"users": 2, "context": 100, "heads": 4, "kv_heads": 2, "head_dim": 16, "block": 32},
    "attention-unfused": {"users": 2, "tokens": 20, "cached": 20, "heads": 4, "kv_heads": 2, "head_dim": 16},
    "attention-prefill": {"tokens": 40, "heads": 4, "kv_heads": 2, "head_dim": 16, "tile": 16, "block": 16},
    "ccl-allreduce": {"bytes_per_pe": 6000},
    "gemm-single-pe": {"M": 64, "K": 96, "N": 40},
    "gpt3-qkv": {"tokens": 8, "hidden": 192, "heads": 16, "head_dim": 8},
    "matmul-composite": {"M": 96, "K": 128, "N": 72},
    "pe-to-pe": {"nbytes": 600, "messages": 9, "slots": 2},
    "qkv-gemm": {"tokens": 24, "hidden": 96, "heads": 4, "kv_heads": 2, "head_dim": 16},
    "va-offset-verify": {"rows": 64, "columns": 40, "offset": 777},
    "transformer-block": {"tokens": 3, "hidden": 32, "heads": 2, "mlp": 32},
    "triton-cross-entropy": {"rows": 6, "classes": 200, "BLOCK": 64},
    "triton-flash-attention": {"heads": 2, "kv_heads": 1, "tokens": 100, "head_dim": 32, "BLOCK_M": 32, "BLOCK_N": 32},
    "triton-int8-matmul": {"M": 48, "N": 64, "K": 96, "BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 32},
    "triton-layer-norm": {"rows": 12, "columns": 200, "BLOCK": 64},
    "triton-matmul": {"M": 96, "N": 72, "K": 128, "BLOCK_M": 32, "BLOCK_N": 32},
    "triton-paged-decode": {"sequences": 2, "kv_heads": 1, "group": 4, "head_dim": 16, "page": 8, "longest": 40},
    "triton-rms-norm": {"rows": 12, "columns": 200},
    "triton-rotary": {"positions": 12, "heads": 2, "head_dim": 32},
    "triton-softmax": {"rows": 20, "columns": 200, "programs": 6},
    "triton-split-k": {"M": 64, "N": 64, "K": 256, "BLOCK_M": 32, "BLOCK_N": 32, "SPLIT_K": 2},
    "triton-stream-k": {"M": 48, "N": 48, "K": 128, "BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32, "programs": 6},
    "triton-vector-add": {"n": 5000, "BLOCK": 256},
    "vector-add": {"n": 20_000},
}
TOPOLOGIES = ("tiny", "sip_2x4x4")


def describe(bench: str, topology: str, mode: str = "hybrid") -> dict[str, object]:
    """The figures and the digest of one run; they are the same in every mode that serves events."""
    result: RunResult = run(bench, topology, mode=mode, parameters=SIZES[bench])
    log = result.op_log()
    return {
        "latency_ns": result.latency_ns,
        "pe_exec_ns": result.pe_exec_ns,
        "flit_hops": result.flit_hops,
        "rows": log.height,
        "digest": digest(log),
    }


def digest(log: pl.DataFrame) -> str:
    """sha256 of every value of a log, column by column."""
    whole = hashlib.sha256()
    for column in log:
        whole.update(f"{column.name} {column.dtype} {json.dumps(column.to_list())}\n".encode())
    return whole.hexdigest()


def load() -> dict[str, dict[str, object]]:
    """What was written last, by "bench on topology"."""
    return json.loads(FILE.read_text())


def rewrite() -> None:
    """Write all digests anew."""
    found = {f"{bench} on {topology}": describe(bench, topology) for topology in TOPOLOGIES for bench in SIZES}
    FILE.write_text(json.dumps(found, indent=2) + "\n")
