"""What a bench declares: each mistake is one sentence, and none of them ends in a comparison of nothing."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.pto.bench import run_bench
from kernbench.pto.declarations import check_inputs, run_golden
from tests.pto.test_bench import BENCH

COST = "expected a finite time of 0 ns or more, a Normal, or a list of Load, Store, MatMul and Vector"
AMOUNT = "expected a finite number of 0 or more"
NAMES = "expected a tuple of names of arrays, or no __outputs__ to compare all of them"
CASES, GIVEN, KERNEL = "ALL_CASES =", '("out", np.zeros(params["n"], np.float32))', "'K': "
GOLDEN = 'tensors["out"][:] = 1'


def declare(tmp_path, old, new):
    """A bench in which a text stands in the place of another one."""
    text = BENCH.format(kernel="out[...] = 1", cost="100.0")
    assert old in text
    file = tmp_path / "mine.py"
    file.write_text(
        "from kernbench.pto.kernels import Load, MatMul, Normal, Store, Vector\n" + text.replace(old, new, 1)
    )
    return file


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            '"func_id": 0',
            '"func_id": [0]',
            "a kernel of KERNELS: func_id: got [0], expected a whole number of 0 or more",
        ),
        (
            '"func_id": 0',
            '"func_id": True',
            "a kernel of KERNELS: func_id: got True, expected a whole number of 0 or more",
        ),
        ('"name": "K"', '"name": 7', "kernel 0: got name 7, expected a text of one line"),
        ('"core_type": "aiv"', '"core_type": ["aiv"]', KERNEL + "got core_type ['aiv'], expected aic, aiv or mix"),
        ('"function": kernel', '"function": "kernel"', KERNEL + "function: got 'kernel', expected a function"),
        (
            '"function": kernel',
            '"fuction": kernel',
            "unknown key 'fuction'; did you mean 'function'? Known: core_type, cost, func_id, function, name, source",
        ),
        (
            '"core_type": "aiv", "function": kernel, "cost": 100.0',
            '"core_type": "mix", "cube": kernel, "vector": kernel, "cost": 1',
            "unknown key 'cost'; known: core_type, cube, func_id, name, source, vector",
        ),
        ('"cost": 100.0', '"cost": -100.0', KERNEL + f"cost: got -100.0, {COST}"),
        ('"cost": 100.0', '"cost": float("nan")', KERNEL + f"cost: got nan, {COST}"),
        ('"cost": 100.0', '"cost": float("inf")', KERNEL + f"cost: got inf, {COST}"),
        ('"cost": 100.0', '"cost": "100 ns"', KERNEL + f"cost: got '100 ns', {COST}"),
        ('"cost": 100.0', '"cost": lambda out: -5', f"kernel 'K', task 0: cost: got -5, {COST}"),
        ('"cost": 100.0', '"cost": lambda out: None', f"kernel 'K', task 0: cost: got None, {COST}"),
        ('"cost": 100.0', '"cost": lambda out: [out]', "MatMul and Vector"),
        ('"cost": 100.0', '"cost": lambda out: [Vector(-5)]', f"kernel 'K', task 0: Vector: nbytes: got -5, {AMOUNT}"),
        (
            '"cost": 100.0',
            '"cost": lambda out: [Vector(5, -1)]',
            f"kernel 'K', task 0: Vector: passes: got -1, {AMOUNT}",
        ),
        (
            '"cost": 100.0',
            '"cost": [MatMul(1, float("inf"), 1)]',
            f"MatMul: k: got inf, {AMOUNT}",
        ),
        ('"cost": 100.0', '"cost": [MatMul(1, 1, 1, 0)]', "MatMul: itemsize: got 0, expected the bytes of an element"),
        (
            '"cost": 100.0',
            '"cost": [MatMul(1, 1, 1)]',
            "kernel 'K', task 0: MatMul is no operation of an aiv core; see docs/pto.md for costs",
        ),
        ('"cost": 100.0', '"cost": Normal(-5, 1)', f"Normal: mean_ns: got -5, {AMOUNT}"),
        ('"cost": 100.0', '"cost": Normal(5, float("nan"))', f"Normal: deviation_ns: got nan, {AMOUNT}"),
        ('"cost": 100.0', '"cost": Normal(5, 1, 0.5)', "Normal: seed: got 0.5, expected a whole number of 0 or more"),
        ('"cost": 100.0', '"cost": lambda out: [Load(7)]', "Load: got 7, expected a tensor among the parameters"),
        ('"cost": 100.0', '"cost": lambda out: [Store(out, 2, 2)]', "Store: got part 2 of 2; parts are counted from 0"),
        (
            '"runtime": "tensormap_and_ringbuffer"',
            '"runtime": ["x"]',
            "RUNTIME_CONFIG: unknown runtime ['x']; known: aicpu_build_graph, host_build_graph, tensormap_and_ringbuffer",
        ),
        (
            '"block_dim": 2',
            '"block_dm": 2',
            "RUNTIME_CONFIG: unknown key 'block_dm'; did you mean 'block_dim'? Known: aicpu_thread_num, block_dim, build_mode, "
            "runtime",
        ),
        (
            '"aicpu_thread_num": 2',
            '"aicpu_thread_num": 10**9',
            "override pto_runtime.aicpu_threads: got 1000000000, expected less than or equal to 4096",
        ),
        (
            '{"function_name": "entry"}',
            '{"function_name": ["entry"]}',
            "ORCHESTRATION names no function of the module; give function_name",
        ),
        (
            '{"A": {"n": 4}}',
            '{"A": 4}',
            "ALL_CASES: case 'A': got 4, expected a name and a mapping of names of parameters to their values",
        ),
        (
            '{"A": {"n": 4}}',
            '{"A": {3: 4}}',
            "ALL_CASES: case 'A': got {3: 4}, expected a name and a mapping of names of parameters to their values",
        ),
        ('{"A": {"n": 4}}', "{}", "ALL_CASES is no mapping of cases to parameters; give one case at least"),
        (CASES, 'DEFAULT_CASE = ["A"]\nALL_CASES =', "DEFAULT_CASE: got ['A'], expected a case; known: A"),
        (
            '"block_dim": 2',
            '"block_dim": 2, "build_mode": 2',
            "RUNTIME_CONFIG: build_mode: got 2, expected 0 or 1",
        ),
        (CASES, "RTOL = 'x'\nALL_CASES =", f"RTOL: got 'x', {AMOUNT}"),
        (CASES, "RTOL = float('nan')\nALL_CASES =", f"RTOL: got nan, {AMOUNT}"),
        (CASES, "ATOL = float('inf')\nALL_CASES =", f"ATOL: got inf, {AMOUNT}"),
        (CASES, "__outputs__ = 5\nALL_CASES =", f"__outputs__: got 5, {NAMES}"),
        (CASES, "__outputs__ = 'out'\nALL_CASES =", f"__outputs__: got 'out', {NAMES}"),
        (CASES, "__outputs__ = ()\nALL_CASES =", f"__outputs__: got (), {NAMES}"),
        (
            CASES,
            "__outputs__ = ('ot',)\nALL_CASES =",
            "__outputs__ names 'ot', which is no array of generate_inputs; did you mean 'out'? Known: out",
        ),
        (
            CASES,
            "__outputs__ = ('out', 'n')\nALL_CASES =",
            "__outputs__ names 'n', which is no array of generate_inputs; known: out",
        ),
        (
            CASES,
            "aicpu_orchestration_config = 5\nALL_CASES =",
            "aicpu_orchestration_config: got 5, expected a function",
        ),
        ("def compute_golden", "compute_golden = 5\ndef other", "compute_golden: got 5, expected a function"),
        (
            "    return [",
            "    return None and [",
            "generate_inputs gave None, expected a list of pairs of a name and an array or a number",
        ),
        (
            GOLDEN,
            'tensors["ot"] = np.ones(4)',
            "compute_golden wrote 'ot', which is no array of generate_inputs; did you mean 'out'? Known: out",
        ),
        (
            GOLDEN,
            'tensors["out"] = np.ones(1)',
            "compute_golden gave 'out' as float64 of shape (1,), expected float32 of shape (4,)",
        ),
        (
            GOLDEN,
            'del tensors["out"]',
            "compute_golden gave 'out' as object of shape (), expected float32 of shape (4,)",
        ),
        (
            GIVEN,
            '("out", np.array([None] * 4))',
            "generate_inputs gave 'out' as an array of object, expected one of real numbers",
        ),
        (GIVEN, '("n", np.zeros(4, np.float32))', "generate_inputs gave 'n' twice; give each input a name of its own"),
        (GIVEN, "(5, np.zeros(4, np.float32))", "in place 0, expected a name with an array or a number"),
    ],
)
def test_mistakes_in_declarations_are_told(tmp_path, old, new, sentence):
    with pytest.raises(InputError) as error:
        run_bench(declare(tmp_path, old, new), "ascend_tiny")
    assert str(error.value).endswith(sentence)


def test_outputs_that_name_nothing_are_refused_without_a_comparison_too(tmp_path):
    with pytest.raises(InputError, match="__outputs__ names 'ot'"):
        run_bench(declare(tmp_path, CASES, "__outputs__ = ('ot',)\nALL_CASES ="), "ascend_tiny", verify=False)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            CASES,
            "__outputs__ = ('x',)\nALL_CASES =",
            "__outputs__ names 'x', which neither a task nor compute_golden writes; name arrays that they compute",
        ),
        (
            "pto2_rt_submit_task(rt",
            "compute_golden.__code__ = (lambda tensors, params: None).__code__; 0 and (rt",
            "neither a task nor compute_golden writes an array of generate_inputs, so no numbers can be compared; write one, "
            "or ask for none with --no-data",
        ),
    ],
)
def test_an_input_that_nothing_writes_is_no_output(tmp_path, old, new, sentence):
    file = declare(tmp_path, old, new)
    file.write_text(file.read_text().replace('("n", params["n"])]', '("n", params["n"]), ("x", np.ones(4))]'))
    with pytest.raises(InputError) as error:
        run_bench(file, "ascend_tiny")
    assert str(error.value) == f"bench 'mine': {sentence}"
    assert run_bench(file, "ascend_tiny", verify=False).verified is None


def test_an_output_that_a_task_leaves_as_it_was_is_compared(tmp_path):
    run = run_bench(declare(tmp_path, GOLDEN, "pass"), "ascend_tiny")
    assert run.mismatches == (
        "out: 4 of 4 elements differ from the golden ones, the first at (0,): got 1.0, expected 0.0",
    )
    file = declare(tmp_path, "out[...] = 1", "out[...] = 0")
    file.write_text(file.read_text().replace(GOLDEN, "pass"))
    assert run_bench(file, "ascend_tiny").verified


def test_a_bench_without_arrays_compares_no_numbers():
    with pytest.raises(InputError, match="gives no array, so no numbers can be compared; give one, or ask for none"):
        run_golden(lambda tensors, params: None, [("n", 4)], {}, "mine")


def test_a_parameter_that_no_text_gives_is_not_set(tmp_path):
    file = declare(tmp_path, '{"n": 4}', '{"n": 4, "lens": [1, 2]}')
    assert run_bench(file, "ascend_tiny").verified
    with pytest.raises(InputError) as error:
        run_bench(file, "ascend_tiny", parameters={"lens": "3"})
    assert str(error.value) == "parameter 'lens' of bench 'mine' is list, which cannot be set; write a case with it"


@pytest.mark.parametrize("dtype", ["bool", "int64", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_arrays_of_numbers_are_inputs(dtype):
    import ml_dtypes  # noqa: F401, which tells numpy of the types

    assert check_inputs([("x", np.zeros(4, dtype))], ("x",), "mine")[0][0] == "x"


def test_golden_outputs_may_be_other_arrays_or_lists():
    golden = run_golden(lambda tensors, params: tensors.update(x=[2, 2]), [("x", np.ones(2, np.float32))], {}, "mine")
    assert golden["x"].tolist() == [2, 2]
