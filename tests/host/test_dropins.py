"""Benches on machines with other implementations of parts: one time in every mode, live or recorded, and within its bounds."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernbench import KernelError, run
from kernbench.machine import load_machine

STANDARD: dict[str, object] = {}
SIZES = {"gemm-single-pe": {"M": 96, "K": 80, "N": 48}, "matmul-composite": {"M": 96, "K": 192, "N": 80}}
FIELDS = {
    "parts.pe_gemm": ("systolic", {"pe_gemm.rows": (1, 300), "pe_gemm.columns": (1, 300), "pe_gemm.clock_ghz": (1, 4)}),
    "parts.hbm": (
        "hbm_refresh",
        {"hbm.pin_gbs": (8, 64), "hbm.refresh_ns": (0, 2000), "hbm.row_ns": (0, 9), "hbm.activate_ns": (0, 99)},
    ),
    "parts.noc": ("pipelined_router", {"noc.stages": (1, 9), "noc.width_bytes": (16, 256)}),
    "parts.tiling": ("weight_stationary", {}),
}


@st.composite
def overrides(draw):
    """Some of the shipped drop-ins, with figures of any size."""
    chosen = draw(st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, max_size=3, unique=True))
    found: dict[str, object] = {}
    for part in chosen:
        sheet, fields = FIELDS[part]
        found[part] = sheet
        found |= {name: draw(st.integers(*ends)) for name, ends in fields.items()}
    return found


@cache
def kernel_ns(bench):
    return run(bench, "tiny", parameters=SIZES[bench]).pe_exec_ns


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(overrides(), st.sampled_from(sorted(SIZES)))
def test_all_modes_agree(fields, bench):
    given_ = {"parameters": SIZES[bench], "overrides": fields}
    hybrid = run(bench, "tiny", verify=True, **given_)
    assert hybrid.verified
    log = hybrid.op_log()
    assert run(bench, "tiny", mode="flit", **given_).op_log().equals(log)
    live = run(bench, "tiny", live=True, **given_)
    assert (live.latency_ns, live.pe_exec_ns) == (hybrid.latency_ns, hybrid.pe_exec_ns)
    bounds = run(bench, "tiny", mode="analytic", **given_)
    assert bounds.lower_ns is not None
    assert bounds.upper_ns is not None
    assert bounds.lower_ns <= hybrid.latency_ns <= hybrid.makespan_ns <= bounds.upper_ns


@pytest.mark.parametrize("part", ["parts.hbm", "parts.noc", "parts.pe_gemm"])
def test_every_shipped_drop_in_is_slower_than_what_it_stands_in_for(part):
    found = run("matmul-composite", "tiny", parameters=SIZES["matmul-composite"], overrides={part: FIELDS[part][0]})
    assert found.pe_exec_ns > kernel_ns("matmul-composite")


@pytest.mark.parametrize(("variant", "tiles_read"), [("ref_ref", 12 + 4), ("load_ref", 4)])
def test_weight_stationary_plans_read_each_tile_of_weights_once(variant, tiles_read):
    """96 x 128 by 128 x 64 in tiles of 32, 64, 32: 12 tokens, of which each reads its tile of A, and 4 tiles of B."""
    given_ = {"parameters": {"M": 96, "K": 128, "N": 64, "variant": variant, "sips": 1, "cubes": 1, "pes": 1}}
    found = run("matmul-composite", "tiny", verify=True, overrides={"parts.tiling": "weight_stationary"}, **given_)
    assert found.verified
    log = found.op_log()
    reads = log.filter((log["op_name"] == "dma_read") & (log["bytes"] == 4096))
    assert len(reads) == tiles_read
    assert len(log.filter(log["op_name"] == "kept")) == (0 if variant == "ref_ref" else 12 - 4)
    flit = run("matmul-composite", "tiny", mode="flit", overrides={"parts.tiling": "weight_stationary"}, **given_)
    assert flit.op_log().equals(log)


def test_useful_work_is_counted_on_any_engine():
    standard = run("gemm-single-pe", "tiny", parameters=SIZES["gemm-single-pe"])
    systolic = run(
        "gemm-single-pe", "tiny", parameters=SIZES["gemm-single-pe"], overrides={"parts.pe_gemm": "systolic"}
    )
    assert standard.achieved_tflops is not None
    assert systolic.achieved_tflops is not None
    assert systolic.achieved_tflops * systolic.pe_exec_ns == pytest.approx(
        standard.achieved_tflops * standard.pe_exec_ns
    )
    assert systolic.achieved_tflops * systolic.pe_exec_ns * 1e3 == pytest.approx(2 * 96 * 80 * 48)


@pytest.mark.parametrize(
    ("part", "base", "method"),
    [
        ("pe_math", "compute.PeMath", "elements(self, function, count, bits)"),
        ("pe_tcm", "memory.PeTcm", "read(self, nbytes)"),
        ("pe_tcm", "memory.PeTcm", "write(self, nbytes)"),
        ("pe_gemm", "compute.PeGemm", "product(self, m, k, n, bits)"),
    ],
)
def test_costs_of_every_engine_can_be_replaced(tmp_path, monkeypatch, part, base, method):
    """Twice the work: the time on the engine's server is twice as long."""
    monkeypatch.chdir(tmp_path)
    module, name = base.split(".")
    arguments = ", ".join(re.findall(r"\w+", method)[2:])
    _drop_in(
        tmp_path,
        part,
        f"from kernbench.parts.{module} import {name}\n\nclass Twice({name}):\n    def {method}:\n"
        f"        found = super().{method.partition('(')[0]}({arguments})\n"
        "        return {figure: 2 * amount for figure, amount in found.items()}\n",
    )
    given_ = {"parameters": {"M": 64, "K": 64, "N": 64}}
    bench = "matmul-composite" if part != "pe_math" else _math_bench(tmp_path)
    if part == "pe_math":
        given_ = {}
    before, after = (
        run(bench, "tiny", overrides=fields, **given_) for fields in (STANDARD, {f"parts.{part}": "twice"})
    )
    assert after.pe_exec_ns > before.pe_exec_ns
    kind = {"pe_math": "math", "pe_gemm": "gemm"}.get(part, f"tcm_{method.partition('(')[0]}")
    assert _busy(after, kind) == pytest.approx(2 * _busy(before, kind), rel=1e-6)


