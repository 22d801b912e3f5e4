"""The shipped benches give the numbers of numpy in every back end; mistakes in a bench are told."""

from __future__ import annotations

import pytest

from kernbench.engine.agents import Agents
from kernbench.errors import InputError, RunError
from kernbench.pto.bench import find_bench, list_benches, run_bench
from kernbench.pto.runtime.fatal import FatalCode, FatalError
from kernbench.pto.runtime.orchestrator import Backend

SMALL = {"paged-attention": "Case1", "flash-attention": "Small"}


@pytest.mark.parametrize("backend", Backend)
@pytest.mark.parametrize("bench", list_benches(), ids=lambda bench: bench.name)
def test_numbers_are_those_of_numpy_in_every_back_end(bench, backend):
    case = SMALL.get(bench.name, "Small")
    run = run_bench(bench, "ascend_tiny", case=case, backend=backend.value, overrides={"pto_runtime.aicpu_threads": 2})
    assert run.mismatches == ()
    assert run.verified


def test_the_five_tasks_give_47():
    run = run_bench("vector_example", "ascend_tiny", case="Small")
    device = run.outcome.device
    assert run.verified
    assert len(run.outcome.record.tasks) == 5
    assert device.memory.bytes_at(device.memory._starts[2], 4).view("f4")[0] == 47


@pytest.mark.slow
@pytest.mark.parametrize("window", [16, 64, 65536])
def test_paged_attention_of_208_tasks_completes_at_windows_of_16_and_more(window):
    run = run_bench("paged_attention", case="CaseBatch256", overrides={"pto_runtime.task_window": window})
    record = run.outcome.record
    assert run.verified
    assert len(record.tasks) == 208
    assert record.recycled == max(208 - window, 0)
    if window != 64:  # where schedulers nearly keep up
        assert (record.blocked > 0) == (window < 208)


def test_paged_attention_deadlocks_at_a_window_of_8():
    with pytest.raises(FatalError) as error:
        run_bench("paged_attention", case="CaseBatch256", overrides={"pto_runtime.task_window": 8}, verify=False)
    assert error.value.fatal_code == FatalCode.SCOPE_DEADLOCK


@pytest.mark.slow
def test_numbers_are_right_in_a_heap_that_is_used_again_and_again():
    fields = {"pto_runtime.heap_bytes": 1 << 17}
    run = run_bench("paged_attention", case="CaseBatch256", overrides=fields)
    assert run.verified
    assert run.outcome.record.blocked > 0


BENCH = """
import numpy as np
from kernbench.pto.api import *
def kernel(out):
    {kernel}
KERNELS = [{{"func_id": 0, "name": "K", "core_type": "aiv", "function": kernel, "cost": {cost}}}]
ORCHESTRATION = {{"function_name": "entry"}}
RUNTIME_CONFIG = {{"runtime": "tensormap_and_ringbuffer", "aicpu_thread_num": 2, "block_dim": 2}}
ALL_CASES = {{"A": {{"n": 4}}}}
def entry(rt, args, arg_count):
    out = make_tensor_external(args[0], (args[1],), 1)
    pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, [make_output_param(out)], 1)
def generate_inputs(params):
    return [("out", np.zeros(params["n"], np.float32)), ("n", params["n"])]
def compute_golden(tensors, params):
    tensors["out"][:] = 1
"""


def write(tmp_path, kernel="out[...] = 1", cost="100.0"):
    file = tmp_path / "mine.py"
    file.write_text(BENCH.format(kernel=kernel, cost=cost))
    return file


def test_a_bench_by_path_and_a_parameter(tmp_path):
    run = run_bench(write(tmp_path), "ascend_tiny", parameters={"n": "9"})
    assert run.verified
    assert run.parameters == {"n": 9}


def test_numbers_that_differ_are_told_with_the_first_place(tmp_path):
    run = run_bench(write(tmp_path, "out[2] = 1"), "ascend_tiny")
    assert run.verified is False
    assert run.mismatches == (
        "out: 3 of 4 elements differ from the golden ones, the first at (0,): got 0.0, expected 1.0",
    )


