"""What a run would take on a faster machine."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import kernbench
from kernbench.errors import InputError
from kernbench.frontends.run import run_bench
from kernbench.runs.repetitions import used_fields
from kernbench.runs.result import RunResult
from kernbench.runs.what_if import GAIN

BENCHES = [("gemm-single-pe", {"M": 32, "K": 64, "N": 32}, False), ("matmul-composite", {"M": 64, "K": 128, "N": 64}, False),
           ("matmul-composite", {"M": 64, "K": 128, "N": 64}, True), ("pe-to-pe", {}, False),
           ("vector-add", {"n": 4096}, True)]  # fmt: skip


@pytest.fixture(scope="module")
def gemm() -> RunResult:
    return run_bench("gemm-single-pe", "tiny")


@pytest.mark.parametrize(("bench", "parameters", "live"), BENCHES)
def test_each_alternative_is_the_run_on_that_machine(bench: str, parameters: dict[str, object], live: bool) -> None:
    """All fields alone, and groups; also of kernels that run live."""
    found = run_bench(bench, "tiny", parameters=parameters, live=live).what_if()
    assert found is not None
    assert len(found.alternatives) > 8
    for one in found.alternatives:
        faster = {field: new for field, (_, new) in one.fields.items()}
        again = run_bench(bench, "tiny", parameters=parameters, live=live, overrides=faster)
        assert one.latency_ns == again.latency_ns, faster
        assert one.change == pytest.approx(one.latency_ns / found.latency_ns - 1)


@pytest.mark.parametrize(("bench", "parameters", "live"), [BENCHES[2], BENCHES[3]])
def test_each_alternative_on_a_machine_with_credits(bench: str, parameters: dict[str, object], live: bool) -> None:
    """The tables of its network follow from times, too."""
    credits = {"flow_control": "credit", "noc.gbs": 64}
    found = run_bench(bench, "tiny", parameters=parameters, live=live, overrides=credits).what_if()
    assert found is not None
    assert len({one.latency_ns for one in found.alternatives}) > 8
    for one in found.alternatives:
        faster = {field: new for field, (_, new) in one.fields.items()}
        again = run_bench(bench, "tiny", parameters=parameters, live=live, overrides={**credits, **faster})
        assert one.latency_ns == again.latency_ns, faster


def test_the_cycle_of_routers_with_credits_follows_from_links_that_nothing_passes() -> None:
    credits = {"flow_control": "credit", "pcie_ep.gbs": 64, "ucie.gbs": 64, "noc.gbs": 64}
    result = run_bench("gemm-single-pe", "tiny", overrides=credits)
    assert "sram.gbs" in used_fields(result.device.program)
    found = result.what_if(8, ["sram.gbs"])
    assert found is not None
    (one,) = found.alternatives
    assert one.change < 0
    assert one.latency_ns == run_bench("gemm-single-pe", "tiny", overrides={**credits, "sram.gbs": 1024}).latency_ns


def test_the_fastest_comes_first(gemm: RunResult) -> None:
    found = gemm.what_if()
    assert found is not None
    assert found.latency_ns == gemm.latency_ns
    assert all(before.latency_ns <= after.latency_ns for before, after in pairwise(found.alternatives))
    assert found.best is found.alternatives[0]
    assert dict(found.alternatives[0].fields) == {"pe_gemm.tflops_f16": (8, 16)}


def test_rates_are_doubled_and_times_halved(gemm: RunResult) -> None:
    found = gemm.what_if()
    assert found is not None
    changed = {field: new / old for one in found.alternatives for field, (old, new) in one.fields.items()}
    assert changed["noc.gbs"] == changed["pe_gemm.tflops_f16"] == 2
    assert changed["ucie.overhead_ns"] == changed["io_cpu.overhead_ns"] == 0.5
    assert "pe_gemm.tflops_f32" not in changed  # nothing is of that type
    assert "hbm.overhead_ns" not in changed  # it is 0


def test_what_binds_together_is_found_together(gemm: RunResult) -> None:
    """The memory and the links to it pass as many bytes: neither alone gains what all do."""
    found = gemm.what_if()
    assert found is not None
    alone = {next(iter(one.fields)): one.change for one in found.alternatives if len(one.fields) == 1}
    groups = [one for one in found.alternatives if len(one.fields) > 1]
    assert {"hbm.channel_gbs", "noc.gbs", "pe_dma.gbs"} in [set(one.fields) for one in groups]
    for one in groups:
        assert one.change < sum(alone[field] for field in one.fields) - GAIN


def test_a_factor_and_fields(gemm: RunResult) -> None:
    found = gemm.what_if(4, ["pe_gemm.tflops_f16"])
    assert found is not None
    (one,) = found.alternatives
    assert dict(one.fields) == {"pe_gemm.tflops_f16": (8, 32)}
    assert gemm.latency_ns - one.latency_ns == pytest.approx(524.288 * 3 / 4)


def test_nothing_gets_slower_than_it_is_if_nothing_is_faster(gemm: RunResult) -> None:
    found = gemm.what_if(1)
    assert found is not None
    assert {one.change for one in found.alternatives} == {0}
    assert found.best is None


@pytest.mark.parametrize("factor", [0, -1, float("nan")])
def test_a_factor_must_be_positive(gemm: RunResult, factor: float) -> None:
    with pytest.raises(InputError, match="give a finite number greater than 0"):
        gemm.what_if(factor)


@pytest.mark.parametrize("factor", [{"hbm": 2}, "2", None, True, float("inf"), 1 + 0j, ["noc.gbs"]])
def test_a_factor_is_a_number(gemm: RunResult, factor: Any) -> None:
    with pytest.raises(InputError, match=r"give a finite number greater than 0, .* as in what_if\(2, \["):
        gemm.what_if(factor)


def test_one_field_needs_no_list(gemm: RunResult) -> None:
    assert gemm.what_if(4, "noc.gbs") == gemm.what_if(4, ["noc.gbs"])


@pytest.mark.parametrize("flow_control", ["unbounded", "credit"])
def test_times_beyond_counting_are_told(flow_control: str) -> None:
    result = run_bench("gemm-single-pe", "tiny", overrides={"flow_control": flow_control})
    with pytest.raises(
        InputError, match=r"got factor 1e-12, and then a time is more than .*; give a factor nearer to 1"
    ):
        result.what_if(1e-12)


def test_a_field_must_be_one_of_times(gemm: RunResult) -> None:
    with pytest.raises(
        InputError, match=r"no time of machine tiny follows from 'hbm.channels'; known: .*hbm.channel_gbs"
    ):
        gemm.what_if(2, ["hbm.channels"])


def test_bounds_have_no_alternatives() -> None:
    with pytest.raises(InputError, match="use mode hybrid"):
        run_bench("gemm-single-pe", "tiny", mode="analytic").what_if()


@kernbench.bench("waits-in-between", "Adds twice, and looks at the first sum before the second")
def waits_in_between(torch, *, n: int = 256) -> None:
    """Two launches with a wait of the host between them."""
    x = torch.from_numpy(np.ones(n, np.float32))
    torch.launch("add", _add_one, x, n)
    assert x.numpy()[0] == 2
    torch.launch("add", _add_one, x, n)


def _add_one(ptr, n, tl):
    tl.store(ptr, tl.load(ptr, (n,), "f32") + 1)


def test_a_host_that_waits_in_between() -> None:
    """The whole program is there in the end. It takes as long without the host, and so does that on a faster machine."""
    result = run_bench(waits_in_between, "tiny")
    assert max(len(thread.chunks) for thread in result.device.program.threads) > 1
    found = result.what_if()
    assert found is not None
    for one in found.alternatives[:3]:
        again = run_bench(waits_in_between, "tiny", overrides={field: new for field, (_, new) in one.fields.items()})
        assert one.latency_ns == again.latency_ns


@kernbench.bench("one-after-the-other", "The second SIP begins when the host has seen the result of the first")
def one_after_the_other(torch, *, n: int = 256) -> None:
    """Two launches on two SIPs."""
    for sip in range(2):
        with torch.device(sip):
            x = torch.from_numpy(np.ones(n, np.float32))
            torch.launch("add", _add_one, x, n)
            x.numpy()


def test_a_run_that_only_the_host_keeps_in_order_is_not_repeated() -> None:
    """Without the host, both SIPs would begin at once."""
    result = run_bench(one_after_the_other, "sip_2x4x4")
    assert result.what_if() is None
    assert result.explain().to_dict()["what_if"] is None


def test_the_number_of_runs_is_told(gemm: RunResult) -> None:
    told: list[tuple[float, int]] = []
    found = gemm.what_if(on_runs=lambda done, total: told.append((done, total)))
    assert found is not None
    program = gemm.device.program
    used = sum(program.machine.figures[field] > 0 for field in used_fields(program))
    runs = 1 + used + 11  # the run itself, each field, the groups of four
    assert told[-1] == (runs, runs)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_only_fields_that_a_program_uses(gemm: RunResult) -> None:
    used = used_fields(gemm.device.program)
    assert {"noc.gbs", "hbm.channel_gbs", "pe_gemm.tflops_f16", "pe_mmu.tlb_ns"} <= used
    assert not {"sram.gbs", "pe_math.elements_f16", "pe_gemm.tflops_f8"} & used
