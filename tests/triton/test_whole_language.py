"""What files of Triton ask beyond kernels: configurations by time, measurements, descriptors, figures of the device."""

import json
import math

import ml_dtypes
import numpy as np
import pytest

from kernbench import KernelError
from kernbench.cli.main import main
from kernbench.triton.whole_file import run_file

HEAD = "import numpy as np\nimport triton\nimport triton.language as tl\n\n"


def write(folder, text):
    file = folder / "kernels.py"
    file.write_text(HEAD + text)
    return file


def call(folder, text, *arguments):
    """What a file's function `go` returns."""
    return run_file(write(folder, text), "go", arguments).returned


def simulated(folder, capsys, text):
    """What `go` prints as JSON on a machine, and the result of its run."""
    file = write(folder, "import json\n" + text)
    assert main(["run", str(file), "--call", "go", "-t", "tiny", "--json"]) == 0
    captured = capsys.readouterr()
    printed = [line for line in captured.err.splitlines() if line.startswith(("{", "["))]
    return [json.loads(line) for line in printed], json.loads(captured.out)


TUNED = """
@triton.autotune([triton.Config({"BLOCK": b}) for b in (16, 64, 256)], key=["n"])
@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def launch(n):
    x, y = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    double[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    return y
"""
BEST = "    print(json.dumps(double.best_config.kwargs))\n"


