"""The summary of a run."""

from __future__ import annotations

from typing import Any

from kernbench.cli.output.settings import tell_settings
from kernbench.frontends.bench_tables import result_lines
from kernbench.text_table import list_table

SUMMARY: dict[str, Any] = {
    "latency_ns": 1234.5678,
    "pe_exec_ns": 77.0,
    "achieved_tflops": 1.25,
    "achieved_gbs": 212.34,
    "tflops_of_peak": 0.1562,
    "gbs_of_peak": 0.4321,
    "bottleneck": "dma_read",
    "bottleneck_part": "sip0.cube0.pe0.pe_dma.read",
    "bottleneck_utilisation": 0.875,
    "unmapped_lookups": 0,
    "events": 12345,
    "flit_hops": 678,
    "wall_s": 0.1234,
    "verified": None,
    "mismatches": [],
}


def shown(**changes: Any) -> list[str]:
    """The lines of a summary, with single spaces."""
    lines = list_table(result_lines({**SUMMARY, **changes})).lay_out(120)
    return [" ".join("".join(text for text, _ in line).split()) for line in lines]


def test_every_figure_has_its_unit_and_its_clock() -> None:
    assert shown() == [
        "latency 1,234.568 ns simulated time, host launch to host completion",
        "kernel 77.000 ns simulated time, launch barrier to last PE done",
        "achieved 1.250 TFLOPS useful flops over kernel time; 15.6% of the PEs' peak",
        "212.3 GB/s bytes moved by DMA over kernel time; 43.2% of their HBM's peak",
        "bottleneck 87.5% busy dma_read, most of all sip0.cube0.pe0.pe_dma.read",
        "simulation 0.12 s wall time; 12,345 events, 678 flit hops",
        "numbers not checked --verify-data checks them",
    ]


def test_what_did_not_happen_has_no_line() -> None:
    lines = shown(achieved_tflops=None, achieved_gbs=0.0, bottleneck=None)
    assert [line.split()[0] for line in lines] == ["latency", "kernel", "simulation", "numbers"]


def test_programs_of_chips_have_no_launch() -> None:
    lines = shown(pe_exec_ns=0.0)
    assert lines[0] == "latency 1,234.568 ns simulated time, start to end of the run"
    assert not any(line.startswith("kernel") for line in lines)


def test_addresses_that_no_tensor_maps_are_told() -> None:
    assert shown(unmapped_lookups=1280)[-3] == (
        "unmapped 1,280 look-ups no tensor holds these addresses, so they were taken as physical ones"
    )


def test_collectives_beside_their_bounds() -> None:
    one = {
        "collective": "all_reduce",
        "algorithm": "ring",
        "chosen": False,
        "sip_topology": "torus_2d",
        "participants": 96,
        "bytes_per_pe": 65536,
        "buffer_kind": "tcm",
        "slot_bytes": 4096,
        "latency_ns": 2000.0,
        "algbw_gbs": 32.768,
        "busbw_gbs": 64.853,
        "task_bound_ns": 500.0,
        "task_bound_by": "65,536 B must leave a SIP, whose links pass 131.1 GB/s",
        "times_task_bound": 4.0,
        "bound_ns": 1600.0,
        "times_bound": 1.25,
    }
    told = "all_reduce 2,000.000 ns ring on torus_2d, 96 x 65,536 B, slots of 4,096 B in tcm"
    bandwidth = "32.768 GB/s algorithm bandwidth; bus 64.853 GB/s"
    task = "4.00 x bound of the task, 500.0 ns: 65,536 B must leave a SIP, whose links pass 131.1 GB/s"
    algorithm = "1.25 x bound of the algorithm, 1,600.0 ns"
    assert shown(collectives=[one])[2:6] == [told, bandwidth, task, algorithm]
    assert shown(collectives=[{**one, "bound_ns": None, "times_bound": None}])[2:5] == [told, bandwidth, task]
    assert shown(collectives=[{**one, "chosen": True}])[2] == told.replace("ring on", "ring (chosen) on")
    barrier = {**one, "algbw_gbs": 0.0, "busbw_gbs": 0.0}
    assert shown(collectives=[barrier])[2:5] == [told, task, algorithm]
    assert shown(collectives=[one] * 9)[26] == "3 more collectives; --json tells of all"


def test_the_numbers_are_right_or_wrong() -> None:
    assert shown(verified=True)[-1] == "numbers right every output equals its independent reference"
    wrong = shown(verified=False, mismatches=["c[0, 1]: expected 2, got 3"])
    assert wrong[-1] == "numbers WRONG c[0, 1]: expected 2, got 3"


def test_bounds_say_that_they_are() -> None:
    bounds = {"makespan_ns": 2000.0, "upper_ns": 99999.0, "binding": "gemm sip0.cube0.pe0.pe_gemm"}
    assert shown(**bounds) == [
        "latency ≥ 1,234.568 ns simulated time, host launch to host completion",
        "kernel ≥ 77.000 ns simulated time, launch barrier to last PE done",
        "all ≥ 2,000.000 ns bound by gemm sip0.cube0.pe0.pe_gemm",
        "≤ 99,999.000 ns if everything were done one after the other",
        "analysis 0.12 s wall time; no events",
    ]


def test_the_first_line_tells_what_was_set_and_no_default() -> None:
    defaults = {"M": 512, "algorithm": "", "slots": 0}
    assert tell_settings({"M": 64, "algorithm": "", "slots": 0}, defaults, {"hbm.channel_gbs": "8"}) == (
        "  M=64  topology.hbm.channel_gbs=8"
    )
    assert tell_settings(defaults, defaults, {}) == ""
