"""Programs to bound: of shipped benches, not run; of machines without parts, with names."""

from __future__ import annotations

from collections.abc import Mapping

from kernbench.host.device.device import Device
from kernbench.host.torch.context import RuntimeContext
from kernbench.machine import load_machine
from kernbench.runs.bench import find_bench

BENCHES = {  # small enough to run often
    "gemm-single-pe": {},
    "matmul-composite": {"M": 128, "K": 128, "N": 128},
    "qkv-gemm": {},
    "vector-add": {},
    "ccl-allreduce": {"bytes_per_pe": 256, "algorithm": "lrab_hierarchical_allreduce", "slot_size": 4096},
}


def record(bench: str, overrides: Mapping[str, object] | None = None) -> Device:
    """A device to which a bench has issued all it wants."""
    machine, found = load_machine("tiny", overrides), find_bench(bench)
    device = Device(machine)
    found.run(RuntimeContext(device, range(machine.places.sip_count), seed=0), **BENCHES[bench])
    return device


def named(program):
    """A bare machine has no names; bounds name what binds."""
    machine = program.machine
    machine.station_name = [f"station{i}" for i in range(len(machine.stations.fs_per_flit))]
    machine.server_kind = ["server"] * len(machine.server_slots)
    machine.server_name = [str(i) for i in range(len(machine.server_slots))]
    return program
