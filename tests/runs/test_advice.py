"""Sentences of advice, and that following them helps."""

from __future__ import annotations

import pytest

from kernbench.frontends.run import run_bench
from kernbench.runs.advice import list_advice
from kernbench.runs.explanation import Usage
from kernbench.runs.roofline import Ceiling, Roofline

STREAMS = {"M": 512, "K": 512, "N": 512, "sips": 1, "cubes": 1}


def test_reads_that_wait_for_each_other_are_told_and_more_channels_help() -> None:
    result = run_bench("matmul-composite", "tiny", parameters=STREAMS)
    said = [sentence for sentence in result.explain().advice if sentence.startswith("latency-bound: ")]
    assert len(said) == 1
    assert said[0].endswith("load operands before they are needed, or raise pe_dma.read_channels")
    more = run_bench("matmul-composite", "tiny", parameters=STREAMS, overrides={"pe_dma.read_channels": 2})
    assert more.latency_ns < 0.8 * result.latency_ns
    assert not [sentence for sentence in more.explain().advice if sentence.startswith("latency-bound: ")]


def test_fields_that_bind_together_are_told_with_what_they_save() -> None:
    result = run_bench("gemm-single-pe", "tiny", overrides={"pe_gemm.tflops_f16": 64})
    explained = result.explain()
    (said,) = [sentence for sentence in explained.advice if sentence.startswith("several fields bind together: ")]
    assert explained.what_if is not None
    best = explained.what_if.alternatives[0]
    faster = run_bench(
        "gemm-single-pe",
        "tiny",
        overrides={"pe_gemm.tflops_f16": 64, **{field: new for field, (_, new) in best.fields.items()}},
    )
    assert all(field in said for field in best.fields)
    assert f"save {1 - faster.latency_ns / result.latency_ns:.0%}" in said


def usage(kind: str, most: float) -> Usage:
    return Usage(kind, 4, 4, most, most, f"sip0.{kind}")


@pytest.mark.parametrize(
    ("channel", "memory", "told"), [(0.95, 0.5, True), (0.85, 0.5, False), (0.95, 0.8, False), (0.95, 0.75, True)]
)
def test_a_busy_channel_alone_says_nothing(channel: float, memory: float, told: bool) -> None:
    found = list_advice([usage("dma_read", channel), usage("hbm_ctrl channels", memory)], None, None)
    assert bool(found) is told


def test_nothing_is_said_where_nothing_is_certain() -> None:
    assert list_advice([], None, None) == []


def roofline(*ceilings: Ceiling) -> Roofline:
    return Roofline(4, 0.0, 0.0, 100.0, None, 0.0, 0.0, ceilings)


def test_a_roofline_that_is_reached_names_what_binds_and_whether_it_is_uneven() -> None:
    even = Ceiling("hbm_ctrl channels", "sip0.cube0.hbm_ctrl.pe0.ch0", 95.0, 95.0)
    link = Ceiling("noc links", "a -> b", 94.0, None)
    (told,) = list_advice([], roofline(even, link), None)
    assert told == (
        "95% of the roofline is reached: only less work for hbm_ctrl channels and noc links, or faster ones, can help much"
    )
    (told,) = list_advice([], roofline(Ceiling("math", "sip0.cube0.pe0.pe_math", 95.0, 30.0)), None)
    assert told.endswith(
        "less work for math, or faster ones, or work that is spread evenly over the PEs, can help much"
    )
    assert list_advice([], roofline(Ceiling("math", "sip0.cube0.pe0.pe_math", 89.0, 30.0)), None) == []