def test_a_launch_of_a_file_takes_the_quickest_configuration(tmp_path, capsys):
    text = (
        TUNED
        + "\n\ndef go():\n    assert launch(1024).sum() == 1024 * 1023\n    print(json.dumps(double.best_config.kwargs))\n"
    )
    ((best,), result) = simulated(tmp_path, capsys, text)
    (line,) = result["kernel_launches"]
    assert line["grid"] == [1024 // best["BLOCK"], 1, 1]
    times = []
    for block in (16, 64, 256):
        fixed = TUNED.replace("for b in (16, 64, 256)", f"for b in ({block},)") + "\n\ndef go():\n    launch(1024)\n"
        times.append((simulated(tmp_path, capsys, fixed)[1]["kernel_launches"][0]["ns"], block))
    assert best["BLOCK"] == min(times)[1]
    assert line["ns"] == min(times)[0]


def test_a_measurement_is_the_time_of_the_launches_of_its_function(tmp_path, capsys):
    text = (
        TUNED + "\n\ndef go():\n    ms = triton.testing.do_bench(lambda: launch(1024))\n"
        "    both = triton.testing.do_bench(lambda: (launch(1024), launch(1024)), quantiles=[0.5, 0.2])\n"
        "    print(json.dumps([ms, *both]))\n"
    )
    ((times,), result) = simulated(tmp_path, capsys, text)
    lines = [one["ns"] / 1e6 for one in result["kernel_launches"]]
    assert times == pytest.approx([lines[0], lines[1] + lines[2], lines[1] + lines[2]])


def test_what_launches_nothing_has_no_time(tmp_path):
    assert math.isnan(call(tmp_path, "def go():\n    return triton.testing.do_bench(lambda: None)\n"))


def test_a_report_calls_its_function_for_each_point(tmp_path, capsys):
    text = """
def go():
    report = triton.testing.Benchmark(x_names=["n"], x_vals=[1, 2], line_arg="who", line_vals=["a", "b"], line_names=["A", "B"],
                                      plot_name="sums", args={"more": 10})
    @triton.testing.perf_report(report)
    def measure(n, more, who):
        return (n + more + len(who), 0, 0)
    measure.run(print_data=True)
"""
    call(tmp_path, text)
    assert capsys.readouterr().out.splitlines() == ["sums:\tn\tA\tB", "\t1\t12\t12", "\t2\t13\t13"]


def test_configurations_are_pruned_hooked_and_reset(tmp_path):
    text = """
def keep(configs, named, **options):
    assert named["n"] == 32 and options == {"SCALE": 3}
    return configs[1:]

def hook(named):
    named["y_ptr"][:] += 100

@triton.autotune([triton.Config({"BLOCK": b}, pre_hook=hook) for b in (8, 32)], key=["n"], reset_to_zero=["y_ptr"],
                 prune_configs_by={"early_config_prune": keep})
@triton.jit
def add(y_ptr, n, SCALE: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, BLOCK), tl.load(y_ptr + tl.arange(0, BLOCK)) + SCALE)

def go():
    y = np.ones(32, np.float32)
    add[(1,)](y, 32, SCALE=3)
    add[(1,)](y, 32, SCALE=3)
    return y
"""
    assert call(tmp_path, text).tolist() == [206] * 32


def test_a_configuration_that_does_not_fit_is_not_taken(tmp_path, capsys):
    text = TUNED.replace("(16, 64, 256)", "(1 << 20, 64)") + "\n\ndef go():\n    launch(256)\n" + BEST
    ((best,), _) = simulated(tmp_path, capsys, text)
    assert best == {"BLOCK": 64}


def test_figures_of_the_device_are_those_of_the_machine(tmp_path, capsys):
    text = (
        "def go():\n    print(json.dumps(triton.runtime.driver.active.utils.get_device_properties(0)))\n"
        "    launched = kernel.warmup(np.zeros(8, np.float32), grid=(1,))\n"
        "    print(json.dumps([launched.metadata.shared, launched.n_spills]))\n"
        "    assert kernel[(1,)](np.zeros(8, np.float32)).asm['ptx'].startswith(';')\n\n"
        "@triton.jit\ndef kernel(x_ptr):\n    tl.store(x_ptr + tl.arange(0, 8), 1.0)\n"
    )
    (properties, compiled), _ = simulated(tmp_path, capsys, text)
    assert properties["multiprocessor_count"] == 4
    assert compiled == [properties["max_shared_mem"], 0]


DESCRIBED = """
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def transpose(x_ptr, y_desc, M, N, BLOCK: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BLOCK, BLOCK])
    i, j = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    y_desc.store([j, i], x.load([i, j]).T)

def go():
    x, y = np.arange(15 * 20, dtype=np.float32).reshape(15, 20), np.zeros((20, 15), np.float32)
    transpose[(2, 3)](x, TensorDescriptor(y, [20, 15], [15, 1], [8, 8]), 15, 20, BLOCK=8)
    assert (y == x.T).all()
"""


def test_descriptors_of_kernels_and_of_the_host_check_their_bounds(tmp_path, capsys):
    call(tmp_path, DESCRIBED)
    assert simulated(tmp_path, capsys, DESCRIBED)[1]["kernel_launches"][0]["ns"] > 0
    wrong = DESCRIBED.replace("x.load([i, j])", "x.load([i])")
    with pytest.raises(
        KernelError, match=r"a tensor descriptor of 2 dimensions got 1 offsets, at .*kernels\.py:\d+; give one"
    ):
        call(tmp_path, wrong)


def test_a_descriptor_gathers_and_scatters_rows(tmp_path):
    text = """
@triton.jit
def rows(x_ptr, i_ptr, y_ptr):
    x = tl.make_tensor_descriptor(x_ptr, [10, 8], [8, 1], [1, 4])
    y = tl.make_tensor_descriptor(y_ptr, [10, 8], [8, 1], [1, 4])
    at = tl.load(i_ptr + tl.arange(0, 8))
    y.scatter(x.gather(at, 4), at, 0)

def go(x, at):
    y = np.zeros_like(x)
    rows[(1,)](x, at, y)
    return y
"""
    x, at = np.arange(80, dtype=np.float32).reshape(10, 8), np.array([9, 1, 3, 2, 7, 5, 0, 12], np.int32)
    y = call(tmp_path, text, x, at)
    assert (y[at[:7], :4] == x[at[:7], 4:]).all()
    assert y[[4, 6, 8]].sum() == y[:, 4:].sum() == 0


def test_scaled_products_are_those_of_numpy(tmp_path):
    text = """
@triton.jit
def scaled(a_ptr, sa_ptr, b_ptr, sb_ptr, c_ptr, FORM: tl.constexpr, KA: tl.constexpr):
    m, n, k, s = tl.arange(0, 16), tl.arange(0, 16), tl.arange(0, 64), tl.arange(0, 2)
    a = tl.load(a_ptr + m[:, None] * KA + tl.arange(0, KA)[None, :])
    b = tl.load(b_ptr + k[:, None] * 16 + n[None, :])
    sa, sb = tl.load(sa_ptr + m[:, None] * 2 + s[None, :]), tl.load(sb_ptr + n[:, None] * 2 + s[None, :])
    tl.store(c_ptr + m[:, None] * 16 + n[None, :], tl.dot_scaled(a, sa, FORM, b, sb, "e5m2"))

def go(a, sa, b, sb, form):
    c = np.zeros((16, 16), np.float32)
    scaled[(1,)](a, sa, b, sb, c, FORM=form, KA=a.shape[1])
    return c
"""
    draw = np.random.default_rng(3)
    sa, sb = (draw.integers(120, 130, (16, 2), dtype=np.uint8) for _ in "ab")
    b = draw.standard_normal((64, 16)).astype(ml_dtypes.float8_e5m2)
    powers_a, powers_b = (np.exp2(one.astype(np.float32) - 127).repeat(32, axis=1) for one in (sa, sb))
    wide_b = b.astype(np.float32) * powers_b.T
    a = draw.standard_normal((16, 64)).astype(ml_dtypes.float8_e4m3fn)
    found = call(tmp_path, text, a.view(np.uint8), sa, b.view(np.uint8), sb, "e4m3")
    assert np.allclose(found, (a.astype(np.float32) * powers_a) @ wide_b, rtol=1e-5)
    nibbles = draw.integers(0, 16, (16, 64), dtype=np.uint8)
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])[nibbles & 7] * np.where(nibbles & 8, -1, 1)
    packed = (nibbles[:, 0::2] | nibbles[:, 1::2] << 4).astype(np.uint8)
    found = call(tmp_path, text, packed, sa, b.view(np.uint8), sb, "e2m1")
    assert np.allclose(found, (values * powers_a) @ wide_b, rtol=1e-5)
    with pytest.raises(KernelError, match=r"tl\.dot_scaled got the format 'e3m2', at .*; give one of e2m1, e4m3"):
        call(tmp_path, text, packed, sa, b.view(np.uint8), sb, "e3m2")