def test_a_kernel_that_raises_is_told_with_its_line(tmp_path):
    with pytest.raises(RunError, match=r"bench 'mine' raised ZeroDivisionError: division by zero, at .*mine\.py:5"):
        run_bench(write(tmp_path, "1 / 0"), "ascend_tiny")


def test_a_distribution_has_times_of_its_own_for_each_task_and_the_same_every_time(tmp_path):
    file = write(tmp_path, cost="__import__('kernbench.pto.kernels').pto.kernels.Normal(1000.0, 100.0, 3)")
    ends = [run_bench(file, "ascend_tiny").outcome.record.blocks for _ in range(2)]
    assert ends[0] == ends[1]
    assert 500 < (ends[0][0].end_fs - ends[0][0].start_fs) / 1e6 < 1500


def test_kernel_config_and_golden_in_a_folder(tmp_path):
    text = BENCH.format(kernel="out[...] = 1", cost="100.0")
    at = text.index("ALL_CASES")
    entry = text.index("def entry")
    golden = text.index("def generate_inputs")
    (tmp_path / "kernel_config.py").write_text(text[:at] + text[entry:golden])
    (tmp_path / "golden.py").write_text("import numpy as np\n" + text[at:entry] + text[golden:])
    assert run_bench(tmp_path, "ascend_tiny").verified


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"case": "B"}, "bench 'mine' has no case 'B'; known: A"),
        (
            {"parameters": {"m": "1"}},
            "bench 'mine' has no parameter 'm'; give its parameters (n) or fields of topology 'ascend_tiny'",
        ),
        ({"parameters": {"n": "x"}}, "parameter 'n' of bench 'mine' is int, as its default 4; got 'x'"),
        (
            {"backend": "rings"},
            "unknown runtime 'rings'; known: aicpu_build_graph, host_build_graph, tensormap_and_ringbuffer",
        ),
    ],
)
def test_names_and_values_that_a_bench_lacks(tmp_path, arguments, sentence):
    with pytest.raises(InputError) as error:
        run_bench(write(tmp_path), "ascend_tiny", **arguments)
    assert str(error.value).partition(" (topology.")[0] == sentence


def test_a_module_that_is_no_bench_is_told_what_it_lacks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("KERNELS = []\nALL_CASES = {}\n")
    with pytest.raises(InputError) as error:
        find_bench("./mine.py")
    assert str(error.value) == (
        "mine.py: a bench of task graphs lacks ORCHESTRATION, RUNTIME_CONFIG, generate_inputs, compute_golden; "
        "docs/pto.md shows one"
    )
    with pytest.raises(InputError, match="unknown bench of task graphs 'vectr-example'; did you mean 'vector_example'"):
        find_bench("vectr-example")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            '"block_dim": 2',
            '"block_dim": "two"',
            "RUNTIME_CONFIG: block_dim: got 'two', expected a whole number of 1 or more",
        ),
        ('{"function_name": "entry"}', '"entry"', "ORCHESTRATION is no mapping; docs/pto.md shows one"),
        ("KERNELS = [", "KERNELS = 1 and [1, ", "KERNELS is no list of mappings; docs/pto.md shows one"),
        ('"core_type": "aiv"', '"core_type": "gpu"', "kernel 'K': got core_type 'gpu', expected aic, aiv or mix"),
        (
            '("n", params["n"])]',
            '"n"]',
            "generate_inputs gave 'n' in place 1, expected a name with an array or a number",
        ),
    ],
)
def test_declarations_that_do_not_fit_are_told(tmp_path, old, new, sentence):
    file = write(tmp_path)
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(InputError) as error:
        run_bench(file, "ascend_tiny")
    assert str(error.value).endswith(sentence)


def test_golden_code_that_raises_is_told_with_its_line(tmp_path):
    file = write(tmp_path)
    file.write_text(file.read_text().replace('tensors["out"][:] = 1', 'tensors["in"][:] = 1'))
    with pytest.raises(RunError, match=r"bench 'mine' raised KeyError: 'in', at .*mine\.py:\d+"):
        run_bench(file, "ascend_tiny")


