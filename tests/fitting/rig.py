"""Measurements made by simulating a machine whose figures the fit does not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from kernbench.frontends.run import run_bench
from kernbench.machine import load_machine
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.run import run_flows

HIDDEN = {
    "pe_gemm.tflops_f16": 2.3,
    "hbm.channel_gbs": 22.0,
    "pe_math.elements_f16": 11.0,
    "io_cpu.overhead_ns": 120.0,
    "ucie.gbs": 60.0,
    "ucie.overhead_ns": 21.0,
}
RATES = ("tflops_f16", "channel_gbs", "elements_f16", "gbs")
RANGES = {
    "pe_math.elements_f16": (5, 300),
    "io_cpu.overhead_ns": (2, 300),
}


def named(hidden: Mapping[str, float]) -> list[str]:
    """The fields of hidden figures, as `--field` takes them."""
    return [f"{field}={RANGES[field][0]}..{RANGES[field][1]}" if field in RANGES else field for field in hidden]


def write_flows(
    file: Path, texts: Sequence[str], hidden: Mapping[str, float], topology: str = "tiny", noise: float = 0
) -> Path:
    """Measured flows, each alone, as a file."""
    machine, rng = load_machine(topology, hidden), np.random.default_rng(1)
    lines = ["src,dst,bytes,kind,time_ns"]
    for text in texts:
        result = run_flows(machine, parse_flows([text]))
        src, dst, nbytes, kind = (*text.split(":"), "write")[:4]
        time_ns = result.latency_fs[0] / 1e6 * (1 + noise * rng.uniform(-1, 1))
        lines.append(f"{src},{dst},{nbytes},{kind},{time_ns:.6f}")
    file.write_text("\n".join(lines) + "\n")
    return file


def measure(row: tuple[str, Mapping[str, object]], hidden: Mapping[str, float]) -> float:
    """The time in ns of a bench with parameters, or of a flow alone."""
    bench, parameters = row
    if ":" in bench:
        return run_flows(load_machine("tiny", hidden), parse_flows([bench])).latency_fs[0] / 1e6
    return run_bench(bench, "tiny", parameters=parameters, overrides=hidden).latency_ns


def write_benches(
    file: Path,
    rows: Sequence[tuple[str, Mapping[str, object]]],
    hidden: Mapping[str, float],
    noise: float = 0,
    seed: int = 1,
    repeats: int = 1,
) -> Path:
    """Measured benches as a file, times in us, each the mean of `repeats` measurements; flows are rows (text, {})."""
    rng = np.random.default_rng(seed)
    names = sorted({name for _, parameters in rows for name in parameters})
    lines = [",".join(["bench", *names, "src", "dst", "kind", "time_us"])]
    for bench, parameters in rows:
        if ":" in bench:
            src, dst, nbytes, kind = (*bench.split(":"), "write")[:4]
            cells = ["", *(nbytes if name == "bytes" else "" for name in names), src, dst, kind]
        else:
            cells = [bench, *(str(parameters.get(name, "")) for name in names), "", "", ""]
        time_ns = measure((bench, parameters), hidden) * (1 + noise * rng.uniform(-1, 1, repeats).mean())
        lines.append(",".join([*cells, f"{time_ns / 1000:.9f}"]))
    file.write_text("\n".join(lines) + "\n")
    return file
