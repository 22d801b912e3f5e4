"""Engineering units of columns and numbers."""

from __future__ import annotations

import pytest

from kernbench.report.tables.engineering import number, quantity


@pytest.mark.parametrize(
    ("column", "values", "title", "texts"),
    [
        ("latency_ns", [100.0, 1600.0], "latency (ns)", ["100", "1,600"]),
        ("latency_ns", [1_229_000.0, 1_500.0], "latency (µs)", ["1,229", "1.5"]),
        ("latency_ns", [2.5e6, 9e7], "latency (ms)", ["2.5", "90"]),
        ("p99_ns", [1e-3, 1e9], "p99", ["1 ps", "1 s"]),
        ("latency_ns", [0.0, 5e4], "latency (µs)", ["0", "50"]),
        ("topology.pe_tcm.bytes", [16384, 2097152], "pe_tcm.bytes", ["16 KiB", "2 MiB"]),
        ("slot_bytes", [1024, 2048], "slot_bytes (KiB)", ["1", "2"]),
        ("bytes_per_pe", [20000, 98304], "bytes_per_pe", ["20,000 B", "96 KiB"]),
        ("topology.hbm.channel_gbs", [8, 16], "hbm.channel_gbs (GB/s)", ["8", "16"]),
        ("topology.pe_gemm.tflops_f16", [4, 8], "pe_gemm.tflops_f16 (TFLOPS)", ["4", "8"]),
        ("achieved_tflops", [2e-4, 1e-3], "achieved (MFLOPS)", ["200", "1,000"]),
        ("latency_ns_vs_baseline", [0.5, 2.0], "latency_ns_vs_baseline", ["0.5", "2"]),
        ("M", [1, 65536], "M", ["1", "65,536"]),
        ("events", [10, 1_229_000], "events", ["10", "1.229 M"]),
        ("change", [-1_500.0, 12.0], "change", ["-1,500", "12"]),
    ],
)
def test_a_column_has_a_unit_that_fits(column: str, values: list[float], title: str, texts: list[str]) -> None:
    shown = quantity(column, values)
    assert shown.title == title
    assert [shown.show(value) for value in values] == texts


def test_numbers_have_no_exponent() -> None:
    assert [number(value) for value in (0.00012345, 1.0, 123456.7, 12345678.9, -2.5)] == [
        *("0.0001234", "1", "123,457", "12,345,679", "-2.5")
    ]
