"""A bench and runs of it that need no machine, importable by worker processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernbench.errors import RunError
from kernbench.frontends.bench_workloads import BenchWorkload
from kernbench.frontends.prepared import Request
from kernbench.sweep.execution.point_progress import report_run
from kernbench.sweep.point import Point

TOY = """
from kernbench.runs.bench import bench

@bench("toy", "a toy")
def toy(torch, *, M=1, N=2, dtype="f16"):
    pass
"""


def write_toy(directory: Path) -> Path:
    """A bench file with the parameters M, N and dtype."""
    path = directory / "toy.py"
    path.write_text(TOY, encoding="utf-8")
    return path


def toy_grid(directory: Path, **parameters: object) -> dict[str, object]:
    """A grid of the toy bench on the tiny machine."""
    return {"name": "toy", "bench": str(write_toy(directory)), "topology": "tiny", "parameters": parameters}


def run_fake(point: Point) -> object:
    """A result whose latency is M; with M = 13 the run fails."""
    if point.parameters["M"] == 13:
        raise RunError("thirteen brings bad luck")
    return result(float(point.parameters["M"]))


def run_slowly(point: Point) -> object:
    """A run that takes a moment."""
    time.sleep(0.3)
    return run_fake(point)


def run_asleep(point: Point) -> object:
    """A run that does not end at M = 13, outside of Python."""
    if point.parameters["M"] == 13:
        time.sleep(1e6)
    return run_fake(point)


def run_telling(point: Point) -> object:
    """A run that tells how far it is."""
    report_run(point.index, 1, 2, 3)
    return run_fake(point)


def run_deadly(point: Point) -> object:
    """A run that kills its process at M = 13."""
    if point.parameters["M"] == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return run_fake(point)


def run_deadly_once(point: Point) -> object:
    """A run that kills its process at M = 13, but not the second time; remembers in the directory named by dtype."""
    flag = Path(str(point.parameters["dtype"]), "died")
    if point.parameters["M"] == 13 and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return result(0.0)


def run_where(point: Point) -> object:
    """A run whose bottleneck says in which directory and process it ran."""
    return result(0.0, bottleneck=f"{os.getcwd()} {os.getpid()} {os.environ.get('KERNBENCH_TEST')}")


def result(latency_ns: float, *, bottleneck: str = "somewhere") -> SimpleNamespace:
    """What has the attributes of a RunResult."""
    return SimpleNamespace(
        latency_ns=latency_ns,
        pe_exec_ns=latency_ns / 2,
        bottleneck=bottleneck,
        bottleneck_part="sip0.cube0.r0c0",
        bottleneck_utilisation=0.5,
        achieved_tflops=1.0,
        achieved_gbs=2.0,
        events=3,
        flit_hops=4,
        wall_s=0.1,
        program_digest="0123456789abcdef",
    )


def patch_runs(monkeypatch: pytest.MonkeyPatch, run: Callable[..., object]) -> None:
    """Let points of benches be run by a function of the bench, its machine and its parameters."""

    def run_point(self: BenchWorkload, request: Request) -> object:
        return run(self.source, request.machine, parameters=request.parameters)

    monkeypatch.setattr(BenchWorkload, "run_point", run_point)
