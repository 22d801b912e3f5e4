"""Running benches: figures, checks, mistakes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from kernbench import DPPolicy, InputError, KernelError, RunError, RunResult, bench, run
from kernbench.analytic import record_bench
from kernbench.library import show_path
from kernbench.program.digest import digest
from kernbench.sealing import load_sealed_json

ONE = DPPolicy(num_cubes=1, num_pes=1)


def double(x, y, tl) -> None:
    tl.store(y, tl.load(x, (64, 64)) * 2)


@bench("double", "Twice a matrix")
def doubling(torch, *, wrong=False):
    x, y = torch.randn((64, 64), dp=ONE, name="x"), torch.empty((64, 64), dp=ONE, name="y")
    torch.launch("double", double, x, y)
    torch.expect(y, lambda: 2 * x.initial() + wrong * np.eye(64))


def attempt(function: Callable[..., object], **options: object) -> RunResult:
    return run(bench("attempt", "x")(function), "tiny", **options)


def test_figures_of_a_run() -> None:
    result = run(doubling, "tiny", verify=True)
    assert result.verified is True
    assert result.mismatches == ()
    assert 0 < result.pe_exec_ns < result.latency_ns < result.makespan_ns
    assert result.achieved_tflops == 0
    assert result.achieved_gbs == pytest.approx(2 * 8192 / result.pe_exec_ns)
    assert result.bottleneck == "hbm_ctrl channels"  # which serve the load and the store
    assert result.bottleneck_part == "sip0.cube0.hbm_ctrl.pe0.ch0"
    assert 0 < result.bottleneck_utilisation <= 1
    assert result.flit_hops > 0


def test_a_result_is_plain_values() -> None:
    result = run(doubling, "tiny", overrides={"hbm.channel_gbs": 64})
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["bench"] == "double"
    assert plain["parameters"] == {"wrong": False}
    assert plain["overrides"] == {"hbm.channel_gbs": "64"}
    assert plain["verified"] is None
    assert set(plain) >= {"latency_ns", "pe_exec_ns", "events", "flit_hops", "wall_s", "mismatches", "bottleneck"}


def test_wrong_numbers_are_named() -> None:
    result = run(doubling, "tiny", verify=True, parameters={"wrong": True})
    assert result.verified is False
    assert len(result.mismatches) == 1
    assert result.mismatches[0].startswith("tensor 'y' at [0, 0]: expected ")
    assert "; tolerance 0.002 x max(1, |expected|); 64 of 4096 elements differ by at most " in result.mismatches[0]


def test_a_bench_may_ask_to_run_live() -> None:
    def look(x, tl) -> None:
        assert tl.load(x, (4,), "f32").data.tolist() == [1, 1, 1, 1]

    def looking(torch) -> None:
        torch.launch("look", look, torch.ones(4, "f32", ONE))

    run(bench("looking", "x", live=True)(looking), "tiny")
    with pytest.raises(KernelError, match=r"but recorded kernels have none"):
        attempt(looking)


def test_the_same_twice() -> None:
    first, second = run(doubling, "tiny"), run(doubling, "tiny")
    assert first.op_log().equals(second.op_log())
    assert (first.latency_ns, first.events) == (second.latency_ns, second.events)


def test_computing_the_numbers_changes_no_time() -> None:
    plain, verified = run(doubling, "tiny"), run(doubling, "tiny", verify=True)
    assert (plain.verified, verified.verified) == (None, True)
    assert plain.op_log().equals(verified.op_log())


def test_a_device_is_all_sips_or_one() -> None:
    counts = []
    attempt(lambda torch: (counts.append(torch.device_count), torch.zeros(4)), device="sip:0")
    assert counts == [1]
    with pytest.raises(InputError) as error:
        run(doubling, "tiny", device="sip:1")
    assert str(error.value) == "machine tiny has no device 'sip:1'; known: all, sip:0"


@pytest.mark.parametrize(("device", "sip"), [("all", "sip0"), ("sip:0", "sip0"), ("sip:1", "sip1")])
def test_a_bench_without_ranks_is_on_one_device(device: str, sip: str) -> None:
    result = run(doubling, "tiny", overrides={"sips.count": 2}, device=device)
    assert {name.partition(".")[0] for name in result.op_log()["component"]} == {sip}


def test_a_bench_that_submits_nothing() -> None:
    def idle(torch) -> None: ...

    with pytest.raises(RunError) as error:
        attempt(idle)
    place = f"{show_path(__file__)}:{idle.__code__.co_firstlineno}"
    assert str(error.value) == f"bench 'attempt' at {place} submitted nothing; let it make tensors or launch a kernel"


def test_a_bench_that_raises() -> None:
    def bad(torch) -> None:
        raise ValueError("no such thing")

    with pytest.raises(RunError) as error:
        attempt(bad)
    line = bad.__code__.co_firstlineno + 1
    assert str(error.value) == f"bench 'attempt' raised ValueError: no such thing, at {show_path(__file__)}:{line}"


def test_a_bench_that_would_end_the_process() -> None:
    with pytest.raises(RunError) as error:
        attempt(lambda torch: sys.exit(3))
    assert str(error.value).startswith(f"bench 'attempt' raised SystemExit: 3, at {show_path(__file__)}:")


def test_a_machine_without_pes() -> None:
    with pytest.raises(InputError) as error:
        run(doubling, "mesh_8x8")
    assert str(error.value) == (
        "machine mesh_8x8 is of family 'mesh' and has no PEs to launch kernels on; give a topology of family 'sip'"
    )


def test_a_reference_that_raises() -> None:
    def bad(torch) -> None:
        torch.expect(torch.zeros(4), lambda: 1 // 0)

    line = bad.__code__.co_firstlineno + 1
    with pytest.raises(RunError) as error:
        attempt(bad, verify=True)
    assert str(error.value) == (
        "the reference of tensor 'tensor0' raised ZeroDivisionError: integer division or modulo by zero, "
        f"at {show_path(__file__)}:{line}"
    )


def test_nothing_to_verify() -> None:
    with pytest.raises(RunError) as error:
        attempt(lambda torch: torch.zeros(4), verify=True)
    assert str(error.value) == ("bench 'attempt' states nothing to verify; let it call torch.expect(tensor, reference)")


def test_without_a_launch_the_latency_is_the_makespan() -> None:
    result = attempt(lambda torch: torch.from_numpy(np.zeros(1 << 14, np.float32), ONE))
    assert result.latency_ns == result.makespan_ns
    assert result.pe_exec_ns == result.achieved_gbs == 0
    assert result.bottleneck == "io links and ucie links"


def test_a_bench_is_recorded_without_a_run() -> None:
    program, launches = record_bench("vector-add", "tiny", parameters={"n": 4096}, overrides={"noc.gbs": 100})
    result = run("vector-add", "tiny", parameters={"n": 4096}, overrides={"noc.gbs": 100})
    assert digest(program) == digest(result.device.program)
    assert len(launches) == len(result.launches) == 1


def test_a_bench_that_reads_its_numbers_is_not_recorded() -> None:
    def reads(torch) -> None:
        torch.zeros((64, 64), dp=ONE).numpy()

    with pytest.raises(InputError, match="analytic mode computes no numbers, but the bench reads those"):
        record_bench(bench("attempt", "x")(reads), "tiny")


def test_an_unknown_mode() -> None:
    with pytest.raises(InputError, match=r"^unknown mode 'flat'; did you mean 'flit'\? Known: "):
        run(doubling, "tiny", mode="flat")


def test_a_result_is_written_and_read(tmp_path: Path) -> None:
    result = run(doubling, "tiny")
    files = result.write(tmp_path / "out")
    assert load_sealed_json(Path(files["result"])) == {**result.to_dict(), "files": files}
    assert pl.read_parquet(files["oplog"]).equals(result.op_log())


def test_bounds_say_how_much_may_be_achieved() -> None:
    result, bound = run(doubling, "tiny"), run(doubling, "tiny", mode="analytic")
    assert bound.latency_ns <= result.latency_ns
    assert (bound.achieved_tflops, bound.bottleneck_utilisation) == (0, None)
    assert bound.achieved_gbs >= result.achieved_gbs > 0
