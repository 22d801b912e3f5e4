"""Traces as Perfetto itself loads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.frontends.run import run_bench
from tests.trace.decoded import decode
from tests.trace.trace_processor import query

LOST = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
# What takes no time may have any depth.
SLICES = "select name, category, ts, dur, iif(dur > 0, depth, 0) from slice"
FLOWS = """select o.name, o.ts, i.name, i.ts from flow
join slice o on o.id = slice_out join slice i on i.id = slice_in"""
PROCESSES = "select distinct name from process where name is not null"
COUNTERS = "select count(), sum(value) from counter"


@pytest.mark.slow
def test_perfetto_finds_what_was_written_and_loses_nothing(tmp_path: Path) -> None:
    file = tmp_path / "run.pftrace"
    run_bench("matmul-composite", "tiny", parameters={"M": 64, "K": 128, "N": 64}).write_trace(file)
    lost, slices, flows, processes, ((counts, total),) = query(file, LOST, SLICES, FLOWS, PROCESSES, COUNTERS)
    found = decode(file)
    lengths = [one.end_ns - one.start_ns for one in found.slices]
    assert lost == []
    assert sorted(slices) == sorted(
        (one.name, one.category, one.start_ns, took_ns, int(took_ns > 0 and one.parent is not None))
        for one, took_ns in zip(found.slices, lengths, strict=True)
    )
    assert len(flows) == len({flow for one in found.slices for flow in one.flows})
    assert all(left_ns <= came_ns for _, left_ns, _, came_ns in flows)
    assert {name for (name,) in processes} == set(found.processes.values())
    values = [value for known in found.counters.values() for _, value in known]
    assert counts == len(values)
    assert abs(total - sum(values)) < 1e-6 * sum(values)
