"""Why a run took as long as it did."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars
import pytest

from kernbench import DPPolicy, bench
from kernbench.engine.network_waits import CAUSES
from kernbench.errors import InputError
from kernbench.frontends.run import run_bench
from kernbench.oplog.critical import UNKNOWN
from kernbench.oplog.utilisation import OCCUPIED
from kernbench.runs.result import RunResult
from kernbench.units import FS_PER_NS

SMALL = [("vector-add", {"n": 4096}, False), ("gemm-single-pe", {"M": 32, "K": 64}, False),
         ("matmul-composite", {"M": 64, "K": 128, "N": 64}, False), ("matmul-composite", {"M": 64, "K": 128, "N": 64}, True),
         ("matmul-composite", {"M": 64, "variant": "load_ref"}, False), ("pe-to-pe", {}, False)]  # fmt: skip


@pytest.fixture(scope="module")
def gemm() -> RunResult:
    return run_bench("gemm-single-pe", "tiny", parameters={"M": 32, "K": 64, "N": 32})


@pytest.mark.parametrize(("bench", "parameters", "live"), SMALL)
def test_the_path_is_the_latency_without_gaps(bench: str, parameters: dict[str, object], live: bool) -> None:
    result = run_bench(bench, "tiny", parameters=parameters, live=live)
    found = result.explain()
    assert found.path_ns == pytest.approx(result.latency_ns, abs=1e-9)
    assert all(before.end_fs == after.start_fs for before, after in pairwise(found.path))
    assert sum(found.spent_ns.values()) == pytest.approx(found.path_ns)
    assert UNKNOWN not in found.spent_ns


def test_what_a_gemm_was_spent_on(gemm: RunResult) -> None:
    found = gemm.explain()
    spent = found.spent_ns
    assert spent["gemm"] == 16.384
    assert list(spent.values()) == sorted(spent.values(), reverse=True)
    assert {"io_cpu", "m_cpu", "pe_cpu", "scheduler", "hbm_ctrl channels and noc links", "tcm_read"} <= set(spent)
    table = found.path_table()
    assert table.columns == ["start_ns", "end_ns", "part", "op_name", "kind", "spent_ns"]
    assert table.filter(polars.col("kind") == "gemm")["part"].to_list() == ["sip0.cube0.pe0.pe_gemm"]


def test_the_busiest_class_is_the_bottleneck(gemm: RunResult) -> None:
    found = gemm.explain()
    first = next(one for one in found.usage if one.kind not in OCCUPIED)
    assert (first.kind, first.busiest, first.most) == (
        gemm.bottleneck,
        gemm.bottleneck_part,
        gemm.bottleneck_utilisation,
    )
    assert all(before.most >= after.most for before, after in pairwise(found.usage))
    gemms = next(one for one in found.usage if one.kind == "gemm")
    assert (gemms.parts, gemms.used, gemms.mean) == (4, 1, gemms.most / 4)
    table = found.utilisation_table()
    assert table.columns == ["part", "kind", "busy_ns", "utilisation"]
    assert table.filter(polars.col("kind") == "gemm")["busy_ns"].to_list() == [16.384, 0, 0, 0]


def test_the_roofline(gemm: RunResult) -> None:
    found = gemm.explain().roofline
    assert found is not None
    moved = 2 * (32 * 64 + 64 * 32 + 32 * 32)
    assert (found.pes, found.bound) == (1, "hbm_ctrl channels")  # reads and writes; no link passes both
    assert (found.compute_ns, found.memory_ns, found.least_ns) == (16.384, moved / 256, moved / 256)
    assert found.kernel_ns == gemm.pe_exec_ns
    assert found.share == found.memory_ns / found.kernel_ns == gemm.bottleneck_utilisation
    assert found.intensity == 2 * 32 * 64 * 32 / moved
    assert found.achieved_tflops == pytest.approx(gemm.achieved_tflops)
    assert found.achieved_gbs == pytest.approx(gemm.achieved_gbs)
    assert found.attainable_gbs == pytest.approx(256)
    assert found.attainable_tflops == pytest.approx(found.achieved_tflops / found.share)


# What is slow, and what the roofline is then bound by.
LIMITS = [
    ("gemm-single-pe", {}, {"hbm.channel_gbs": 512, "noc.gbs": 4096, "pe_dma.gbs": 4096}, "gemm"),
    ("vector-add", {"n": 4096}, {"pe_math.elements_f16": 1, "pe_math.elements_f32": 1}, "math"),
    ("gemm-single-pe", {}, {"pe_tcm.read_gbs": 8}, "tcm_read"),
    ("gemm-single-pe", {}, {"pe_tcm.write_gbs": 4}, "tcm_write"),
    ("gemm-single-pe", {}, {"hbm.channel_gbs": 1}, "hbm_ctrl channels"),
    ("gemm-single-pe", {}, {"noc.gbs": 4}, "noc links"),
    ("ccl-allreduce", {"bytes_per_pe": 16384}, {"ucie.gbs": 1}, "ucie links"),
]


@pytest.mark.parametrize(("bench", "parameters", "overrides", "bound"), LIMITS)
def test_whatever_is_slow_bounds_the_roofline(
    bench: str, parameters: dict[str, object], overrides: dict[str, object], bound: str
) -> None:
    result = run_bench(bench, "tiny", parameters=parameters, overrides=overrides)
    found = result.explain().roofline
    assert found is not None
    assert found.bound == bound
    assert 0 < found.share <= 1
    assert [one.least_ns for one in found.ceilings] == sorted((one.least_ns for one in found.ceilings), reverse=True)


def test_what_needs_as_long_is_named_too() -> None:
    """A read passes channels and links alike, which have as many bytes a second; a few writes pass other links."""
    result = run_bench("matmul-composite", "tiny", parameters={"M": 512, "K": 1024, "N": 512})
    found = result.explain().roofline
    assert found is not None
    by_kind = {one.kind: one.least_ns for one in found.ceilings}
    assert 0.98 <= by_kind["noc links"] / by_kind["hbm_ctrl channels"] < 1
    assert found.bound == result.bottleneck == "hbm_ctrl channels and noc links"


def test_the_roofline_does_not_spread_what_is_uneven() -> None:
    """One of two PEs has all the work; spread over both it would need half the time."""

    def double(x_ptr: int, n: int, *, tl: Any) -> None:
        if tl.program_id(0) == 0:
            tl.store(x_ptr, tl.load(x_ptr, (n,), "f32") * 2.0)

    def host(torch: Any) -> None:
        torch.launch("double", double, torch.zeros((4096,), "f32", DPPolicy(num_cubes=1)), 1024)

    result = run_bench(bench("uneven", "one PE works")(host), "tiny", overrides={"pe_math.elements_f32": 1})
    found = result.explain().roofline
    assert found is not None
    (math,) = [one for one in found.ceilings if one.kind == "math"]
    assert math.part == "sip0.cube0.pe0.pe_math"
    assert (found.pes, math.least_ns, math.mean_ns) == (2, 1024, 512)
    assert (found.bound, found.is_uneven) == ("math", True)


def test_a_faster_bottleneck_shortens_its_part_of_the_path(gemm: RunResult) -> None:
    faster = run_bench(
        "gemm-single-pe", "tiny", parameters={"M": 32, "K": 64, "N": 32}, overrides={"pe_gemm.tflops_f16": 16}
    )
    assert faster.explain().spent_ns["gemm"] == 8.192
    assert gemm.latency_ns - faster.latency_ns == pytest.approx(8.192)


def test_plain_values(gemm: RunResult) -> None:
    plain = gemm.explain().to_dict()
    assert list(plain) == ["makespan_ns", "critical_path_ns", "critical_path", "operations", "lines", "launches",
                           "operators", "what_if", "error_bars", "window_ns", "utilisation", "queueing", "roofline",
                           "advice", "savings", "energy_aj", "network"]  # fmt: skip
    assert (plain["makespan_ns"], plain["window_ns"]) == (gemm.makespan_ns, gemm.pe_exec_ns)
    assert list(plain["queueing"][0]) == [
        "name",
        "count",
        "queued_ns",
        "contention_ns",
        "served_ns",
        "longest_queue_ns",
    ]
    assert not any(isinstance(value, np.generic) for row in plain["utilisation"] for value in row.values())


def test_bounds_have_no_events() -> None:
    result = run_bench("vector-add", "tiny", parameters={"n": 256}, mode="analytic")
    with pytest.raises(InputError) as caught:
        result.explain()
    assert str(caught.value) == "analytic mode has no events to explain; use mode hybrid, or see what binds"


def test_what_flits_waited_for_on_a_machine_with_credits() -> None:
    fields = {"flow_control": "credit", "hbm.channel_gbs": 8}
    counted = run_bench("gemm-single-pe", "tiny", overrides=fields, count_waits=True)
    network = counted.explain().network
    assert network is not None
    assert network.total_ns["memory"] > 0
    assert sum(network.total_ns[cause] for cause in CAUSES) == pytest.approx(
        sum(int(fs.sum()) for fs in network.fs.values()) / FS_PER_NS
    )
    assert {link["link"] for link in network.list_links() if link["memory_ns"]} == {
        "sip0.cube0.r0c0 -> sip0.cube0.hbm_ctrl.pe0"
    }
    plain = run_bench("gemm-single-pe", "tiny", overrides=fields)
    assert plain.explain().network is None
    assert plain.latency_ns == counted.latency_ns


def test_a_machine_without_credits_counts_no_waits() -> None:
    assert run_bench("gemm-single-pe", "tiny", parameters={"M": 32}, count_waits=True).explain().network is None