def test_arrays_are_copied_over_the_link_of_the_host():
    """By hand: a call of the driver, and the bytes at the link's rate; two of three arrays are alike, one comes back."""
    copies = {}
    for gbs in (16, 32):
        run = run_bench("vector_example", overrides={"npu_host.gbs": gbs}, verify=False)
        copies[gbs] = run.host_copies_us()
    bytes_us = 128 * 128 * 4 / 32e3
    assert 1 + bytes_us < copies[32]["host_out_us"] < 1.6 + bytes_us
    assert copies[32]["host_in_us"] == pytest.approx(3 * copies[32]["host_out_us"], rel=0.2)
    assert copies[16]["host_out_us"] - copies[32]["host_out_us"] == pytest.approx(bytes_us, rel=0.05)


def test_the_number_of_arguments_is_checked(tmp_path):
    config = "\n\ndef aicpu_orchestration_config(args, arg_count):\n    return PTO2OrchestrationConfig({})\n"
    for expected, is_right in ((2, True), (3, False)):
        path = write(tmp_path)
        path.write_text(path.read_text() + config.format(expected))
        if is_right:
            assert run_bench(path, "ascend_tiny").verified
        else:
            with pytest.raises(FatalError, match="expects 3 arguments and generate_inputs gives 2; make them agree"):
                run_bench(path, "ascend_tiny")
    path.write_text(path.read_text() + "\n\ndef aicpu_orchestration_config(args, arg_count):\n    return 3\n")
    with pytest.raises(FatalError, match=r"config returned 3, expected PTO2OrchestrationConfig\(expected_arg_count\)"):
        run_bench(path, "ascend_tiny")


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        ("None", None),
        ("0", None),
        ("3", "FATAL: the orchestration returned 3, which says that it failed (fatal code 9)"),
        ("'ok'", "FATAL: invalid arguments: the orchestration returned 'ok', expected nothing, or 0 (fatal code 5)"),
    ],
)
def test_what_the_orchestration_returns_is_looked_at(tmp_path, returned, sentence):
    path = write(tmp_path)
    path.write_text(path.read_text().replace("def generate_inputs", f"    return {returned}\ndef generate_inputs"))
    if sentence is None:
        assert run_bench(path, "ascend_tiny").verified
    else:
        with pytest.raises(FatalError) as error:
            run_bench(path, "ascend_tiny")
        assert str(error.value) == sentence


def test_an_orchestration_that_is_a_generator_submits_nothing_and_is_refused(tmp_path):
    path = write(tmp_path)
    path.write_text(path.read_text().replace("def generate_inputs", "    yield\ndef generate_inputs"))
    with pytest.raises(FatalError, match="the orchestration returned <generator object entry"):
        run_bench(path, "ascend_tiny")


def test_a_build_mode_is_of_the_runtime_that_builds_on_an_aicpu(tmp_path):
    path = write(tmp_path)
    path.write_text(path.read_text().replace('"block_dim": 2', '"block_dim": 2, "build_mode": 0'))
    assert run_bench(path, "ascend_tiny", backend="aicpu_build_graph").verified
    with pytest.raises(
        InputError, match="build_mode is of aicpu_build_graph, and bench 'mine' runs with tensormap_and"
    ):
        run_bench(path, "ascend_tiny")


@pytest.mark.parametrize("bench", ["flash_attention", "fused_matmul", "paged_attention"])
def test_a_run_does_not_depend_on_how_often_it_returns_to_the_engine(bench, monkeypatch):
    """Agents that may be called at once are, and the record is that of a run in which each call is an ask."""

    def run():
        fields = {"pto_runtime.aicpu_threads": 2, "pto_runtime.task_window": 16}
        case = SMALL.get(bench.replace("_", "-"), "Small")
        return run_bench(bench, "ascend_tiny", case=case, overrides=fields, verify=False).outcome

    fast, expect = run(), Agents.expect
    monkeypatch.setattr(Agents, "expect", lambda self, thread, _ask_fs: expect(self, thread, 0))
    slow = run()
    assert fast.record == slow.record
    assert fast.device.program.row_count < slow.device.program.row_count