@pytest.mark.parametrize(
    ("part", "base"),
    [
        ("ucie", "fabric.Ucie"),
        ("io_noc", "fabric.IoNoc"),
        ("pcie_ep", "fabric.PcieEp"),
        ("sram", "memory.Sram"),
        ("io_cpu", "processor.IoCpu"),
        ("m_cpu", "processor.MCpu"),
        ("pe_cpu", "processor.PeCpu"),
        ("pe_scheduler", "processor.PeScheduler"),
        ("pe_dma", "processor.PeDma"),
        ("pe_fetch_store", "processor.PeFetchStore"),
        ("pe_ipcq", "processor.PeIpcq"),
        ("switch", "fabric.Switch"),
    ],
)
def test_every_part_with_an_overhead_can_be_replaced(tmp_path, monkeypatch, part, base):
    monkeypatch.chdir(tmp_path)
    module, name = base.split(".")
    _drop_in(
        tmp_path,
        part,
        f"from kernbench.parts.{module} import {name}\n\nclass Slow({name}):\n    @property\n"
        "    def overhead_fs(self):\n        return 1_000_000_000\n",
    )
    machine = load_machine("tiny", {f"parts.{part}": "twice"})
    assert machine.figures[f"{part}.overhead"] == 1_000_000_000
    if part not in ("sram", "switch", "pe_ipcq", "ucie"):  # a GEMM on the first cube does without these
        before, after = (
            run("matmul-composite", "tiny", parameters={"M": 32, "K": 64, "N": 32}, overrides=fields)
            for fields in (STANDARD, {f"parts.{part}": "twice"})
        )
        assert after.makespan_ns >= before.makespan_ns + 900