def test_constants_of_a_module_have_values(tmp_path):
    text = """
MODE: tl.constexpr = tl.constexpr(2)
NAME = tl.constexpr("two")

@triton.jit
def kernel(x_ptr, mode: tl.constexpr = MODE):
    if mode == MODE and NAME == "two":
        tl.store(x_ptr, mode + 0.5)

def go():
    x = np.zeros(1, np.float32)
    kernel[(1,)](x, mode=MODE.value)
    return float(x[0]), {"a": MODE.value, "b": NAME.value}
"""
    assert call(tmp_path, text) == (2.5, {"a": 2, "b": "two"})


def test_tuples_of_tensors_are_arguments_and_hints_to_compilers_have_no_effect(tmp_path, capsys):
    text = """
@triton.jit
def sums(pair, scales, y_ptr):
    at = tl.arange(0, 8)
    tl.store(y_ptr + at, tl.load(pair[0] + at) * scales[0] + tl.load(pair[1] + at) * scales[1])

def go():
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    sums[(1,)]((x, x + 1), (2, 10.5), y, enable_fp_fusion=False)
    assert np.allclose(y, x * 2 + (x + 1) * 10.5)
"""
    call(tmp_path, text)
    assert simulated(tmp_path, capsys, text)[1]["kernel_launches"][0]["arguments"]["pair"] == "(float32[8], float32[8])"


WIDE = """
@triton.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)

def go():
    add[(8,)](np.zeros(1024, np.KIND), np.zeros(1024, np.KIND), 1024, BLOCK=128)
"""


@pytest.mark.parametrize(("narrow", "wide"), [("int32", "int64"), ("float32", "float64")])
def test_elements_of_64_bits_take_twice_the_bytes_and_the_rate(narrow, wide, tmp_path, capsys):
    results = [simulated(tmp_path, capsys, WIDE.replace("KIND", kind))[1] for kind in (narrow, wide)]
    moved = [one["achieved_gbs"] * one["pe_exec_ns"] for one in results]
    assert moved[1] == pytest.approx(2 * moved[0])
    assert results[1]["pe_exec_ns"] > results[0]["pe_exec_ns"]


