"""Command lines: those that use a machine, and how arguments are kept from writing outside of the working directory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from tests.fuzz.originals import BENCHES, FLOWS, MESH_FLOWS, MESH_SETTINGS, SETTINGS

PATTERNS = ("uniform", "transpose", "bitcomp", "hotspot", "neighbor", "tornado")
READABLE = ("/dev/null", "/dev/zero", "/proc/self/mem", "/dev/stdin")
VOCABULARY = (
    "--json", "--debug", "--help", "-h", "--version", "--out", "o", "--output", "--set", "--topology", "-t", "tiny",
    "mesh_8x8", "--mode", "hybrid", "flit", "analytic", "auto", "--verify-data", "--live", "--device", "all", "sip:0",
    "sip:1", "sip:-1", "--explain", "--what-if", "--workers", "0", "1", "-1", "--scheduler", "local", "--retry",
    "--fail-fast", "--dry-run", "--flow", "--flows", "--pattern", *PATTERNS, "--load", "0.1", "0.1,0.2", "0.1:0.3:0.1",
    "1:0:0", "0:1:1e-9", "--packet-flits", "--seed", "--window", "20", "--threshold", "1%", "latency_ns=2%",
    "achieved_tflops=-1%", "--worse", "--column", "latency_ns", "wall_s", "--view", "pe", "cube", "system",
    "--bandwidths", "--data-only", "--figures-only", "run", "list", "probe", "compare", "diagram", "vector-add", "1",
    "99", "gemm", "attention", "allreduce", ".", "n=1024", "n=", "=1", "=", "topology.=1", "n=1=2", "--", "-",
    "topology.noc.gbs=1 GB/s", "topology.hbm={}", "topology.parts={hbm: hbm_refresh}", "topology=tiny", "M=0", "k=2",
    "topology.k=2",
)  # fmt: skip


def draw_bench(random: Random) -> list[str]:
    """`run` of a small bench, with its parameters."""
    name = random.choice(list(BENCHES))
    words = ["run", name, "--time-limit", "10 s"]
    for parameter, value in BENCHES[name].items():
        words += ["--set", f"{parameter}={value}"]
    if name in ("ccl-allreduce", "transformer-block") and random.random() < 0.9:
        words += ["--set", "topology.sips.count=2"]
    how = random.choice(
        [[], [], ["--verify-data"], ["--live"], ["--mode", "flit"], ["--mode", "analytic"], ["--explain"]]
    )
    return [*words, *how, *random.choice([[], ["--json"], ["--json"], ["--out", "o"]])]


def draw_use(random: Random, network: bool = False) -> list[str]:
    """A command that uses a machine, without its name."""
    pick = random.random()
    if network:
        if pick < 0.5:
            words = ["probe", "--pattern", random.choice(PATTERNS), "--load", "0.1", "--window", "20"]
        else:
            words = ["probe", *(word for flow in random.sample(MESH_FLOWS, 2) for word in ("--flow", flow))]
    elif pick < 0.6:
        return draw_bench(random)
    elif pick < 0.78:
        words = ["probe", *(word for flow in random.sample(FLOWS, 2) for word in ("--flow", flow))]
    elif pick < 0.8:
        words = ["probe"]
    else:
        words = [
            "diagram",
            *random.choice([[], ["--view", "cube"], ["--view", "pe"], ["--bandwidths"], ["--view", "system"]]),
        ]
    return [*words, *random.choice([[], ["--json"], ["--out", "o"]])]


def draw_settings(random: Random, network: bool, prefix: str = "") -> list[str]:
    """Legal settings of a machine, or nearly: each alone is, together they may not be."""
    known = MESH_SETTINGS if network else SETTINGS
    drawn = random.sample(list(known), random.choice([0, 1, 1, 2, 3, 5]))
    return [word for name in drawn for word in ("--set", f"{prefix}{name}={random.choice(known[name])}")]


def confine(words: Sequence[str]) -> tuple[str, ...]:
    """The same arguments, but for paths from the root on: what is written stays below the working directory's parents."""
    return tuple(_confine(word) for word in words)


def _confine(word: str) -> str:
    if word in READABLE:
        return word
    start = re.match(r"--[^=/]*=|-[^-/]|", word)
    head = start.group() if start else ""
    return f"{head}.{word[len(head) :]}" if word[len(head) :].startswith("/") else word