def test_the_mmu_can_be_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _drop_in(
        tmp_path,
        "pe_mmu",
        "from kernbench.parts.memory import PeMmu\n\nclass Walker(PeMmu):\n    @property\n"
        "    def tlb_fs(self):\n        return 100_000_000\n",
    )
    before, after = (
        run("gemm-single-pe", "tiny", parameters={"M": 32, "K": 32, "N": 32}, overrides=fields)
        for fields in (STANDARD, {"parts.pe_mmu": "twice"})
    )
    assert after.pe_exec_ns == pytest.approx(before.pe_exec_ns + 3 * 99.5)


def test_a_drop_in_that_raises_in_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _drop_in(
        tmp_path,
        "pe_gemm",
        "from kernbench.parts.compute import PeGemm\n\nclass Broken(PeGemm):\n"
        "    def product(self, m, k, n, bits):\n        raise ValueError(f'no {m}')\n",
    )
    at = r"^kernel gemm on sip0.cube0.pe0, at .*gemm_single_pe.py:\d+: models/twice.py:5: "
    with pytest.raises(KernelError, match=at + r"Broken.product\(96, 80, 48, 16\) raised ValueError: no 96$"):
        run("gemm-single-pe", "tiny", parameters=SIZES["gemm-single-pe"], overrides={"parts.pe_gemm": "twice"})


def _drop_in(folder: Path, part: str, text: str) -> None:
    """`models/twice.yaml` with the figures of the shipped sheet of a part, and a class beside it."""
    from kernbench.library import find

    (folder / "models").mkdir()
    (folder / "models" / "twice.yaml").write_text(find("models", part).read_text())
    (folder / "models" / "twice.py").write_text(text)


def _math_bench(folder: Path) -> str:
    (folder / "bench.py").write_text(
        "from kernbench import DPPolicy, bench\nONE = DPPolicy(num_cubes=1, num_pes=1)\n\n"
        "def kernel(x, y, tl):\n    tl.store(y, tl.exp(tl.load(x, (64, 64))))\n\n"
        '@bench("exp", "Exponentials")\ndef run(torch):\n'
        "    x, y = torch.ones((64, 64), dp=ONE), torch.empty((64, 64), dp=ONE)\n"
        '    torch.launch("exp", kernel, x, y)\n'
    )
    return str(folder / "bench.py")


def _busy(result, kind):
    """How long the servers of a kind worked, in all."""
    machine, session = result.device.machine, result.device.session
    return sum(fs for fs, name in zip(session.server_busy_fs, machine.server_kind, strict=True) if name == kind)


def test_the_roofline_is_that_of_the_engine_that_is_there():
    given_ = {"parameters": {"M": 128, "K": 128, "N": 64}, "overrides": {"parts.pe_gemm": "systolic"}}
    found = run("matmul-composite", "tiny", **given_).explain().roofline
    assert found is not None
    tiles, cycles = 4 * 2 * 2, 32 + 64 + 32 - 2  # at 2 GHz, on 4 PEs
    assert found.compute_ns == tiles * cycles / 2 / 4
    assert found.bound == "gemm"
    assert found.share <= 1


def test_the_evaluation_of_gemms_knows_what_the_engine_can_do():
    from kernbench.machine.costs import tile_tflops

    standard, systolic = load_machine("tiny"), load_machine("tiny", {"parts.pe_gemm": "systolic"})
    assert [tile_tflops(standard, bits) for bits in (8, 16, 32)] == [16, 8, 4]
    assert tile_tflops(systolic, 16) == pytest.approx(2 * 32 * 64 * 32 / ((32 + 64 + 32 - 2) / 2) / 1e3)
