"""The critical path by operation, by line and by launch, and the shares of the peak."""

from __future__ import annotations

import inspect

import pytest

from kernbench import bench
from kernbench.frontends.run import run_bench
from kernbench.library import show_path
from kernbench.oplog.critical import Piece
from kernbench.program.ops import NONE
from kernbench.runs.path_shares import time_by_operation
from kernbench.runs.result import RunResult
from kernbench.sweep.execution.shared_structure import SharedStructure
from kernbench.sweep.point import Point
from kernbench.units import FS_PER_NS


def square(x_ptr, y_ptr, *, tl):
    x = tl.load(x_ptr, (32, 32))
    tl.store(y_ptr, tl.dot(x, x))


def stream(x_ptr, y_ptr, *, tl):
    tl.composite(op="gemm", a=tl.ref(x_ptr, (32, 32)), b=tl.ref(x_ptr, (32, 32)), out_ptr=y_ptr)


@bench("two-kernels", "of a test")
def two_kernels(torch, again=1):
    x, y = torch.ones((32, 32)), torch.zeros((32, 32))
    for _ in range(again):
        torch.launch("square", square, x, y)
    torch.launch("stream", stream, x, y)


def place(function, text: str) -> str:
    lines, first = inspect.getsourcelines(function)
    return f"{show_path(__file__)}:{first + next(at for at, line in enumerate(lines) if text in line)}"


@pytest.fixture(scope="module")
def ran() -> RunResult:
    return run_bench(two_kernels, "tiny", parameters={"again": 2})


def test_lines_and_operations_add_up_to_the_latency(ran: RunResult) -> None:
    found = ran.explain()
    assert sum(one.path_fs for one in found.lines) == round(found.path_ns * FS_PER_NS)
    assert sum(one.pieces for one in found.lines) == len(found.path)
    plain = found.to_dict()
    assert sum(plain["operations"].values()) == pytest.approx(found.path_ns)
    assert {"gemm", "dma_read", "dma_write", "launch"} <= set(plain["operations"])


def test_the_lines_of_kernels(ran: RunResult) -> None:
    lines = {one.place: one for one in ran.explain().lines}
    composite = place(stream, "tl.composite")
    assert set(lines) == {"", place(square, "tl.load"), place(square, "tl.store"), composite}
    assert lines[place(square, "tl.load")].text == "x = tl.load(x_ptr, (32, 32))"
    assert lines[composite].path_fs > 0  # of its tiles, whose stages are of no thread


def test_launches_of_a_kernel_at_a_line_are_one(ran: RunResult) -> None:
    first, second = ran.explain().launches
    assert (first.kernel, first.launches, first.place) == ("square", 2, place(two_kernels.__bench__.run, "square"))
    assert (second.kernel, second.launches, second.place) == ("stream", 1, place(two_kernels.__bench__.run, "stream"))
    assert (first.kernel_fs + second.kernel_fs) / FS_PER_NS == pytest.approx(ran.pe_exec_ns)
    for one, count in ((first, 2), (second, 1)):
        assert one.rates is not None
        assert 0 < one.path_fs <= one.kernel_fs + 10**7 * one.launches  # with the PE's part of its launch
        work_ns = count * 32**3 * 2 / 8e3  # at 8 TFLOPS
        assert one.rates.tflops_of_peak == pytest.approx(work_ns / (one.kernel_fs / FS_PER_NS))


def test_shares_of_the_peak_of_a_run(ran: RunResult) -> None:
    assert ran.tflops_of_peak == pytest.approx(3 * 32**3 * 2 / 8e3 / ran.pe_exec_ns)
    moved = 2 * (2048 + 2048) + 3 * 2048  # a tile of 32 x 32 is read once by square, twice by stream
    assert ran.gbs_of_peak == pytest.approx(moved / ran.pe_exec_ns / (8 * 32))  # eight channels of 32 GB/s


def test_shares_of_points_that_share_a_structure_are_those_of_points_alone() -> None:
    fields = {"pe_gemm.tflops_f16": [4.0, 8.0], "hbm.channel_gbs": [16.0, 64.0]}
    points = [
        Point(at, str(at), "gemm-single-pe", "tiny", "hybrid", {"M": 64}, dict(zip(fields, values, strict=True)))
        for at, values in enumerate(zip(*fields.values(), strict=True))
    ]
    structure = SharedStructure(points[0])
    for point, together in zip(points, structure.run_all(points), strict=True):
        alone = run_bench("gemm-single-pe", "tiny", parameters={"M": 64}, overrides=point.overrides)
        bounded = run_bench("gemm-single-pe", "tiny", mode="analytic", parameters={"M": 64}, overrides=point.overrides)
        for name in ("tflops_of_peak", "gbs_of_peak"):
            assert getattr(together, name) == getattr(alone, name) > 0
            assert getattr(bounded, name) >= getattr(alone, name)


def test_the_longest_operation_comes_first() -> None:
    pieces = [Piece(at, at + fs, 0, "", name, {}, NONE) for at, fs, name in ((0, 3, "a"), (3, 5, "b"), (8, 4, "a"))]
    assert list(time_by_operation(pieces).items()) == [("a", 7), ("b", 5)]
