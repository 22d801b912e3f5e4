"""What is measured in a process of its own, because memory is: each function answers plain numbers."""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from benches.perf.programs import random_messages, rate, run, shifted_reads, warm_up
from kernbench import library
from kernbench.machine import load_machine
from kernbench.machine.load import compile_machine
from kernbench.sweep.point import Point
from kernbench.sweep.row import Row
from kernbench.sweep.run import run_sweep

if TYPE_CHECKING:
    from kernbench.pto.api import PTO2Runtime

MIB = 1 << 20


def peak_mb() -> float:
    """The most memory this process has had, in MB (1e6); `getrusage` would count what its parent had when it was born."""
    return _status_mb("VmHWM")


def _status_mb(field: str) -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition(f"{field}:")[2].split()[0]) * 1024 / 1e6


def load_loops() -> float:
    """Seconds until the first small runs are done, numba already imported."""
    import numba  # noqa: F401

    begun = perf_counter()
    warm_up()
    return perf_counter() - begun


def machine_compile(sips: int) -> dict[str, float]:
    """Compiling the default machine with so many packages, everything imported."""
    path = library.find("topology", "sip_2x4x4")
    compile_machine(path, {"sips.count": 1})
    begun = perf_counter()
    machine = compile_machine(path, {"sips.count": sips})
    return {"s": perf_counter() - begun, "nodes": machine.node_count, "peak_mb": peak_mb()}


def reads_of(sips: int, count: int) -> dict[str, float]:
    """Every PE reads 16 KiB from the cube beside its own, `count` times."""
    warm_up()
    session = run(shifted_reads(load_machine("sip_2x4x4", {"sips.count": sips}), 16 << 10, count))
    return {"rate": rate(session), "peak_mb": peak_mb()}


def task_graph(tasks: int) -> dict[str, float]:
    """Chains of ten tasks that take turns on cube and vector cores, warm: processor time, and the peak of memory."""
    from kernbench.pto.api import PTO2Runtime
    from kernbench.pto.kernels import Kernel
    from kernbench.pto.launch import Launch
    from kernbench.pto.settings import RuntimeSettings

    machine = load_machine("ascend_910b2")
    kernels = {0: Kernel(0, "CUBE", "aic", cost=2000.0), 1: Kernel(1, "VEC", "aiv", cost=1000.0)}
    launch = Launch(machine, RuntimeSettings.of(machine), kernels)
    launch.run(lambda orchestrator: _submit_chains(PTO2Runtime(orchestrator), 100))
    begun = process_time()
    launch.run(lambda orchestrator: _submit_chains(PTO2Runtime(orchestrator), tasks))
    return {"s": process_time() - begun, "peak_mb": peak_mb()}


def _submit_chains(rt: PTO2Runtime, tasks: int) -> None:
    from kernbench.pto import api

    for _ in range(tasks // 10):
        with api.PTO2_SCOPE(rt):
            reads: list[Any] = []
            for step in range(10):
                tensor = api.make_tensor((256,), 1)
                api.pto2_rt_submit_task(rt, step % 2, step % 2, [*reads, api.make_output_param(tensor)])
                reads = [api.make_input_param(tensor)]


def long_run(million_flit_hops: float) -> dict[str, float]:
    """A closed loop of 1 MiB messages between random nodes of an 8 x 8 mesh."""
    machine = load_machine("mesh_8x8")
    once = run(random_messages(machine, MIB)).flit_hops
    session = run(random_messages(machine, MIB, round(million_flit_hops * 1e6 / once)))
    return {"flit_hops": session.flit_hops, "rate": rate(session), "peak_mb": peak_mb()}


def sweep(parameters: dict[str, Any], count: int) -> dict[str, float]:
    """The most memory of a sweep of so many bounds in this process, and by how much it grows from the first to the last."""
    grid = {"bench": "matmul-composite", "topology": "sip_2x4x4", "mode": "analytic", "parameters": parameters}
    now_mb = []

    def hear(point: Point, _row: Row) -> None:
        if point.index in (0, count - 1):
            now_mb.append(_status_mb("VmRSS"))

    with tempfile.TemporaryDirectory() as out:
        done = run_sweep({"name": "perf", **grid}, out, workers=1, on_point=hear)
    assert (done.count, done.failed) == (count, 0)
    return {"peak_mb": peak_mb(), "grown_mb": now_mb[-1] - now_mb[0]}
