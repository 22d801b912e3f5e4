"""Every shipped bench: right numbers, equal times recorded and live, clear errors for bad parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench import InputError, RunResult, run
from kernbench.dtypes import BITS
from kernbench.host.memory.placement import STRATEGIES
from kernbench.runs.bench import list_benches
from tests.golden import SIZES

TINY = [
    ("attention-decode", {"users": 1, "context": 70, "heads": 4, "kv_heads": 2, "head_dim": 16, "block": 16}),
    ("attention-decode", {"users": 3, "context": 33, "heads": 6, "kv_heads": 2, "head_dim": 24, "block": 32}),
    ("attention-decode", {"users": 1, "context": 3, "heads": 1, "kv_heads": 1, "head_dim": 8, "dtype": "f32"}),
    ("attention-unfused", {"users": 2, "tokens": 5, "cached": 9, "heads": 6, "kv_heads": 2, "head_dim": 16}),
    (
        "attention-unfused",
        {"users": 3, "tokens": 1, "cached": 33, "heads": 4, "kv_heads": 1, "head_dim": 24, "dtype": "f32"},
    ),
    ("attention-prefill", {"tokens": 50, "heads": 6, "kv_heads": 2, "head_dim": 16, "tile": 12, "block": 16}),
    ("attention-prefill", {"users": 5, "tokens": 20, "heads": 2, "kv_heads": 1, "head_dim": 8, "causal": False}),
    (
        "attention-prefill",
        {"tokens": 9, "heads": 8, "kv_heads": 1, "head_dim": 8, "tile": 4, "block": 2, "dtype": "bf16"},
    ),
    ("ccl-allreduce", {"bytes_per_pe": 6000}),
    ("ccl-allreduce", {"bytes_per_pe": 64, "dtype": "fp8"}),
    ("ccl-allreduce", {"bytes_per_pe": 64, "dtype": "i32"}),
    ("ccl-allreduce", {"bytes_per_pe": 64, "n_sips": 3, "dtype": "u8", "algorithm": "tree"}),
    ("ccl-allreduce", {"bytes_per_pe": 2000, "n_sips": 2, "dtype": "f32", "buffer_kind": "sram", "algorithm": "ring"}),
    ("gemm-single-pe", {"M": 32, "K": 40, "N": 24}),
    ("gemm-single-pe", {"M": 33, "K": 65, "N": 31, "dtype": "f32"}),
    ("gemm-single-pe", {"M": 32, "K": 40, "N": 24, "dtype": "i8"}),
    ("gpt3-qkv", {"tokens": 5, "share": 2, "hidden": 96, "heads": 4, "head_dim": 11}),
    ("gpt3-qkv", {"tokens": 33, "share": 1, "hidden": 70, "heads": 1, "head_dim": 3, "stream": True, "dtype": "f32"}),
    ("gpt3-qkv", {"tokens": 5, "share": 2, "hidden": 96, "heads": 4, "head_dim": 11, "dtype": "i8"}),
    ("matmul-composite", {"M": 64, "K": 64, "N": 64}),
    ("matmul-composite", {"M": 64, "K": 64, "N": 64, "sips": 1, "cubes": 1, "pes": 1}),
    ("matmul-composite", {"M": 1, "K": 1, "N": 1}),
    ("matmul-composite", {"M": 70, "K": 100, "N": 90, "variant": "load_ref"}),
    ("matmul-composite", {"M": 64, "K": 128, "N": 32, "variant": "load_load"}),
    ("matmul-composite", {"M": 64, "K": 64, "N": 64, "dtype": "bf16"}),
    ("matmul-composite", {"M": 64, "K": 64, "N": 64, "dtype": "f8e4m3"}),
    ("matmul-composite", {"M": 64, "K": 64, "N": 64, "dtype": "i8"}),
    ("pe-to-pe", {"nbytes": 600, "messages": 9, "slots": 2}),
    ("pe-to-pe", {"nbytes": 4096, "to": "pe", "buffer_kind": "hbm", "dtype": "f32"}),
    ("pe-to-pe", {"nbytes": 100, "messages": 3, "via": "peek", "buffer_kind": "sram"}),
    ("pe-to-pe", {"nbytes": 300, "to": "pe", "via": "store"}),
    ("qkv-gemm", {"tokens": 3, "hidden": 64, "heads": 2, "kv_heads": 1, "head_dim": 16}),
    ("qkv-gemm", {"tokens": 40, "hidden": 100, "heads": 3, "kv_heads": 1, "head_dim": 20}),
    ("qkv-gemm", {"tokens": 3, "hidden": 64, "heads": 2, "kv_heads": 1, "head_dim": 16, "dtype": "u16"}),
    *[("va-offset-verify", {"rows": 60, "columns": 33, "dtype": dtype}) for dtype in BITS],
    *[
        ("va-offset-verify", {"rows": 3, "columns": 5, "offset": -4, "cube": cube, "pe": pe})
        for cube in STRATEGIES
        for pe in STRATEGIES
    ],
    ("transformer-block", {"tokens": 3, "hidden": 32, "heads": 2, "mlp": 32}),
    ("transformer-block", {"tokens": 2, "hidden": 16, "heads": 1, "mlp": 8, "dtype": "f32"}),
    ("triton-cross-entropy", {"rows": 5, "classes": 100, "BLOCK": 32}),
    ("triton-int8-matmul", {"M": 40, "N": 30, "K": 70, "BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}),
    ("triton-layer-norm", {"rows": 6, "columns": 100, "BLOCK": 64}),
    ("triton-rms-norm", {"rows": 6, "columns": 100}),
    ("triton-rotary", {"positions": 6, "heads": 2, "head_dim": 16}),
    ("triton-softmax", {"rows": 10, "columns": 100, "programs": 3}),
    ("triton-vector-add", {"n": 1000, "BLOCK": 128}),
    ("triton-flash-attention", {"heads": 2, "kv_heads": 1, "tokens": 50, "head_dim": 16, "BLOCK_M": 16, "BLOCK_N": 16}),
    (
        "triton-flash-attention",
        {"heads": 1, "kv_heads": 1, "tokens": 32, "head_dim": 16, "BLOCK_M": 32, "BLOCK_N": 16, "causal": False},
    ),
    ("triton-matmul", {"M": 70, "N": 50, "K": 40, "BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 16, "GROUP_M": 2}),
    ("triton-matmul", {"M": 64, "N": 64, "K": 64, "BLOCK_M": 32, "BLOCK_N": 32, "operands": "split", "num_stages": 1}),
    ("triton-matmul", {"M": 32, "N": 32, "K": 32, "BLOCK_M": 32, "BLOCK_N": 32, "activation": "leaky_relu"}),
    ("triton-matmul", {"M": 32, "N": 32, "K": 64, "BLOCK_M": 32, "BLOCK_N": 32, "activation": "none", "dtype": "f32"}),
    ("triton-paged-decode", {"sequences": 2, "kv_heads": 1, "group": 4, "head_dim": 16, "page": 8, "longest": 20}),
    ("triton-split-k", {"M": 32, "N": 32, "K": 100, "BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 16, "SPLIT_K": 2}),
    ("triton-split-k", {"M": 16, "N": 16, "K": 32, "BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16, "SPLIT_K": 1}),
    ("triton-stream-k", {"M": 48, "N": 32, "K": 80, "BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16, "programs": 4}),
    ("vector-add", {"n": 1000}),
    ("vector-add", {"n": 3, "dtype": "f32"}),
    ("vector-add", {"n": 1000, "dtype": "u8"}),
]


def both_ways(bench: str, topology: str, parameters: dict[str, object]) -> tuple[RunResult, RunResult]:
    recorded, live = (run(bench, topology, parameters=parameters, verify=True, live=live) for live in (False, True))
    assert (recorded.verified, recorded.mismatches) == (live.verified, live.mismatches) == (True, ())
    assert recorded.op_log().equals(live.op_log())
    assert (recorded.latency_ns, recorded.pe_exec_ns) == (live.latency_ns, live.pe_exec_ns)
    return recorded, live


def test_all_shipped_benches_are_tried() -> None:
    assert {bench for bench, _ in TINY} == {b.name for b in list_benches()}


@pytest.mark.parametrize(("bench", "parameters"), TINY)
def test_verified_and_the_same_recorded_and_live(bench: str, parameters: dict[str, object]) -> None:
    both_ways(bench, "tiny", parameters)


@pytest.mark.slow
@pytest.mark.parametrize("bench", [b.name for b in list_benches()])
def test_on_the_default_machine(bench: str) -> None:
    result = run(bench, verify=True)
    assert (result.verified, result.mismatches) == (True, ())


@pytest.mark.slow
@pytest.mark.parametrize("bench", ["ccl-allreduce", "matmul-composite"])  # all of them: on tiny
def test_on_the_default_machine_recorded_and_live(bench: str) -> None:
    both_ways(bench, "sip_2x4x4", SIZES[bench])


@pytest.mark.slow
def test_a_gemm_on_both_sips_takes_no_longer_than_its_half_on_one() -> None:
    both = run("matmul-composite", parameters={"M": 512, "K": 256, "N": 256})
    half = run("matmul-composite", parameters={"M": 256, "K": 256, "N": 256}, device="sip:0")
    assert both.pe_exec_ns == half.pe_exec_ns
    assert both.achieved_tflops == pytest.approx(2 * half.achieved_tflops)


def test_the_order_of_programs_evens_the_work_of_causal_attention() -> None:
    sizes = {"tokens": 128, "heads": 4, "kv_heads": 4, "head_dim": 16, "BLOCK_M": 32, "BLOCK_N": 32}
    rows, heads = (
        run("triton-flash-attention", "tiny", parameters={**sizes, "order": order}).pe_exec_ns
        for order in ("xyz", "yxz")
    )
    assert heads < 0.8 * rows


def test_only_as_many_take_part_as_there_are_tiles() -> None:
    log = run("matmul-composite", "tiny", parameters={"M": 32, "K": 64, "N": 64}).op_log()
    assert set(log.filter(log["op_name"] == "gemm")["component"]) == {f"sip0.cube0.pe{i}.pe_gemm" for i in (0, 1)}


def test_a_longer_gemm_takes_longer() -> None:
    times = [run("gemm-single-pe", "tiny", parameters={"K": k}).pe_exec_ns for k in (32, 64, 128)]
    assert times == sorted(times)
    assert len(set(times)) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sip_topology", "bytes_per_pe"), [("ring_1d", 16384), ("torus_2d", 256), ("mesh_2d_no_wrap", 16384)]
)
def test_slots_in_tcm_are_the_fastest_and_the_centre_beats_the_corner(sip_topology: str, bytes_per_pe: int) -> None:
    def took(**given: object) -> float:
        six = {"n_sips": 6, "sip_topology": sip_topology, "bytes_per_pe": bytes_per_pe}
        six |= {"algorithm": "lrab_hierarchical_allreduce", "slot_size": 4096}
        (found,) = run("ccl-allreduce", parameters={**six, **given}).collectives
        assert found["latency_ns"] >= found["bound_ns"]
        assert (found["participants"], found["bytes_per_pe"]) == (96, bytes_per_pe)
        return found["latency_ns"]

    in_tcm = took()
    assert in_tcm <= min(took(buffer_kind="sram"), took(buffer_kind="hbm"))
    assert in_tcm < took(root="corner")


def test_no_bytes_are_those_of_the_algorithm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ccl.yaml").write_text("algorithms:\n  ring: {module: ring_allreduce, n_elem: 24}\n")
    found = run("ccl-allreduce", "tiny", parameters={"bytes_per_pe": 0, "algorithm": "ring", "dtype": "f32"})
    assert found.collectives[0]["bytes_per_pe"] == 96


def test_six_sips_are_two_by_three() -> None:
    machine = run("ccl-allreduce", "tiny", parameters={"n_sips": 6, "sip_topology": "torus_2d"}).device.machine
    assert (machine.places.sip_count, machine.places.sip_w, machine.places.sip_h) == (6, 2, 3)
    over = run("ccl-allreduce", "tiny", parameters={"n_sips": 6}, overrides={"sips.count": 3, "sips.w": 3, "sips.h": 1})
    assert over.device.machine.places.sip_count == 3  # what the user sets himself goes before the parameters


def test_decoding_for_twice_the_users_takes_twice_as_long_because_keys_stay_near() -> None:
    sizes = {"context": 256, "heads": 4, "kv_heads": 2, "head_dim": 64}
    few, many = (run("attention-decode", "tiny", parameters={"users": n, **sizes}).pe_exec_ns for n in (2, 4))
    assert many == pytest.approx(2 * few, rel=0.01)


def test_decoding_for_one_user_is_shared_by_all_pes() -> None:
    sizes = {"context": 512, "heads": 1, "kv_heads": 1, "head_dim": 64}
    log = run("attention-decode", "tiny", parameters={"users": 1, **sizes}).op_log()
    assert log.filter(log["op_name"] == "gemm")["component"].n_unique() == 4


def test_a_causal_mask_saves_time_because_blocks_behind_it_are_not_read() -> None:
    sizes = {"tokens": 256, "heads": 4, "kv_heads": 2, "head_dim": 32, "tile": 32, "block": 32}
    half, full = (run("attention-prefill", "tiny", parameters={"causal": c, **sizes}).pe_exec_ns for c in (True, False))
    assert 0.5 < half / full < 0.75  # of 8 blocks 4.5 on average; the masks cost something


def test_a_group_reads_its_keys_and_values_once() -> None:
    def read_bytes(kv_heads: int) -> int:
        sizes = {"users": 1, "context": 64, "heads": 4, "kv_heads": kv_heads, "head_dim": 16}
        log = run("attention-decode", "tiny", parameters=sizes).op_log()
        loads = log.filter(log["op_name"] == "dma_read", log["thread"].str.contains("/decode"))
        return loads.filter(loads["bytes"] >= 16 * 16 * 2)["bytes"].sum()

    assert [read_bytes(kv_heads) for kv_heads in (1, 2, 4)] == [4096, 8192, 16384]


KNOWN = "bf16, f16, f32, f8e4m3, f8e5m2, i16, i32, i8, u16, u32, u8"


@pytest.mark.parametrize(
    ("bench", "parameters", "sentence"),
    [
        (
            "matmul-composite",
            {"variant": "ref_load"},
            "parameter 'variant' of bench 'matmul-composite' cannot be 'ref_load'; known: load_load, load_ref, ref_ref",
        ),
        ("matmul-composite", {"dtype": "f15"}, f"unknown dtype 'f15'; did you mean 'f16'? Known: {KNOWN}"),
        ("matmul-composite", {"M": -4}, "matmul-composite got M=-4, K=512, N=512; each must be 1 or more"),
        (
            "matmul-composite",
            {"pes": 3},
            "matmul-composite got pes=3; give 1 to 2, or 0 for all",
        ),
        (
            "attention-prefill",
            {"heads": 5},
            "attention-prefill got heads=5 and kv_heads=4; heads must be a multiple of kv_heads",
        ),
        (
            "attention-prefill",
            {"tokens": 0},
            "attention-prefill got users=1, tokens=0, head_dim=64, tile=32, block=64, heads=16, kv_heads=4; "
            "each must be 1 or more",
        ),
        (
            "attention-decode",
            {"dtype": "i8"},
            "parameter 'dtype' of bench 'attention-decode' cannot be 'i8'; known: bf16, f16, f32",
        ),
        (
            "gpt3-qkv",
            {"share": 7},
            "gpt3-qkv got heads=96 for 7 machines of 1 SIPs; heads must be a multiple of 7",
        ),
        (
            "gpt3-qkv",
            {"tokens": 0},
            "gpt3-qkv got tokens=0, share=8, hidden=12288, heads=96, head_dim=128; each must be 1 or more",
        ),
        ("va-offset-verify", {"rows": 0}, "va-offset-verify got rows=0, columns=256; each must be 1 or more"),
        (
            "va-offset-verify",
            {"cube": "rows"},
            f"parameter 'cube' of bench 'va-offset-verify' cannot be 'rows'; did you mean 'row_wise'? "
            f"Known: {', '.join(sorted(STRATEGIES))}",
        ),
        ("gemm-single-pe", {"K": 0}, "gemm-single-pe got M=128, K=0, N=128; each must be 1 or more"),
        ("vector-add", {"n": 0}, "vector-add got n=0; it must be 1 or more"),
        (
            "ccl-allreduce",
            {"bytes_per_pe": 3},
            "ccl-allreduce got bytes_per_pe=3; give a multiple of 2, the size of f16",
        ),
        (
            "ccl-allreduce",
            {"n_sips": 6, "sip_topology": "torus_2d", "sips_w": 2, "sips_h": 2},
            "6 SIPs do not make a grid of 2 x 2; give sips_w and sips_h whose product is 6",
        ),
        (
            "ccl-allreduce",
            {"n_sips": 5, "sip_topology": "torus_2d"},
            "5 SIPs make no grid of two rows or more for topology 'torus_2d'; "
            "give sips_w and sips_h, another number of SIPs, or ring_1d",
        ),
        ("ccl-allreduce", {"n_sips": -1}, "ccl-allreduce got n_sips=-1, sips_w=0, sips_h=0; none is below 0"),
        (
            "ccl-allreduce",
            {"buffer_kind": "l2"},
            "parameter 'buffer_kind' of bench 'ccl-allreduce' cannot be 'l2'; known: hbm, sram, tcm",
        ),
        (
            "transformer-block",
            {"heads": 3},
            "transformer-block got hidden=128, heads=3, mlp=256 for 1 ranks of 2 PEs a cube; make heads and mlp multiples of "
            "1, the heads of a rank a divisor of 2 and hidden a multiple of 2",
        ),
        (
            "qkv-gemm",
            {"heads": 0},
            "qkv-gemm got tokens=256, hidden=512, heads=0, kv_heads=2, head_dim=64; each must be 1 or more",
        ),
    ],
)
def test_parameters_that_cannot_be(bench: str, parameters: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError) as error:
        run(bench, "tiny", parameters=parameters)
    assert str(error.value) == sentence