def test_addresses_of_64_bits_are_followed_beyond_32(tmp_path, capsys):
    text = """
@triton.jit
def high(i_ptr, y_ptr):
    at = tl.load(i_ptr + tl.arange(0, 4))
    tl.store(y_ptr + (at >> 33), at.to(tl.float64))

def go():
    y = np.zeros(4)
    high[(1,)](np.array([3, 1, 0, 2], np.int64) << 33, y)
    assert y.tolist() == [0, 2.0**33, 2.0**34, 3 * 2.0**33]
"""
    assert simulated(tmp_path, capsys, text)[1]["kernel_launches"][0]["ns"] > 0


def test_a_launcher_of_a_file_launches_again_what_was_launched(tmp_path):
    text = """
class Entry(triton.KernelInterface):
    def __init__(self, fn):
        self.fn, self.arg_names = fn, fn.arg_names
        while not isinstance(fn, triton.JITFunction):
            fn = fn.fn
        self.jit, self.kernel = fn, None

    def run(self, *args, grid, warmup, **options):
        if self.kernel is None:
            self.kernel = self.fn.run(*args, grid=grid, **options)
        else:
            names = [one.name for one in self.jit.params if not one.is_constexpr]
            self.kernel[grid](*args[: len(names)])
        return self.kernel

@Entry
@triton.heuristics({"MORE": lambda args: args["n"] * 100})
@triton.autotune([triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=["n"])
@triton.jit
def add(x_ptr, n, SCALE: tl.constexpr, MORE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) * SCALE + MORE, mask=at < n)

def go():
    x = np.ones(4, np.int32)
    add[(1,)](x, 4, 3)
    add[(1,)](x, 4, 3)
    assert [(one.name, one.has_default) for one in add.jit.params][2:4] == [("SCALE", False), ("MORE", False)]
    return x
"""
    assert call(tmp_path, text).tolist() == [(3 + 400) * 3 + 400] * 4


def test_a_tensor_is_seen_in_another_type(tmp_path):
    text = """
@triton.jit
def widen(x_ptr, y_ptr):
    at = tl.arange(0, 8)
    tl.store(y_ptr + at, tl.load(x_ptr + at).to(tl.float32))

class Bytes:
    dtype, device = "torch.int8", "cpu"

    def __init__(self, array):
        self.array, self.shape = array, array.shape
        self.data_ptr, self.element_size, self.numel = lambda: array.ctypes.data, lambda: 1, lambda: array.size

    def untyped_storage(self):
        from types import SimpleNamespace
        return SimpleNamespace(data_ptr=self.data_ptr, nbytes=lambda: self.array.nbytes)

def go(x):
    y = np.zeros(8, np.float32)
    widen[(1,)](triton.reinterpret(Bytes(x), tl.float8e5), y)
    try:
        triton.reinterpret(Bytes(x), tl.float16)
    except Exception as error:
        return y, str(error)
"""
    numbers = np.array([0.5, 1, -2, 3, 0, 4, 8, -16])
    found, said = call(tmp_path, text, numbers.astype(ml_dtypes.float8_e5m2).view(np.int8))
    assert np.array_equal(found, numbers)
    assert said == "triton.reinterpret got a tensor of torch.int8 and the type float16; both have as many bytes"


def test_constants_follow_from_tensors_of_the_host_on_the_machine_too(tmp_path, capsys):
    text = """
@triton.autotune([triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=["n"])
@triton.heuristics({"HALF": lambda args: args["x_ptr"].dtype == np.float16, "WIDE": lambda args: args["x_ptr"].ndim == 2})
@triton.jit
def add(x_ptr, n, HALF: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    tl.static_assert(HALF and WIDE)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at) + 1)

def go():
    x = np.zeros((2, 16), np.float16)
    add[lambda meta: (meta["x_ptr"].nbytes // 2 // meta["BLOCK"],)](x, 32)
    assert x.sum() == 32
"""
    (line,) = simulated(tmp_path, capsys, text)[1]["kernel_launches"]
    assert line["grid"] in ([4, 1, 1], [2, 1, 1])
